//! The memory that Noctune's Lua wrapper shares with Noctune: a header, then one block of cells per thread, all of them
//! doubles. Written here as the wrapper writes it (its constants, its buckets), through the file.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;

use crate::Fallible;

/// Cells of the header.
const HEADER: u64 = 512;
/// Cells of one thread.
const STRIDE: u64 = 2056;
/// The thread's cells before its buckets.
const COUNTERS: u64 = 8;
/// Number of buckets.
const BUCKETS: u64 = 2048;
/// The header's cell that says stop.
const STOP: u64 = 3;

/// The shared memory.
pub(super) struct Shared {
    file: File,
    threads: u64,
    next: u64,
}

impl Shared {
    /// The file that the environment names; none where it names none.
    ///
    /// # Errors
    ///
    /// When it cannot be opened.
    pub(super) fn open(threads: u64) -> Fallible<Option<Self>> {
        let Some(path) = std::env::var_os("NOCTUNE_SHARED") else {
            return Ok(None);
        };
        let file = OpenOptions::new().read(true).write(true).open(path)?;
        let shared = Self {
            file,
            threads,
            next: 0,
        };
        for thread in 0..threads {
            shared.set(HEADER + STRIDE * thread, 1.0)?;
        }
        Ok(Some(shared))
    }

    /// Whether the load is asked to end.
    ///
    /// # Errors
    ///
    /// When the file does not read.
    pub(super) fn is_stopped(&self) -> Fallible<bool> {
        Ok(self.get(STOP)? != 0.0)
    }

    /// Counts events of one duration, as done by the threads in turn.
    ///
    /// # Errors
    ///
    /// When the file does not take it.
    pub(super) fn count(&mut self, events: u64, microseconds: u64) -> Fallible<()> {
        if events == 0 {
            return Ok(());
        }
        let cells = HEADER + STRIDE * (self.next % self.threads);
        self.next += 1;
        #[expect(clippy::cast_precision_loss, reason = "small")]
        let events = events as f64;
        for cell in [cells + 1, cells + COUNTERS + bucket(microseconds)] {
            self.set(cell, self.get(cell)? + events)?;
        }
        Ok(())
    }

    fn get(&self, cell: u64) -> Fallible<f64> {
        let mut bytes = [0; 8];
        self.file.read_exact_at(&mut bytes, cell * 8)?;
        Ok(f64::from_ne_bytes(bytes))
    }

    fn set(&self, cell: u64, value: f64) -> Fallible<()> {
        self.file.write_all_at(&value.to_ne_bytes(), cell * 8)?;
        Ok(())
    }
}

/// The bucket of a duration: one per microsecond below 64, 64 per power of two above.
fn bucket(microseconds: u64) -> u64 {
    if microseconds < 64 {
        return microseconds;
    }
    let power = u64::from(microseconds.ilog2());
    ((power - 6) * 64 + (microseconds >> (power - 6))).min(BUCKETS - 1)
}
