//! The phases of a trial in their order.

use std::time::{Duration, Instant};

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;

use super::TrialRunner;
use super::journal::{Failure, Journal};
use super::measuring::{measure, warm_up};
use super::series::{counters, series};
use super::watch::{StatusSample, Watch};
use crate::host::Cgroup;
use crate::night::{Events, RunTrial, TrialOrder, now};
use crate::plan::Purpose;
use crate::server::Instance;
use crate::space::Configuration;
use crate::trial::{
    EndOfMeasuring, Measurement, Outcome, Phase, Series, TrialRecord, WriteDebt, WriteState, metrics_of,
};
use crate::workload::{Endpoint, LoadFailure, RunningLoad};

/// How long the load may take to end when asked.
const LOAD_END: Duration = Duration::from_secs(15);
/// The database the load works in.
pub(crate) const DATABASE: &str = "noctune";

/// What runs during a trial and has to be ended whatever happens.
#[derive(Default)]
struct Running {
    load: Option<Box<dyn RunningLoad>>,
    instance: Option<Instance>,
    cgroup: Option<Cgroup>,
}

/// What is known of a trial so far, whether or not it ends well.
#[derive(Default)]
struct Known {
    effective: Option<Configuration>,
    series: Vec<Series>,
}

#[async_trait(?Send)]
impl RunTrial for TrialRunner {
    async fn run(
        &mut self,
        order: &TrialOrder,
        events: &Events,
        stop: &CancellationToken,
    ) -> Option<TrialRecord> {
        let began = now();
        let clock = Instant::now();
        let mut journal = Journal::new(order.number, events, stop);
        let mut running = Running::default();
        let mut known = Known::default();
        let ended = self
            .phases(order, events, &mut journal, &mut running, &mut known)
            .await;
        let deadline = self.deadline(Phase::Stop, &order.job.length);
        let stopped = journal.timed(Phase::Stop, deadline, end(&mut running)).await;
        let outcome = match (ended, stopped) {
            (Err(Failure::Stopped), _) => return None,
            (Err(Failure::Outcome(outcome)), _) => outcome,
            // What was measured stays measured; a server that does not go away is the next trial's problem, and told.
            (Ok(measurement), stopped) => {
                if let Err(Failure::Outcome(outcome)) = stopped {
                    journal.warn(crate::trial::Warning {
                        text: outcome.reason().unwrap_or_default(),
                        next: Some("look for processes of this study that do not end".to_owned()),
                    });
                }
                Outcome::Measured(Box::new(measurement))
            }
        };
        Some(TrialRecord {
            outcome,
            effective: known.effective,
            began,
            seconds: clock.elapsed().as_secs_f64(),
            phases: journal.phases,
            series: known.series,
            warnings: journal.warnings,
        })
    }
}

impl TrialRunner {
    async fn phases(
        &self,
        order: &TrialOrder,
        events: &Events,
        journal: &mut Journal<'_>,
        running: &mut Running,
        known: &mut Known,
    ) -> Result<Measurement, Failure> {
        let length = &order.job.length;
        let deadline = |phase| self.deadline(phase, length);
        let variables = journal
            .phase(Phase::Check, deadline(Phase::Check), async {
                Ok((self.check(order)?, None))
            })
            .await?;
        journal
            .phase(Phase::Reset, deadline(Phase::Reset), async {
                Ok(((), Some(self.reset().await?)))
            })
            .await?;
        journal
            .phase(Phase::Cool, deadline(Phase::Cool), async {
                Ok(((), self.cool().await?))
            })
            .await?;
        let start = deadline(Phase::Start);
        let mut seen = Vec::new();
        running.cgroup = self.cgroup(&mut seen)?;
        let cgroup = running.cgroup.as_ref();
        let instance = journal
            .phase(Phase::Start, start + Duration::from_secs(60), async {
                Ok((self.start(order, &variables, cgroup, start).await?, None))
            })
            .await?;
        let instance = running.instance.insert(instance);
        let mut client = instance
            .client(Duration::from_secs(30))
            .await
            .map_err(|error| Failure::host(format!("the server cannot be asked: {error}")))?;
        let log = instance.log();
        let verified = journal
            .phase(Phase::Verify, deadline(Phase::Verify), async {
                Ok((
                    self.verify(order, &mut client, &variables, &log, &mut seen)
                        .await?,
                    None,
                ))
            })
            .await;
        for warning in seen {
            journal.warn(warning);
        }
        known.effective = Some(verified?);
        if order.job.purpose == Purpose::Final {
            return Ok(started_only());
        }

        let endpoint = Endpoint {
            socket: instance.socket(),
            port: None,
            user: "root".to_owned(),
            password: None,
            database: DATABASE.to_owned(),
        };
        let cap = Duration::from_secs_f64(length.warmup_cap + length.measure_max + 300.0);
        let load = self
            .workload
            .start(&endpoint, &order.folder, cap, self.load_seed)
            .await;
        let load = load.map_err(|failure| Failure::Outcome(failure.outcome(Phase::WarmUp)))?;
        let load = running.load.insert(load);
        let kills = || cgroup.and_then(Cgroup::memory_kills);
        let mut watch = Watch::new(order.number, events, instance, &mut client, load.as_mut(), &kills);
        let measured = self.load_phases(order, journal, &mut watch).await;
        known.series = series(&watch.seconds, &watch.status);
        let measured = measured?;
        if let Some(load) = running.load.take() {
            journal
                .phase(Phase::Collect, deadline(Phase::Collect), async {
                    let summary = load
                        .stop(LOAD_END)
                        .await
                        .map_err(|failure| Failure::Outcome(failure.outcome(Phase::Collect)))?;
                    Ok(((), summary.notes.first().cloned()))
                })
                .await?;
        }
        Ok(measured)
    }

    /// Warm-up and measuring.
    async fn load_phases(
        &self,
        order: &TrialOrder,
        journal: &mut Journal<'_>,
        watch: &mut Watch<'_>,
    ) -> Result<Measurement, Failure> {
        let length = &order.job.length;
        let warm = journal
            .phase(Phase::WarmUp, self.deadline(Phase::WarmUp, length), async {
                let warm = warm_up(watch, length).await?;
                let note = if warm.steady {
                    "steady"
                } else {
                    "not steady at its cap"
                };
                Ok((warm, Some(note.to_owned())))
            })
            .await?;
        let ended = journal
            .phase(Phase::Measure, self.deadline(Phase::Measure, length), async {
                Ok((measure(watch, length, &warm).await?, None))
            })
            .await?;
        let window = watch.load.window(warm.samples, watch.seconds.len());
        LoadFailure::check_window(&window)
            .map_err(|failure| Failure::Outcome(failure.outcome(Phase::Measure)))?;
        let seconds = &watch.seconds[warm.samples..];
        let began = watch.seconds[..warm.samples]
            .last()
            .map_or(0.0, |second| second.at);
        let first = watch
            .status
            .iter()
            .find(|sample| sample.at >= began)
            .or(watch.status.first());
        let (Some(first), Some(last)) = (first, watch.status.last()) else {
            return Err(Failure::host("the server's status was never read"));
        };
        let debt = self
            .workload
            .writes()
            .then(|| debt(&watch.status, first, last))
            .flatten();
        Ok(Measurement {
            metrics: metrics_of(&window, seconds, debt.as_ref()),
            window_seconds: window.seconds,
            warmup_seconds: began,
            steady: warm.steady,
            ended,
            debt,
            counters: counters(first, last),
        })
    }
}

/// What the window left unpaid. The fastest stretch of the trial tells how fast this server can flush.
fn debt(status: &[StatusSample], first: &StatusSample, last: &StatusSample) -> Option<WriteDebt> {
    let state = |sample: &StatusSample| {
        WriteState::from_status(|name| sample.values.get(&name.to_ascii_lowercase()).copied())
    };
    let fastest = status
        .windows(2)
        .filter_map(|pair| Some(state(&pair[0])?.flush_rate(&state(&pair[1])?, pair[1].at - pair[0].at)))
        .fold(0.0, f64::max);
    state(first)?.debt(
        &state(last)?,
        last.at - first.at,
        (fastest > 0.0).then_some(fastest),
    )
}

/// The measurement of a trial that only starts the server.
fn started_only() -> Measurement {
    Measurement {
        metrics: std::collections::BTreeMap::new(),
        window_seconds: 0.0,
        warmup_seconds: 0.0,
        steady: true,
        ended: EndOfMeasuring::Cap,
        debt: None,
        counters: std::collections::BTreeMap::new(),
    }
}

/// Phase *stop*: the load's and the server's process groups are killed and gone.
async fn end(running: &mut Running) -> Result<((), Option<String>), Failure> {
    if let Some(mut load) = running.load.take() {
        load.kill();
    }
    if let Some(mut instance) = running.instance.take() {
        instance.kill().await?;
    }
    running.cgroup = None;
    Ok(((), None))
}
