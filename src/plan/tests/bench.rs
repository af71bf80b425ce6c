//! A study with a tiny strategy and a host of known response.

use std::collections::BTreeMap;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::plan::*;
use crate::space::{Configuration, Domain, Ground, Knob, Scale, Space, Writes};
use crate::stats::Estimate;
use crate::strategy::{Goal, Proposal, ProposalPurpose, Recommendation, Search, Seen, Strategy};
use crate::study::{ConstraintSpec, Objective, ObjectiveSpec};
use crate::trial::{Cause, CauseKind, EndOfMeasuring, Measurement, Outcome};
use crate::units::UtcMillis;

/// Proposes x = 1, 2, ... up to `most` and recommends the highest mean.
pub(super) struct Ladder {
    pub(super) most: i64,
}

impl Strategy for Ladder {
    fn propose(&self, search: &Search<'_>, n: usize) -> Vec<Proposal> {
        let seen = |x: i64| {
            let configuration = x_is(x);
            search
                .observations
                .iter()
                .any(|o| o.configuration == configuration)
                || search.pending.contains(&configuration)
        };
        (1..=self.most)
            .filter(|x| !seen(*x))
            .take(n)
            .map(|x| Proposal {
                configuration: x_is(x),
                purpose: ProposalPurpose::Explore,
                why: format!("x = {x} is next"),
                model: None,
            })
            .collect()
    }

    fn recommend(&self, search: &Search<'_>) -> Option<Recommendation> {
        let mut means: BTreeMap<String, (f64, f64, &crate::strategy::Observation)> = BTreeMap::new();
        for seen in search.observations {
            if let Seen::Measured {
                value,
                feasible: true,
                ..
            } = seen.seen
            {
                let entry = means.entry(seen.configuration.key()).or_insert((0.0, 0.0, seen));
                entry.0 += value;
                entry.1 += 1.0;
            }
        }
        means
            .into_values()
            .map(|(sum, n, seen)| (sum / n, seen))
            .max_by(|a, b| search.goal.oriented(a.0).total_cmp(&search.goal.oriented(b.0)))
            .map(|(mean, seen)| Recommendation {
                trial: seen.trial,
                configuration: seen.configuration.clone(),
                mean,
                sd: None,
            })
    }
}

pub(super) fn x_is(x: i64) -> Configuration {
    [("x".to_owned(), x.into())].into_iter().collect()
}

pub(super) fn x_of(job: &Job) -> i64 {
    job.configuration
        .get("x")
        .and_then(crate::space::Value::as_f64)
        .unwrap() as i64
}

/// A space of whole numbers: name, least and greatest value.
pub(super) fn space(knobs: &[(&str, i64, i64)]) -> Space {
    Space::new(
        knobs
            .iter()
            .map(|(name, min, max)| knob(name, *min, *max))
            .collect(),
        Vec::new(),
        Ground::default(),
    )
    .unwrap()
}

pub(super) fn knob(name: &str, min: i64, max: i64) -> Knob {
    Knob {
        name: name.to_owned(),
        family: "test".to_owned(),
        domain: Domain::Int {
            min,
            max,
            unit: 1,
            scale: Scale::Linear,
            special: Vec::new(),
            bytes: false,
        },
        when: None,
        writes: Writes::Own,
        reads: None,
        default: None,
        fixed: None,
        rule: None,
        source: "a test".to_owned(),
        note: None,
        dynamic: None,
    }
}

pub(super) fn settings() -> Settings {
    let length = Length {
        warmup_cap: 15.0,
        measure_min: 12.0,
        measure_max: 15.0,
    };
    Settings {
        budget_seconds: 900.0,
        max_trials: None,
        patience: None,
        reserve: 0.25,
        min_gain: 0.01,
        length,
        confirm_length: length,
        trial_seconds: 35.0,
        seed: 1,
    }
}

pub(super) fn throughput(constraints: &[&str]) -> Objective {
    let spec = ObjectiveSpec {
        metric: "tps".to_owned(),
        goal: Goal::Maximize,
    };
    let constraints: Vec<_> = constraints
        .iter()
        .map(|c| ConstraintSpec {
            require: (*c).to_owned(),
        })
        .collect();
    Objective::new(&spec, &constraints).unwrap()
}

/// Everything a study needs, changed as a test wants.
pub(super) struct Bench {
    pub(super) settings: Settings,
    pub(super) objective: Objective,
    pub(super) space: Space,
    pub(super) strategy: Ladder,
    pub(super) baseline: Configuration,
    pub(super) rule: Option<Configuration>,
    pub(super) candidates: Vec<Configuration>,
    pub(super) host: &'static str,
    pub(super) forgiven: u64,
}

impl Bench {
    pub(super) fn new() -> Self {
        Self {
            settings: settings(),
            objective: throughput(&[]),
            space: space(&[("x", 0, 1000)]),
            strategy: Ladder { most: 50 },
            baseline: x_is(0),
            rule: Some(x_is(100)),
            candidates: Vec::new(),
            host: "here",
            forgiven: 0,
        }
    }

    pub(super) fn inputs(&self) -> Inputs<'_> {
        Inputs {
            settings: &self.settings,
            objective: &self.objective,
            space: &self.space,
            strategy: &self.strategy,
            baseline: &self.baseline,
            rule_of_thumb: self.rule.as_ref(),
            candidates: &self.candidates,
            host: self.host,
            forgiven: self.forgiven,
        }
    }

    pub(super) fn next(&self, facts: &Facts) -> Next {
        next(&self.inputs(), facts)
    }

    /// Runs the study to its end; `respond` gives the outcome of each job by its number.
    pub(super) fn run(&self, respond: impl FnMut(u64, &Job) -> Outcome) -> (Facts, Verdict) {
        self.go_on(Facts::default(), respond)
    }

    pub(super) fn go_on(
        &self,
        mut facts: Facts,
        mut respond: impl FnMut(u64, &Job) -> Outcome,
    ) -> (Facts, Verdict) {
        for _ in 0..500 {
            match self.next(&facts) {
                Next::Job(job) => {
                    let number = facts.jobs.len() as u64 + 1;
                    let outcome = respond(number, &job);
                    facts.jobs.push(ended(number, job, outcome, self.host));
                }
                Next::Wait => panic!("a fleet of one never waits"),
                Next::Done(verdict) => return (facts, verdict),
            }
        }
        panic!("the study does not end");
    }
}

pub(super) fn ended(number: u64, job: Job, outcome: Outcome, host: &str) -> Fact {
    let seconds = if outcome.measurement().is_some() {
        35.0
    } else {
        3.0
    };
    Fact {
        number,
        state: State::Ended {
            effective: outcome.measurement().map(|_| job.configuration.clone()),
            outcome,
            began: UtcMillis(number as i64 * 40_000),
            seconds,
            host: host.to_owned(),
            warnings: Vec::new(),
        },
        job,
    }
}

pub(super) fn open(number: u64, job: Job) -> Fact {
    Fact {
        number,
        job,
        state: State::Open,
    }
}

pub(super) fn measured(metrics: &[(&str, f64)]) -> Outcome {
    let metrics = metrics
        .iter()
        .map(|(name, value)| {
            (
                (*name).to_owned(),
                Estimate {
                    value: *value,
                    standard_error: Some(value * 0.01),
                },
            )
        })
        .collect();
    Outcome::Measured(Box::new(Measurement {
        metrics,
        window_seconds: 12.0,
        warmup_seconds: 5.0,
        steady: true,
        ended: EndOfMeasuring::Cap,
        debt: None,
        counters: BTreeMap::new(),
    }))
}

pub(super) fn refused(kind: CauseKind, variable: &str, text: &str) -> Outcome {
    let cause = Cause {
        kind,
        variable: Some(variable.to_owned()),
        value: None,
        text: text.to_owned(),
    };
    Outcome::ServerRefused { cause }
}

pub(super) fn crashed() -> Outcome {
    Outcome::Crashed {
        signal: Some(9),
        cause: Cause::new(CauseKind::Signal, "killed by signal 9"),
    }
}

pub(super) fn host_fault() -> Outcome {
    Outcome::HostFault {
        cause: Cause::new(CauseKind::DiskFull, "no space left on device"),
    }
}

/// Baseline 500; x = 3 is 1.8 times as fast; the rule of thumb 1.4 times.
pub(super) fn truth(x: i64) -> f64 {
    match x {
        0 => 500.0,
        3 => 900.0,
        100 => 700.0,
        _ => 500.0 + 20.0 * (x % 5) as f64,
    }
}

/// A noisy host that slows down in the course of the night.
pub(super) fn noisy(seed: u64, cv: f64) -> impl Fn(u64, &Job) -> Outcome {
    move |number, job| {
        let mut rng = ChaCha8Rng::seed_from_u64(seed.wrapping_mul(1000).wrapping_add(number));
        let noise: f64 = (0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0;
        let drift = 1.0 - 0.004 * number as f64;
        measured(&[("tps", truth(x_of(job)) * drift * (cv * noise).exp())])
    }
}

pub(super) fn purposes(facts: &Facts) -> Vec<&'static str> {
    facts.jobs.iter().map(|fact| fact.job.purpose.name()).collect()
}

pub(super) fn count(facts: &Facts, purpose: &str) -> usize {
    purposes(facts).iter().filter(|name| **name == purpose).count()
}
