//! Lines for a log or a pipe: one per trial with its phases, and whatever a person should know.

use std::io::Write;
use std::sync::{Mutex, PoisonError};

use super::Lines;
use super::story::Story;
use crate::night::{Event, Listener};

/// Plain lines, without colours and without moving the cursor.
#[derive(Debug)]
pub struct Plain<W> {
    lines: Lines<W>,
    story: Mutex<Story>,
    is_log: bool,
}

impl<W: Write> Plain<W> {
    /// Writes to `lines`.
    pub fn new(lines: Lines<W>) -> Self {
        Self {
            lines,
            story: Mutex::new(Story::default()),
            is_log: false,
        }
    }

    /// With each phase as it ends.
    pub fn verbose(lines: Lines<W>) -> Self {
        Self {
            story: Mutex::new(Story::new(true)),
            ..Self::new(lines)
        }
    }

    /// The log of a study: beside all lines also what else there is to say of its end, which a person is told with the
    /// result.
    pub fn log(lines: Lines<W>) -> Self {
        Self {
            is_log: true,
            ..Self::new(lines)
        }
    }

    /// The writer again.
    pub fn into_inner(self) -> W {
        self.lines.into_inner()
    }
}

impl<W: Write + Send> Listener for Plain<W> {
    fn on(&self, event: &Event) {
        let mut story = self.story.lock().unwrap_or_else(PoisonError::into_inner);
        let before = story.standing_line().to_owned();
        for told in story.on(event) {
            self.lines.line(&told.text);
        }
        if story.standing_line() != before {
            self.lines.line(story.standing_line());
        }
        if let Event::StudyEnded { details, .. } = event
            && self.is_log
        {
            for detail in details {
                self.lines.line(&format!("  {}", super::words::one_line(detail)));
            }
        }
        if let Event::TrialStarted { job, .. } = event {
            let why = super::words::one_line(&job.why);
            self.lines.line(&format!(
                "{}: {why} ({})",
                story.trial_line(),
                story.study_line(0.0)
            ));
        }
    }
}
