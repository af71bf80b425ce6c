//! Nothing but warnings.

use std::io::Write;

use super::Lines;
use super::story::Story;
use crate::night::{Event, Listener};

/// Shows warnings only.
#[derive(Debug)]
pub struct Quiet<W>(Lines<W>);

impl<W: Write> Quiet<W> {
    /// Writes to `lines`.
    pub fn new(lines: Lines<W>) -> Self {
        Self(lines)
    }

    /// The writer again.
    pub fn into_inner(self) -> W {
        self.0.into_inner()
    }
}

impl<W: Write + Send> Listener for Quiet<W> {
    fn on(&self, event: &Event) {
        if matches!(event, Event::Warning { .. }) {
            for told in Story::default().on(event) {
                self.0.line(&told.text);
            }
        }
    }
}
