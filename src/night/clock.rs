//! The wall clock, for stamps; durations come from a monotonic clock.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::units::UtcMillis;

/// Now, in UTC.
pub fn now() -> UtcMillis {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    UtcMillis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
