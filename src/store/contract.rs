//! The contract of every store. One suite of tests runs on each of them (`tests/store_contract/`).

use std::time::Duration;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::plan::{Facts, Job};
use crate::strategy::TrialNumber;
use crate::trial::{Series, TrialRecord};
use crate::units::UtcMillis;

/// A study as stored: what identifies it and what was frozen when it began.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StudyRecord {
    /// Its name, unique in the store.
    pub name: String,
    /// When it was created (UTC).
    pub created: UtcMillis,
    /// Seed of every random choice.
    pub seed: u64,
    /// The study file as resolved, TOML.
    pub file: String,
    /// Each part of its identity (space, workload, objective, durability, baseline, template, server, protocol) with its hash.
    /// Resuming with a different hash is refused.
    pub identity: Vec<(String, String)>,
    /// What was frozen when it began, as JSON: resolved space, machine class, server facts, baseline, environment fingerprint.
    pub frozen: serde_json::Value,
}

/// Who claims a job: told apart across processes and reboots.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct WorkerId {
    /// Name of the host.
    pub host: String,
    /// Boot id of the host (`/proc/sys/kernel/random/boot_id`).
    pub boot: String,
    /// Process id.
    pub pid: u32,
    /// Start time of the process in clock ticks since boot (`/proc/PID/stat`, field 22).
    pub started: u64,
}

/// A claim on a job: whoever holds the newest token may write its result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// Name of the study.
    pub study: String,
    /// The job's number.
    pub number: TrialNumber,
    /// Grows with every claim on the job.
    pub token: u64,
}

/// What came of an attempt to claim a new job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Claimed {
    /// The job is stored under this claim.
    Yes(Claim),
    /// Facts changed since they were read: read them again and ask the plan anew.
    Stale,
}

/// A job without a result, with the claim on it.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenJob {
    /// The job's number.
    pub number: TrialNumber,
    /// The job.
    pub job: Job,
    /// Token of the newest claim on it.
    pub token: u64,
    /// Who claimed it last.
    pub worker: WorkerId,
    /// Whether the lease has ended, by the store's clock.
    pub expired: bool,
}

/// What came of delivering a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// Written.
    Written,
    /// The same claim had delivered before: nothing changed.
    AlreadyWritten,
    /// Somebody else holds the job by now: kept as a late result, counted for nothing.
    Late,
}

/// What can go wrong in a store.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A study of that name exists.
    #[error("the study \"{0}\" exists already")]
    StudyExists(String),
    /// No such study.
    #[error("there is no study \"{0}\" in this store")]
    NoSuchStudy(String),
    /// The database was written by a newer version.
    #[error("the database has schema {found}, this version knows {known}: use a newer noctune")]
    TooNew {
        /// Schema found.
        found: i64,
        /// Newest schema known.
        known: i64,
    },
    /// Somebody else keeps the database locked.
    #[error("the database stayed locked for {waited:?}: another program holds it open for writing ({text})")]
    Locked {
        /// How long was waited in all.
        waited: Duration,
        /// The database's words.
        text: String,
    },
    /// Stored data cannot be understood.
    #[error("{what} cannot be read: {text}")]
    Corrupt {
        /// Which record.
        what: String,
        /// Why.
        text: String,
    },
    /// Anything the database says.
    #[error("the database failed while {doing}: {text}")]
    Database {
        /// What was being done.
        doing: String,
        /// The database's words.
        text: String,
    },
}

/// A store of studies. Facts are append-only; claims are mutable and leased by the store's own clock.
#[async_trait]
pub trait Store: Send + Sync {
    /// Writes a new study.
    async fn create(&self, study: &StudyRecord) -> Result<(), StoreError>;

    /// The study of that name.
    async fn study(&self, name: &str) -> Result<Option<StudyRecord>, StoreError>;

    /// Names of all studies, oldest first.
    async fn studies(&self) -> Result<Vec<String>, StoreError>;

    /// Replaces the parts of a study that may change on resume (file, frozen facts). Identity, seed and creation stay.
    async fn update(&self, study: &StudyRecord) -> Result<(), StoreError>;

    /// All jobs with what came of them, and the version of the facts for [`Store::claim`].
    async fn facts(&self, study: &str) -> Result<(Facts, u64), StoreError>;

    /// Stores `job` under the next number and claims it, if the facts still have `version`.
    async fn claim(
        &self,
        study: &str,
        version: u64,
        job: &Job,
        worker: &WorkerId,
        lease: Duration,
    ) -> Result<Claimed, StoreError>;

    /// Jobs without a result, oldest first.
    async fn open_jobs(&self, study: &str) -> Result<Vec<OpenJob>, StoreError>;

    /// Takes over an open job whose worker is gone: the caller has proved that the worker of `open` is dead (`dead: true`),
    /// or the lease has ended; none if somebody was faster (the token is no longer that of `open`) or neither holds.
    async fn reclaim(
        &self,
        study: &str,
        open: &OpenJob,
        worker: &WorkerId,
        lease: Duration,
        dead: bool,
    ) -> Result<Option<Claim>, StoreError>;

    /// Prolongs a claim; false when somebody else holds the job by now.
    async fn renew(&self, claim: &Claim, lease: Duration) -> Result<bool, StoreError>;

    /// Delivers a result: written once; delivered again it is a no-op; with a stale token it is kept as late.
    async fn deliver(
        &self,
        claim: &Claim,
        worker: &WorkerId,
        record: &TrialRecord,
    ) -> Result<Delivery, StoreError>;

    /// The full record of a trial with its series; none while it is open.
    async fn record(&self, study: &str, number: TrialNumber) -> Result<Option<TrialRecord>, StoreError>;

    /// One series of a trial.
    async fn series(
        &self,
        study: &str,
        number: TrialNumber,
        name: &str,
    ) -> Result<Option<Series>, StoreError>;

    /// Appends an event (one line of JSON) to the study's journal.
    async fn append_event(&self, study: &str, at: UtcMillis, event: &str) -> Result<(), StoreError>;

    /// Events of a study, oldest first, at most `limit` of the newest.
    async fn events(&self, study: &str, limit: u32) -> Result<Vec<(UtcMillis, String)>, StoreError>;

    /// Ends the work on it: by then everything is in its file, where no other process has it open. Nothing may follow.
    async fn close(&self);
}
