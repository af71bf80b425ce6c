//! The stored facts of a study, as the plan reads them.

use std::collections::BTreeMap;

use super::Job;
use crate::space::{Configuration, Value};
use crate::strategy::TrialNumber;
use crate::trial::{Outcome, Warning};
use crate::units::UtcMillis;

/// All jobs of a study in trial order, with what came of them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Facts {
    /// Jobs in the order of their numbers.
    pub jobs: Vec<Fact>,
    /// What the space of now makes of them: empty as stored, filled by [`super::settled`].
    pub past: Past,
}

/// What the space of now makes of trials that ran in an earlier one.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Past {
    /// Trials of the search that are left out, and why.
    pub left_out: BTreeMap<TrialNumber, String>,
    /// The baseline's values of knobs that left the space, as asked for and as read back.
    pub gone: BTreeMap<String, Vec<Value>>,
}

/// One job with what came of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Fact {
    /// Number of the trial.
    pub number: TrialNumber,
    /// The job.
    pub job: Job,
    /// Where it stands.
    pub state: State,
}

/// Where a job stands.
#[derive(Debug, Clone, PartialEq)]
pub enum State {
    /// A worker is on it, or was when it died; its result is not there yet.
    Open,
    /// It ended.
    Ended {
        /// How.
        outcome: Outcome,
        /// The configuration that really ran.
        effective: Option<Configuration>,
        /// When it began.
        began: UtcMillis,
        /// How long it took, seconds.
        seconds: f64,
        /// Host it ran on.
        host: String,
        /// What a person should know about it.
        warnings: Vec<Warning>,
    },
}

impl Fact {
    /// The outcome, where it ended.
    pub fn outcome(&self) -> Option<&Outcome> {
        match &self.state {
            State::Open => None,
            State::Ended { outcome, .. } => Some(outcome),
        }
    }

    /// The configuration that ran: the effective one where it was read back, else the one asked for.
    pub fn configuration(&self) -> &Configuration {
        match &self.state {
            State::Ended {
                effective: Some(effective),
                ..
            } => effective,
            _ => &self.job.configuration,
        }
    }

    /// Seconds it took; zero while open.
    pub fn seconds(&self) -> f64 {
        match &self.state {
            State::Open => 0.0,
            State::Ended { seconds, .. } => *seconds,
        }
    }
}

impl Facts {
    /// Seconds spent on ended jobs; what the budget counts.
    pub fn seconds(&self) -> f64 {
        // A sum of nothing would be -0.
        self.jobs
            .iter()
            .map(Fact::seconds)
            .fold(0.0, |sum, seconds| sum + seconds)
    }
}
