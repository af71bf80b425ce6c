//! The store: opening, and each operation as one transaction that is tried again while the database is locked.

use std::path::{Path, PathBuf};
use std::time::Duration;

use async_trait::async_trait;
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteConnection, SqlitePool, SqlitePoolOptions, SqliteSynchronous,
};
use sqlx::{ConnectOptions, Connection};
use tokio::sync::{Mutex, MutexGuard};

use super::patience::{DATABASE, Patience, Trouble};
use super::{read, schema, write};
use crate::plan::{Facts, Job};
use crate::store::finite::{configuration_is_finite, finite};
use crate::store::{Claim, Claimed, Delivery, OpenJob, Store, StoreError, StudyRecord, WorkerId, blob};
use crate::strategy::TrialNumber;
use crate::trial::{Series, TrialRecord};
use crate::units::UtcMillis;

/// Connections of one process: one writes, the rest read.
const CONNECTIONS: u32 = 4;

/// Studies in one SQLite file, shared by any number of processes of one host.
///
/// Write-ahead logging, so readers and the writer never wait for each other; every commit is synced, so a result once delivered
/// survives a power loss. Source: SQLite, "Write-Ahead Logging", "PRAGMA synchronous".
#[derive(Debug)]
pub struct SqliteStore {
    pool: SqlitePool,
    /// Tasks of this process queue up here instead of in SQLite, whose waiting is not fair.
    writing: Mutex<()>,
    patience: Patience,
}

/// Runs an operation in a transaction that holds the write lock from its beginning, again and again while that is taken.
macro_rules! write {
    ($store:expr, $doing:expr, |$transaction:ident| $work:expr) => {{
        let _turn = $store.turn().await;
        let attempt = || async {
            let mut transaction = $store.pool.begin_with("BEGIN IMMEDIATE").await?;
            let $transaction: &mut SqliteConnection = &mut transaction;
            let answer = $work.await?;
            transaction.commit().await?;
            Ok::<_, Trouble>(answer)
        };
        $store.patience.wait($doing, attempt).await
    }};
}

/// Runs an operation that reads one state of the database.
macro_rules! read {
    ($store:expr, $doing:expr, |$transaction:ident| $work:expr) => {{
        let attempt = || async {
            let mut transaction = $store.pool.begin().await?;
            let $transaction: &mut SqliteConnection = &mut transaction;
            let answer = $work.await?;
            transaction.rollback().await?;
            Ok::<_, Trouble>(answer)
        };
        $store.patience.wait($doing, attempt).await
    }};
}

impl SqliteStore {
    /// Opens the file for reading and writing; creates it, or migrates it after a backup copy, where needed. The folder must
    /// exist.
    ///
    /// # Errors
    /// [`StoreError::TooNew`], [`StoreError::Corrupt`] (another program's database), [`StoreError::Locked`] after the patience,
    /// [`StoreError::Database`] for anything else.
    pub async fn open(path: &Path, patience: Patience) -> Result<Self, StoreError> {
        let options = SqliteConnectOptions::new()
            .filename(path)
            .create_if_missing(true)
            .foreign_keys(true)
            .synchronous(SqliteSynchronous::Full)
            .busy_timeout(patience.attempt);
        patience
            .wait("opening it", || async {
                let mut connection = options.connect().await?;
                let migrated = schema::migrate(&mut connection, &options, &schema::MIGRATIONS).await;
                connection.close().await?;
                migrated
            })
            .await
            .map_err(|error| named(error, path))?;
        Ok(Self::over(options, patience))
    }

    /// Opens an existing file for reading, while others write or not; never creates or changes it, and no writer waits for it.
    ///
    /// # Errors
    /// As [`SqliteStore::open`]; also where the file is missing or of an older schema.
    pub async fn open_read_only(path: &Path, patience: Patience) -> Result<Self, StoreError> {
        let options = SqliteConnectOptions::new()
            .filename(path)
            .create_if_missing(false)
            .read_only(true)
            .busy_timeout(patience.attempt);
        let readable = |options: SqliteConnectOptions| async move {
            patience
                .wait("opening it for reading", || async {
                    let mut connection = options.connect().await?;
                    let checked = schema::check(&mut connection, path).await;
                    connection.close().await?;
                    checked
                })
                .await
                .map_err(|error| named(error, path))
        };
        match readable(options.clone()).await {
            // In a folder nobody may write to, the WAL's index cannot be made; where there is no WAL, nothing is missed without.
            Err(StoreError::Database { .. }) if path.exists() && !wal_of(path).exists() => {
                let options = options.immutable(true);
                readable(options.clone()).await?;
                Ok(Self::over(options, patience))
            }
            Err(error) => Err(error),
            Ok(()) => Ok(Self::over(options, patience)),
        }
    }

    /// Results that came too late for a job, with the token each was delivered under, in the order of the tokens.
    ///
    /// # Errors
    /// As [`Store::record`].
    pub async fn late(
        &self,
        study: &str,
        number: TrialNumber,
    ) -> Result<Vec<(u64, TrialRecord)>, StoreError> {
        read!(self, "reading late results", |db| read::late(db, study, number))
    }

    fn over(options: SqliteConnectOptions, patience: Patience) -> Self {
        let pool = SqlitePoolOptions::new()
            .max_connections(CONNECTIONS)
            .acquire_timeout(patience.total + patience.attempt)
            .connect_lazy_with(options);
        Self {
            pool,
            writing: Mutex::new(()),
            patience,
        }
    }

    /// The right to write, among the tasks of this process.
    async fn turn(&self) -> MutexGuard<'_, ()> {
        self.writing.lock().await
    }
}

#[async_trait]
impl Store for SqliteStore {
    async fn create(&self, study: &StudyRecord) -> Result<(), StoreError> {
        write!(self, "creating the study", |db| write::create(db, study))
    }

    async fn study(&self, name: &str) -> Result<Option<StudyRecord>, StoreError> {
        read!(self, "reading the study", |db| read::study(db, name))
    }

    async fn studies(&self) -> Result<Vec<String>, StoreError> {
        read!(self, "listing the studies", |db| read::studies(db))
    }

    async fn update(&self, study: &StudyRecord) -> Result<(), StoreError> {
        write!(self, "updating the study", |db| write::update(db, study))
    }

    async fn facts(&self, study: &str) -> Result<(Facts, u64), StoreError> {
        read!(self, "reading the trials", |db| read::facts(db, study))
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
            return Err(crate::store::job_not_finite());
        }
        write!(self, "claiming a job", |db| write::claim(
            db, study, version, job, worker, lease
        ))
    }

    async fn open_jobs(&self, study: &str) -> Result<Vec<OpenJob>, StoreError> {
        read!(self, "reading the open jobs", |db| read::open_jobs(db, study))
    }

    async fn reclaim(
        &self,
        study: &str,
        open: &OpenJob,
        worker: &WorkerId,
        lease: Duration,
        dead: bool,
    ) -> Result<Option<Claim>, StoreError> {
        write!(self, "taking over a job", |db| write::reclaim(
            db, study, open, worker, lease, dead
        ))
    }

    async fn renew(&self, claim: &Claim, lease: Duration) -> Result<bool, StoreError> {
        write!(self, "renewing a claim", |db| write::renew(db, claim, lease))
    }

    async fn deliver(
        &self,
        claim: &Claim,
        worker: &WorkerId,
        record: &TrialRecord,
    ) -> Result<Delivery, StoreError> {
        let record = finite(record);
        // Compressed before the write lock is taken.
        let blobs: Vec<(&str, Vec<u8>)> = record
            .series
            .iter()
            .map(|series| (series.name.as_str(), blob::encode(series)))
            .collect();
        write!(self, "writing a result", |db| write::deliver(
            db, claim, worker, &record, &blobs
        ))
    }

    async fn record(&self, study: &str, number: TrialNumber) -> Result<Option<TrialRecord>, StoreError> {
        read!(self, "reading a trial", |db| read::record(db, study, number))
    }

    async fn series(
        &self,
        study: &str,
        number: TrialNumber,
        name: &str,
    ) -> Result<Option<Series>, StoreError> {
        read!(self, "reading a series", |db| read::series(
            db, study, number, name
        ))
    }

    async fn append_event(&self, study: &str, at: UtcMillis, event: &str) -> Result<(), StoreError> {
        write!(self, "writing an event", |db| write::append_event(
            db, study, at, event
        ))
    }

    async fn events(&self, study: &str, limit: u32) -> Result<Vec<(UtcMillis, String)>, StoreError> {
        read!(self, "reading the events", |db| read::events(db, study, limit))
    }

    /// Closes every connection; the last one of all processes merges the write-ahead log into the file.
    async fn close(&self) {
        self.pool.close().await;
    }
}

fn wal_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push("-wal");
    PathBuf::from(name)
}

/// Adds the file's name to what the database says of it.
fn named(error: StoreError, path: &Path) -> StoreError {
    match error {
        StoreError::Database { doing, text } => StoreError::Database {
            doing: format!("{doing} ({})", path.display()),
            text,
        },
        StoreError::Corrupt { what, text } if what == DATABASE => StoreError::Corrupt {
            what: format!("{what} {}", path.display()),
            text,
        },
        StoreError::Locked { waited, text } => StoreError::Locked {
            waited,
            text: format!("{}: {text}", path.display()),
        },
        other => other,
    }
}
