//! One run of sysbench under the wrapper: started, read each second, ended and checked.

use std::path::{Path, PathBuf};
use std::time::Duration;

use async_trait::async_trait;
use tokio::time::Instant;

use super::load::Sysbench;
use super::output::Output;
use super::shared::{Shared, Snapshot};
use super::{classify, script};
use crate::error::Error;
use crate::host::{Child, Exit, Identity};
use crate::trial::{Second, WindowTotals};
use crate::workload::{Endpoint, LoadFailure, LoadSummary, RunningLoad};

/// Longest wait for every thread to connect; sysbench itself gives up after 30 s.
const START_LIMIT: Duration = Duration::from_secs(60);
/// Longest wait for a killed group's leader to be gone.
const KILL_LIMIT: Duration = Duration::from_secs(10);
/// How long a script with its own event loop may take to see the stop flag, which it need not look at.
const OWN_LOOP_LIMIT: Duration = Duration::from_secs(2);
/// Shares of their rate by which the interval lines and the summary may differ before it is told.
const RATES_DIFFER: f64 = 0.2;

/// A run of sysbench.
#[derive(Debug)]
pub(super) struct Run {
    child: Child,
    ended: Option<Exit>,
    shared: Shared,
    threads: usize,
    own_loop: bool,
    log: PathBuf,
    began: Instant,
    /// What was counted at the start and after each second.
    marks: Vec<Mark>,
}

/// What was counted up to a moment.
#[derive(Debug, Clone)]
struct Mark {
    /// Seconds since the start.
    at: f64,
    totals: Snapshot,
}

impl Run {
    /// Starts sysbench and waits until every thread is connected.
    pub(super) async fn start(
        load: &Sysbench,
        endpoint: &Endpoint,
        folder: &Path,
        seconds_cap: Duration,
        seed: u64,
    ) -> Result<Self, LoadFailure> {
        let file = script::find(load.script()).map_err(setup)?;
        let folder = folder
            .canonicalize()
            .map_err(host("cannot open the load's folder"))?;
        let wrapper = folder.join("load.lua");
        std::fs::write(&wrapper, include_str!("wrapper.lua")).map_err(host("cannot write the wrapper"))?;
        let shared = Shared::new(load.threads()).map_err(host("no shared memory for the load"))?;
        let log = folder.join("load.log");
        let child = load
            .spawn(&wrapper, endpoint, load.threads(), &folder, &log)
            .and_then(|spawn| {
                spawn
                    .arg(format!("--time={}", seconds_cap.as_secs().max(1)))
                    .args(["--events=0", "--report-interval=1", "--percentile=95"])
                    // A 32-bit number above zero: 0 would mean the clock.
                    .arg(format!("--rand-seed={}", seed % 0x7fff_ffff + 1))
                    .arg("run")
                    .env("NOCTUNE_SCRIPT", &file)
                    .env("NOCTUNE_SHARED", shared.path())
                    .start()
            })
            .map_err(host("sysbench cannot be run"))?;
        let mut run = Self {
            child,
            ended: None,
            shared,
            threads: load.threads(),
            own_loop: false,
            log,
            began: Instant::now(),
            marks: Vec::new(),
        };
        run.wait_for_threads().await?;
        Ok(run)
    }

    async fn wait_for_threads(&mut self) -> Result<(), LoadFailure> {
        let until = Instant::now() + START_LIMIT;
        loop {
            let totals = self.snapshot()?;
            if totals.started == self.threads {
                self.own_loop = totals.own_loop;
                self.began = Instant::now();
                self.marks.push(Mark { at: 0.0, totals });
                return Ok(());
            }
            if self.has_ended_within(Duration::from_millis(20)).await? {
                return Err(self.reason()?.unwrap_or_else(|| LoadFailure::Inconsistent {
                    text: "sysbench ended before its threads were connected, without an error".to_owned(),
                }));
            }
            if Instant::now() > until {
                self.kill();
                return Err(LoadFailure::Hung {
                    text: format!(
                        "{} of {} threads of sysbench were connected after {} s",
                        totals.started,
                        self.threads,
                        START_LIMIT.as_secs()
                    ),
                });
            }
        }
    }

    fn snapshot(&self) -> Result<Snapshot, LoadFailure> {
        self.shared
            .snapshot()
            .map_err(host("cannot read the load's counters"))
    }

    async fn has_ended_within(&mut self, limit: Duration) -> Result<bool, LoadFailure> {
        if self.ended.is_none() {
            self.ended = self
                .child
                .wait(limit)
                .await
                .map_err(host("cannot wait for sysbench"))?;
        }
        Ok(self.ended.is_some())
    }

    fn output(&self) -> Result<Output, LoadFailure> {
        let bytes = std::fs::read(&self.log).map_err(host("cannot read the load's log"))?;
        Output::parse(&String::from_utf8_lossy(&bytes)).map_err(LoadFailure::Setup)
    }

    /// Why the run that ended failed; none where it did not.
    fn reason(&self) -> Result<Option<LoadFailure>, LoadFailure> {
        let exit = self.ended.and_then(|exit| exit.code);
        Ok(classify::failure(&self.output()?, exit))
    }

    /// Counts up to now. A script with its own event loop may not count in our memory: its interval lines do.
    fn mark(&self) -> Result<Option<Mark>, LoadFailure> {
        let mark = Mark {
            at: self.began.elapsed().as_secs_f64(),
            totals: self.snapshot()?,
        };
        if !self.own_loop {
            return Ok(Some(mark));
        }
        let lines = self.output()?.intervals;
        let Some(line) = lines.get(self.marks.len() - 1) else {
            return Ok(None);
        };
        let before = &self.marks[self.marks.len() - 1];
        let length = line.at - before.at;
        Ok(Some(Mark {
            at: line.at,
            totals: Snapshot {
                events: before.totals.events + (line.tps * length).round() as u64,
                errors: before.totals.errors + (line.errors * length).round() as u64,
                reconnects: before.totals.reconnects + (line.reconnects * length).round() as u64,
                ..mark.totals
            },
        }))
    }

    fn between(&self, before: &Mark, after: &Mark) -> WindowTotals {
        let since = |now: u64, then: u64| now.saturating_sub(then);
        let histogram = after.totals.histogram.since(&before.totals.histogram);
        WindowTotals {
            seconds: after.at - before.at,
            // From the histogram, so that percentiles and counts speak of the same events.
            transactions: if self.own_loop {
                since(after.totals.events, before.totals.events)
            } else {
                histogram.total()
            },
            errors: since(after.totals.errors, before.totals.errors),
            reconnects: since(after.totals.reconnects, before.totals.reconnects),
            histogram: (!self.own_loop).then_some(histogram),
        }
    }

    /// The second that ended with the newest mark.
    fn newest(&self) -> Option<Second> {
        let [.., before, after] = self.marks.as_slice() else {
            return None;
        };
        let totals = self.between(before, after);
        let rate = |count: u64| count as f64 / totals.seconds;
        Some(Second {
            at: after.at,
            length: totals.seconds,
            tps: rate(totals.transactions),
            errors: rate(totals.errors),
            reconnects: rate(totals.reconnects),
            p95_ms: totals.histogram.as_ref().and_then(|h| h.quantile_ms(0.95)),
        })
    }

    /// Checks a run that ended in itself: our counters against each other and against sysbench's summary.
    fn check(&self) -> Result<LoadSummary, LoadFailure> {
        if let Some(failure) = self.reason()? {
            return Err(failure);
        }
        let output = self.output()?;
        let inconsistent = |text: String| Err(LoadFailure::Inconsistent { text });
        let Some(summary) = output.summary else {
            return inconsistent("sysbench exited with 0 and printed no summary".to_owned());
        };
        let totals = self.snapshot()?;
        let mut notes = Vec::new();
        if self.own_loop {
            notes.push(
                "the load's script has its own thread_run: percentiles of a window are not known, \
                 only sysbench's own of each second"
                    .to_owned(),
            );
        } else {
            let counted = totals.histogram.total();
            if counted != totals.events {
                return inconsistent(format!(
                    "the wrapper counted {} events and timed {counted} of them",
                    totals.events
                ));
            }
            // The last event of each thread may be missing from the summary of a run that was ended early.
            if summary.events.abs_diff(totals.events) > self.threads as u64 {
                return inconsistent(format!(
                    "the wrapper counted {} events and sysbench's summary {}",
                    totals.events, summary.events
                ));
            }
        }
        if let Some((intervals, whole)) = output.disagreement(RATES_DIFFER) {
            notes.push(format!(
                "sysbench's interval lines say {intervals:.1} events per second and its summary {whole:.1}"
            ));
        }
        let whole = WindowTotals {
            seconds: summary.seconds,
            transactions: summary.events,
            errors: summary.errors,
            reconnects: summary.reconnects,
            histogram: None,
        };
        LoadFailure::check_window(&whole)?;
        Ok(LoadSummary {
            transactions: summary.events,
            errors: summary.errors,
            reconnects: summary.reconnects,
            notes,
        })
    }

    /// The record of a script with its own event loop that had to be killed, since it does not look at the flag.
    fn killed_own_loop(&self) -> LoadSummary {
        let totals = self
            .marks
            .last()
            .map(|mark| mark.totals.clone())
            .unwrap_or_default();
        LoadSummary {
            transactions: totals.events,
            errors: totals.errors,
            reconnects: totals.reconnects,
            notes: vec![
                "the load's script has its own thread_run and was killed at the end of the window: \
                 its totals could not be checked against a summary, and percentiles are not known"
                    .to_owned(),
            ],
        }
    }
}

#[async_trait(?Send)]
impl RunningLoad for Run {
    async fn next_second(&mut self) -> Result<Option<Second>, LoadFailure> {
        let last = self.marks.last().map_or(0.0, |mark| mark.at);
        // On a grid of whole seconds; after a late reading one of them is left out rather than measured too short.
        let mut target = last.floor() + 1.0;
        if target - last < 0.5 {
            target += 1.0;
        }
        let mut wait = Duration::from_secs_f64((target - self.began.elapsed().as_secs_f64()).max(0.0));
        loop {
            if self.has_ended_within(wait).await? {
                return match self.reason()? {
                    Some(failure) => Err(failure),
                    None => Ok(None),
                };
            }
            if let Some(mark) = self.mark()? {
                self.marks.push(mark);
                return Ok(self.newest());
            }
            wait = Duration::from_millis(100);
        }
    }

    fn window(&self, from: usize, to: usize) -> WindowTotals {
        let last = self.marks.len() - 1;
        let to = to.min(last);
        self.between(&self.marks[from.min(to)], &self.marks[to])
    }

    async fn stop(mut self: Box<Self>, deadline: Duration) -> Result<LoadSummary, LoadFailure> {
        self.shared
            .ask_to_stop()
            .map_err(host("cannot ask the load to end"))?;
        let limit = if self.own_loop {
            deadline.min(OWN_LOOP_LIMIT)
        } else {
            deadline
        };
        if self.has_ended_within(limit).await? {
            return self.check();
        }
        self.kill();
        if !self.has_ended_within(KILL_LIMIT).await? {
            return Err(LoadFailure::Hung {
                text: "sysbench does not end even when killed: it waits for the host".to_owned(),
            });
        }
        if self.own_loop {
            return Ok(self.killed_own_loop());
        }
        Err(LoadFailure::Hung {
            text: format!(
                "sysbench did not end within {:.1} s and was killed",
                limit.as_secs_f64()
            ),
        })
    }

    fn identity(&self) -> &Identity {
        self.child.identity()
    }

    fn kill(&mut self) {
        self.child.identity().kill_group();
    }
}

fn host(what: &str) -> impl Fn(std::io::Error) -> LoadFailure {
    move |error| LoadFailure::Host {
        text: format!("{what}: {error}"),
    }
}

fn setup(error: Error) -> LoadFailure {
    match error {
        Error::Input(problem) | Error::Host(problem) => LoadFailure::Setup(problem),
        other => LoadFailure::Host {
            text: other.to_string(),
        },
    }
}
