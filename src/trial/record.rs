//! Everything one attempt at a trial leaves behind.

use serde::{Deserialize, Serialize};

use super::{Outcome, PhaseTime, Series};
use crate::space::Configuration;
use crate::units::UtcMillis;

/// Everything one attempt at a trial leaves behind; written once to the store.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrialRecord {
    /// How it ended.
    pub outcome: Outcome,
    /// The configuration that really ran, read back from the server; none where it never ran.
    pub effective: Option<Configuration>,
    /// When it began (UTC).
    pub began: UtcMillis,
    /// How long it took in all, seconds by a monotonic clock.
    pub seconds: f64,
    /// Phase by phase.
    pub phases: Vec<PhaseTime>,
    /// Time series.
    pub series: Vec<Series>,
    /// What a person should know about this trial.
    pub warnings: Vec<Warning>,
}

/// Something a person should know about a trial that did not fail it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    /// What was seen.
    pub text: String,
    /// What to do about it, where something can be done.
    pub next: Option<String>,
}
