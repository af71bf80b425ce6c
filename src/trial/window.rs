//! What was counted over a stretch of load.

use crate::stats::Histogram;

/// What was counted over a window of a load, exact: differences of counters, not sums of rates.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct WindowTotals {
    /// Length, seconds by a monotonic clock.
    pub seconds: f64,
    /// Transactions that ended well in it.
    pub transactions: u64,
    /// Errors the load ignored and retried (deadlocks and the like).
    pub errors: u64,
    /// Times a lost connection was made anew.
    pub reconnects: u64,
    /// Latencies of its transactions; none where the load does not offer them (then there are no percentiles).
    pub histogram: Option<Histogram>,
}

impl WindowTotals {
    /// Share of attempts that ended in an error or a reconnect; zero where nothing was attempted.
    pub fn failed_share(&self) -> f64 {
        let failed = (self.errors + self.reconnects) as f64;
        let attempts = self.transactions as f64 + failed;
        if attempts > 0.0 { failed / attempts } else { 0.0 }
    }
}
