//! The confirmation: blocks of one run of each arm, on fresh resets, used for nothing else.

use std::collections::BTreeMap;

use super::design::Design;
use super::observe::{is_hidden, mean_metrics, searched};
use super::present::as_of_now;
use super::{Arm, Burst, Fact, Facts, Inputs, Job, Purpose, State};
use crate::space::Configuration;
use crate::stats::{Interval, ratio_interval};
use crate::strategy::TrialNumber;
use crate::study::Metrics;
use crate::trial::Measurement;

/// Write debt that would take less than this share of the window to pay is no news.
const UNPAID: f64 = 0.01;
/// Confidence of the intervals.
pub(super) const LEVEL: f64 = 0.95;

/// Keys of what ran when `configuration` was asked for or ran, itself included.
fn effects(facts: &Facts, configuration: &Configuration) -> Vec<String> {
    let mut keys = vec![configuration.key()];
    keys.extend(
        facts
            .jobs
            .iter()
            .filter(|fact| fact.job.configuration == *configuration)
            .map(|fact| fact.configuration().key()),
    );
    keys
}

/// Whether two configurations are the same, or ran as the same.
pub(super) fn same_effect(facts: &Facts, a: &Configuration, b: &Configuration) -> bool {
    let b = effects(facts, b);
    effects(facts, a).iter().any(|key| b.contains(key))
}

/// Whether a configuration is the baseline, or ran as the baseline ran.
pub(super) fn is_baseline(inputs: &Inputs<'_>, facts: &Facts, configuration: &Configuration) -> bool {
    let keys = effects(facts, configuration);
    searched(facts)
        .filter(|(fact, _)| fact.job.purpose == Purpose::Baseline)
        .map(|(fact, _)| fact.configuration().key())
        .chain([inputs.baseline.key()])
        .any(|key| keys.contains(&key))
}

/// A confirmation with what its runs said so far.
pub(super) struct Stand<'a> {
    pub(super) design: Design,
    runs: Vec<Run<'a>>,
    /// Whether it is to be followed: not when it ended and the budget has grown since, nor when the space of now does not
    /// hold its arms.
    current: bool,
    /// Whether the space of now holds the best.
    holds: bool,
}

/// A run of a confirmation: its block and arm.
type Run<'a> = (u32, Arm, &'a Fact);

/// The confirmations that were begun, by their first block, each with its design and its runs in trial order. One that ended
/// early leaves the numbers of its last blocks to the next, whose first block is greater all the same.
fn confirmations(facts: &Facts) -> BTreeMap<u32, (Design, Vec<Run<'_>>)> {
    let mut all: BTreeMap<u32, (Design, Vec<Run<'_>>)> = BTreeMap::new();
    for fact in &facts.jobs {
        let Purpose::Pair { block, arm } = fact.job.purpose else {
            continue;
        };
        let Some(design) = fact
            .job
            .model
            .clone()
            .and_then(|model| serde_json::from_value::<Design>(model).ok())
        else {
            continue;
        };
        let (_, runs) = all
            .entry(design.first_block)
            .or_insert_with(|| (design, Vec::new()));
        runs.push((block, arm, fact));
    }
    all
}

impl<'a> Stand<'a> {
    /// The newest confirmation; none before the first.
    pub(super) fn of(inputs: &Inputs<'_>, facts: &'a Facts) -> Option<Self> {
        Self::all(inputs, facts).pop()
    }

    /// Every confirmation that was begun, the oldest first: of settled facts.
    pub(super) fn all(inputs: &Inputs<'_>, facts: &'a Facts) -> Vec<Self> {
        confirmations(facts)
            .into_values()
            .map(|(design, runs)| Self::made(inputs, facts, design, runs))
            .collect()
    }

    fn made(inputs: &Inputs<'_>, facts: &'a Facts, mut design: Design, runs: Vec<Run<'a>>) -> Self {
        // What the trial was asked for tells whether the space permits the best: the server may have rounded what it ran.
        let mut holds = !facts.past.left_out.contains_key(&design.trial);
        let mut holds_all = holds;
        for (arm, configuration) in &mut design.arms {
            let now = match arm {
                Arm::Baseline => Ok(inputs.baseline.clone()),
                _ => as_of_now(inputs, &facts.past.gone, configuration),
            };
            match now {
                Ok(now) => *configuration = now,
                Err(_) => {
                    holds_all = false;
                    holds &= *arm != Arm::Best;
                }
            }
        }
        let mut stand = Self {
            design,
            runs,
            current: true,
            holds,
        };
        let settings = inputs.settings;
        let more_trials = match (settings.max_trials, stand.design.max_trials) {
            (Some(now), Some(then)) => now > then,
            (None, Some(_)) => true,
            (_, None) => false,
        };
        let grown = settings.budget_seconds > stand.design.budget_seconds || more_trials;
        let over = stand.best_failure().is_some() || stand.is_complete();
        stand.current = if over { holds && !grown } else { holds_all };
        stand
    }

    /// A confirmation before its first run.
    pub(super) fn new(design: Design) -> Self {
        Self {
            design,
            runs: Vec::new(),
            current: true,
            holds: true,
        }
    }

    /// Whether the space of now holds the best.
    pub(super) fn holds(&self) -> bool {
        self.holds
    }

    pub(super) fn is_current(&self) -> bool {
        self.current
    }

    /// Number of its last run.
    pub(super) fn last_number(&self) -> TrialNumber {
        self.runs
            .iter()
            .map(|(_, _, fact)| fact.number)
            .max()
            .unwrap_or(0)
    }

    fn failures_of(&self, of: Arm) -> impl Iterator<Item = &'a Fact> {
        self.runs
            .iter()
            .filter(move |(_, arm, _)| *arm == of)
            .map(|(_, _, fact)| *fact)
            .filter(|fact| {
                fact.outcome()
                    .is_some_and(|o| o.is_candidate_failure() && !is_hidden(o))
            })
    }

    /// Why the best failed, where it did.
    pub(super) fn best_failure(&self) -> Option<(TrialNumber, String)> {
        let fact = self.failures_of(Arm::Best).next()?;
        Some((fact.number, fact.outcome()?.reason().unwrap_or_default()))
    }

    /// Whether the rule of thumb was dropped since it failed.
    pub(super) fn rule_failed(&self) -> bool {
        self.failures_of(Arm::RuleOfThumb).next().is_some()
    }

    fn is_active(&self, arm: Arm) -> bool {
        arm != Arm::RuleOfThumb || !self.rule_failed()
    }

    fn active(&self) -> impl Iterator<Item = Arm> {
        self.design
            .arms
            .iter()
            .map(|(arm, _)| *arm)
            .filter(|arm| self.is_active(*arm))
    }

    /// The measured run of an arm in a block on a host.
    fn measured(&self, block: u32, arm: Arm, host: &str) -> Option<&'a Fact> {
        self.runs
            .iter()
            .filter(|(b, a, _)| *b == block && *a == arm)
            .map(|(_, _, fact)| *fact)
            .find(|fact| {
                host_of(fact) == Some(host) && fact.outcome().is_some_and(|o| o.measurement().is_some())
            })
    }

    /// The host on which a block is complete; none while it is not.
    fn complete_on(&self, block: u32) -> Option<&'a str> {
        self.runs
            .iter()
            .filter(|(b, _, _)| *b == block)
            .filter_map(|(_, _, fact)| host_of(fact))
            .find(|host| self.active().all(|arm| self.measured(block, arm, host).is_some()))
    }

    fn has_open(&self, block: u32) -> bool {
        self.runs
            .iter()
            .any(|(b, _, fact)| *b == block && fact.state == State::Open)
    }

    pub(super) fn is_complete(&self) -> bool {
        self.design
            .numbers()
            .all(|block| self.complete_on(block).is_some())
    }

    /// Runs still to be made, open ones included.
    pub(super) fn runs_left(&self, host: &str) -> u32 {
        self.design
            .numbers()
            .filter(|block| self.complete_on(*block).is_none())
            .map(|block| {
                self.active()
                    .filter(|arm| self.measured(block, *arm, host).is_none())
                    .count() as u32
            })
            .sum()
    }

    /// The next run for the host that asks: the block it began, else a new one; a block that another host began only
    /// when nothing is open anywhere, all its arms anew.
    pub(super) fn next_run(&self, inputs: &Inputs<'_>, nothing_open: bool) -> Option<Job> {
        let idle = || {
            self.design
                .numbers()
                .filter(|block| self.complete_on(*block).is_none() && !self.has_open(*block))
        };
        let is_ours = |block: u32| {
            self.runs
                .iter()
                .filter(|(b, _, fact)| {
                    *b == block && fact.outcome().is_some_and(|o| o.measurement().is_some())
                })
                .all(|(_, _, fact)| host_of(fact) == Some(inputs.host))
        };
        let block = idle()
            .find(|block| is_ours(*block))
            .or_else(|| idle().next().filter(|_| nothing_open))?;
        let (arm, configuration) = self
            .design
            .order(block, inputs.settings.seed)
            .find(|(arm, _)| self.is_active(*arm) && self.measured(block, *arm, inputs.host).is_none())?;
        Some(self.design.job(inputs, block, *arm, configuration))
    }

    /// The ratio of `Best` to `over`, one log ratio per complete block, improvement above 1. None where the arm has not
    /// run in two blocks or a value is not positive.
    pub(super) fn gain(&self, inputs: &Inputs<'_>, over: Arm) -> Option<Interval> {
        let value = |block: u32, arm: Arm, host: &str| {
            let measurement = self.measured(block, arm, host)?.outcome()?.measurement()?;
            Some(inputs.objective.value(measurement)?.value).filter(|value| *value > 0.0)
        };
        let log_ratios: Option<Vec<f64>> = self
            .complete()
            .map(|(block, host)| {
                let ratio = value(block, Arm::Best, host)? / value(block, over, host)?;
                Some(inputs.objective.goal().oriented(ratio.ln()))
            })
            .collect();
        ratio_interval(&log_ratios?, LEVEL)
    }

    fn complete(&self) -> impl Iterator<Item = (u32, &'a str)> {
        self.design
            .numbers()
            .filter_map(|block| Some((block, self.complete_on(block)?)))
    }

    /// Number of complete blocks.
    pub(super) fn blocks(&self) -> u32 {
        self.complete().count() as u32
    }

    /// Means of an arm's metrics over the complete blocks.
    pub(super) fn metrics(&self, arm: Arm) -> Metrics {
        mean_metrics(
            self.complete()
                .filter_map(|(block, host)| self.measured(block, arm, host)?.outcome()),
        )
    }

    /// The write debt that the runs of the best left unpaid on average; none where it is too small to matter.
    pub(super) fn burst(&self) -> Option<Burst> {
        let runs: Vec<_> = self
            .complete()
            .filter_map(|(block, host)| self.measured(block, Arm::Best, host)?.outcome()?.measurement())
            .collect();
        let mean = |of: &dyn Fn(&Measurement) -> f64| {
            runs.iter().map(|run| of(run)).sum::<f64>() / runs.len() as f64
        };
        let seconds = mean(&|run| run.window_seconds);
        let unpaid = mean(&|run| run.debt.map_or(0.0, |debt| debt.growth_bytes));
        let paying = mean(&|run| run.debt.map_or(0.0, |debt| debt.seconds));
        (paying >= UNPAID * seconds).then_some(Burst {
            seconds,
            unpaid_bytes: unpaid,
        })
    }

    /// The configuration of the best.
    pub(super) fn best(&self) -> Option<&Configuration> {
        self.design
            .arms
            .iter()
            .find(|(arm, _)| *arm == Arm::Best)
            .map(|(_, configuration)| configuration)
    }

    /// Whether the rule of thumb is an arm.
    pub(super) fn has_rule(&self) -> bool {
        self.design.arms.iter().any(|(arm, _)| *arm == Arm::RuleOfThumb)
    }
}

fn host_of(fact: &Fact) -> Option<&str> {
    match &fact.state {
        State::Open => None,
        State::Ended { host, .. } => Some(host),
    }
}
