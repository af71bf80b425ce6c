//! The numbers of a report, typed, from stored facts alone.

use std::collections::{BTreeMap, BTreeSet};

use super::{Conclusion, importance};
use crate::plan::{Arm, Design, Fact, Facts, FailureGroup, LeftOut, Purpose, RunNoise, State, failures};
use crate::space::{Configuration, Value};
use crate::strategy::{Goal, Importance, TrialNumber};
use crate::study::Objective;
use crate::trial::{Measurement, Outcome, Phase, PhaseTime, Warning};
use crate::units::UtcMillis;

/// Everything a report is made of.
#[derive(Clone, Copy)]
pub struct Input<'a> {
    /// Name of the study.
    pub study: &'a str,
    /// What is optimised.
    pub objective: &'a Objective,
    /// The stored facts, settled.
    pub facts: &'a Facts,
    /// Phase times of ended trials.
    pub phases: &'a [(TrialNumber, Vec<PhaseTime>)],
    /// What the plan concluded, or believes so far.
    pub conclusion: &'a Conclusion,
    /// Run noise of the search, where it is known.
    pub noise: Option<RunNoise>,
    /// Knobs whose whole numbers are sizes in bytes.
    pub sizes: &'a BTreeSet<String>,
    /// What the knobs do; none where nobody asked.
    pub importance: Option<&'a Importance>,
}

/// How many trials there are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Ended.
    pub ended: u64,
    /// Measured.
    pub measured: u64,
    /// Failed by the candidate's own fault.
    pub failed: u64,
    /// Not measured since the candidate does not serve the load's rate.
    pub censored: u64,
    /// Failed by the host's fault.
    pub host_faults: u64,
    /// Not ended.
    pub open: u64,
}

/// All runs of one configuration outside the confirmation.
#[derive(Debug, Clone, PartialEq)]
pub struct ConfigurationRow {
    /// Trials that ran it, ascending; never empty.
    pub trials: Vec<TrialNumber>,
    /// What the first of them was for.
    pub purpose: Purpose,
    /// Mean of the objective; finite.
    pub mean: f64,
    /// Ratio to the mean of the baseline, above 1 is better; none without a measured baseline.
    pub over_baseline: Option<f64>,
    /// Whether every run was steady when measuring began.
    pub steady: bool,
    /// Largest share of the window that postponed writes would add; none without write debt.
    pub debt_share: Option<f64>,
    /// The configuration.
    pub configuration: Configuration,
}

/// Where the time went: one phase.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PhaseRow {
    /// The phase.
    pub phase: Phase,
    /// In how many trials it ran.
    pub trials: usize,
    /// Median seconds.
    pub median: f64,
    /// Seconds in all.
    pub total: f64,
}

/// One block of the confirmation.
#[derive(Debug, Clone, PartialEq)]
pub struct BlockRow {
    /// The block, from 1.
    pub block: u32,
    /// The trial that found the configuration which is confirmed here; none where that is not stored.
    pub best_trial: Option<TrialNumber>,
    /// The objective of each arm; none where the run failed or is open.
    pub arms: BTreeMap<Arm, Option<f64>>,
}

impl BlockRow {
    /// Ratio of the best to `arm` in this block, oriented so that above 1 is better.
    pub fn ratio(&self, arm: Arm, goal: Goal) -> Option<f64> {
        let value = |arm| self.arms.get(&arm).copied().flatten();
        better_ratio(value(Arm::Best)?, value(arm)?, goal)
    }
}

/// One knob of the best configuration that differs from the baseline.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// The knob.
    pub knob: String,
    /// Its value in the baseline; none where it is inactive there.
    pub from: Option<Value>,
    /// Its value now; none where it is inactive.
    pub to: Option<Value>,
}

/// The numbers of a report. Every number is finite.
#[derive(Debug, Clone, PartialEq)]
pub struct View {
    /// Name of the study.
    pub study: String,
    /// Name of the objective.
    pub metric: String,
    /// Which way is better.
    pub goal: Goal,
    /// What the plan concluded.
    pub conclusion: Conclusion,
    /// How many trials.
    pub counts: Counts,
    /// Seconds spent in trials.
    pub seconds: f64,
    /// When the first trial began (UTC); none before it ended.
    pub began: Option<UtcMillis>,
    /// Configurations measured outside the confirmation, best first.
    pub configurations: Vec<ConfigurationRow>,
    /// Mean of the baseline outside the confirmation; none before it was measured.
    pub baseline: Option<f64>,
    /// Trials that the space of now does not hold, by cause.
    pub left_out: Vec<LeftOut>,
    /// Failures of candidates by cause, most frequent first.
    pub failures: Vec<FailureGroup>,
    /// Phases in order.
    pub phases: Vec<PhaseRow>,
    /// Median seconds per trial outside warm-up and measuring, over measured trials; none without one.
    pub overhead: Option<f64>,
    /// Noise between runs; none where no configuration was measured twice.
    pub noise: Option<RunNoise>,
    /// Blocks of the confirmation.
    pub blocks: Vec<BlockRow>,
    /// What the best configuration changes, by knob; where none is recommended, what the one compared changes.
    pub changes: Vec<Change>,
    /// Warnings of trials with the number of trials that gave each, most frequent first.
    pub warnings: Vec<(Warning, usize)>,
    /// Knobs whose whole numbers are sizes in bytes.
    pub sizes: BTreeSet<String>,
    /// What the knobs do; none where nobody asked.
    pub importance: Option<Importance>,
}

/// The numbers of a report.
pub fn view(input: &Input<'_>) -> View {
    let Input { objective, facts, .. } = *input;
    let baseline_configuration = facts
        .jobs
        .iter()
        .filter(|fact| fact.job.purpose == Purpose::Baseline)
        .max_by_key(|fact| matches!(fact.outcome(), Some(Outcome::Measured(_))))
        .map(Fact::configuration);
    let (configurations, baseline) = configurations(facts, objective);
    let changes = input
        .conclusion
        .best
        .or(input.conclusion.compared)
        .and_then(|best| facts.jobs.iter().find(|fact| fact.number == best))
        .zip(baseline_configuration)
        .map(|(best, baseline)| changes(baseline, best.configuration()))
        .unwrap_or_default();
    View {
        study: input.study.to_owned(),
        metric: objective.name().to_owned(),
        goal: objective.goal(),
        conclusion: input.conclusion.clone(),
        counts: counts(facts),
        seconds: facts.seconds(),
        began: facts.jobs.iter().find_map(|fact| match fact.state {
            State::Ended { began, .. } => Some(began),
            State::Open => None,
        }),
        configurations,
        baseline,
        left_out: facts.left_out(),
        failures: failures(facts),
        phases: phases(input.phases),
        overhead: overhead(facts, input.phases),
        noise: input.noise.filter(|noise| noise.cv.is_finite()),
        blocks: blocks(facts, objective),
        changes,
        warnings: warnings(facts),
        sizes: input.sizes.clone(),
        importance: importance::concluded(input),
    }
}

/// What `to` changes of `from`, by knob.
pub(super) fn changes(from: &Configuration, to: &Configuration) -> Vec<Change> {
    let knobs: BTreeSet<&str> = from.iter().chain(to.iter()).map(|(knob, _)| knob).collect();
    knobs
        .into_iter()
        .filter(|knob| from.get(knob) != to.get(knob))
        .map(|knob| Change {
            knob: knob.to_owned(),
            from: from.get(knob).cloned(),
            to: to.get(knob).cloned(),
        })
        .collect()
}

/// Ratio of `value` to `reference` turned so that above 1 is better; none where it is no finite positive number.
fn better_ratio(value: f64, reference: f64, goal: Goal) -> Option<f64> {
    let ratio = match goal {
        Goal::Maximize => value / reference,
        Goal::Minimize => reference / value,
    };
    (ratio.is_finite() && ratio > 0.0).then_some(ratio)
}

fn measured<'a>(fact: &'a Fact, objective: &Objective) -> Option<(&'a Measurement, f64)> {
    let measurement = fact.outcome()?.measurement()?;
    let value = objective.value(measurement)?.value;
    value.is_finite().then_some((measurement, value))
}

fn counts(facts: &Facts) -> Counts {
    let mut counts = Counts::default();
    for fact in &facts.jobs {
        match fact.outcome() {
            None => counts.open += 1,
            Some(outcome) => {
                counts.ended += 1;
                match outcome {
                    Outcome::Measured(_) => counts.measured += 1,
                    other if other.is_host_fault() => counts.host_faults += 1,
                    other if other.is_censored() => counts.censored += 1,
                    _ => counts.failed += 1,
                }
            }
        }
    }
    counts
}

/// Configurations best first, and the mean of the baseline.
fn configurations(facts: &Facts, objective: &Objective) -> (Vec<ConfigurationRow>, Option<f64>) {
    let mut groups: BTreeMap<String, Vec<(&Fact, &Measurement, f64)>> = BTreeMap::new();
    for fact in &facts.jobs {
        if matches!(fact.job.purpose, Purpose::Pair { .. } | Purpose::Final)
            || facts.past.left_out.contains_key(&fact.number)
        {
            continue;
        }
        if let Some((measurement, value)) = measured(fact, objective) {
            let key = fact.configuration().key();
            groups.entry(key).or_default().push((fact, measurement, value));
        }
    }
    let mut rows = Vec::new();
    for runs in groups.values() {
        let values: Vec<f64> = runs.iter().map(|(_, _, value)| *value).collect();
        rows.push(ConfigurationRow {
            trials: runs.iter().map(|(fact, _, _)| fact.number).collect(),
            purpose: runs[0].0.job.purpose,
            mean: mean(&values),
            over_baseline: None,
            steady: runs.iter().all(|(_, measurement, _)| measurement.steady),
            debt_share: runs
                .iter()
                .filter_map(|(_, m, _)| m.debt.map(|debt| debt.seconds / m.window_seconds))
                .filter(|share| share.is_finite())
                .reduce(f64::max),
            configuration: runs[0].0.configuration().clone(),
        });
    }
    let baselines: Vec<f64> = facts
        .jobs
        .iter()
        .filter(|fact| fact.job.purpose == Purpose::Baseline)
        .filter_map(|fact| measured(fact, objective))
        .map(|(_, value)| value)
        .collect();
    let baseline = (!baselines.is_empty()).then(|| mean(&baselines));
    for row in &mut rows {
        row.over_baseline = baseline.and_then(|baseline| better_ratio(row.mean, baseline, objective.goal()));
    }
    rows.sort_by(|a, b| {
        let oriented = |row: &ConfigurationRow| objective.goal().oriented(row.mean);
        oriented(b).total_cmp(&oriented(a)).then(a.trials.cmp(&b.trials))
    });
    (rows, baseline)
}

/// Mean of a non-empty list of finite numbers; finite, since it is summed by shares.
fn mean(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    values.iter().map(|value| value / n).sum()
}

/// Median; none of an empty list.
pub(super) fn median(values: &[f64]) -> Option<f64> {
    let mut sorted: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        n if n % 2 == 1 => Some(sorted[middle]),
        _ => Some(sorted[middle - 1] / 2.0 + sorted[middle] / 2.0),
    }
}

fn phases(trials: &[(TrialNumber, Vec<PhaseTime>)]) -> Vec<PhaseRow> {
    Phase::ALL
        .into_iter()
        .filter_map(|phase| {
            let seconds: Vec<f64> = trials
                .iter()
                .flat_map(|(_, times)| times)
                .filter(|time| time.phase == phase && time.seconds.is_finite())
                .map(|time| time.seconds)
                .collect();
            Some(PhaseRow {
                phase,
                trials: seconds.len(),
                median: median(&seconds)?,
                total: seconds.iter().sum(),
            })
        })
        .collect()
}

/// Median over measured trials of the time outside warm-up and measuring: a trial that ended early says nothing of it.
fn overhead(facts: &Facts, trials: &[(TrialNumber, Vec<PhaseTime>)]) -> Option<f64> {
    let measured: BTreeSet<TrialNumber> = facts
        .jobs
        .iter()
        .filter(|fact| {
            fact.outcome()
                .is_some_and(|outcome| outcome.measurement().is_some())
        })
        .map(|fact| fact.number)
        .collect();
    let fixed: Vec<f64> = trials
        .iter()
        .filter(|(number, times)| measured.contains(number) && !times.is_empty())
        .map(|(_, times)| {
            times
                .iter()
                .filter(|time| !matches!(time.phase, Phase::WarmUp | Phase::Measure))
                .map(|time| time.seconds)
                .sum()
        })
        .collect();
    median(&fixed)
}

fn blocks(facts: &Facts, objective: &Objective) -> Vec<BlockRow> {
    let mut blocks: BTreeMap<u32, BlockRow> = BTreeMap::new();
    for fact in &facts.jobs {
        if let Purpose::Pair { block, arm } = fact.job.purpose {
            let value = measured(fact, objective).map(|(_, value)| value);
            let row = blocks.entry(block).or_insert_with(|| BlockRow {
                block,
                best_trial: fact
                    .job
                    .model
                    .clone()
                    .and_then(|design| serde_json::from_value::<Design>(design).ok())
                    .map(|design| design.trial),
                arms: BTreeMap::new(),
            });
            let entry = row.arms.entry(arm).or_insert(None);
            // A run repeated after a host fault: the one that was measured counts.
            *entry = value.or(*entry);
        }
    }
    blocks.into_values().collect()
}

fn warnings(facts: &Facts) -> Vec<(Warning, usize)> {
    let mut found: Vec<(Warning, usize)> = Vec::new();
    for fact in &facts.jobs {
        let State::Ended { warnings, .. } = &fact.state else {
            continue;
        };
        for warning in warnings {
            match found.iter_mut().find(|(known, _)| known == warning) {
                Some((_, count)) => *count += 1,
                None => found.push((warning.clone(), 1)),
            }
        }
    }
    found.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    found
}
