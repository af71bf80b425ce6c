//! What is sampled while the load runs.

use serde::{Deserialize, Serialize};

/// One second of load.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Second {
    /// End of the second, seconds since the load started (monotonic).
    pub at: f64,
    /// Length of the interval, seconds; close to 1.
    pub length: f64,
    /// Transactions per second.
    pub tps: f64,
    /// Errors per second (deadlocks and the like, retried by the load).
    pub errors: f64,
    /// Reconnects per second.
    pub reconnects: f64,
    /// 95th percentile of the transaction's latency in this second, milliseconds; none where nothing finished.
    pub p95_ms: Option<f64>,
}

/// A named series of numbers over the time of a trial; stored as one compressed, versioned blob.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Its name, e.g. `tps`, `p95_ms`, `checkpoint_age`.
    pub name: String,
    /// Seconds since the load started, one per value.
    pub at: Vec<f64>,
    /// The values; none where a sample is missing.
    pub values: Vec<Option<f64>>,
}
