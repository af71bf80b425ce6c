//! Which view is shown.

use std::sync::Arc;

use super::{Bars, JsonLines, Plain, Quiet, stderr, stdout};
use crate::night::Listener;

/// The views.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ui {
    /// Bars that move; needs a terminal.
    Bars,
    /// Lines.
    Plain,
    /// JSON lines on standard output.
    Json,
    /// Warnings only.
    Quiet,
}

impl Ui {
    /// `json` and `quiet` are the flags, JSON first; `is_terminal` says whether standard error is one, `term` is the
    /// variable `TERM`: on a terminal that cannot move its cursor lines are shown.
    pub fn choose(json: bool, quiet: bool, is_terminal: bool, term: Option<&str>) -> Self {
        let moves = !matches!(term, None | Some("" | "dumb"));
        if json {
            Self::Json
        } else if quiet {
            Self::Quiet
        } else if is_terminal && moves {
            Self::Bars
        } else {
            Self::Plain
        }
    }

    /// A listener that shows this view; `color` as decided by [`ColorChoice::decide`]; `verbose` tells each phase as it ends
    /// where people read.
    pub fn listener(self, color: bool, verbose: bool) -> Arc<dyn Listener> {
        match self {
            Self::Bars => Arc::new(Bars::new(color, verbose)),
            Self::Plain if verbose => Arc::new(Plain::verbose(stderr())),
            Self::Plain => Arc::new(Plain::new(stderr())),
            Self::Json => Arc::new(JsonLines::new(stdout())),
            Self::Quiet => Arc::new(Quiet::new(stderr())),
        }
    }
}

/// `--color`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ColorChoice {
    /// Where there is a terminal and `NO_COLOR` is not set.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

impl ColorChoice {
    /// Whether to use colours. `no_color` is the variable `NO_COLOR`: set and not empty means none (<https://no-color.org>);
    /// the flag wins over it.
    pub fn decide(self, no_color: Option<&str>, is_terminal: bool) -> bool {
        match self {
            Self::Always => true,
            Self::Never => false,
            Self::Auto => is_terminal && no_color.is_none_or(str::is_empty),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_comes_before_quiet_and_bars_need_a_terminal() {
        let term = Some("xterm");
        assert_eq!(Ui::choose(true, true, true, term), Ui::Json);
        assert_eq!(Ui::choose(false, true, true, term), Ui::Quiet);
        assert_eq!(Ui::choose(false, false, true, term), Ui::Bars);
        assert_eq!(Ui::choose(false, false, false, term), Ui::Plain);
    }

    #[test]
    fn a_terminal_that_cannot_move_its_cursor_gets_lines() {
        for term in [None, Some(""), Some("dumb")] {
            assert_eq!(Ui::choose(false, false, true, term), Ui::Plain, "{term:?}");
        }
    }

    #[test]
    fn no_color_is_honoured_unless_the_flag_asks_for_colours() {
        assert!(ColorChoice::Auto.decide(None, true));
        assert!(ColorChoice::Auto.decide(Some(""), true));
        assert!(!ColorChoice::Auto.decide(Some("1"), true));
        assert!(!ColorChoice::Auto.decide(None, false));
        assert!(ColorChoice::Always.decide(Some("1"), false));
        assert!(!ColorChoice::Never.decide(None, true));
    }
}
