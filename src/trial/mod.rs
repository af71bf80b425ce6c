//! One trial: its phases, its samples, what it measured, and how it ended.

mod debt;
mod measurement;
mod metric;
mod outcome;
mod phase;
mod record;
mod sample;
mod window;

pub use debt::WriteState;
pub use measurement::{EndOfMeasuring, Measurement, WriteDebt};
pub use metric::{Aggregation, Counted, Direction, METRICS, Metric, metrics_markdown, metrics_of};
pub use outcome::{Cause, CauseKind, Outcome};
pub use phase::{Phase, PhaseTime};
pub use record::{TrialRecord, Warning};
pub use sample::{Second, Series};
pub use window::WindowTotals;
