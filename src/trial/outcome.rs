//! How a trial ended.

use serde::{Deserialize, Serialize};

use super::{Measurement, Phase};

/// How a trial ended. A candidate's own failure is information, never a fake number; a host fault is retried and hidden
/// from the strategy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub enum Outcome {
    /// It was measured.
    Measured(Box<Measurement>),
    /// It breaks a constraint and was never started.
    Rejected {
        /// The constraint, with the arithmetic.
        constraint: String,
    },
    /// The server refused to start with it, or did not take a value.
    ServerRefused {
        /// Why.
        cause: Cause,
    },
    /// The server died.
    Crashed {
        /// The signal, where it was one.
        signal: Option<i32>,
        /// Why, as far as the log says.
        cause: Cause,
    },
    /// The server was killed for memory, or swapped.
    OutOfMemory {
        /// How that is known.
        cause: Cause,
    },
    /// A phase did not end by its deadline.
    TimedOut {
        /// Which one.
        phase: Phase,
    },
    /// The load failed because of the candidate (too many connections and the like).
    LoadFailed {
        /// Why.
        cause: Cause,
    },
    /// Not the candidate's fault; to be retried.
    HostFault {
        /// Why.
        cause: Cause,
    },
}

impl Outcome {
    /// The measurement, where there is one.
    pub fn measurement(&self) -> Option<&Measurement> {
        match self {
            Self::Measured(measurement) => Some(measurement),
            _ => None,
        }
    }

    /// Whether this is a host fault, which says nothing about the candidate.
    pub fn is_host_fault(&self) -> bool {
        matches!(self, Self::HostFault { .. })
    }

    /// Whether all that is known is that the server does not serve the load's rate. No error, and still no contender.
    pub fn is_censored(&self) -> bool {
        matches!(self, Self::LoadFailed { cause } if cause.kind == CauseKind::RateAboveCapacity)
    }

    /// Whether the candidate itself failed, or does not serve the load's rate.
    pub fn is_candidate_failure(&self) -> bool {
        self.measurement().is_none() && !self.is_host_fault()
    }

    /// The word for it in output and stores.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Measured(_) => "measured",
            Self::Rejected { .. } => "rejected",
            Self::ServerRefused { .. } => "refused",
            Self::Crashed { .. } => "crashed",
            Self::OutOfMemory { .. } => "out-of-memory",
            Self::TimedOut { .. } => "timed-out",
            Self::LoadFailed { .. } if self.is_censored() => "censored",
            Self::LoadFailed { .. } => "load-failed",
            Self::HostFault { .. } => "host-fault",
        }
    }

    /// One line for people: what failed and why; none for a measured trial.
    pub fn reason(&self) -> Option<String> {
        match self {
            Self::Measured(_) => None,
            Self::Rejected { constraint } => Some(constraint.clone()),
            Self::ServerRefused { cause }
            | Self::OutOfMemory { cause }
            | Self::LoadFailed { cause }
            | Self::HostFault { cause }
            | Self::Crashed { cause, .. } => Some(cause.text.clone()),
            Self::TimedOut { phase } => Some(format!("the phase {phase} did not end by its deadline")),
        }
    }
}

/// Why something failed, as a program and as a person can read it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cause {
    /// The kind.
    pub kind: CauseKind,
    /// The server variable at fault, with `_` between words, where it is known.
    pub variable: Option<String>,
    /// The value it was given, where it is known.
    pub value: Option<String>,
    /// For people: the first error line of the log, or what was seen; never empty.
    pub text: String,
}

impl Cause {
    /// A cause that names no variable.
    pub fn new(kind: CauseKind, text: impl Into<String>) -> Self {
        Self {
            kind,
            variable: None,
            value: None,
            text: text.into(),
        }
    }
}

/// Kinds of causes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CauseKind {
    /// The server does not know the variable.
    UnknownVariable,
    /// The server does not take the value.
    BadValue,
    /// A value was asked for and another one runs.
    NotApplied,
    /// The data directory was made with another geometry.
    Geometry,
    /// Not enough memory.
    Memory,
    /// Not enough disk space.
    DiskFull,
    /// The descriptor limit.
    Descriptors,
    /// No asynchronous I/O slots left on the host.
    AioSlots,
    /// A path may not be read or written (modes, AppArmor, SELinux).
    Permission,
    /// The port or the socket is taken or unusable.
    Address,
    /// The data directory is in use by another server.
    DataInUse,
    /// Killed by a signal.
    Signal,
    /// The load's own command line or script is wrong: the whole study stops.
    LoadSetup,
    /// The load reported an error of the server.
    LoadError,
    /// The load's rate is above what the server serves: no error, the result is cut off at that rate.
    RateAboveCapacity,
    /// The load's figures do not add up.
    LoadInconsistent,
    /// Anything else.
    Other,
}
