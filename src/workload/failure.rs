//! Why a load failed, and whose fault it is.

use std::collections::BTreeMap;

use crate::error::{Error, Problem};
use crate::trial::{Cause, CauseKind, Outcome, Phase, WindowTotals};

/// Errors of the client library that mean: the server, or the way to it, is gone (MariaDB Error Codes: 2002 to 2055).
const SERVER_GONE: [u32; 6] = [2002, 2003, 2006, 2011, 2013, 2055];

/// Largest share of attempts that may end in errors or reconnects before a window stops to count.
pub(super) const LARGEST_FAILED_SHARE: f64 = 0.05;

/// Why a load failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LoadFailure {
    /// The load's own command line, script or tool is wrong: no candidate could do better, so the study stops.
    #[error("{0}")]
    Setup(Problem),
    /// The candidate does not let the load start; `cause` names the variable.
    #[error("{}", .0.text)]
    Candidate(Cause),
    /// The load asks for more events per second than the candidate serves: its capacity lies below the rate.
    #[error("{text}")]
    Censored {
        /// What the load said.
        text: String,
    },
    /// The load reported errors of the server and ended. Look at the server first when [`Self::server_lost`].
    #[error("{text}")]
    Reported {
        /// The first error with the count of each.
        text: String,
        /// Times each error number was reported.
        errnos: BTreeMap<u32, u64>,
    },
    /// It did not end by its deadline and was killed.
    #[error("{text}")]
    Hung {
        /// What it was waited for.
        text: String,
    },
    /// Its figures do not add up, or say that nothing was done.
    #[error("{text}")]
    Inconsistent {
        /// Which ones.
        text: String,
    },
    /// The host would not run it (no memory, no files).
    #[error("{text}")]
    Host {
        /// Why.
        text: String,
    },
}

impl LoadFailure {
    /// Whether the server was lost: the runner looks at the server (exit code, error log) before it blames the load.
    pub fn server_lost(&self) -> bool {
        match self {
            Self::Reported { errnos, .. } => errnos.keys().any(|errno| SERVER_GONE.contains(errno)),
            _ => false,
        }
    }

    /// The error that ends the whole study, where no other candidate could do better.
    pub fn stops_study(&self) -> Option<Error> {
        match self {
            Self::Setup(problem) => Some(Error::Input(problem.clone())),
            _ => None,
        }
    }

    /// Whether a rate was asked for that the candidate does not serve: not an error, its capacity is below the rate.
    pub fn is_censored(&self) -> bool {
        matches!(self, Self::Censored { .. })
    }

    /// The trial's outcome when the server is found well, in the phase in which it happened.
    pub fn outcome(&self, phase: Phase) -> Outcome {
        let failed = |kind, text: &str| Outcome::LoadFailed {
            cause: Cause::new(kind, text),
        };
        match self {
            Self::Setup(problem) => failed(CauseKind::LoadSetup, &one_line(problem)),
            Self::Candidate(cause) => Outcome::LoadFailed { cause: cause.clone() },
            Self::Censored { text } => failed(CauseKind::RateAboveCapacity, text),
            Self::Reported { text, .. } => failed(CauseKind::LoadError, text),
            Self::Hung { .. } => Outcome::TimedOut { phase },
            Self::Inconsistent { text } => failed(CauseKind::LoadInconsistent, text),
            Self::Host { text } => Outcome::HostFault {
                cause: Cause::new(CauseKind::Other, text),
            },
        }
    }

    /// Whether a window counts: something was done in it, in a finite time, and at most 5 % of the attempts ended in an
    /// error or a reconnect.
    ///
    /// # Errors
    /// [`Self::Inconsistent`] for an empty window, [`Self::Reported`] for too many errors.
    pub fn check_window(window: &WindowTotals) -> Result<(), Self> {
        if !window.seconds.is_finite() || window.seconds <= 0.0 {
            return Err(Self::Inconsistent {
                text: format!("the window of the load is {} s long", window.seconds),
            });
        }
        if window.transactions == 0 {
            return Err(Self::Inconsistent {
                text: format!(
                    "no transaction ended in {:.0} s ({} errors, {} reconnects)",
                    window.seconds, window.errors, window.reconnects
                ),
            });
        }
        let share = window.failed_share();
        if share > LARGEST_FAILED_SHARE {
            return Err(Self::Reported {
                text: format!(
                    "{:.1} % of the load's attempts failed ({} errors, {} reconnects, {} transactions); {} % is the limit",
                    share * 100.0,
                    window.errors,
                    window.reconnects,
                    window.transactions,
                    LARGEST_FAILED_SHARE * 100.0
                ),
                errnos: BTreeMap::new(),
            });
        }
        Ok(())
    }
}

/// What failed, where and what to do, for a cause of one line.
fn one_line(problem: &Problem) -> String {
    let place = problem.place.as_ref().map(|place| format!(" ({place})"));
    let next = problem.next.as_ref().map(|next| format!("; {next}"));
    [Some(problem.what.clone()), place, next]
        .into_iter()
        .flatten()
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_to_do_about_a_wrong_set_up_is_kept_with_the_trial() {
        let problem = Problem::new("\"1,5\" is not a number")
            .at("line 5")
            .next("print it with LC_ALL=C");
        let Outcome::LoadFailed { cause } = LoadFailure::Setup(problem).outcome(Phase::Measure) else {
            panic!("no failure of the load")
        };
        assert_eq!(
            cause.text,
            "\"1,5\" is not a number (line 5); print it with LC_ALL=C"
        );
    }

    fn window(transactions: u64, errors: u64) -> WindowTotals {
        WindowTotals {
            seconds: 10.0,
            transactions,
            errors,
            ..WindowTotals::default()
        }
    }

    #[test]
    fn a_window_without_a_transaction_never_counts() {
        assert!(matches!(
            LoadFailure::check_window(&window(0, 0)),
            Err(LoadFailure::Inconsistent { .. })
        ));
    }

    #[test]
    fn a_few_deadlocks_are_part_of_the_load_and_many_are_a_failure() {
        assert_eq!(LoadFailure::check_window(&window(1000, 10)), Ok(()));
        let failure = LoadFailure::check_window(&window(1000, 100)).unwrap_err();
        assert!(failure.to_string().contains("9.1 %"), "{failure}");
    }

    #[test]
    fn a_lost_connection_makes_us_look_at_the_server_first() {
        let failure = |errno| LoadFailure::Reported {
            text: "x".to_owned(),
            errnos: BTreeMap::from([(1205, 1), (errno, 15)]),
        };
        assert!(failure(2013).server_lost());
        assert!(!failure(1213).server_lost());
    }

    #[test]
    fn a_rate_above_capacity_is_a_censored_result_and_no_failure_of_the_load() {
        let text = "the load's rate is above what the server serves: the event queue is full".to_owned();
        let outcome = LoadFailure::Censored { text }.outcome(Phase::Measure);
        assert!(outcome.is_censored() && outcome.is_candidate_failure());
        assert_eq!(outcome.name(), "censored");
        let reported = LoadFailure::Reported {
            text: "deadlock".to_owned(),
            errnos: BTreeMap::new(),
        };
        assert_eq!(reported.outcome(Phase::Measure).name(), "load-failed");
    }

    #[test]
    fn a_wrong_command_line_stops_the_study_and_a_candidate_does_not() {
        let setup = LoadFailure::Setup(Problem::new("invalid option: --tabels"));
        assert_eq!(setup.stops_study().unwrap().exit_code(), 2);
        let hung = LoadFailure::Hung { text: "x".to_owned() };
        assert!(hung.stops_study().is_none());
        assert_eq!(
            hung.outcome(Phase::Measure),
            Outcome::TimedOut {
                phase: Phase::Measure
            }
        );
    }
}
