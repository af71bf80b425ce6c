//! What is written, each inside a transaction that holds the write lock.

use std::time::Duration;

use serde::Serialize;
use sqlx::sqlite::SqliteConnection;

use super::patience::Trouble;
use super::read::{study_id, version};
use crate::plan::Job;
use crate::store::{Claim, Claimed, Delivery, OpenJob, StoreError, StudyRecord, WorkerId, no_such_job};
use crate::strategy::TrialNumber;
use crate::trial::TrialRecord;
use crate::units::UtcMillis;

pub(super) async fn create(db: &mut SqliteConnection, study: &StudyRecord) -> Result<(), Trouble> {
    let inserted = sqlx::query(
        "INSERT INTO study (name, created_ms, seed, file, identity, frozen) VALUES (?, ?, ?, ?, ?, ?) \
         ON CONFLICT (name) DO NOTHING",
    )
    .bind(&study.name)
    .bind(study.created.0)
    .bind(study.seed as i64)
    .bind(&study.file)
    .bind(json(&study.identity)?)
    .bind(json(&study.frozen)?)
    .execute(db)
    .await?;
    match inserted.rows_affected() {
        0 => Err(StoreError::StudyExists(study.name.clone()).into()),
        _ => Ok(()),
    }
}

pub(super) async fn update(db: &mut SqliteConnection, study: &StudyRecord) -> Result<(), Trouble> {
    let updated = sqlx::query("UPDATE study SET file = ?, frozen = ? WHERE name = ?")
        .bind(&study.file)
        .bind(json(&study.frozen)?)
        .bind(&study.name)
        .execute(db)
        .await?;
    match updated.rows_affected() {
        0 => Err(StoreError::NoSuchStudy(study.name.clone()).into()),
        _ => Ok(()),
    }
}

pub(super) async fn claim(
    db: &mut SqliteConnection,
    study: &str,
    seen: u64,
    job: &Job,
    worker: &WorkerId,
    lease: Duration,
) -> Result<Claimed, Trouble> {
    let id = study_id(db, study).await?;
    if version(db, id).await? != seen {
        return Ok(Claimed::Stale);
    }
    let number: i64 = sqlx::query_scalar(
        "INSERT INTO job (study, number, job, created_ms) \
         SELECT ?1, coalesce(max(number), 0) + 1, ?2, CAST(unixepoch('subsec') * 1000 AS INTEGER) \
         FROM job WHERE study = ?1 RETURNING number",
    )
    .bind(id)
    .bind(json(job)?)
    .fetch_one(&mut *db)
    .await?;
    sqlx::query(
        "INSERT INTO claim (study, number, token, worker, lease_end_ms) \
         VALUES (?, ?, 1, ?, CAST(unixepoch('subsec') * 1000 AS INTEGER) + ?)",
    )
    .bind(id)
    .bind(number)
    .bind(json(worker)?)
    .bind(millis(lease))
    .execute(db)
    .await?;
    Ok(Claimed::Yes(Claim {
        study: study.to_owned(),
        number: number as u64,
        token: 1,
    }))
}

pub(super) async fn reclaim(
    db: &mut SqliteConnection,
    study: &str,
    open: &OpenJob,
    worker: &WorkerId,
    lease: Duration,
    dead: bool,
) -> Result<Option<Claim>, Trouble> {
    let id = study_id(db, study).await?;
    token_of(db, id, open.number).await?;
    let token: Option<i64> = sqlx::query_scalar(
        "UPDATE claim SET token = token + 1, worker = ?1, \
         lease_end_ms = CAST(unixepoch('subsec') * 1000 AS INTEGER) + ?2 \
         WHERE study = ?3 AND number = ?4 AND token = ?5 \
         AND (?6 OR lease_end_ms <= CAST(unixepoch('subsec') * 1000 AS INTEGER)) \
         AND NOT EXISTS (SELECT 1 FROM record WHERE study = ?3 AND number = ?4) RETURNING token",
    )
    .bind(json(worker)?)
    .bind(millis(lease))
    .bind(id)
    .bind(open.number as i64)
    .bind(open.token as i64)
    .bind(dead)
    .fetch_optional(db)
    .await?;
    Ok(token.map(|token| Claim {
        study: study.to_owned(),
        number: open.number,
        token: token as u64,
    }))
}

pub(super) async fn renew(
    db: &mut SqliteConnection,
    claim: &Claim,
    lease: Duration,
) -> Result<bool, Trouble> {
    let id = study_id(db, &claim.study).await?;
    token_of(db, id, claim.number).await?;
    let renewed = sqlx::query(
        "UPDATE claim SET lease_end_ms = CAST(unixepoch('subsec') * 1000 AS INTEGER) + ? \
         WHERE study = ? AND number = ? AND token = ?",
    )
    .bind(millis(lease))
    .bind(id)
    .bind(claim.number as i64)
    .bind(claim.token as i64)
    .execute(db)
    .await?;
    Ok(renewed.rows_affected() == 1)
}

/// Writes a result with its series, already compressed, in the order of `record.series`.
pub(super) async fn deliver(
    db: &mut SqliteConnection,
    claim: &Claim,
    worker: &WorkerId,
    record: &TrialRecord,
    series: &[(&str, Vec<u8>)],
) -> Result<Delivery, Trouble> {
    let id = study_id(db, &claim.study).await?;
    let newest = token_of(db, id, claim.number).await?;
    let written: Option<i64> = sqlx::query_scalar("SELECT token FROM record WHERE study = ? AND number = ?")
        .bind(id)
        .bind(claim.number as i64)
        .fetch_optional(&mut *db)
        .await?;
    if written == Some(claim.token as i64) {
        return Ok(Delivery::AlreadyWritten);
    }
    if written.is_some() || newest != claim.token {
        keep_late(db, id, claim, worker, record).await?;
        return Ok(Delivery::Late);
    }
    let number = claim.number as i64;
    sqlx::query(
        "INSERT INTO record (study, number, token, worker, outcome, effective, began_ms, seconds, delivered_ms) \
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, CAST(unixepoch('subsec') * 1000 AS INTEGER))",
    )
    .bind(id)
    .bind(number)
    .bind(claim.token as i64)
    .bind(json(worker)?)
    .bind(json(&record.outcome)?)
    .bind(record.effective.as_ref().map(json).transpose()?)
    .bind(record.began.0)
    .bind(record.seconds)
    .execute(&mut *db)
    .await?;
    for (position, phase) in (0i64..).zip(&record.phases) {
        sqlx::query(
            "INSERT INTO phase (study, number, position, phase, began_ms, seconds) VALUES (?, ?, ?, ?, ?, ?)",
        )
        .bind(id)
        .bind(number)
        .bind(position)
        .bind(phase.phase.name())
        .bind(phase.began.0)
        .bind(phase.seconds)
        .execute(&mut *db)
        .await?;
    }
    for (position, warning) in (0i64..).zip(&record.warnings) {
        sqlx::query("INSERT INTO warning (study, number, position, text, next) VALUES (?, ?, ?, ?, ?)")
            .bind(id)
            .bind(number)
            .bind(position)
            .bind(&warning.text)
            .bind(&warning.next)
            .execute(&mut *db)
            .await?;
    }
    for (position, (name, data)) in (0i64..).zip(series) {
        sqlx::query("INSERT INTO series (study, number, position, name, data) VALUES (?, ?, ?, ?, ?)")
            .bind(id)
            .bind(number)
            .bind(position)
            .bind(*name)
            .bind(data.as_slice())
            .execute(&mut *db)
            .await?;
    }
    Ok(Delivery::Written)
}

pub(super) async fn append_event(
    db: &mut SqliteConnection,
    study: &str,
    at: UtcMillis,
    event: &str,
) -> Result<(), Trouble> {
    let id = study_id(db, study).await?;
    sqlx::query("INSERT INTO event (study, at_ms, event) VALUES (?, ?, ?)")
        .bind(id)
        .bind(at.0)
        .bind(event)
        .execute(db)
        .await?;
    Ok(())
}

async fn keep_late(
    db: &mut SqliteConnection,
    study: i64,
    claim: &Claim,
    worker: &WorkerId,
    record: &TrialRecord,
) -> Result<(), Trouble> {
    sqlx::query(
        "INSERT INTO late (study, number, token, worker, record, delivered_ms) \
         VALUES (?, ?, ?, ?, ?, CAST(unixepoch('subsec') * 1000 AS INTEGER)) ON CONFLICT DO NOTHING",
    )
    .bind(study)
    .bind(claim.number as i64)
    .bind(claim.token as i64)
    .bind(json(worker)?)
    .bind(json(record)?)
    .execute(db)
    .await?;
    Ok(())
}

/// The newest token of a job.
async fn token_of(db: &mut SqliteConnection, study: i64, number: TrialNumber) -> Result<u64, Trouble> {
    let token: Option<i64> = sqlx::query_scalar("SELECT token FROM claim WHERE study = ? AND number = ?")
        .bind(study)
        .bind(number as i64)
        .fetch_optional(db)
        .await?;
    token
        .map(|token| token as u64)
        .ok_or_else(|| no_such_job(number).into())
}

/// Milliseconds of a lease; a longer one than a thousand years is cut there, so that adding it to a time stays in range.
fn millis(lease: Duration) -> i64 {
    const THOUSAND_YEARS: i64 = 1000 * 366 * 24 * 3600 * 1000;
    i64::try_from(lease.as_millis()).map_or(THOUSAND_YEARS, |ms| ms.min(THOUSAND_YEARS))
}

fn json<T: Serialize + ?Sized>(value: &T) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|error| StoreError::Database {
        doing: "writing a value as JSON".to_owned(),
        text: error.to_string(),
    })
}
