//! Failures that end a study before its budget is used, and when they are forgiven.

use super::blame::streaks;
use super::budget::BASELINES;
use super::failure::{group, is_certain};
use super::observe::{cause, is_hidden, searched_in};
use super::{Arm, Design, Fact, Facts, Inputs, Purpose, VerdictKind};
use crate::strategy::TrialNumber;
use crate::trial::CauseKind;

/// Faults of the host in a row that end the study.
const HOST_FAULTS: usize = 3;
/// Failed attempts at the baseline that end the study.
const BASELINE_ATTEMPTS: usize = 3;
/// Failures of the baseline that end a confirmation.
const BASELINE_FAILURES: usize = 3;
/// Failures with the same first error, and nothing measured, that end the search.
const SAME_FAILURES: usize = 5;

/// Up to which trial failures that ended the study are forgiven: by whoever asks, or because the study was run again
/// after it had ended so, which every job begun since then tells. Whoever reads the facts sees the same, whatever clocks
/// said.
pub(super) fn forgiven(inputs: &Inputs<'_>, facts: &Facts) -> TrialNumber {
    let told = facts.jobs.iter().map(|fact| fact.job.forgives);
    told.max().unwrap_or(0).max(inputs.forgiven)
}

/// The fault that ends the study now: a load that is set up wrongly, the host failing three times in a row, or failing
/// with the baseline, too, after it failed twice with another configuration.
pub(super) fn host_problem(
    inputs: &Inputs<'_>,
    jobs: &[Fact],
    forgiven: TrialNumber,
) -> Option<(VerdictKind, TrialNumber, String)> {
    let ended: Vec<_> = jobs
        .iter()
        .filter(|fact| fact.number > forgiven)
        .filter_map(|fact| Some((fact.number, fact.outcome()?)))
        .collect();
    let in_a_row = ended
        .iter()
        .rev()
        .take_while(|(_, outcome)| is_hidden(outcome))
        .count();
    let setup = ended
        .iter()
        .find(|(_, o)| cause(o).is_some_and(|cause| cause.kind == CauseKind::LoadSetup));
    let failed_probe = streaks(inputs, jobs)
        .iter()
        .filter_map(|streak| streak.probe)
        .filter(|probe| probe.number > forgiven)
        .find_map(|probe| {
            let outcome = probe.outcome()?;
            outcome.measurement().is_none().then_some((probe.number, outcome))
        });
    let (kind, (number, outcome)) = match (setup, failed_probe) {
        (Some(found), _) => (VerdictKind::LoadSetup, *found),
        (None, Some(probe)) => (VerdictKind::HostProblem, probe),
        (None, None) if in_a_row >= HOST_FAULTS => (VerdictKind::HostProblem, *ended.last()?),
        (None, None) => return None,
    };
    Some((kind, number, outcome.reason().unwrap_or_default()))
}

/// Why the baseline counts as failed: at once where it would fail the same way again, else after three attempts. None
/// where it was measured often enough.
pub(super) fn baseline_failed(jobs: &[Fact], forgiven: TrialNumber) -> Option<String> {
    let runs = || jobs.iter().filter(|fact| fact.job.purpose == Purpose::Baseline);
    let measured = measured(jobs);
    if measured >= BASELINES {
        return None;
    }
    let failed: Vec<_> = runs()
        .filter(|fact| fact.number > forgiven)
        .filter_map(|fact| Some((fact.number, fact.outcome()?)))
        .filter(|(_, outcome)| outcome.is_candidate_failure() && !is_hidden(outcome))
        .collect();
    let certain = measured == 0 && failed.iter().any(|(_, outcome)| is_certain(outcome));
    let (number, outcome) = failed.first()?;
    (certain || failed.len() >= BASELINE_ATTEMPTS)
        .then(|| format!("trial {number}: {}", outcome.reason().unwrap_or_default()))
}

/// Whether the baseline, which ran before the search, fails again and again in the newest confirmation.
pub(super) fn confirmation_failed(jobs: &[Fact], forgiven: TrialNumber) -> bool {
    let pairs = || {
        jobs.iter().rev().filter_map(|fact| match fact.job.purpose {
            Purpose::Pair { block, arm } => Some((block, arm, fact)),
            _ => None,
        })
    };
    let design = pairs().next().and_then(|(_, _, newest)| {
        let design = newest.job.model.clone()?;
        serde_json::from_value::<Design>(design).ok()
    });
    let Some(design) = design else { return false };
    pairs()
        .take_while(|(block, _, _)| *block >= design.first_block)
        .filter(|(_, arm, fact)| *arm == Arm::Baseline && fact.number > forgiven)
        .filter_map(|(_, _, fact)| fact.outcome())
        .filter(|outcome| outcome.is_candidate_failure() && !is_hidden(outcome))
        .nth(BASELINE_FAILURES - 1)
        .is_some()
}

/// Measured runs of the baseline.
pub(super) fn measured(jobs: &[Fact]) -> usize {
    jobs.iter()
        .filter(|fact| fact.job.purpose == Purpose::Baseline)
        .filter(|fact| {
            fact.outcome()
                .is_some_and(|outcome| outcome.measurement().is_some())
        })
        .count()
}

/// Whether candidates fail alike again and again, and none was ever measured.
pub(super) fn hopeless(jobs: &[Fact], forgiven: TrialNumber) -> bool {
    let candidates = || searched_in(jobs).filter(|(fact, _)| fact.job.purpose != Purpose::Baseline);
    candidates().all(|(_, outcome)| outcome.is_candidate_failure())
        && group(
            candidates()
                .filter(|(fact, _)| fact.number > forgiven)
                .map(|(fact, outcome)| (fact.number, outcome)),
        )
        .first()
        .is_some_and(|group| group.trials.len() >= SAME_FAILURES)
}
