//! Whose fault a fault of the host is: one that comes twice with a configuration and not with the baseline is the
//! configuration's own (a disk it fills, memory it takes from the host).

use std::borrow::Cow;

use super::present::present;
use super::{Arm, Fact, Facts, Inputs, Purpose, State};
use crate::space::Configuration;
use crate::trial::{Cause, Outcome};

/// Faults of the host in a row with one configuration that make it suspect.
const SUSPECT: usize = 2;

/// Faults of the host in a row with one configuration.
pub(super) struct Streak<'a> {
    configuration: &'a Configuration,
    /// The trials that ended so.
    pub(super) faults: Vec<&'a Fact>,
    /// The first run of the baseline after it became suspect.
    pub(super) probe: Option<&'a Fact>,
}

impl Streak<'_> {
    pub(super) fn is_suspect(&self) -> bool {
        self.faults.len() >= SUSPECT
    }

    /// Whether the baseline ran where this configuration did not.
    fn is_blamed(&self) -> bool {
        self.probe
            .and_then(Fact::outcome)
            .is_some_and(|outcome| outcome.measurement().is_some())
    }
}

/// All streaks, in the order in which they began; a run of the configuration that ended otherwise ends its streak.
pub(super) fn streaks<'a>(inputs: &Inputs<'_>, jobs: &'a [Fact]) -> Vec<Streak<'a>> {
    let mut streaks: Vec<Streak<'a>> = Vec::new();
    for fact in jobs {
        if is_baseline_run(inputs, fact) {
            for streak in &mut streaks {
                if streak.is_suspect() && streak.probe.is_none() {
                    streak.probe = Some(fact);
                }
            }
            continue;
        }
        let Some(outcome) = fact.outcome() else {
            continue;
        };
        let own = streaks
            .iter()
            .position(|streak| streak.probe.is_none() && *streak.configuration == fact.job.configuration);
        match (own, outcome.is_host_fault()) {
            (Some(own), true) => streaks[own].faults.push(fact),
            (Some(own), false) => {
                streaks.remove(own);
            }
            (None, true) => streaks.push(Streak {
                configuration: &fact.job.configuration,
                faults: vec![fact],
                probe: None,
            }),
            (None, false) => {}
        }
    }
    streaks
}

/// Whether a trial ran the baseline, whatever for.
pub(super) fn is_baseline_run(inputs: &Inputs<'_>, fact: &Fact) -> bool {
    let purpose = fact.job.purpose;
    purpose == Purpose::Baseline
        || matches!(
            purpose,
            Purpose::Pair {
                arm: Arm::Baseline,
                ..
            }
        )
        || fact.job.configuration == *inputs.baseline
}

/// The facts as the plan judges them: in the space of now, and faults of the host that a configuration is to blame for are
/// its own failures.
pub fn settled<'a>(inputs: &Inputs<'_>, facts: &'a Facts) -> Cow<'a, Facts> {
    let mut settled = present(inputs, facts);
    let blamed: Vec<_> = streaks(inputs, &settled.jobs)
        .iter()
        .filter(|streak| streak.is_blamed())
        .flat_map(|streak| streak.faults.iter().map(|fact| fact.number))
        .collect();
    if blamed.is_empty() {
        return settled;
    }
    for fact in &mut settled.to_mut().jobs {
        if blamed.contains(&fact.number)
            && let State::Ended { outcome, .. } = &mut fact.state
            && let Outcome::HostFault { cause } = outcome
        {
            *outcome = Outcome::Crashed {
                signal: None,
                cause: Cause {
                    text: format!(
                        "the host failed again and again with this configuration, but not with the baseline: {}",
                        cause.text
                    ),
                    ..cause.clone()
                },
            };
        }
    }
    settled
}
