//! What happens in a trial, phase by phase: deadlines, times, events.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::future::Future;
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use crate::night::{Event, Events, now};
use crate::server::ClientError;
use crate::strategy::TrialNumber;
use crate::trial::{Cause, CauseKind, Outcome, Phase, PhaseTime, Warning};

/// Why a phase did not end as it should.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Failure {
    /// The trial has this outcome.
    Outcome(Outcome),
    /// The user wants to stop.
    Stopped,
}

impl Failure {
    /// A fault of the host, told in `text`.
    pub(super) fn host(text: impl Into<String>) -> Self {
        Self::Outcome(Outcome::HostFault {
            cause: Cause::new(CauseKind::Other, text),
        })
    }

    /// A query that was not answered: in time, then the phase timed out; or at all, then `what` failed.
    pub(super) fn unanswered(phase: Phase, what: &str, error: &ClientError) -> Self {
        match error {
            ClientError::TimedOut { .. } => Self::Outcome(Outcome::TimedOut { phase }),
            ClientError::Failed { .. } => Self::host(format!("{what}: {error}")),
        }
    }
}

impl From<crate::error::Error> for Failure {
    fn from(error: crate::error::Error) -> Self {
        match error {
            crate::error::Error::Interrupted => Self::Stopped,
            other => Self::host(other.to_string()),
        }
    }
}

/// Keeps the times of the phases and tells them as they happen.
pub(super) struct Journal<'a> {
    trial: TrialNumber,
    events: &'a Events,
    stop: &'a CancellationToken,
    told: &'a RefCell<BTreeSet<String>>,
    /// Phases that ended, in order.
    pub(super) phases: Vec<PhaseTime>,
    /// What a person should know.
    pub(super) warnings: Vec<Warning>,
}

impl<'a> Journal<'a> {
    pub(super) fn new(
        trial: TrialNumber,
        events: &'a Events,
        stop: &'a CancellationToken,
        told: &'a RefCell<BTreeSet<String>>,
    ) -> Self {
        Self {
            trial,
            events,
            stop,
            told,
            phases: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// Runs a phase to its end, its deadline, or the user's stop, whichever comes first. `work` returns its result and
    /// what is worth a note.
    pub(super) async fn phase<T>(
        &mut self,
        phase: Phase,
        deadline: Duration,
        work: impl Future<Output = Result<(T, Option<String>), Failure>>,
    ) -> Result<T, Failure> {
        let stop = self.stop;
        // The stop is looked at within the timed phase, so that what is cut short ends in the stream of events, too.
        let until_stopped = async {
            tokio::select! {
                ended = work => ended,
                () = stop.cancelled() => Err(Failure::Stopped),
            }
        };
        self.timed(phase, deadline, until_stopped).await
    }

    /// As [`Journal::phase`], but not cut short by the user's stop: what cleans up always runs to its end.
    pub(super) async fn timed<T>(
        &mut self,
        phase: Phase,
        deadline: Duration,
        work: impl Future<Output = Result<(T, Option<String>), Failure>>,
    ) -> Result<T, Failure> {
        self.events.send(&Event::PhaseStarted {
            trial: self.trial,
            phase,
            deadline_seconds: deadline.as_secs_f64(),
        });
        let began = now();
        let clock = Instant::now();
        let ended = tokio::time::timeout(deadline, work)
            .await
            .unwrap_or(Err(Failure::Outcome(deadline_missed(phase, deadline))));
        let seconds = clock.elapsed().as_secs_f64();
        self.phases.push(PhaseTime {
            phase,
            began,
            seconds,
        });
        let note = match &ended {
            Ok((_, note)) => note.clone(),
            Err(Failure::Outcome(outcome)) => outcome.reason(),
            Err(Failure::Stopped) => Some("stopped by the user".to_owned()),
        };
        self.events.send(&Event::PhaseEnded {
            trial: self.trial,
            phase,
            seconds,
            note,
        });
        ended.map(|(value, _)| value)
    }

    /// Warns of each.
    pub(super) fn warn_all(&mut self, warnings: Vec<Warning>) {
        for warning in warnings {
            self.warn(warning);
        }
    }

    /// Notes what a person should know, and tells it, unless an earlier trial had told the same.
    pub(super) fn warn(&mut self, warning: Warning) {
        if !self.told.borrow_mut().insert(warning.text.clone()) {
            self.warnings.push(warning);
            return;
        }
        self.events.send(&Event::Warning {
            text: format!("trial {}: {}", self.trial, warning.text),
            next: warning.next.clone(),
        });
        self.warnings.push(warning);
    }
}

/// What a phase warns of, with the note that tells it in the stream of events.
pub(super) fn noted(warnings: Vec<Warning>) -> (Vec<Warning>, Option<String>) {
    let texts: Vec<&str> = warnings.iter().map(|warning| warning.text.as_str()).collect();
    let note = (!texts.is_empty()).then(|| texts.join("; "));
    (warnings, note)
}

/// What a missed deadline means: resetting and cooling are the host's work, everything else the candidate's.
fn deadline_missed(phase: Phase, deadline: Duration) -> Outcome {
    match phase {
        Phase::Check | Phase::Reset | Phase::Cool | Phase::Stop => Outcome::HostFault {
            cause: Cause::new(
                CauseKind::Other,
                format!(
                    "the phase {phase} did not end within {:.0} s",
                    deadline.as_secs_f64()
                ),
            ),
        },
        Phase::Start
        | Phase::Verify
        | Phase::WarmUp
        | Phase::Measure
        | Phase::Collect
        | Phase::CrashRecovery => Outcome::TimedOut { phase },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_missed_deadline_is_the_candidates_when_the_server_works_and_the_hosts_otherwise() {
        let (events, stop, told) = (Events::default(), CancellationToken::new(), RefCell::default());
        let mut journal = Journal::new(1, &events, &stop, &told);
        let never = std::future::pending::<Result<((), Option<String>), Failure>>;
        let measured = journal
            .phase(Phase::Measure, Duration::from_secs(5), never())
            .await;
        assert_eq!(
            measured,
            Err(Failure::Outcome(Outcome::TimedOut {
                phase: Phase::Measure
            }))
        );
        let reset = journal.phase(Phase::Reset, Duration::from_secs(5), never()).await;
        assert!(
            matches!(reset, Err(Failure::Outcome(Outcome::HostFault { .. }))),
            "{reset:?}"
        );
        assert_eq!(journal.phases.len(), 2);
    }

    #[test]
    fn a_note_tells_every_warning_of_its_phase() {
        assert_eq!(noted(Vec::new()).1, None);
        let two = ["a", "b"].map(|text| Warning {
            text: text.to_owned(),
            next: None,
        });
        assert_eq!(noted(two.to_vec()).1.as_deref(), Some("a; b"));
    }

    #[test]
    fn a_query_without_an_answer_in_time_is_a_missed_deadline_and_no_fault_of_the_host() {
        let late = ClientError::TimedOut {
            query: "SHOW GLOBAL VARIABLES".to_owned(),
            seconds: 30.0,
        };
        assert_eq!(
            Failure::unanswered(Phase::Verify, "the variables cannot be read", &late),
            Failure::Outcome(Outcome::TimedOut { phase: Phase::Verify })
        );
    }

    #[tokio::test]
    async fn a_raised_stop_ends_a_phase() {
        #[derive(Default)]
        struct Heard(std::sync::Mutex<Vec<Event>>);
        impl crate::night::Listener for Heard {
            fn on(&self, event: &Event) {
                self.0.lock().unwrap().push(event.clone());
            }
        }
        let heard = std::sync::Arc::new(Heard::default());
        let events = Events::new(vec![heard.clone()]);
        let (stop, told) = (CancellationToken::new(), RefCell::default());
        stop.cancel();
        let mut journal = Journal::new(1, &events, &stop, &told);
        let never = std::future::pending::<Result<((), Option<String>), Failure>>();
        assert_eq!(
            journal.phase(Phase::WarmUp, Duration::from_secs(5), never).await,
            Err(Failure::Stopped)
        );
        let heard = heard.0.lock().unwrap();
        assert!(
            matches!(
                heard.as_slice(),
                [
                    Event::PhaseStarted { .. },
                    Event::PhaseEnded { trial: 1, phase: Phase::WarmUp, note: Some(note), .. }
                ] if note.contains("stopped")
            ),
            "{heard:?}"
        );
    }
}
