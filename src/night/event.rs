//! One typed stream of events; bars, plain lines, JSON lines and the log are views of it.

use std::sync::Arc;

use serde::Serialize;

use crate::plan::Job;
use crate::stats::Interval;
use crate::strategy::TrialNumber;
use crate::trial::{Phase, Second};

/// Something that happened. Serialised with `event` as its kind; this is the `--json` output.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    /// Something is being set up before the first trial (facts, template, load data).
    Preparing {
        /// What, for people.
        what: String,
    },
    /// A study begins or goes on.
    StudyStarted {
        /// Its name.
        study: String,
        /// Whether it was there before.
        resumed: bool,
        /// Trials already ended.
        ended: u64,
        /// Seconds already spent.
        spent_seconds: f64,
        /// Budget in seconds.
        budget_seconds: f64,
        /// Largest number of trials; none without a limit.
        max_trials: Option<u64>,
        /// Name of the objective's metric.
        metric: String,
    },
    /// A trial begins.
    TrialStarted {
        /// Its number.
        trial: TrialNumber,
        /// The job.
        job: Job,
        /// What is believed to be left of the study in seconds, this trial included.
        left_seconds: f64,
    },
    /// A phase begins.
    PhaseStarted {
        /// The trial.
        trial: TrialNumber,
        /// The phase.
        phase: Phase,
        /// Its deadline, seconds from now.
        deadline_seconds: f64,
    },
    /// A phase ended.
    PhaseEnded {
        /// The trial.
        trial: TrialNumber,
        /// The phase.
        phase: Phase,
        /// How long it took.
        seconds: f64,
        /// What was done, where it is worth saying (the reset back end, what the warm-up saw).
        note: Option<String>,
    },
    /// One second of load.
    Second {
        /// The trial.
        trial: TrialNumber,
        /// The sample.
        second: Second,
    },
    /// A trial ended.
    TrialEnded {
        /// Its number.
        trial: TrialNumber,
        /// The outcome's word (`measured`, `refused`, ...).
        outcome: String,
        /// The objective, where it was measured.
        value: Option<f64>,
        /// Why it failed, where it did.
        reason: Option<String>,
        /// Seconds it took.
        seconds: f64,
    },
    /// What is believed now.
    Standing {
        /// The trial believed best.
        best_trial: TrialNumber,
        /// Its objective, believed mean.
        best: f64,
        /// Ratio of best to baseline (improvement above 1) with its interval from run noise; none where it cannot be told.
        ratio: Option<Interval>,
    },
    /// Something a person should know.
    Warning {
        /// What.
        text: String,
        /// What to do about it.
        next: Option<String>,
    },
    /// A study ended.
    StudyEnded {
        /// The verdict in one line.
        verdict: String,
        /// What else is to be said of it, one line each.
        details: Vec<String>,
        /// Where the my.cnf is, where one was written.
        my_cnf: Option<String>,
    },
}

/// Receives events; must be quick and must not fail.
pub trait Listener: Send + Sync {
    /// Called for each event, in order.
    fn on(&self, event: &Event);
}

/// Hands each event to every listener.
#[derive(Clone, Default)]
pub struct Events(Vec<Arc<dyn Listener>>);

impl Events {
    /// A stream with these listeners.
    pub fn new(listeners: Vec<Arc<dyn Listener>>) -> Self {
        Self(listeners)
    }

    /// Tells every listener.
    pub fn send(&self, event: &Event) {
        for listener in &self.0 {
            listener.on(event);
        }
    }
}

impl std::fmt::Debug for Events {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Events({} listeners)", self.0.len())
    }
}
