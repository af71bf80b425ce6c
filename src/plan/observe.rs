//! Stored facts as the strategies see them.

use std::collections::BTreeSet;

use super::{Fact, Facts, Inputs, Purpose};
use crate::space::Configuration;
use crate::strategy::{Observation, Search, Seen};
use crate::study::Metrics;
use crate::trial::{Cause, CauseKind, Outcome};

/// Whether a trial says nothing about its configuration: a fault of the host, or a load that was set up wrongly.
pub(super) fn is_hidden(outcome: &Outcome) -> bool {
    outcome.is_host_fault() || cause(outcome).is_some_and(|cause| cause.kind == CauseKind::LoadSetup)
}

/// The cause of a failure, where the outcome has one.
pub(super) fn cause(outcome: &Outcome) -> Option<&Cause> {
    match outcome {
        Outcome::ServerRefused { cause }
        | Outcome::OutOfMemory { cause }
        | Outcome::LoadFailed { cause }
        | Outcome::HostFault { cause }
        | Outcome::Crashed { cause, .. } => Some(cause),
        Outcome::Measured(_) | Outcome::Rejected { .. } | Outcome::TimedOut { .. } => None,
    }
}

/// Whether the trial's purpose belongs to the search; confirmation runs are used for nothing else.
pub(super) fn is_search(purpose: Purpose) -> bool {
    matches!(
        purpose,
        Purpose::Baseline | Purpose::Start | Purpose::Explore | Purpose::Repeat { .. }
    )
}

/// Ended trials of the search that say something, in trial order; without those that the space of now does not hold.
pub(super) fn searched(facts: &Facts) -> impl Iterator<Item = (&Fact, &Outcome)> {
    searched_in(&facts.jobs).filter(|(fact, _)| !facts.past.left_out.contains_key(&fact.number))
}

/// Ended trials of the search among the jobs, whether the space of now holds them or not.
pub(super) fn searched_in(jobs: &[Fact]) -> impl Iterator<Item = (&Fact, &Outcome)> {
    jobs.iter()
        .filter(|fact| is_search(fact.job.purpose))
        .filter_map(|fact| Some((fact, fact.outcome()?)))
        .filter(|(_, outcome)| !is_hidden(outcome))
}

/// Means of the baseline's metrics over its measured runs before the search; empty before the first.
pub fn baseline_metrics(facts: &Facts) -> Metrics {
    mean_metrics(
        searched(facts)
            .filter(|(fact, _)| fact.job.purpose == Purpose::Baseline)
            .map(|(_, outcome)| outcome),
    )
}

/// Means of metrics over measured outcomes, each metric over those that have it.
pub(super) fn mean_metrics<'a>(outcomes: impl Iterator<Item = &'a Outcome>) -> Metrics {
    let mut sums: std::collections::BTreeMap<String, (f64, f64)> = std::collections::BTreeMap::new();
    for measurement in outcomes.filter_map(Outcome::measurement) {
        for (name, estimate) in &measurement.metrics {
            let sum = sums.entry(name.clone()).or_default();
            sum.0 += estimate.value;
            sum.1 += 1.0;
        }
    }
    sums.into_iter().map(|(name, (sum, n))| (name, sum / n)).collect()
}

/// What the strategy sees of the facts: baseline, start, explore and repeat trials with what came of them. Host faults
/// are hidden, and so are confirmation runs; a configuration that failed in its confirmation counts as failed. Of settled
/// facts, each is a configuration of the space of now.
pub fn observations(inputs: &Inputs<'_>, facts: &Facts) -> Vec<Observation> {
    let baseline = baseline_metrics(facts);
    let failed = failed_in_confirmation(facts);
    searched(facts)
        .filter_map(|(fact, outcome)| {
            let configuration = fact.configuration().clone();
            let seen = if failed.contains(&configuration.key()) {
                Seen::Failed
            } else if let Some(measurement) = outcome.measurement() {
                let estimate = inputs.objective.value(measurement)?;
                Seen::Measured {
                    value: estimate.value,
                    variance: estimate.standard_error.map(|error| error * error),
                    feasible: inputs.objective.feasible(measurement, &baseline),
                }
            } else {
                Seen::Failed
            };
            Some(Observation {
                trial: fact.number,
                configuration,
                seen,
                model: fact.job.model.clone(),
            })
        })
        .collect()
}

/// Configurations being measured right now for the search.
pub(super) fn pending(facts: &Facts) -> Vec<Configuration> {
    facts
        .jobs
        .iter()
        .filter(|fact| fact.outcome().is_none() && is_search(fact.job.purpose))
        .filter(|fact| !facts.past.left_out.contains_key(&fact.number))
        .map(|fact| fact.job.configuration.clone())
        .collect()
}

/// Keys of everything asked for or run so far, open jobs included: a proposal among them is no news.
pub(super) fn known_keys(facts: &Facts) -> BTreeSet<String> {
    facts
        .jobs
        .iter()
        .filter(|fact| is_search(fact.job.purpose))
        .filter(|fact| !fact.outcome().is_some_and(is_hidden))
        .flat_map(|fact| [fact.job.configuration.key(), fact.configuration().key()])
        .collect()
}

/// Keys of configurations that failed as the best of a confirmation.
fn failed_in_confirmation(facts: &Facts) -> BTreeSet<String> {
    facts
        .jobs
        .iter()
        .filter(|fact| {
            matches!(
                fact.job.purpose,
                Purpose::Pair {
                    arm: super::Arm::Best,
                    ..
                }
            )
        })
        .filter(|fact| {
            fact.outcome()
                .is_some_and(|outcome| outcome.is_candidate_failure() && !is_hidden(outcome))
        })
        .map(|fact| fact.job.configuration.key())
        .collect()
}

/// What a strategy is asked with.
pub(super) struct View {
    pub(super) observations: Vec<Observation>,
    pub(super) pending: Vec<Configuration>,
}

impl View {
    pub(super) fn new(inputs: &Inputs<'_>, facts: &Facts) -> Self {
        Self {
            observations: observations(inputs, facts),
            pending: pending(facts),
        }
    }

    pub(super) fn search<'a>(&'a self, inputs: &Inputs<'a>) -> Search<'a> {
        Search {
            space: inputs.space,
            goal: inputs.objective.goal(),
            observations: &self.observations,
            pending: &self.pending,
            seed: inputs.settings.seed,
        }
    }
}
