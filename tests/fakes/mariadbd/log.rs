//! The fake server's error log.

use std::io::Write;
use std::sync::{Mutex, PoisonError};

use crate::Fallible;

/// The error log.
pub(super) struct Log(Mutex<Box<dyn Write + Send>>);

impl Log {
    /// Appends to a file, or writes to the error output where the path is empty.
    ///
    /// # Errors
    ///
    /// When the file cannot be opened.
    pub(super) fn open(path: &str) -> Fallible<Self> {
        let writer: Box<dyn Write + Send> = if path.is_empty() {
            Box::new(std::io::stderr())
        } else {
            Box::new(std::fs::OpenOptions::new().create(true).append(true).open(path)?)
        };
        Ok(Self(Mutex::new(writer)))
    }

    /// A line with its level.
    pub(super) fn line(&self, level: &str, text: &str) {
        self.raw(&format!("2026-01-01  0:00:00 0 [{level}] {text}"));
    }

    /// A line as it is.
    pub(super) fn raw(&self, text: &str) {
        let mut writer = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // A log that cannot be written is not worth ending for.
        let _ = writeln!(writer, "{text}");
    }
}
