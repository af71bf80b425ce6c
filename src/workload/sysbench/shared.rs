//! The memory shared with the Lua wrapper: its layout, written once here and once in `wrapper.lua`.
//!
//! Every cell is a double (8 bytes, native order). A header of 512 cells (cell 3: stop flag, cell 4: the script has its
//! own event loop), then 2056 cells per thread: started, events, errors, reconnects, four spare ones, and one count per
//! bucket of [`Histogram`]. It is an anonymous memory file, so nothing is ever written to a disk and nothing is left
//! behind; the wrapper opens it by our entry in `/proc`.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;

use crate::stats::Histogram;

const CELL: usize = size_of::<f64>();
const HEADER: usize = 512;
const STRIDE: usize = 8 + Histogram::BUCKETS;
const COUNTERS: usize = 8;
const STOP: usize = 3;
const OWN_LOOP: usize = 4;

/// What all threads together have counted so far.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Snapshot {
    /// Threads that are connected and ready.
    pub(super) started: usize,
    /// Whether the script has its own event loop, so that events may not be counted here.
    pub(super) own_loop: bool,
    /// Events, by the threads' own counters.
    pub(super) events: u64,
    /// Errors ignored.
    pub(super) errors: u64,
    /// Reconnects.
    pub(super) reconnects: u64,
    /// Latencies of all events.
    pub(super) histogram: Histogram,
}

/// The shared memory of one run.
#[derive(Debug)]
pub(super) struct Shared {
    file: File,
    threads: usize,
}

impl Shared {
    /// Zeroed memory for so many threads.
    pub(super) fn new(threads: usize) -> io::Result<Self> {
        let memory = rustix::fs::memfd_create("noctune-load", rustix::fs::MemfdFlags::CLOEXEC)?;
        let file = File::from(memory);
        let length = (HEADER + STRIDE * threads) * CELL;
        file.set_len(u64::try_from(length).map_err(|_| ErrorKind::InvalidInput)?)?;
        Ok(Self { file, threads })
    }

    /// The path under which another process of the same user opens it, as long as this one lives.
    pub(super) fn path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd())
    }

    /// Asks every thread to end before its next event.
    pub(super) fn ask_to_stop(&self) -> io::Result<()> {
        self.file
            .write_all_at(&1.0f64.to_ne_bytes(), (STOP * CELL) as u64)
    }

    /// Reads everything and adds the threads up. Threads go on counting meanwhile: a count may be one event newer than
    /// its neighbour.
    pub(super) fn snapshot(&self) -> io::Result<Snapshot> {
        let mut bytes = vec![0; (HEADER + STRIDE * self.threads) * CELL];
        self.file.read_exact_at(&mut bytes, 0)?;
        let (cells, _) = bytes.as_chunks::<CELL>();
        // A count is a whole number that never comes near 2^53; the cast saturates.
        let cell = |index: usize| f64::from_ne_bytes(cells[index]) as u64;
        let mut counts = vec![0; Histogram::BUCKETS];
        let mut snapshot = Snapshot {
            own_loop: cell(OWN_LOOP) != 0,
            ..Snapshot::default()
        };
        for thread in 0..self.threads {
            let first = HEADER + STRIDE * thread;
            snapshot.started += usize::from(cell(first) != 0);
            snapshot.events += cell(first + 1);
            snapshot.errors += cell(first + 2);
            snapshot.reconnects += cell(first + 3);
            for (bucket, count) in counts.iter_mut().enumerate() {
                *count += cell(first + COUNTERS + bucket);
            }
        }
        snapshot.histogram = Histogram::from_counts(counts);
        Ok(snapshot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_threads_write_is_added_up() {
        let shared = Shared::new(3).unwrap();
        let file = std::fs::OpenOptions::new()
            .write(true)
            .open(shared.path())
            .unwrap();
        let set = |cell: usize, value: f64| {
            file.write_all_at(&value.to_ne_bytes(), (cell * CELL) as u64)
                .unwrap();
        };
        for thread in [0, 2] {
            let first = HEADER + STRIDE * thread;
            set(first, 1.0);
            set(first + 1, 5.0);
            set(first + 2, 2.0);
            set(first + COUNTERS + Histogram::bucket(1500), 5.0);
        }
        let snapshot = shared.snapshot().unwrap();
        assert_eq!((snapshot.started, snapshot.events, snapshot.errors), (2, 10, 4));
        assert_eq!(snapshot.histogram.total(), 10);
        assert!((snapshot.histogram.quantile_ms(0.5).unwrap() - 1.5).abs() < 0.02);
    }

    #[test]
    fn the_wrapper_has_the_same_layout() {
        let text = include_str!("wrapper.lua");
        let numbers = format!("= {HEADER}, {STRIDE}, {COUNTERS}, {}\n", Histogram::BUCKETS);
        assert!(text.contains(&numbers), "{numbers}");
        assert!(text.contains(&format!("local STOP, OWN_LOOP = {STOP}, {OWN_LOOP}\n")));
    }
}
