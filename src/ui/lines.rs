//! Whole lines to one place, from any thread.

use std::io::{self, Stderr, Stdout, Write};
use std::sync::{Mutex, PoisonError};

/// Writes whole lines, one at a time. What cannot be written is dropped: a closed terminal must not end the night.
#[derive(Debug)]
pub struct Lines<W>(Mutex<W>);

/// Lines to standard error: progress.
pub fn stderr() -> Lines<Stderr> {
    Lines::new(io::stderr())
}

/// Lines to standard output: results.
pub fn stdout() -> Lines<Stdout> {
    Lines::new(io::stdout())
}

impl<W: Write> Lines<W> {
    /// Lines to `writer`.
    pub fn new(writer: W) -> Self {
        Self(Mutex::new(writer))
    }

    /// Writes `line` and a line feed.
    pub fn line(&self, line: &str) {
        self.write(&format!("{line}\n"));
    }

    /// Writes a text that brings its own line feeds.
    pub fn write(&self, text: &str) {
        let mut writer = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Nobody is left to be told when this fails.
        let _ = writer.write_all(text.as_bytes()).and_then(|()| writer.flush());
    }

    /// The writer again.
    pub fn into_inner(self) -> W {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}
