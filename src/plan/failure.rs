//! Failures counted and grouped by cause.

use std::collections::BTreeMap;

use serde::Serialize;

use super::observe::{cause, searched_in};
use super::{Fact, Facts};
use crate::strategy::TrialNumber;
use crate::trial::{Cause, CauseKind, Outcome, Phase};

/// Trials that failed alike.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FailureGroup {
    /// What failed: the outcome's word with the variable, or the first error with its values taken out.
    pub cause: String,
    /// The first error of the first of them, in full.
    pub example: String,
    /// The trials.
    pub trials: Vec<TrialNumber>,
}

/// Failures of candidates (the baseline included) grouped by cause, the most frequent first. A candidate that does not
/// serve the load's rate is none, nor is one that never started since the space changed while it was under way.
pub fn failures(facts: &Facts) -> Vec<FailureGroup> {
    let never_started = |fact: &Fact, outcome: &Outcome| {
        matches!(outcome, Outcome::Rejected { .. }) && facts.past.left_out.contains_key(&fact.number)
    };
    group(
        searched_in(&facts.jobs)
            .filter(|(fact, outcome)| {
                outcome.is_candidate_failure() && !outcome.is_censored() && !never_started(fact, outcome)
            })
            .map(|(f, o)| (f.number, o)),
    )
}

pub(super) fn group<'a>(failed: impl Iterator<Item = (TrialNumber, &'a Outcome)>) -> Vec<FailureGroup> {
    let mut groups: BTreeMap<String, FailureGroup> = BTreeMap::new();
    for (number, outcome) in failed {
        let example = outcome.reason().unwrap_or_default();
        groups
            .entry(group_key(outcome))
            .or_insert_with_key(|key| FailureGroup {
                cause: key.clone(),
                example,
                trials: Vec::new(),
            })
            .trials
            .push(number);
    }
    let mut groups: Vec<FailureGroup> = groups.into_values().collect();
    groups.sort_by_key(|group| std::cmp::Reverse(group.trials.len()));
    groups
}

/// What makes two failures alike: outcome and variable where one is named, else the first error without its numbers.
fn group_key(outcome: &Outcome) -> String {
    let word = outcome.name();
    match (outcome, cause(outcome)) {
        (Outcome::TimedOut { phase }, _) => format!("{word} in {phase}"),
        (
            _,
            Some(Cause {
                kind,
                variable: Some(variable),
                ..
            }),
        ) => {
            format!("{word}: {} {variable}", kind_words(*kind))
        }
        _ => {
            let reason = outcome.reason().unwrap_or_default();
            let line = reason.lines().next().unwrap_or_default();
            let plain: String = line
                .chars()
                .map(|c| if c.is_ascii_digit() { '#' } else { c })
                .collect();
            let mut short = String::new();
            for c in plain.chars() {
                if c != '#' || !short.ends_with('#') {
                    short.push(c);
                }
            }
            format!("{word}: {short}")
        }
    }
}

fn kind_words(kind: CauseKind) -> &'static str {
    match kind {
        CauseKind::UnknownVariable => "unknown variable",
        CauseKind::BadValue => "bad value of",
        CauseKind::NotApplied => "not applied:",
        CauseKind::Geometry => "other geometry by",
        CauseKind::Memory => "memory, by",
        CauseKind::DiskFull => "disk full, by",
        _ => "because of",
    }
}

/// The failures table for people, one line a group.
pub fn failure_table(groups: &[FailureGroup]) -> String {
    groups
        .iter()
        .map(|group| {
            let trials: Vec<String> = group.trials.iter().map(u64::to_string).collect();
            format!(
                "{:>4} x {} (trials {})\n         e.g. {}",
                group.trials.len(),
                group.cause,
                trials.join(", "),
                group.example
            )
        })
        .collect::<Vec<_>>()
        .join("\n")
}

/// Whether the same configuration would fail the same way again, so that another attempt is no use.
pub(super) fn is_certain(outcome: &Outcome) -> bool {
    match outcome {
        Outcome::Rejected { .. } => true,
        Outcome::ServerRefused { cause } => matches!(
            cause.kind,
            CauseKind::UnknownVariable
                | CauseKind::BadValue
                | CauseKind::NotApplied
                | CauseKind::Geometry
                | CauseKind::Memory
        ),
        Outcome::TimedOut { phase } => *phase == Phase::Check,
        _ => false,
    }
}
