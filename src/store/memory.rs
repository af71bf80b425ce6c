//! A store in memory: for dry runs and tests. Nothing survives the process.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;

use super::finite::{configuration_is_finite, finite};
use super::{Claim, Claimed, Delivery, OpenJob, Store, StoreError, StudyRecord, WorkerId};
use crate::plan::{Fact, Facts, Job, State};
use crate::strategy::TrialNumber;
use crate::trial::{Series, TrialRecord};
use crate::units::UtcMillis;

/// A store in memory; its clock is the process's monotonic one.
#[derive(Debug, Default)]
pub struct MemoryStore {
    studies: Mutex<Vec<Study>>,
}

#[derive(Debug)]
struct Study {
    record: StudyRecord,
    /// The job of number `i + 1` at `i`.
    jobs: Vec<Entry>,
    events: Vec<(UtcMillis, String)>,
}

#[derive(Debug)]
struct Entry {
    job: Job,
    worker: WorkerId,
    token: u64,
    /// None: so far away that it never comes.
    lease_end: Option<Instant>,
    result: Option<Ended>,
    late: BTreeMap<u64, TrialRecord>,
}

#[derive(Debug)]
struct Ended {
    token: u64,
    host: String,
    record: TrialRecord,
}

impl MemoryStore {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }

    /// Results that came too late for a job, with the token each was delivered under, in the order of the tokens.
    pub fn late(&self, study: &str, number: TrialNumber) -> Result<Vec<(u64, TrialRecord)>, StoreError> {
        self.with(study, |study| {
            let entry = study.entry(number)?;
            Ok(entry
                .late
                .iter()
                .map(|(token, record)| (*token, record.clone()))
                .collect())
        })
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Study>> {
        // Every change below is complete before anything can panic, so the data behind a poisoned lock is sound.
        self.studies.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with<T>(
        &self,
        name: &str,
        work: impl FnOnce(&mut Study) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let mut studies = self.lock();
        let study = studies
            .iter_mut()
            .find(|study| study.record.name == name)
            .ok_or_else(|| StoreError::NoSuchStudy(name.to_owned()))?;
        work(study)
    }
}

impl Study {
    /// Grows with every new job and every delivered result.
    fn version(&self) -> u64 {
        let ended = self.jobs.iter().filter(|entry| entry.result.is_some()).count();
        (self.jobs.len() + ended) as u64
    }

    fn entry(&mut self, number: TrialNumber) -> Result<&mut Entry, StoreError> {
        index(number)
            .and_then(|i| self.jobs.get_mut(i))
            .ok_or_else(|| super::no_such_job(number))
    }
}

fn index(number: TrialNumber) -> Option<usize> {
    usize::try_from(number).ok()?.checked_sub(1)
}

fn end_of(lease: Duration) -> Option<Instant> {
    Instant::now().checked_add(lease)
}

impl Entry {
    fn expired(&self) -> bool {
        self.lease_end.is_some_and(|end| end <= Instant::now())
    }

    fn fact(&self, number: TrialNumber) -> Fact {
        let state = match &self.result {
            None => State::Open,
            Some(Ended { host, record, .. }) => State::Ended {
                outcome: record.outcome.clone(),
                effective: record.effective.clone(),
                began: record.began,
                seconds: record.seconds,
                host: host.clone(),
                warnings: record.warnings.clone(),
            },
        };
        Fact {
            number,
            job: self.job.clone(),
            state,
        }
    }
}

#[async_trait]
impl Store for MemoryStore {
    async fn create(&self, study: &StudyRecord) -> Result<(), StoreError> {
        let mut studies = self.lock();
        if studies.iter().any(|known| known.record.name == study.name) {
            return Err(StoreError::StudyExists(study.name.clone()));
        }
        studies.push(Study {
            record: study.clone(),
            jobs: Vec::new(),
            events: Vec::new(),
        });
        Ok(())
    }

    async fn study(&self, name: &str) -> Result<Option<StudyRecord>, StoreError> {
        let studies = self.lock();
        let found = studies.iter().find(|study| study.record.name == name);
        Ok(found.map(|study| study.record.clone()))
    }

    async fn studies(&self) -> Result<Vec<String>, StoreError> {
        Ok(self
            .lock()
            .iter()
            .map(|study| study.record.name.clone())
            .collect())
    }

    async fn update(&self, study: &StudyRecord) -> Result<(), StoreError> {
        self.with(&study.name, |known| {
            known.record.file.clone_from(&study.file);
            known.record.frozen.clone_from(&study.frozen);
            Ok(())
        })
    }

    async fn facts(&self, study: &str) -> Result<(Facts, u64), StoreError> {
        self.with(study, |study| {
            let jobs = (1..)
                .zip(&study.jobs)
                .map(|(number, entry)| entry.fact(number))
                .collect();
            Ok((
                Facts {
                    jobs,
                    ..Facts::default()
                },
                study.version(),
            ))
        })
    }

    async fn claim(
        &self,
        study: &str,
        version: u64,
        job: &Job,
        worker: &WorkerId,
        lease: Duration,
    ) -> Result<Claimed, StoreError> {
        if !configuration_is_finite(&job.configuration) {
            return Err(super::job_not_finite());
        }
        self.with(study, |known| {
            if known.version() != version {
                return Ok(Claimed::Stale);
            }
            known.jobs.push(Entry {
                job: job.clone(),
                worker: worker.clone(),
                token: 1,
                lease_end: end_of(lease),
                result: None,
                late: BTreeMap::new(),
            });
            Ok(Claimed::Yes(Claim {
                study: study.to_owned(),
                number: known.jobs.len() as u64,
                token: 1,
            }))
        })
    }

    async fn open_jobs(&self, study: &str) -> Result<Vec<OpenJob>, StoreError> {
        self.with(study, |study| {
            let open = (1..).zip(&study.jobs).filter(|(_, entry)| entry.result.is_none());
            Ok(open
                .map(|(number, entry)| OpenJob {
                    number,
                    job: entry.job.clone(),
                    token: entry.token,
                    worker: entry.worker.clone(),
                    expired: entry.expired(),
                })
                .collect())
        })
    }

    async fn reclaim(
        &self,
        study: &str,
        open: &OpenJob,
        worker: &WorkerId,
        lease: Duration,
        dead: bool,
    ) -> Result<Option<Claim>, StoreError> {
        self.with(study, |known| {
            let entry = known.entry(open.number)?;
            let free = entry.result.is_none() && entry.token == open.token && (dead || entry.expired());
            if !free {
                return Ok(None);
            }
            entry.token += 1;
            entry.worker = worker.clone();
            entry.lease_end = end_of(lease);
            Ok(Some(Claim {
                study: study.to_owned(),
                number: open.number,
                token: entry.token,
            }))
        })
    }

    async fn renew(&self, claim: &Claim, lease: Duration) -> Result<bool, StoreError> {
        self.with(&claim.study, |study| {
            let entry = study.entry(claim.number)?;
            if entry.token != claim.token {
                return Ok(false);
            }
            entry.lease_end = end_of(lease);
            Ok(true)
        })
    }

    async fn deliver(
        &self,
        claim: &Claim,
        worker: &WorkerId,
        record: &TrialRecord,
    ) -> Result<Delivery, StoreError> {
        let record = finite(record).into_owned();
        self.with(&claim.study, |study| {
            let entry = study.entry(claim.number)?;
            if entry
                .result
                .as_ref()
                .is_some_and(|ended| ended.token == claim.token)
            {
                return Ok(Delivery::AlreadyWritten);
            }
            if entry.result.is_some() || entry.token != claim.token {
                entry.late.entry(claim.token).or_insert(record);
                return Ok(Delivery::Late);
            }
            entry.result = Some(Ended {
                token: claim.token,
                host: worker.host.clone(),
                record,
            });
            Ok(Delivery::Written)
        })
    }

    async fn record(&self, study: &str, number: TrialNumber) -> Result<Option<TrialRecord>, StoreError> {
        self.with(study, |study| {
            let entry = index(number).and_then(|i| study.jobs.get(i));
            Ok(entry
                .and_then(|entry| entry.result.as_ref())
                .map(|ended| ended.record.clone()))
        })
    }

    async fn series(
        &self,
        study: &str,
        number: TrialNumber,
        name: &str,
    ) -> Result<Option<Series>, StoreError> {
        let record = self.record(study, number).await?;
        Ok(record.and_then(|record| record.series.into_iter().find(|series| series.name == name)))
    }

    async fn append_event(&self, study: &str, at: UtcMillis, event: &str) -> Result<(), StoreError> {
        self.with(study, |study| {
            study.events.push((at, event.to_owned()));
            Ok(())
        })
    }

    async fn events(&self, study: &str, limit: u32) -> Result<Vec<(UtcMillis, String)>, StoreError> {
        self.with(study, |study| {
            let skipped = study.events.len().saturating_sub(limit as usize);
            Ok(study.events[skipped..].to_vec())
        })
    }

    async fn close(&self) {}
}
