//! What a completed measurement says.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::stats::Estimate;

/// What a completed measurement says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// Metrics by their name in the registry (`tps`, `p95_ms`, ...).
    pub metrics: BTreeMap<String, Estimate>,
    /// Length of the measured window, seconds.
    pub window_seconds: f64,
    /// Length of the warm-up before it, seconds.
    pub warmup_seconds: f64,
    /// Whether the throughput was steady when measuring began; false: the warm-up cap came first.
    pub steady: bool,
    /// Why measuring ended.
    pub ended: EndOfMeasuring,
    /// Work postponed past the window's end; none for loads that do not write.
    pub debt: Option<WriteDebt>,
    /// Server status and host counters over the window: differences of counters, last values of gauges.
    pub counters: BTreeMap<String, f64>,
}

/// Why measuring ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EndOfMeasuring {
    /// The interval was narrow enough.
    Precise,
    /// The candidate could no longer win; a row of low precision, never a contender.
    Hopeless,
    /// The longest allowed time was up.
    Cap,
}

/// Work postponed past the end of the measured window: dirty pages and redo that a longer run would have had to write.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct WriteDebt {
    /// Growth of the dirty data over the window, bytes; never below zero.
    pub growth_bytes: f64,
    /// The rate at which it would be paid: seen in the window or in a drain after it, bytes per second.
    pub flush_bytes_per_second: f64,
    /// Seconds it would take to pay: growth over rate; this is added to the window in the score.
    pub seconds: f64,
}
