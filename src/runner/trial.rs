//! The phases of a trial in their order.

use std::path::Path;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;

use super::TrialRunner;
use super::collecting::hung_or_failed;
use super::journal::{Failure, Journal, noted};
use super::measuring::{Window, measure, warm_up};
use super::recovery::{RECOVERY, lower_bound};
use super::running::Running;
use super::scan::scan;
use super::series::series;
use super::start::TMP;
use super::watch::{Samples, Watch};
use crate::night::{Events, RunTrial, TrialOrder, now};
use crate::plan::Purpose;
use crate::server::Client;
use crate::space::{Configuration, Value};
use crate::stats::Estimate;
use crate::trial::{EndOfMeasuring, Measurement, Outcome, Phase, TrialRecord, Warning};
use crate::workload::{Endpoint, RunningLoad};

/// The database the load works in.
pub(crate) const DATABASE: &str = "noctune";

/// What is known of a trial so far, whether or not it ends well.
#[derive(Default)]
struct Known {
    effective: Option<Configuration>,
    samples: Samples,
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
        let mut journal = Journal::new(order.number, events, stop, &self.told);
        let mut running = Running::default();
        let mut known = Known::default();
        let phases = Box::pin(self.phases(order, events, &mut journal, &mut running, &mut known)).await;
        let ended = phases.and_then(|measurement| match running.death()? {
            Some(death) => Err(Failure::Outcome(death)),
            None => Ok(measurement),
        });
        let ended = match ended {
            Err(Failure::Outcome(outcome)) => {
                let blamed = running.blame(outcome, self.deadlines.dying).await;
                Err(blamed.map_or_else(|failure| failure, Failure::Outcome))
            }
            ended => ended,
        };
        let deadline = self.deadlines.of(Phase::Stop, &order.job.length);
        let end = async { Ok((running.end(&self.guardian).await?, None)) };
        let stopped = journal.timed(Phase::Stop, deadline, end).await;
        for folder in [order.folder.join(TMP), order.folder.join(RECOVERY).join(TMP)] {
            if let Some(warning) = remove(&folder) {
                journal.warn(warning);
            }
        }
        let outcome = match (ended, stopped) {
            (Err(Failure::Stopped), _) => return None,
            (Err(Failure::Outcome(outcome)), _) => outcome,
            // What was measured stays measured; a server that does not go away is the next trial's problem, and told.
            (Ok(measurement), stopped) => {
                if let Err(Failure::Outcome(outcome)) = stopped {
                    journal.warn(Warning {
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
            series: series(&known.samples.seconds, &known.samples.status),
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
        let (variables, mut client) = self.until_verified(order, journal, running, known).await?;
        if order.job.purpose == Purpose::Final {
            return Ok(started_only());
        }
        let window = self
            .under_load(order, events, journal, running, known, &mut client)
            .await?;
        if let Some(warning) = &window.warning {
            journal.warn(warning.clone());
        }
        let length = &order.job.length;
        let deadline = self.deadlines.of(Phase::Collect, length);
        let (drained, warnings) = journal
            .phase(
                Phase::Collect,
                deadline,
                self.collect(&window, running, &mut client),
            )
            .await?;
        journal.warn_all(warnings);
        let mut measurement = window.measurement(&known.samples, self.workload.writes(), drained);
        if self.crash_recovery {
            let deadline = self.deadlines.of(Phase::CrashRecovery, length);
            let work = Box::pin(self.recover(order, events, &variables, running, &mut client));
            let (seconds, plateau) = journal.phase(Phase::CrashRecovery, deadline, work).await?;
            if !plateau {
                journal.warn(lower_bound(self.deadlines.plateau));
            }
            let estimate = Estimate {
                value: seconds,
                standard_error: None,
            };
            measurement.metrics.insert("recovery_s".to_owned(), estimate);
        }
        Ok(measurement)
    }

    /// Phases *check* to *verify*: the variables that were written, and a connection to the server that runs with them.
    async fn until_verified(
        &self,
        order: &TrialOrder,
        journal: &mut Journal<'_>,
        running: &mut Running,
        known: &mut Known,
    ) -> Result<(Vec<(String, Value)>, Client), Failure> {
        let deadline = |phase| self.deadlines.of(phase, &order.job.length);
        let check = async { Ok((self.check(order)?, None)) };
        let variables = journal.phase(Phase::Check, deadline(Phase::Check), check).await?;
        let reset = async { Ok(((), Some(self.reset(&mut running.disk).await?))) };
        journal.phase(Phase::Reset, deadline(Phase::Reset), reset).await?;
        let cool = async { Ok(noted(self.cool(&mut running.disk).await?)) };
        let uncooled = journal.phase(Phase::Cool, deadline(Phase::Cool), cool).await?;
        journal.warn_all(uncooled);
        let mut seen = Vec::new();
        running.cgroup = self.cgroup(&mut seen)?;
        let limit = deadline(Phase::Start);
        let start = Box::pin(async {
            let start = self.start(order, &variables, running.cgroup.as_ref(), limit);
            Ok((start.await?, None))
        });
        // The start kills what missed its own deadline; this one is for what even that does not end.
        let instance = journal
            .phase(Phase::Start, limit + Duration::from_secs(90), start)
            .await?;
        let instance = running.instance.insert(instance);
        let log = instance.log();
        let verify = Box::pin(async {
            let mut client = instance
                .client(deadline(Phase::Verify) / 2)
                .await
                .map_err(|error| Failure::unanswered(Phase::Verify, "the server cannot be asked", &error))?;
            let effective = self
                .verify(order, &mut client, &variables, &log, &mut seen)
                .await?;
            Ok(((effective, client), None))
        });
        let verified = journal
            .phase(Phase::Verify, deadline(Phase::Verify), verify)
            .await;
        journal.warn_all(seen);
        let (effective, mut client) = verified?;
        client.set_deadline(self.deadlines.answer);
        known.effective = Some(effective);
        Ok((variables, client))
    }

    /// Phases *warm-up* and *measure*.
    async fn under_load(
        &self,
        order: &TrialOrder,
        events: &Events,
        journal: &mut Journal<'_>,
        running: &mut Running,
        known: &mut Known,
        client: &mut Client,
    ) -> Result<Window, Failure> {
        let length = &order.job.length;
        let warm = Box::pin(async {
            let read = match &running.instance {
                Some(instance) => scan(instance, client, self.deadlines.scan).await?,
                None => None,
            };
            let load = self.start_load(order, running, client, Phase::WarmUp).await?;
            running.load = Some(load);
            let mut watch = self.watch(order, events, running, &mut known.samples, client)?;
            let warm = warm_up(&mut watch, length).await?;
            let steady = if warm.steady {
                "steady"
            } else {
                "not steady at its cap"
            };
            Ok((
                warm,
                Some(read.map_or_else(|| steady.to_owned(), |read| format!("{read}, {steady}"))),
            ))
        });
        let warm = journal
            .phase(Phase::WarmUp, self.deadlines.of(Phase::WarmUp, length), warm)
            .await?;
        let measured = async {
            let mut watch = self.watch(order, events, running, &mut known.samples, client)?;
            Ok((measure(&mut watch, length, warm).await?, None))
        };
        journal
            .phase(
                Phase::Measure,
                self.deadlines.of(Phase::Measure, length),
                measured,
            )
            .await
    }

    /// Starts the load in `phase`, with its files in the order's folder.
    pub(super) async fn start_load(
        &self,
        order: &TrialOrder,
        running: &mut Running,
        client: &mut Client,
        phase: Phase,
    ) -> Result<Box<dyn RunningLoad>, Failure> {
        let instance = running
            .instance
            .as_ref()
            .ok_or_else(|| Failure::host("no server runs"))?;
        let endpoint = Endpoint {
            socket: instance.socket(),
            port: None,
            user: "root".to_owned(),
            password: None,
            database: DATABASE.to_owned(),
        };
        let length = &order.job.length;
        // Far beyond what the phases take; the load is stopped by us.
        let cap = Duration::from_secs_f64(length.warmup_cap + length.measure_max + 600.0);
        let load = self
            .workload
            .start(&endpoint, &order.folder, cap, self.load_seed)
            .await;
        let load = match load {
            Ok(load) => load,
            Err(failure) if failure.server_lost() => {
                let death = running.death_within(self.deadlines.dying).await?;
                return Err(Failure::Outcome(death.unwrap_or_else(|| failure.outcome(phase))));
            }
            Err(failure) => return Err(hung_or_failed(&failure, client, phase).await),
        };
        self.guardian.watch(load.identity())?;
        Ok(load)
    }

    /// Looks at the running load and server.
    pub(super) fn watch<'a>(
        &'a self,
        order: &TrialOrder,
        events: &'a Events,
        running: &'a mut Running,
        samples: &'a mut Samples,
        client: &'a mut Client,
    ) -> Result<Watch<'a>, Failure> {
        let Running {
            load: Some(load),
            instance: Some(instance),
            cgroup,
            ..
        } = running
        else {
            return Err(Failure::host("neither server nor load runs"));
        };
        Ok(Watch {
            trial: order.number,
            events,
            instance,
            client,
            load: load.as_mut(),
            cgroup: cgroup.as_ref(),
            data: &self.data,
            limits: &self.deadlines,
            samples,
        })
    }
}

/// Removes what the server left in a folder for temporary files; a warning where that fails.
fn remove(folder: &Path) -> Option<Warning> {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Some(Warning {
            text: format!("cannot remove {}: {error}", folder.display()),
            next: None,
        }),
        _ => None,
    }
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
