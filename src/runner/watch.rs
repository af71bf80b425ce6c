//! Watches the load second by second, and the server with it.

use std::collections::BTreeMap;
use std::path::Path;

use super::Deadlines;
use super::death::{death, death_within};
use super::journal::Failure;
use crate::host::{Cgroup, HostSample};
use crate::night::{Event, Events};
use crate::server::{Client, ClientError, Instance};
use crate::strategy::TrialNumber;
use crate::trial::{Cause, CauseKind, Outcome, Phase, Second};
use crate::workload::{LoadFailure, RunningLoad};

/// Server status and host counters are read this often, seconds.
const STATUS_EVERY: f64 = 5.0;
/// What server and host counted up to a moment of the load.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct StatusSample {
    /// Seconds since the load started.
    pub(super) at: f64,
    /// Numeric status variables by name, in lower case.
    pub(super) values: BTreeMap<String, f64>,
    /// The host's counters.
    pub(super) host: HostSample,
}

/// Everything sampled in a trial.
#[derive(Debug, Default)]
pub(super) struct Samples {
    /// Seconds of load.
    pub(super) seconds: Vec<Second>,
    /// Server and host, every few seconds.
    pub(super) status: Vec<StatusSample>,
}

/// A running server under a running load.
pub(super) struct Watch<'a> {
    pub(super) trial: TrialNumber,
    pub(super) events: &'a Events,
    pub(super) instance: &'a mut Instance,
    pub(super) client: &'a mut Client,
    pub(super) load: &'a mut dyn RunningLoad,
    /// The server's control group, where it has one.
    pub(super) cgroup: Option<&'a Cgroup>,
    /// A path on the server's disk.
    pub(super) data: &'a Path,
    /// How long it is waited for.
    pub(super) limits: &'a Deadlines,
    /// Where samples are kept.
    pub(super) samples: &'a mut Samples,
}

/// Reads the server's status and the host's counters now.
pub(super) async fn sample(
    client: &mut Client,
    instance: &Instance,
    data: &Path,
    at: f64,
) -> Result<StatusSample, ClientError> {
    let values = client
        .global_status()
        .await?
        .into_iter()
        .filter_map(|(name, value)| {
            value
                .parse::<f64>()
                .ok()
                .map(|value| (name.to_ascii_lowercase(), value))
        })
        .filter(|(_, value)| value.is_finite())
        .collect();
    Ok(StatusSample {
        at,
        values,
        host: HostSample::take(instance.pid(), data),
    })
}

impl Watch<'_> {
    /// Waits for the next second of load and looks after the server.
    pub(super) async fn second(&mut self, phase: Phase) -> Result<Second, Failure> {
        let second = match self.load.next_second().await {
            Ok(Some(second)) => second,
            Ok(None) => {
                let text = "the load ended before the trial".to_owned();
                return Err(self.blame(&LoadFailure::Hung { text }, phase).await);
            }
            Err(failure) => return Err(self.blame(&failure, phase).await),
        };
        self.events.send(&Event::Second {
            trial: self.trial,
            second,
        });
        self.samples.seconds.push(second);
        if let Some(outcome) = death(self.instance, self.cgroup)? {
            return Err(Failure::Outcome(outcome));
        }
        let silent: f64 = self
            .samples
            .seconds
            .iter()
            .rev()
            .take_while(|second| second.tps <= 0.0)
            .map(|second| second.length)
            .sum();
        if silent >= self.limits.silence.as_secs_f64() - 0.5 {
            self.look_into_silence(phase, silent).await?;
        }
        if self
            .samples
            .status
            .last()
            .is_none_or(|last| second.at - last.at >= STATUS_EVERY - 0.5)
        {
            self.sample_status(phase).await?;
        }
        Ok(second)
    }

    /// Reads server and host now.
    pub(super) async fn sample_status(&mut self, phase: Phase) -> Result<(), Failure> {
        let at = self.samples.seconds.last().map_or(0.0, |second| second.at);
        match sample(self.client, self.instance, self.data, at).await {
            Ok(mut sample) => {
                sample.host = sample.host.with_load(self.load.identity().pid);
                self.samples.status.push(sample);
                Ok(())
            }
            Err(_) => {
                let death = self.death_soon().await?;
                Err(Failure::Outcome(death.unwrap_or(Outcome::TimedOut { phase })))
            }
        }
    }

    /// Nothing was done for a while: a dead server, a hung server, or a hung load?
    async fn look_into_silence(&mut self, phase: Phase, silent: f64) -> Result<(), Failure> {
        self.sample_status(phase).await?;
        let running = self
            .samples
            .status
            .last()
            .and_then(|sample| sample.values.get("threads_running"));
        // The asking connection itself is running.
        if running.is_some_and(|running| *running <= 1.0)
            && silent >= self.limits.load_hung.as_secs_f64() - 0.5
        {
            let text =
                format!("the load sent nothing for {silent:.0} s while the server was idle and answered");
            return Err(Failure::Outcome(Outcome::HostFault {
                cause: Cause::new(CauseKind::Other, text),
            }));
        }
        Ok(())
    }

    /// The outcome of a failed load: the server's death where it died, else what the load says.
    async fn blame(&mut self, failure: &LoadFailure, phase: Phase) -> Failure {
        let looked = if failure.server_lost() {
            self.death_soon().await
        } else {
            death(self.instance, self.cgroup)
        };
        match looked {
            Ok(Some(death)) => Failure::Outcome(death),
            Ok(None) => Failure::Outcome(failure.outcome(phase)),
            Err(other) => other,
        }
    }

    /// The outcome when the server is dead, at the latest after a while.
    async fn death_soon(&mut self) -> Result<Option<Outcome>, Failure> {
        death_within(self.instance, self.cgroup, self.limits.dying).await
    }
}

/// Whether the server answers and nothing but the question runs in it: then it is not what a load waits for.
pub(super) async fn is_idle(client: &mut Client) -> bool {
    let Ok(status) = client.global_status().await else {
        return false;
    };
    status
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case("threads_running"))
        .and_then(|(_, value)| value.parse::<f64>().ok())
        .is_some_and(|running| running <= 1.0)
}
