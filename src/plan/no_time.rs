//! Why no time was left, with the arithmetic, and how to go on.

use super::budget;
use super::{Facts, Inputs};
use crate::study::{MIN_BLOCKS, least_budget, whole_minutes};

/// A trial that takes this much longer than expected is the reason.
const LONGER: f64 = 1.1;

/// What was to come when no time was left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Missing {
    /// The first candidate, and its confirmation.
    Candidate,
    /// The confirmation of the best.
    Confirmation,
}

/// Why the time or the trials that were left do not suffice, and what would.
pub(super) fn no_time(inputs: &Inputs<'_>, facts: &Facts, missing: Missing) -> String {
    let settings = inputs.settings;
    let (arms, candidates) = match missing {
        Missing::Candidate => (budget::arms_after_next(inputs, facts), 1_u32),
        Missing::Confirmation => (budget::likely_arms(inputs, facts), 0),
    };
    let (trial, pair) = (
        budget::expected_seconds(inputs, facts),
        budget::expected_pair_seconds(inputs, facts, &settings.confirm_length),
    );
    let runs = MIN_BLOCKS * arms;
    let spent = facts.seconds();
    let confirmation = budget::blocks_seconds(inputs, facts, arms);
    let search = spent + f64::from(candidates) * trial;
    let needed = least_budget(search, confirmation, settings.reserve);

    let mut said = Vec::new();
    let mut raise = Vec::new();
    if needed > settings.budget_seconds {
        let candidate = match missing {
            Missing::Candidate => format!(" + {trial:.0} s for a candidate"),
            Missing::Confirmation => String::new(),
        };
        let reserve = if needed > search + confirmation {
            format!(
                " ({:.0} % of the budget are kept for that)",
                100.0 * settings.reserve
            )
        } else {
            String::new()
        };
        let expected = if trial > LONGER * settings.trial_seconds {
            format!(
                "a trial takes {trial:.0} s here, not the {:.0} s that were expected: ",
                settings.trial_seconds
            )
        } else {
            String::new()
        };
        said.push(format!(
            "{expected}{spent:.0} s for the {} trial(s) so far{candidate} + {runs} x {pair:.0} s for the \
             confirmation{reserve} are more than the budget of {:.0} s",
            facts.jobs.len(),
            settings.budget_seconds
        ));
        raise.push(format!("time = \"{}\"", whole_minutes(needed)));
    }
    let counted = budget::counted(facts);
    let trials = counted + u64::from(candidates + runs);
    if let Some(most) = settings.max_trials.filter(|most| *most < trials) {
        let candidate = match missing {
            Missing::Candidate => " + 1 candidate",
            Missing::Confirmation => "",
        };
        said.push(format!(
            "{counted} trials so far{candidate} + {runs} confirmation runs are more than the {most} allowed"
        ));
        raise.push(format!("trials = {trials}"));
    }
    format!(
        "{}; write {} or more under [budget] and run the same command again: what was measured is kept",
        said.join("; "),
        raise.join(" and ")
    )
}
