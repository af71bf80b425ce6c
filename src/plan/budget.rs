//! Time: what was used, what a trial is expected to take, and what is kept for the confirmation.

use super::blame::settled;
use super::confirm::{self, Stand};
use super::ending::measured;
use super::observe::{is_hidden, is_search, searched};
use super::{Arm, Fact, Facts, Inputs, Length, Purpose, State};
use crate::study::{self, MIN_BLOCKS};

/// Measured runs of the baseline before the search.
pub(super) const BASELINES: usize = study::BASELINES as usize;
/// Trials whose length tells what the next one takes: the newest ones.
const RECENT: usize = 9;

/// What a trial of the search takes, in seconds: the median of the newest measured ones, or what the study expects
/// before any was measured.
pub fn expected_seconds(inputs: &Inputs<'_>, facts: &Facts) -> f64 {
    let is_search = |fact: &Fact| is_search(fact.job.purpose);
    median_recent(facts, is_search, Fact::seconds).unwrap_or(inputs.settings.trial_seconds)
}

/// What a confirmation run of a length takes, in seconds: the median of the newest measured ones of that length; before any
/// was measured as long as a trial of the search, but for its window.
pub(super) fn expected_pair_seconds(inputs: &Inputs<'_>, facts: &Facts, confirmation: &Length) -> f64 {
    let settings = inputs.settings;
    let search = &settings.length;
    let is_pair =
        |fact: &Fact| matches!(fact.job.purpose, Purpose::Pair { .. }) && fact.job.length == *confirmation;
    let is_search = |fact: &Fact| is_search(fact.job.purpose);
    median_recent(facts, is_pair, Fact::seconds).unwrap_or_else(|| {
        if confirmation == search {
            return expected_seconds(inputs, facts);
        }
        let beside = |fact: &Fact| {
            let measurement = fact.outcome().and_then(|outcome| outcome.measurement());
            fact.seconds() - measurement.map_or(0.0, |measurement| measurement.window_seconds)
        };
        let beside =
            median_recent(facts, is_search, beside).unwrap_or(settings.trial_seconds - search.measure_min);
        beside + confirmation.measure_max
    })
}

/// The median of what `of` says of the newest measured trials.
fn median_recent(facts: &Facts, which: impl Fn(&Fact) -> bool, of: impl Fn(&Fact) -> f64) -> Option<f64> {
    let mut seconds: Vec<f64> = facts
        .jobs
        .iter()
        .rev()
        .filter(|fact| which(fact))
        .filter(|fact| {
            fact.outcome()
                .is_some_and(|outcome| outcome.measurement().is_some())
        })
        .map(of)
        .take(RECENT)
        .collect();
    seconds.sort_by(f64::total_cmp);
    seconds.get(seconds.len() / 2).copied()
}

/// Seconds of the budget that are not used, open jobs counted as they are expected; negative when overdrawn.
pub(super) fn left(inputs: &Inputs<'_>, facts: &Facts) -> f64 {
    let open = facts.jobs.iter().filter(|fact| fact.state == State::Open).count() as f64;
    inputs.settings.budget_seconds - facts.seconds() - open * expected_seconds(inputs, facts)
}

/// Trials that count: all but those the host spoiled, open ones included.
pub(super) fn counted(facts: &Facts) -> u64 {
    facts
        .jobs
        .iter()
        .filter(|fact| !fact.outcome().is_some_and(is_hidden))
        .count() as u64
}

/// Arms of the confirmation that time is kept for.
pub(super) fn likely_arms(inputs: &Inputs<'_>, facts: &Facts) -> u32 {
    let Some(rule) = inputs.rule_of_thumb else {
        return 2;
    };
    let failed = searched(facts).any(|(fact, outcome)| {
        fact.job.purpose == Purpose::Start
            && fact.job.configuration == *rule
            && outcome.is_candidate_failure()
    });
    if failed || confirm::is_baseline(inputs, facts, rule) {
        2
    } else {
        3
    }
}

/// Seconds kept for the confirmation.
pub fn reserve_seconds(inputs: &Inputs<'_>, facts: &Facts) -> f64 {
    let share = inputs.settings.reserve * inputs.settings.budget_seconds;
    share.max(blocks_seconds(inputs, facts, likely_arms(inputs, facts)))
}

/// Seconds of the shortest confirmation.
pub(super) fn blocks_seconds(inputs: &Inputs<'_>, facts: &Facts, arms: u32) -> f64 {
    f64::from(MIN_BLOCKS * arms) * expected_pair_seconds(inputs, facts, &inputs.settings.confirm_length)
}

/// Arms of the confirmation that the next trial of the search must leave time for. The first candidate is compared with
/// the baseline alone: either it is the rule of thumb itself, or there is none to compare with.
pub(super) fn arms_after_next(inputs: &Inputs<'_>, facts: &Facts) -> u32 {
    let is_candidate = |fact: &&Fact| is_search(fact.job.purpose) && fact.job.purpose != Purpose::Baseline;
    let is_first = !facts.jobs.iter().filter(is_candidate).any(|fact| {
        fact.outcome()
            .is_none_or(|outcome| outcome.measurement().is_some())
    });
    if is_first { 2 } else { likely_arms(inputs, facts) }
}

/// Whether one more trial of the search fits before the confirmation.
pub(super) fn search_fits(inputs: &Inputs<'_>, facts: &Facts) -> bool {
    let arms = arms_after_next(inputs, facts);
    let share = inputs.settings.reserve * inputs.settings.budget_seconds;
    let needed = expected_seconds(inputs, facts) + share.max(blocks_seconds(inputs, facts, arms));
    let runs = u64::from(MIN_BLOCKS * arms);
    left(inputs, facts) >= needed
        && inputs
            .settings
            .max_trials
            .is_none_or(|most| counted(facts) + 1 + runs <= most)
}

/// What is believed to be left of the study, in seconds, for the display.
pub fn expected_left(inputs: &Inputs<'_>, facts: &Facts) -> f64 {
    let facts = &*settled(inputs, facts);
    let trial = expected_seconds(inputs, facts);
    if let Some(stand) = Stand::of(inputs, facts).filter(Stand::is_current) {
        let pair = expected_pair_seconds(inputs, facts, &stand.design.length(inputs));
        return f64::from(stand.runs_left(inputs.host)) * pair;
    }
    let confirmation = blocks_seconds(inputs, facts, likely_arms(inputs, facts));
    let at_least = BASELINES.saturating_sub(measured(&facts.jobs)) as f64 * trial + confirmation;
    let by_time = inputs.settings.budget_seconds - facts.seconds();
    let by_trials = inputs.settings.max_trials.map_or(f64::INFINITY, |most| {
        most.saturating_sub(counted(facts)) as f64 * trial
    });
    by_time.min(by_trials).max(at_least)
}

/// What one arm stands for in words.
pub(super) fn arm_words(arm: Arm) -> &'static str {
    match arm {
        Arm::Best => "the best of the search",
        Arm::Baseline => "the baseline",
        Arm::RuleOfThumb => "the rule of thumb",
    }
}
