//! The event stream as JSON lines.

use std::io::Write;

use super::Lines;
use crate::night::{Event, Listener};

/// One JSON object per event and line; numbers that are not finite are `null`.
#[derive(Debug)]
pub struct JsonLines<W>(Lines<W>);

impl<W: Write> JsonLines<W> {
    /// Writes to `lines`.
    pub fn new(lines: Lines<W>) -> Self {
        Self(lines)
    }

    /// The writer again.
    pub fn into_inner(self) -> W {
        self.0.into_inner()
    }
}

impl<W: Write + Send> Listener for JsonLines<W> {
    fn on(&self, event: &Event) {
        // An event is plain data with text keys: turning it into JSON cannot fail.
        if let Ok(line) = serde_json::to_string(event) {
            self.0.line(&line);
        }
    }
}
