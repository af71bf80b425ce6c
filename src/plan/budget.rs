//! Time: what was used, what a trial is expected to take, and what is kept for the confirmation.

use super::blame::settled;
use super::confirm::{self, Stand};
use super::observe::{is_hidden, is_search, searched};
use super::{Arm, Facts, Inputs, Purpose, State};

/// Fewest blocks of a confirmation.
pub(super) const MIN_BLOCKS: u32 = 5;
/// Measured runs of the baseline before the search.
pub(super) const BASELINES: usize = 3;
/// Trials whose length tells what the next one takes: the newest ones.
const RECENT: usize = 9;

/// What a trial of the search takes, in seconds: the median of the newest measured ones, or what the study expects
/// before any was measured.
pub fn expected_seconds(inputs: &Inputs<'_>, facts: &Facts) -> f64 {
    median_recent(facts, is_search).unwrap_or(inputs.settings.trial_seconds)
}

/// What a confirmation run takes, in seconds.
pub(super) fn expected_pair_seconds(inputs: &Inputs<'_>, facts: &Facts) -> f64 {
    let settings = inputs.settings;
    median_recent(facts, |purpose| matches!(purpose, Purpose::Pair { .. })).unwrap_or_else(|| {
        let longer = settings.confirm_length.measure_max - settings.length.measure_max;
        expected_seconds(inputs, facts) + longer.max(0.0)
    })
}

fn median_recent(facts: &Facts, which: impl Fn(Purpose) -> bool) -> Option<f64> {
    let mut seconds: Vec<f64> = facts
        .jobs
        .iter()
        .rev()
        .filter(|fact| which(fact.job.purpose))
        .filter(|fact| {
            fact.outcome()
                .is_some_and(|outcome| outcome.measurement().is_some())
        })
        .map(super::Fact::seconds)
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
    let runs = f64::from(MIN_BLOCKS * likely_arms(inputs, facts));
    let share = inputs.settings.reserve * inputs.settings.budget_seconds;
    share.max(runs * expected_pair_seconds(inputs, facts))
}

/// Whether one more trial of the search fits before the confirmation.
pub(super) fn search_fits(inputs: &Inputs<'_>, facts: &Facts) -> bool {
    let needed = expected_seconds(inputs, facts) + reserve_seconds(inputs, facts);
    let runs = u64::from(MIN_BLOCKS * likely_arms(inputs, facts));
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
    let pair = expected_pair_seconds(inputs, facts);
    if let Some(stand) = Stand::of(inputs, facts).filter(Stand::is_current) {
        return f64::from(stand.runs_left(inputs.host)) * pair;
    }
    let baselines = facts
        .jobs
        .iter()
        .filter(|fact| fact.job.purpose == Purpose::Baseline)
        .filter(|fact| {
            fact.outcome()
                .is_some_and(|outcome| outcome.measurement().is_some())
        })
        .count();
    let confirmation = f64::from(MIN_BLOCKS * likely_arms(inputs, facts)) * pair;
    let at_least = BASELINES.saturating_sub(baselines) as f64 * trial + confirmation;
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
