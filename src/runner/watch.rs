//! Watches the load second by second, and the server with it.

use std::collections::BTreeMap;
use std::time::Duration;

use super::journal::Failure;
use crate::night::{Event, Events};
use crate::server::{Client, Death, Instance, classify_death};
use crate::strategy::TrialNumber;
use crate::trial::{Cause, CauseKind, Outcome, Phase, Second};
use crate::workload::{LoadFailure, RunningLoad};

/// Server status and host counters are read this often, seconds.
const STATUS_EVERY: f64 = 5.0;
/// After this many seconds without a transaction the server is asked whether it lives.
const SILENCE: usize = 8;
/// How long the server may take to answer a status query; a busy one needs milliseconds, a hung one never answers.
const ANSWER: Duration = Duration::from_secs(10);
/// How long a server that lost its connections may take to be seen dead.
const DYING: Duration = Duration::from_secs(5);
/// With the server idle this long while the load sends nothing, the load itself hangs.
const LOAD_HUNG: usize = 15;

/// Status variables at a moment of the load.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct StatusSample {
    /// Seconds since the load started.
    pub(super) at: f64,
    /// Numeric status variables by name, in lower case.
    pub(super) values: BTreeMap<String, f64>,
}

/// A running server under a running load.
pub(super) struct Watch<'a> {
    pub(super) trial: TrialNumber,
    pub(super) events: &'a Events,
    pub(super) instance: &'a mut Instance,
    pub(super) client: &'a mut Client,
    pub(super) load: &'a mut dyn RunningLoad,
    /// Kills for memory seen in the server's cgroup, where it has one.
    pub(super) cgroup_kills: &'a dyn Fn() -> Option<u64>,
    /// All seconds so far.
    pub(super) seconds: Vec<Second>,
    /// Status samples so far.
    pub(super) status: Vec<StatusSample>,
    silent: usize,
}

impl<'a> Watch<'a> {
    pub(super) fn new(
        trial: TrialNumber,
        events: &'a Events,
        instance: &'a mut Instance,
        client: &'a mut Client,
        load: &'a mut dyn RunningLoad,
        cgroup_kills: &'a dyn Fn() -> Option<u64>,
    ) -> Self {
        Self {
            trial,
            events,
            instance,
            client,
            load,
            cgroup_kills,
            seconds: Vec::new(),
            status: Vec::new(),
            silent: 0,
        }
    }

    /// Waits for the next second of load and looks after the server.
    pub(super) async fn second(&mut self, phase: Phase) -> Result<Second, Failure> {
        let second = match self.load.next_second().await {
            Ok(Some(second)) => second,
            Ok(None) => {
                return Err(self
                    .blame(
                        LoadFailure::Hung {
                            text: "the load ended before the trial".into(),
                        },
                        phase,
                    )
                    .await);
            }
            Err(failure) => return Err(self.blame(failure, phase).await),
        };
        self.events.send(&Event::Second {
            trial: self.trial,
            second,
        });
        self.seconds.push(second);
        if let Some(outcome) = self.server_death()? {
            return Err(Failure::Outcome(outcome));
        }
        self.silent = if second.tps > 0.0 { 0 } else { self.silent + 1 };
        if self.silent >= SILENCE {
            self.look_into_silence(phase).await?;
        }
        let due = self
            .status
            .last()
            .is_none_or(|last| second.at - last.at >= STATUS_EVERY - 0.5);
        if due {
            self.sample_status(phase).await?;
        }
        Ok(second)
    }

    /// Reads the server's status now.
    pub(super) async fn sample_status(&mut self, phase: Phase) -> Result<(), Failure> {
        let at = self.seconds.last().map_or(0.0, |second| second.at);
        match tokio::time::timeout(ANSWER, self.client.global_status()).await {
            Ok(Ok(status)) => {
                let values = status
                    .into_iter()
                    .filter_map(|(name, value)| {
                        value
                            .parse::<f64>()
                            .ok()
                            .map(|value| (name.to_ascii_lowercase(), value))
                    })
                    .filter(|(_, value)| value.is_finite())
                    .collect();
                self.status.push(StatusSample { at, values });
                Ok(())
            }
            Ok(Err(_)) | Err(_) => Err(Failure::Outcome(
                self.death_soon().await?.unwrap_or(Outcome::TimedOut { phase }),
            )),
        }
    }

    /// Nothing was done for a while: a dead server, a hung server, or a hung load?
    async fn look_into_silence(&mut self, phase: Phase) -> Result<(), Failure> {
        self.sample_status(phase).await?;
        let idle = self
            .status
            .last()
            .and_then(|s| s.values.get("threads_running"))
            .is_some_and(|running| *running <= 1.0);
        if idle && self.silent >= LOAD_HUNG {
            let text = format!(
                "the load sent nothing for {} s while the server was idle and answered",
                self.silent
            );
            return Err(Failure::Outcome(Outcome::HostFault {
                cause: Cause::new(CauseKind::Other, text),
            }));
        }
        Ok(())
    }

    /// The outcome of a failed load: the server's death where it died, else what the load says.
    async fn blame(&mut self, failure: LoadFailure, phase: Phase) -> Failure {
        let looked = if failure.server_lost() {
            self.death_soon().await
        } else {
            self.server_death()
        };
        match looked {
            Ok(Some(death)) => Failure::Outcome(death),
            Ok(None) => Failure::Outcome(failure.outcome(phase)),
            Err(other) => other,
        }
    }

    /// The outcome when the server is dead now.
    fn server_death(&mut self) -> Result<Option<Outcome>, Failure> {
        let Some(exit) = self.instance.try_exit()? else {
            return Ok(None);
        };
        let death = Death {
            code: exit.code,
            signal: exit.signal,
            cgroup_kills: (self.cgroup_kills)(),
            kernel_told: false,
            open_files: None,
        };
        Ok(Some(classify_death(&self.instance.log(), &death)))
    }

    /// As [`Watch::server_death`], waiting a little: connections break before the process is gone.
    async fn death_soon(&mut self) -> Result<Option<Outcome>, Failure> {
        let end = tokio::time::Instant::now() + DYING;
        loop {
            if let Some(outcome) = self.server_death()? {
                return Ok(Some(outcome));
            }
            if tokio::time::Instant::now() >= end {
                return Ok(None);
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
}
