//! Bars that move: the study, the trial under way, what is believed best.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::story::{Story, Tone};
use crate::night::{Event, Listener};

/// Live progress on a terminal; finished trials scroll away above the bars.
#[derive(Debug)]
pub struct Bars {
    color: bool,
    all: MultiProgress,
    study: ProgressBar,
    trial: ProgressBar,
    standing: ProgressBar,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    story: Story,
    trial_began: Option<Instant>,
}

impl Bars {
    /// Bars on standard error; `verbose` also tells each phase as it ends.
    pub fn new(color: bool, verbose: bool) -> Self {
        Self::on(ProgressDrawTarget::stderr(), color, Story::new(verbose))
    }

    fn on(target: ProgressDrawTarget, color: bool, story: Story) -> Self {
        let all = MultiProgress::with_draw_target(target);
        let bar = |template: &str| {
            let bar = all.add(ProgressBar::new(0));
            // A template that is not understood leaves the default style: the bars still move.
            if let Ok(style) = ProgressStyle::with_template(template) {
                bar.set_style(style);
            }
            bar
        };
        let study = if color {
            bar("[{wide_bar:.cyan}] {msg}")
        } else {
            bar("[{wide_bar}] {msg}")
        };
        let trial = bar("{spinner} {wide_msg}");
        let standing = bar("  {wide_msg}");
        trial.enable_steady_tick(Duration::from_millis(200));
        Self {
            color,
            all,
            study,
            trial,
            standing,
            state: Mutex::new(State {
                story,
                trial_began: None,
            }),
        }
    }

    fn painted(&self, tone: Tone, text: &str) -> String {
        let code = match tone {
            Tone::Good => 32,
            Tone::Bad => 33,
            Tone::Plain => return text.to_owned(),
        };
        if self.color {
            format!("\u{1b}[{code}m{text}\u{1b}[0m")
        } else {
            text.to_owned()
        }
    }
}

impl Listener for Bars {
    fn on(&self, event: &Event) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match event {
            Event::TrialStarted { .. } => state.trial_began = Some(Instant::now()),
            Event::TrialEnded { .. } => state.trial_began = None,
            _ => {}
        }
        for told in state.story.on(event) {
            // A terminal that is gone is no reason to stop.
            let _ = self.all.println(self.painted(told.tone, &told.text));
        }
        if matches!(event, Event::StudyEnded { .. }) {
            for bar in [&self.study, &self.trial, &self.standing] {
                bar.finish_and_clear();
            }
            return;
        }
        let elapsed = state
            .trial_began
            .map_or(0.0, |began| began.elapsed().as_secs_f64());
        // Whole seconds, never negative: `as` saturates.
        self.study.set_length(state.story.budget.max(1.0) as u64);
        self.study.set_position((state.story.spent + elapsed) as u64);
        self.study.set_message(state.story.study_line(elapsed));
        self.trial.set_message(state.story.trial_line());
        self.standing.set_message(state.story.standing_line().to_owned());
    }
}

impl Drop for Bars {
    fn drop(&mut self) {
        // Also after an interruption: the last thing on the terminal is text, not half a bar.
        for bar in [&self.study, &self.trial, &self.standing] {
            bar.finish_and_clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::night;
    use super::*;

    #[test]
    fn the_study_bar_moves_with_the_time_spent_and_ends_cleared() {
        let bars = Bars::on(ProgressDrawTarget::hidden(), false, Story::default());
        let events = night();
        for event in &events[..events.len() - 1] {
            bars.on(event);
        }
        assert_eq!((bars.study.length(), bars.study.position()), (Some(900), 60));
        assert!(bars.study.message().starts_with("2 trials, 60 s of 15 min"));
        assert!(bars.standing.message().starts_with("believed best: trial 1"));
        bars.on(&events[events.len() - 1]);
        assert!(bars.study.is_finished() && bars.trial.is_finished());
    }

    #[test]
    fn colours_are_used_only_where_asked_for() {
        let plain = Bars::on(ProgressDrawTarget::hidden(), false, Story::default());
        let coloured = Bars::on(ProgressDrawTarget::hidden(), true, Story::default());
        assert_eq!(plain.painted(Tone::Bad, "x"), "x");
        assert_eq!(coloured.painted(Tone::Bad, "x"), "\u{1b}[33mx\u{1b}[0m");
        assert_eq!(coloured.painted(Tone::Plain, "x"), "x");
    }
}
