//! Write debt: what a window left unwritten, and how long paying it would take.
//!
//! A short trial never wraps a large redo log: its dirty pages only pile up, and whoever postpones most would win. So the
//! growth of dirty data is turned into time at the rate at which this server flushes, and the score divides by the
//! window plus that time.
//!
//! Source of the counters: MariaDB manual, "InnoDB Status Variables"; MySQL manual, "Server Status Variables".

use super::WriteDebt;

/// A stretch shorter than this, in seconds, tells no rate of flushing: page cleaners work once a second, in bursts. It is
/// four of their rounds, less what a clock may be off. It holds for windows and for drains alike.
const SHORTEST: f64 = 3.5;
/// Less dirty data than this share of a drain's begin tells nothing more: the debt is paid, and what was written until then
/// is the rate, however short it took.
const RUN_DRY: f64 = 0.1;

/// The server's own account of postponed and done writes at one moment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WriteState {
    /// Dirty data in the buffer pool, bytes.
    pub dirty_bytes: f64,
    /// Data written from the buffer pool since the start, bytes.
    pub flushed_bytes: f64,
    /// Redo between the last checkpoint and now, bytes; none where the server does not tell. For the record: what makes
    /// it shrink is the flushing of dirty data, which is counted once.
    pub checkpoint_age: Option<f64>,
}

impl WriteState {
    /// From `SHOW GLOBAL STATUS`: `status` looks a variable up by its name as the manual writes it. None where a counter
    /// is missing (InnoDB is off).
    pub fn from_status(status: impl Fn(&str) -> Option<f64>) -> Option<Self> {
        let page = status("Innodb_page_size")?;
        let dirty = status("Innodb_buffer_pool_bytes_dirty")
            .or_else(|| Some(status("Innodb_buffer_pool_pages_dirty")? * page))?;
        Some(Self {
            dirty_bytes: dirty,
            flushed_bytes: status("Innodb_buffer_pool_pages_flushed")? * page,
            checkpoint_age: status("Innodb_checkpoint_age").or_else(|| {
                // MySQL since 8.0.30.
                Some(status("Innodb_redo_log_current_lsn")? - status("Innodb_redo_log_checkpoint_lsn")?)
            }),
        })
    }

    /// Bytes per second flushed between two moments; zero for no time, or for a counter that was reset.
    pub fn flush_rate(&self, later: &Self, seconds: f64) -> f64 {
        let rate = (later.flushed_bytes - self.flushed_bytes) / seconds;
        if seconds > 0.0 && rate.is_finite() {
            rate.max(0.0)
        } else {
            0.0
        }
    }

    /// Whether a drain that began here and is at `now` after so many seconds has told its rate: it was long enough, or
    /// nothing is left to be written.
    pub fn drain_is_told(&self, now: &Self, seconds: f64) -> bool {
        seconds >= SHORTEST || now.dirty_bytes <= RUN_DRY * self.dirty_bytes
    }

    /// The debt of a window of this length that begins here and ends at `later`.
    ///
    /// The rate is the one seen over the whole window: a shorter stretch is a burst that the server does not keep up.
    /// `drain_rate` is what a drain timed after the window reached, in bytes per second; it counts where it is faster (a
    /// server that nothing forces to flush pays later, but no slower than it then does), and alone where the window is
    /// too short to tell a rate.
    ///
    /// None where dirty data grew and no rate is known: then a drain has to be timed.
    pub fn debt(&self, later: &Self, seconds: f64, drain_rate: Option<f64>) -> Option<WriteDebt> {
        let growth = (later.dirty_bytes - self.dirty_bytes).max(0.0);
        let seen = self.flush_rate(later, seconds);
        let rate = match drain_rate.filter(|rate| rate.is_finite() && *rate > 0.0) {
            Some(drain) if seconds < SHORTEST => drain,
            Some(drain) => drain.max(seen),
            None => seen,
        };
        let time = if growth > 0.0 { growth / rate } else { 0.0 };
        time.is_finite().then_some(WriteDebt {
            growth_bytes: growth,
            flush_bytes_per_second: rate,
            seconds: time,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn state(dirty: f64, flushed: f64) -> WriteState {
        WriteState {
            dirty_bytes: dirty,
            flushed_bytes: flushed,
            checkpoint_age: None,
        }
    }

    #[test]
    fn growth_is_paid_at_the_rate_seen() {
        let debt = state(1e6, 0.0).debt(&state(61e6, 100e6), 10.0, None).unwrap();
        assert_eq!(debt.growth_bytes, 60e6);
        assert_eq!(debt.flush_bytes_per_second, 10e6);
        assert_eq!(debt.seconds, 6.0);
    }

    #[test]
    fn a_drain_that_was_faster_counts_and_a_slower_one_does_not() {
        let (begin, end) = (state(0.0, 0.0), state(60e6, 100e6));
        assert_eq!(begin.debt(&end, 10.0, Some(30e6)).unwrap().seconds, 2.0);
        assert_eq!(begin.debt(&end, 10.0, Some(1e6)).unwrap().seconds, 6.0);
    }

    #[test]
    fn a_burst_in_a_short_window_is_no_rate_where_a_drain_was_timed() {
        let (begin, end) = (state(0.0, 0.0), state(60e6, 100e6));
        let debt = begin.debt(&end, 2.0, Some(10e6)).unwrap();
        assert_eq!((debt.flush_bytes_per_second, debt.seconds), (10e6, 6.0));
        assert_eq!(begin.debt(&end, 2.0, None).unwrap().flush_bytes_per_second, 50e6);
    }

    #[test]
    fn a_drain_is_watched_until_it_is_no_burst_any_more_or_has_run_dry() {
        let begin = state(100e6, 0.0);
        assert!(!begin.drain_is_told(&state(60e6, 40e6), 2.0));
        assert!(begin.drain_is_told(&state(60e6, 40e6), SHORTEST));
        assert!(begin.drain_is_told(&state(10e6, 90e6), 0.5));
    }

    #[test]
    fn growth_without_any_known_rate_asks_for_a_drain_and_no_growth_needs_none() {
        assert_eq!(state(0.0, 5.0).debt(&state(1.0, 5.0), 10.0, None), None);
        assert_eq!(
            state(2.0, 5.0)
                .debt(&state(1.0, 5.0), 10.0, None)
                .unwrap()
                .seconds,
            0.0
        );
    }

    #[test]
    fn the_state_is_read_from_either_servers_counters() {
        let mariadb = |name: &str| match name {
            "Innodb_page_size" => Some(16384.0),
            "Innodb_buffer_pool_bytes_dirty" => Some(32768.0),
            "Innodb_buffer_pool_pages_flushed" => Some(10.0),
            "Innodb_checkpoint_age" => Some(777.0),
            _ => None,
        };
        let mysql = |name: &str| match name {
            "Innodb_buffer_pool_pages_dirty" => Some(2.0),
            "Innodb_redo_log_current_lsn" => Some(1777.0),
            "Innodb_redo_log_checkpoint_lsn" => Some(1000.0),
            "Innodb_buffer_pool_bytes_dirty" | "Innodb_checkpoint_age" => None,
            other => mariadb(other),
        };
        let read = WriteState::from_status(mariadb).unwrap();
        assert_eq!(read.flushed_bytes, 163_840.0);
        assert_eq!(Some(read), WriteState::from_status(mysql));
        assert_eq!(WriteState::from_status(|_| None), None);
    }

    proptest! {
        #[test]
        fn debt_is_never_negative_and_never_infinite(
            a in 0.0f64..1e12, b in 0.0f64..1e12, f in 0.0f64..1e12, g in 0.0f64..1e12,
            seconds in 0.0f64..1e4, drain in prop::option::of(0.0f64..1e9),
        ) {
            if let Some(debt) = state(a, f).debt(&state(b, g), seconds, drain) {
                prop_assert!(debt.seconds.is_finite() && debt.seconds >= 0.0);
                prop_assert!(debt.growth_bytes >= 0.0 && debt.flush_bytes_per_second >= 0.0);
            }
        }
    }
}
