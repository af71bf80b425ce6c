//! The phases of a trial, in order.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::units::UtcMillis;

/// A phase of a trial. Each has a deadline and is reported as an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// The candidate against bounds, conditions, constraints and the memory arithmetic.
    Check,
    /// The data directory becomes the template again.
    Reset,
    /// Sync, drop caches, wait until the disk is idle.
    Cool,
    /// my.cnf is written and the server started until it answers.
    Start,
    /// Every knob is read back.
    Verify,
    /// Load until the throughput is steady.
    WarmUp,
    /// The window that counts.
    Measure,
    /// Status deltas and host counters.
    Collect,
    /// Kill under a load of its own and time the recovery (when asked).
    CrashRecovery,
    /// The process group is killed and nothing is left.
    Stop,
}

impl Phase {
    /// All phases, in order.
    pub const ALL: [Self; 10] = [
        Self::Check,
        Self::Reset,
        Self::Cool,
        Self::Start,
        Self::Verify,
        Self::WarmUp,
        Self::Measure,
        Self::Collect,
        Self::CrashRecovery,
        Self::Stop,
    ];

    /// The name used in output and files, e.g. `warm-up`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Check => "check",
            Self::Reset => "reset",
            Self::Cool => "cool",
            Self::Start => "start",
            Self::Verify => "verify",
            Self::WarmUp => "warm-up",
            Self::Measure => "measure",
            Self::Collect => "collect",
            Self::CrashRecovery => "crash-recovery",
            Self::Stop => "stop",
        }
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// When a phase began and how long it took.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PhaseTime {
    /// Which phase.
    pub phase: Phase,
    /// When it began (UTC).
    pub began: UtcMillis,
    /// How long it took, seconds by a monotonic clock.
    pub seconds: f64,
}
