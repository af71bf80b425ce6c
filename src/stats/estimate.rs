//! An estimate: a point with its standard error, and an interval.

use serde::{Deserialize, Serialize};

/// A point estimate with the standard error that comes from within one run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The point, in the metric's unit; finite.
    pub value: f64,
    /// Standard error in the metric's unit (batch means); none where it could not be estimated.
    pub standard_error: Option<f64>,
}

/// A two-sided confidence interval around a point.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// The point estimate.
    pub point: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Confidence, e.g. 0.95.
    pub level: f64,
}

impl Interval {
    /// Whether every number of it is finite.
    pub fn is_finite(&self) -> bool {
        [self.point, self.low, self.high, self.level]
            .iter()
            .all(|x| x.is_finite())
    }
}
