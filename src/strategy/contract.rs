//! The contract of every strategy: ask with what was observed, get proposals. Nothing is remembered between calls.

use serde::{Deserialize, Serialize};

use super::Importance;
use crate::space::{Configuration, Space};

/// Number of a trial within its study, from 1.
pub type TrialNumber = u64;

/// Which way the objective is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Goal {
    /// More is better.
    Maximize,
    /// Less is better.
    Minimize,
}

impl Goal {
    /// `value` turned so that more is better.
    pub fn oriented(self, value: f64) -> f64 {
        match self {
            Self::Maximize => value,
            Self::Minimize => -value,
        }
    }
}

/// One finished trial as a strategy sees it. Host faults are never shown.
#[derive(Debug, Clone, PartialEq)]
pub struct Observation {
    /// The trial.
    pub trial: TrialNumber,
    /// The configuration that really ran (effective values); may lie off the steps or out of the bounds.
    pub configuration: Configuration,
    /// What came of it.
    pub seen: Seen,
    /// What the strategy stored with the proposal that led to this trial (hyper-parameters, phase of a search, ...).
    pub model: Option<serde_json::Value>,
}

/// What came of a trial.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Seen {
    /// It was measured.
    Measured {
        /// The objective, in its own unit and direction; finite.
        value: f64,
        /// Variance of `value` that comes from within the run; none where unknown. Never includes the noise between runs.
        variance: Option<f64>,
        /// Whether it keeps the constraints on metrics; false counts as infeasible.
        feasible: bool,
    },
    /// The candidate itself failed (refused, crashed, out of memory, timed out, rejected).
    Failed,
}

/// Everything a strategy may look at.
#[derive(Debug, Clone, Copy)]
pub struct Search<'a> {
    /// What may be tuned.
    pub space: &'a Space,
    /// Which way is better.
    pub goal: Goal,
    /// Finished trials in trial order: the baseline, the first guess, the user's candidates, and its own.
    pub observations: &'a [Observation],
    /// Configurations being measured right now.
    pub pending: &'a [Configuration],
    /// Seed of the study; with the number of observations and pending trials it decides every random choice.
    pub seed: u64,
}

/// Whether a proposal is new or measures a known configuration again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "purpose")]
pub enum ProposalPurpose {
    /// A configuration not measured before.
    Explore,
    /// The configuration of an earlier trial once more.
    Repeat {
        /// That trial.
        of: TrialNumber,
    },
}

/// A configuration to try next.
#[derive(Debug, Clone, PartialEq)]
pub struct Proposal {
    /// Legal: inside the bounds, on the steps, active knobs only, keeping every constraint; no duplicate unless a repeat.
    pub configuration: Configuration,
    /// New or a repeat.
    pub purpose: ProposalPurpose,
    /// Why, for people; `explain` prints it.
    pub why: String,
    /// What the strategy wants to see again in the [`Observation`] (hyper-parameters, state of a search).
    pub model: Option<serde_json::Value>,
}

/// The configuration a strategy believes best.
#[derive(Debug, Clone, PartialEq)]
pub struct Recommendation {
    /// A trial that ran it.
    pub trial: TrialNumber,
    /// The configuration.
    pub configuration: Configuration,
    /// What it is believed to reach, in the objective's unit.
    pub mean: f64,
    /// Standard deviation of that belief; none where the strategy has no model.
    pub sd: Option<f64>,
}

/// A search strategy: a pure function of what was observed (same search, same proposals), on any number of threads.
pub trait Strategy: Send + Sync {
    /// Up to `n` proposals; fewer, or none, when the space is exhausted.
    fn propose(&self, search: &Search<'_>, n: usize) -> Vec<Proposal>;

    /// The best feasible configuration so far; none before anything was measured.
    fn recommend(&self, search: &Search<'_>) -> Option<Recommendation>;

    /// The standard deviation between runs of one configuration that the strategy fitted, as a share of the value; none without a model.
    fn fitted_noise(&self, search: &Search<'_>) -> Option<f64> {
        let _ = search;
        None
    }

    /// What the knobs do, as far as it was measured: of the strategy's own model, or else of the default one's.
    fn importance(&self, search: &Search<'_>) -> Importance {
        match super::preset::model() {
            Ok(model) => model.importance(search),
            Err(error) => Importance::not_measurable(error.to_string()),
        }
    }
}
