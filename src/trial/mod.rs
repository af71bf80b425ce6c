//! One trial: its phases, its samples, what it measured, and how it ended.

mod measurement;
mod outcome;
mod phase;
mod record;
mod sample;
mod window;

pub use measurement::{EndOfMeasuring, Measurement, WriteDebt};
pub use outcome::{Cause, CauseKind, Outcome};
pub use phase::{Phase, PhaseTime};
pub use record::{TrialRecord, Warning};
pub use sample::{Second, Series};
pub use window::WindowTotals;
