//! The loop of the night: ask the plan, claim the job, run it, store what came of it.

use std::path::PathBuf;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::{Event, Events, RunTrial, TrialOrder};
use crate::error::{Error, IoContext as _};
use crate::plan::{self, Facts, Inputs, Job, Next, Verdict};
use crate::store::{Claim, Claimed, Delivery, Spool, Store, StoreError, WorkerId};
use crate::strategy::TrialNumber;
use crate::trial::TrialRecord;

/// How long a claim lasts without being renewed.
const LEASE: Duration = Duration::from_secs(90);
/// How often a running job's claim is renewed.
const RENEW: Duration = Duration::from_secs(20);
/// How long to wait before asking again when other workers hold all there is to do.
const IDLE: Duration = Duration::from_secs(2);

/// One worker's night on one study.
pub struct Night<'a> {
    /// Name of the study.
    pub study: &'a str,
    /// Folder of the study; trials get their folders below it.
    pub folder: PathBuf,
    /// Where facts and claims are kept.
    pub store: &'a dyn Store,
    /// Where results wait that the store would not take.
    pub spool: &'a Spool,
    /// Who we are.
    pub worker: WorkerId,
    /// Tells whether another worker is proved dead (same host and boot, its process gone).
    pub is_gone: &'a dyn Fn(&WorkerId) -> bool,
    /// What the plan needs besides the facts.
    pub inputs: &'a Inputs<'a>,
    /// Where events go.
    pub events: &'a Events,
    /// Raised when the user wants to stop.
    pub stop: CancellationToken,
    /// Called after each stored result with all facts, e.g. to rewrite the recommendation.
    pub after: &'a dyn Fn(&Facts),
}

impl Night<'_> {
    /// Runs job after job until the plan is done.
    ///
    /// # Errors
    /// [`Error::Interrupted`] when `stop` was raised; what the store says.
    pub async fn run(&self, runner: &mut dyn RunTrial) -> Result<Verdict, Error> {
        loop {
            if self.stop.is_cancelled() {
                return Err(Error::Interrupted);
            }
            self.flush_spool().await?;
            let (claim, job) = match self.next_claim().await? {
                Step::Run(claim, job) => (claim, job),
                Step::Again => continue,
                Step::Wait => {
                    tokio::select! {
                        () = tokio::time::sleep(IDLE) => {}
                        () = self.stop.cancelled() => {}
                    }
                    continue;
                }
                Step::Done(verdict) => return Ok(*verdict),
            };
            let Some(record) = self.run_claimed(runner, &claim, job).await? else {
                return Err(Error::Interrupted);
            };
            self.deliver(&claim, &record).await?;
            self.tell(claim.number, &record).await?;
        }
    }

    async fn next_claim(&self) -> Result<Step, Error> {
        for open in self.store.open_jobs(self.study).await? {
            let dead = (self.is_gone)(&open.worker);
            if !dead && !open.expired {
                continue;
            }
            let claim = self
                .store
                .reclaim(self.study, &open, &self.worker, LEASE, dead)
                .await?;
            if let Some(claim) = claim {
                // The space may have changed since it was begun.
                let (facts, _) = self.store.facts(self.study).await?;
                return Ok(Step::Run(claim, plan::taken_over(self.inputs, &facts, open.job)));
            }
        }
        let (facts, version) = self.store.facts(self.study).await?;
        match plan::next(self.inputs, &facts) {
            Next::Job(job) => match self
                .store
                .claim(self.study, version, &job, &self.worker, LEASE)
                .await?
            {
                Claimed::Yes(claim) => Ok(Step::Run(claim, job)),
                Claimed::Stale => Ok(Step::Again),
            },
            Next::Wait => Ok(Step::Wait),
            Next::Done(verdict) => Ok(Step::Done(Box::new(verdict))),
        }
    }

    async fn run_claimed(
        &self,
        runner: &mut dyn RunTrial,
        claim: &Claim,
        job: Job,
    ) -> Result<Option<TrialRecord>, Error> {
        let folder = self.folder.join("trials").join(format!("{:06}", claim.number));
        std::fs::create_dir_all(&folder).context("cannot make the trial's folder", &folder)?;
        let (facts, _) = self.store.facts(self.study).await?;
        let left_seconds = plan::expected_left(self.inputs, &facts);
        self.publish(&Event::TrialStarted {
            trial: claim.number,
            job: job.clone(),
            left_seconds,
        })
        .await?;
        let order = TrialOrder {
            number: claim.number,
            job,
            folder,
        };
        let running = runner.run(&order, self.events, &self.stop);
        tokio::pin!(running);
        let mut renewal = tokio::time::interval(RENEW);
        renewal.tick().await;
        loop {
            tokio::select! {
                record = &mut running => return Ok(record),
                _ = renewal.tick() => self.renew(claim).await,
            }
        }
    }

    /// A claim that cannot be renewed is no reason to stop measuring: the result is kept as late, at worst.
    async fn renew(&self, claim: &Claim) {
        let problem = match self.store.renew(claim, LEASE).await {
            Ok(true) => return,
            Ok(false) => "another worker took this trial over; its result will be kept as late".to_owned(),
            Err(error) => format!("the claim on this trial could not be renewed: {error}"),
        };
        self.events.send(&Event::Warning {
            text: problem,
            next: None,
        });
    }

    async fn deliver(&self, claim: &Claim, record: &TrialRecord) -> Result<(), Error> {
        match self.store.deliver(claim, &self.worker, record).await {
            Ok(Delivery::Written | Delivery::AlreadyWritten) => Ok(()),
            Ok(Delivery::Late) => {
                self.events.send(&Event::Warning {
                    text: format!(
                        "the result of trial {} came late: another worker had taken it over",
                        claim.number
                    ),
                    next: None,
                });
                Ok(())
            }
            Err(error) => {
                self.spool.keep(claim, &self.worker, record)?;
                self.events.send(&Event::Warning {
                    text: format!(
                        "the result of trial {} could not be stored: {error}",
                        claim.number
                    ),
                    next: Some(
                        "it is kept in the spool folder of the study and stored as soon as that works"
                            .to_owned(),
                    ),
                });
                Ok(())
            }
        }
    }

    async fn flush_spool(&self) -> Result<(), Error> {
        let flushed = self.spool.flush(self.store).await?;
        for text in flushed.warnings {
            self.events.send(&Event::Warning { text, next: None });
        }
        // With results that cannot be stored the plan would repeat what is done already.
        flushed.stopped.map_or(Ok(()), |error| Err(error.into()))
    }

    async fn tell(&self, number: TrialNumber, record: &TrialRecord) -> Result<(), Error> {
        let value = record
            .outcome
            .measurement()
            .and_then(|m| self.inputs.objective.value(m))
            .map(|e| e.value);
        let ended = Event::TrialEnded {
            trial: number,
            outcome: record.outcome.name().to_owned(),
            value,
            reason: record.outcome.reason(),
            seconds: record.seconds,
        };
        self.publish(&ended).await?;
        let (facts, _) = self.store.facts(self.study).await?;
        if let Some(standing) = plan::standing(self.inputs, &facts) {
            let event = Event::Standing {
                best_trial: standing.trial,
                best: standing.value,
                // The baseline against itself is no news.
                ratio: standing.ratio.filter(|_| !standing.is_baseline),
            };
            self.publish(&event).await?;
        }
        (self.after)(&facts);
        Ok(())
    }

    /// Sends an event to every listener and keeps it in the study's journal.
    async fn publish(&self, event: &Event) -> Result<(), Error> {
        self.events.send(event);
        let line = serde_json::to_string(event)
            .map_err(|error| Error::internal(format!("an event cannot be written as JSON: {error}")))?;
        match self
            .store
            .append_event(self.study, crate::night::clock::now(), &line)
            .await
        {
            Ok(()) => {}
            // The journal is a convenience; a locked database must not end the night over it.
            Err(error @ StoreError::Locked { .. }) => {
                self.events.send(&Event::Warning {
                    text: error.to_string(),
                    next: None,
                });
            }
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }
}

enum Step {
    Run(Claim, Job),
    Again,
    Wait,
    Done(Box<Verdict>),
}
