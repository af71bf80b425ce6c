use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;
use crate::plan::{Arm, Design, Fact, Facts, Job, Length, NoDifference, Purpose, RunNoise, Standing, State};
use crate::space::Configuration;
use crate::stats::{Estimate, Interval};
use crate::strategy::Goal;
use crate::study::{Objective, ObjectiveSpec};
use crate::trial::{
    Cause, CauseKind, EndOfMeasuring, Measurement, Outcome, Phase, PhaseTime, TrialRecord, Warning, WriteDebt,
};
use crate::units::UtcMillis;

const POOL: &str = "innodb_buffer_pool_size";

fn configuration(pool: i64) -> Configuration {
    let mut configuration = Configuration::new();
    configuration.set(POOL, pool << 20);
    configuration
}

fn measured(tps: f64) -> Outcome {
    Outcome::Measured(Box::new(Measurement {
        metrics: BTreeMap::from([(
            "tps".to_owned(),
            Estimate {
                value: tps,
                standard_error: Some(3.5),
            },
        )]),
        window_seconds: 20.0,
        warmup_seconds: 5.0,
        steady: true,
        ended: EndOfMeasuring::Cap,
        debt: Some(WriteDebt {
            growth_bytes: 1e6,
            flush_bytes_per_second: 1e6,
            seconds: 1.0,
        }),
        counters: BTreeMap::new(),
    }))
}

fn refused(variable: &str) -> Outcome {
    let mut cause = Cause::new(CauseKind::BadValue, format!("{variable} is too large"));
    cause.variable = Some(variable.to_owned());
    cause.value = Some("9".to_owned());
    Outcome::ServerRefused { cause }
}

fn fact(number: u64, purpose: Purpose, pool: i64, outcome: Option<Outcome>) -> Fact {
    Fact {
        number,
        job: Job {
            purpose,
            configuration: configuration(pool),
            length: Length {
                warmup_cap: 10.0,
                measure_min: 10.0,
                measure_max: 20.0,
            },
            why: "expected improvement".to_owned(),
            model: None,
            host: None,
            forgives: 0,
        },
        state: match outcome {
            None => State::Open,
            Some(outcome) => State::Ended {
                outcome,
                effective: Some(configuration(pool)),
                began: UtcMillis(1_000_000),
                seconds: 30.0,
                host: "h".to_owned(),
                warnings: vec![Warning {
                    text: "swap is on".to_owned(),
                    next: Some("swapoff -a".to_owned()),
                }],
            },
        },
    }
}

fn study() -> Facts {
    let pair = |block, arm| Purpose::Pair { block, arm };
    Facts {
        jobs: vec![
            fact(1, Purpose::Baseline, 128, Some(measured(100.0))),
            fact(2, Purpose::Baseline, 128, Some(measured(110.0))),
            fact(3, Purpose::Explore, 512, Some(measured(210.0))),
            fact(4, Purpose::Explore, 9000, Some(refused("a"))),
            fact(5, Purpose::Explore, 9001, Some(refused("b"))),
            fact(6, Purpose::Explore, 9002, Some(refused("b"))),
            fact(7, pair(1, Arm::Baseline), 128, Some(measured(100.0))),
            fact(8, pair(1, Arm::Best), 512, Some(measured(200.0))),
            fact(9, pair(2, Arm::Best), 512, None),
        ],
        ..Facts::default()
    }
}

fn times(number: u64, measure: f64) -> (u64, Vec<PhaseTime>) {
    let time = |phase, seconds| PhaseTime {
        phase,
        began: UtcMillis(0),
        seconds,
    };
    (
        number,
        vec![
            time(Phase::Reset, 1.0),
            time(Phase::Start, 2.0),
            time(Phase::Measure, measure),
            time(Phase::Stop, 0.5),
        ],
    )
}

fn objective(goal: Goal) -> Objective {
    let spec = ObjectiveSpec {
        metric: "tps".to_owned(),
        goal,
    };
    Objective::new(&spec, &[]).unwrap()
}

fn seen(facts: &Facts, conclusion: &Conclusion) -> View {
    let phases: Vec<_> = facts
        .jobs
        .iter()
        .map(|fact| times(fact.number, 20.0 + fact.number as f64))
        .collect();
    view(&Input {
        study: "quick",
        objective: &objective(Goal::Maximize),
        facts,
        phases: &phases,
        conclusion,
        noise: Some(RunNoise { cv: 0.067, df: 1.0 }),
        sizes: &BTreeSet::from([POOL.to_owned()]),
        importance: None,
    })
}

fn conclusion() -> Conclusion {
    Conclusion {
        burst: None,
        text: "The best configuration is faster.".to_owned(),
        over_baseline: Some(Interval {
            point: 2.0,
            low: 1.8,
            high: 2.2,
            level: 0.95,
        }),
        over_rule_of_thumb: None,
        best: Some(3),
        compared: Some(3),
        no_difference: None,
    }
}

#[test]
fn configurations_are_ranked_by_the_mean_of_their_runs_outside_the_confirmation() {
    let view = seen(&study(), &conclusion());
    let rows: Vec<(&[u64], f64)> = view
        .configurations
        .iter()
        .map(|row| (row.trials.as_slice(), row.mean))
        .collect();
    assert_eq!(rows, [(&[3][..], 210.0), (&[1, 2][..], 105.0)]);
    assert_eq!(view.configurations[0].over_baseline, Some(2.0));
    assert_eq!(view.baseline, Some(105.0));
}

#[test]
fn what_is_only_believed_is_called_so() {
    let mut standing = Standing {
        trial: 3,
        configuration: configuration(512),
        value: 210.0,
        ratio: Some(Interval {
            point: 2.0,
            low: 1.5,
            high: 2.6,
            level: 0.95,
        }),
        is_baseline: false,
    };
    let told = Conclusion::believed(Some(&standing));
    assert!(
        told.text
            .contains("× 2.00 (1.50 to 2.60) against the baseline, not confirmed"),
        "{}",
        told.text
    );
    assert_eq!((told.best, told.over_baseline), (Some(3), None));
    standing.is_baseline = true;
    assert!(
        Conclusion::believed(Some(&standing))
            .text
            .contains("the baseline is believed best")
    );
    assert_eq!(Conclusion::believed(None).best, None);
}

#[test]
fn fixed_overhead_is_everything_but_warm_up_and_measuring_of_measured_trials() {
    let view = seen(&study(), &conclusion());
    assert_eq!(view.overhead, Some(3.5));
    let measure = view
        .phases
        .iter()
        .find(|row| row.phase == Phase::Measure)
        .unwrap();
    assert_eq!((measure.trials, measure.median), (9, 25.0));
}

#[test]
fn a_smaller_value_is_better_where_the_goal_is_to_minimise() {
    let facts = study();
    let view = view(&Input {
        study: "latency",
        objective: &objective(Goal::Minimize),
        facts: &facts,
        phases: &[],
        conclusion: &Conclusion::default(),
        noise: None,
        sizes: &BTreeSet::new(),
        importance: None,
    });
    assert_eq!(view.configurations[0].mean, 105.0);
    assert_eq!(view.configurations[1].over_baseline, Some(0.5));
    assert_eq!(view.blocks[0].ratio(Arm::Baseline, Goal::Minimize), Some(0.5));
}

#[test]
fn the_text_tells_headline_changes_blocks_best_failures_time_and_warnings() {
    let text = text(&seen(&study(), &conclusion()));
    for expected in [
        "Study quick: tps, begun 1970-01-01T00:16:40.000Z\n",
        "best against the baseline       × 2.00 (95 % interval 1.80 to 2.20)\n",
        "best against the rule of thumb  not measurable\n",
        "run noise                       6.7 % between runs of one configuration (1 degree of freedom)\n",
        "8 ended in 4 min: 5 measured, 3 failed, 0 host faults; 1 open\n",
        "  innodb_buffer_pool_size      128M  512M\n",
        "      1             100             200             2.00\n",
        "      2  not measurable",
        "write debt 5.0 % of the window",
        "      2  refused: bad value of b  5, 6    b is too large\n",
        "fixed overhead per trial (all but warm-up and measure), median: 3.50 s\n",
        "  swap is on (8 trials)\n    next: swapoff -a\n",
    ] {
        assert!(text.contains(expected), "{expected:?} in\n{text}");
    }
}

#[test]
fn blocks_of_several_confirmations_name_the_trial_whose_configuration_was_confirmed() {
    let mut facts = study();
    for (index, trial) in [(6, 3), (7, 3), (8, 5)] {
        let design = Design {
            first_block: 1,
            blocks: 1,
            arms: Vec::new(),
            trial,
            noise: 0.05,
            budget_seconds: 900.0,
            max_trials: None,
            length: None,
        };
        facts.jobs[index].job.model = serde_json::to_value(design).ok();
    }
    let view = seen(&facts, &conclusion());
    let text = text(&view);
    assert!(
        text.contains("block  best of trial") && text.contains("\n      2              5"),
        "{text}"
    );
    assert_eq!(json(&view)["blocks"][1]["best_trial"], 5);
}

#[test]
fn trials_that_are_left_out_are_told_and_are_not_among_the_best() {
    let mut facts = study();
    facts.past.left_out.insert(3, "a knob was taken out".to_owned());
    let view = seen(&facts, &conclusion());
    assert!(view.configurations.iter().all(|row| row.trials != [3]));
    let text = text(&view);
    assert!(
        text.contains("1 earlier trial is left out of the search: a knob was taken out (3)\n"),
        "{text}"
    );
    assert_eq!(json(&view)["left_out"][0]["trials"][0], 3);
}

#[test]
fn what_was_compared_and_is_not_recommended_is_shown_as_that() {
    let conclusion = Conclusion {
        best: None,
        no_difference: Some(NoDifference {
            configurations: 9,
            spread: 0.01,
            run_noise: 0.02,
            limits: vec!["the disk".to_owned()],
        }),
        ..conclusion()
    };
    let view = seen(&study(), &conclusion);
    let text = text(&view);
    assert!(
        text.contains("that was compared (trial 3) changes; it is not recommended\n")
            && text.contains("128M"),
        "{text}"
    );
    let json = json(&view);
    assert!(json["best_trial"].is_null());
    assert_eq!(json["compared_trial"], 3);
    assert_eq!(json["no_difference"]["limits"][0], "the disk");
}

#[test]
fn an_empty_study_has_a_report() {
    let view = seen(&Facts::default(), &Conclusion::default());
    assert!(text(&view).contains("0 ended"));
    assert_eq!(json(&view)["baseline"], serde_json::Value::Null);
}

#[test]
fn the_json_has_a_format_number_and_null_for_what_cannot_be_told() {
    let json = json(&seen(&study(), &conclusion()));
    assert_eq!(json["format"], 1);
    assert_eq!(json["over_baseline"]["low"], 1.8);
    assert!(json["over_rule_of_thumb"].is_null());
    assert_eq!(json["blocks"][0]["over_baseline"], 2.0);
    assert!(json["blocks"][1]["best"].is_null());
    assert_eq!(json["changes"][0]["to"], 512_i64 << 20);
    assert_eq!(json["trials"]["measured"], 5);
}

fn record(outcome: Outcome) -> TrialRecord {
    TrialRecord {
        outcome,
        effective: Some(configuration(512)),
        began: UtcMillis(0),
        seconds: 31.0,
        phases: times(3, 20.0).1,
        series: vec![],
        warnings: vec![Warning {
            text: "a value was rounded".to_owned(),
            next: None,
        }],
    }
}

#[test]
fn a_trial_is_explained_with_reason_changes_metrics_phases_and_warnings() {
    let fact = fact(3, Purpose::Repeat { of: 2 }, 512, Some(measured(210.0)));
    let record = record(measured(210.0));
    let baseline = configuration(128);
    let sizes = BTreeSet::from([POOL.to_owned()]);
    let trial = Explained {
        fact: &fact,
        record: Some(&record),
        baseline: Some(&baseline),
        sizes: &sizes,
    };
    let text = explain(&trial);
    for expected in [
        "Trial 3: repeat of trial 2\n",
        "  why       expected improvement\n",
        "innodb_buffer_pool_size      128M        512M\n",
        "  tps       210          ± 3.50\n",
        "write debt: 1.0 s of writing postponed past the window (5.0 % of it)",
        "  measure  20.00 s\n",
        "  a value was rounded\n",
    ] {
        assert!(text.contains(expected), "{expected:?} in\n{text}");
    }
    let json = explain_json(&trial);
    assert_eq!(json["metrics"]["tps"]["value"], 210.0);
    assert_eq!(json["purpose"]["of"], 2);
}

#[test]
fn a_refused_trial_is_explained_with_the_variable_at_fault() {
    let fact = fact(4, Purpose::Explore, 512, Some(refused("a")));
    let record = record(refused("a"));
    let trial = Explained {
        fact: &fact,
        record: Some(&record),
        baseline: None,
        sizes: &BTreeSet::new(),
    };
    let text = explain(&trial);
    assert!(
        text.contains("refused: a is too large\n") && text.contains("variable  a = 9\n"),
        "{text}"
    );
}

proptest! {
    #[test]
    fn no_report_holds_a_number_that_is_not_finite(
        values in proptest::collection::vec(any::<f64>(), 1..8),
        interval in any::<[f64; 3]>(),
    ) {
        let mut facts = study();
        for (fact, value) in facts.jobs.iter_mut().zip(&values) {
            if let State::Ended { outcome: Outcome::Measured(measurement), .. } = &mut fact.state {
                measurement.window_seconds = *value;
                measurement.metrics.insert("tps".to_owned(), Estimate { value: *value, standard_error: Some(*value) });
            }
        }
        let [point, low, high] = interval;
        let conclusion = Conclusion {
            over_baseline: Some(Interval { point, low, high, level: 0.95 }),
            text: String::new(),
            ..conclusion()
        };
        let view = seen(&facts, &conclusion);
        let mut all = text(&view) + &json(&view).to_string();
        for fact in &facts.jobs {
            let record = fact.outcome().map(|outcome| record(outcome.clone()));
            let sizes = BTreeSet::new();
            let trial = Explained { fact, record: record.as_ref(), baseline: None, sizes: &sizes };
            all += &explain(&trial);
            all += &explain_json(&trial).to_string();
        }
        prop_assert!(!all.contains("NaN"));
        prop_assert!(!all.split(|c: char| !c.is_alphanumeric()).any(|word| word == "inf"), "{}", all);
    }
}
