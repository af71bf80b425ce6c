//! What is to be said of runs that ended before their writes were paid.

use std::fmt;

use serde::Serialize;

/// Confirmation runs that were too short for the server to write what it had postponed: what they show holds for a burst
/// of that length.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Burst {
    /// Mean length of the measured window, seconds.
    pub seconds: f64,
    /// Mean growth of the dirty data over it, bytes.
    pub unpaid_bytes: f64,
}

impl fmt::Display for Burst {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let megabytes = self.unpaid_bytes / 1e6;
        let digits = usize::from(megabytes < 10.0);
        write!(
            f,
            "burst of {:.0} s, {megabytes:.digits$} MB of debt unpaid",
            self.seconds
        )
    }
}
