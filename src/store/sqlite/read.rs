//! What is read, each from one state of the database.

use serde::de::DeserializeOwned;
use sqlx::Row;
use sqlx::sqlite::{SqliteConnection, SqliteRow};

use super::patience::Trouble;
use crate::plan::{Fact, Facts, State};
use crate::store::{OpenJob, StoreError, StudyRecord, WorkerId, blob};
use crate::strategy::TrialNumber;
use crate::trial::{PhaseTime, Series, TrialRecord, Warning};
use crate::units::UtcMillis;

/// The row id of a study.
pub(super) async fn study_id(db: &mut SqliteConnection, name: &str) -> Result<i64, Trouble> {
    let id: Option<i64> = sqlx::query_scalar("SELECT id FROM study WHERE name = ?")
        .bind(name)
        .fetch_optional(db)
        .await?;
    id.ok_or_else(|| StoreError::NoSuchStudy(name.to_owned()).into())
}

/// Grows with every new job and every delivered result, since neither is ever taken away.
pub(super) async fn version(db: &mut SqliteConnection, study: i64) -> Result<u64, Trouble> {
    let version: i64 = sqlx::query_scalar(
        "SELECT (SELECT count(*) FROM job WHERE study = ?1) + (SELECT count(*) FROM record WHERE study = ?1)",
    )
    .bind(study)
    .fetch_one(db)
    .await?;
    Ok(version as u64)
}

pub(super) async fn study(db: &mut SqliteConnection, name: &str) -> Result<Option<StudyRecord>, Trouble> {
    let row = sqlx::query("SELECT created_ms, seed, file, identity, frozen FROM study WHERE name = ?")
        .bind(name)
        .fetch_optional(db)
        .await?;
    let Some(row) = row else { return Ok(None) };
    let what = || format!("the study \"{name}\"");
    Ok(Some(StudyRecord {
        name: name.to_owned(),
        created: UtcMillis(row.try_get("created_ms")?),
        seed: row.try_get::<i64, _>("seed")? as u64,
        file: row.try_get("file")?,
        identity: json(&row, "identity", what)?,
        frozen: json(&row, "frozen", what)?,
    }))
}

pub(super) async fn studies(db: &mut SqliteConnection) -> Result<Vec<String>, Trouble> {
    Ok(sqlx::query_scalar("SELECT name FROM study ORDER BY id")
        .fetch_all(db)
        .await?)
}

pub(super) async fn facts(db: &mut SqliteConnection, study: &str) -> Result<(Facts, u64), Trouble> {
    let id = study_id(db, study).await?;
    let version = version(db, id).await?;
    let rows = sqlx::query(
        "SELECT job.number, job.job, record.outcome, record.effective, record.began_ms, record.seconds, record.worker \
         FROM job LEFT JOIN record USING (study, number) WHERE job.study = ? ORDER BY job.number",
    )
    .bind(id)
    .fetch_all(&mut *db)
    .await?;
    let mut warnings =
        sqlx::query("SELECT number, text, next FROM warning WHERE study = ? ORDER BY number, position")
            .bind(id)
            .fetch_all(db)
            .await?
            .into_iter()
            .peekable();
    let mut jobs = Vec::with_capacity(rows.len());
    for row in rows {
        let number: i64 = row.try_get("number")?;
        let what = || format!("trial {number} of the study \"{study}\"");
        let state = if row.try_get::<Option<String>, _>("outcome")?.is_none() {
            State::Open
        } else {
            let worker: WorkerId = json(&row, "worker", what)?;
            let mut own = Vec::new();
            while let Some(warning) =
                warnings.next_if(|w| w.try_get::<i64, _>("number").is_ok_and(|n| n == number))
            {
                own.push(read_warning(&warning)?);
            }
            State::Ended {
                outcome: json(&row, "outcome", what)?,
                effective: optional_json(&row, "effective", what)?,
                began: UtcMillis(row.try_get("began_ms")?),
                seconds: row.try_get("seconds")?,
                host: worker.host,
                warnings: own,
            }
        };
        jobs.push(Fact {
            number: number as u64,
            job: json(&row, "job", what)?,
            state,
        });
    }
    Ok((
        Facts {
            jobs,
            ..Facts::default()
        },
        version,
    ))
}

pub(super) async fn open_jobs(db: &mut SqliteConnection, study: &str) -> Result<Vec<OpenJob>, Trouble> {
    let id = study_id(db, study).await?;
    let rows = sqlx::query(
        "SELECT job.number, job.job, claim.token, claim.worker, \
         claim.lease_end_ms <= CAST(unixepoch('subsec') * 1000 AS INTEGER) AS expired \
         FROM job JOIN claim USING (study, number) LEFT JOIN record USING (study, number) \
         WHERE job.study = ? AND record.number IS NULL ORDER BY job.number",
    )
    .bind(id)
    .fetch_all(db)
    .await?;
    rows.iter()
        .map(|row| {
            let number: i64 = row.try_get("number")?;
            let what = || format!("job {number} of the study \"{study}\"");
            Ok(OpenJob {
                number: number as u64,
                job: json(row, "job", what)?,
                token: row.try_get::<i64, _>("token")? as u64,
                worker: json(row, "worker", what)?,
                expired: row.try_get("expired")?,
            })
        })
        .collect()
}

pub(super) async fn record(
    db: &mut SqliteConnection,
    study: &str,
    number: TrialNumber,
) -> Result<Option<TrialRecord>, Trouble> {
    let id = study_id(db, study).await?;
    let row = sqlx::query(
        "SELECT outcome, effective, began_ms, seconds FROM record WHERE study = ? AND number = ?",
    )
    .bind(id)
    .bind(number as i64)
    .fetch_optional(&mut *db)
    .await?;
    let Some(row) = row else { return Ok(None) };
    let what = || format!("trial {number} of the study \"{study}\"");
    let phases = sqlx::query(
        "SELECT phase, began_ms, seconds FROM phase WHERE study = ? AND number = ? ORDER BY position",
    )
    .bind(id)
    .bind(number as i64)
    .fetch_all(&mut *db)
    .await?;
    let phases = phases
        .iter()
        .map(|row| read_phase(row, what))
        .collect::<Result<_, _>>()?;
    let warnings =
        sqlx::query("SELECT text, next FROM warning WHERE study = ? AND number = ? ORDER BY position")
            .bind(id)
            .bind(number as i64)
            .fetch_all(&mut *db)
            .await?;
    let series =
        sqlx::query("SELECT name, data FROM series WHERE study = ? AND number = ? ORDER BY position")
            .bind(id)
            .bind(number as i64)
            .fetch_all(db)
            .await?;
    Ok(Some(TrialRecord {
        outcome: json(&row, "outcome", what)?,
        effective: optional_json(&row, "effective", what)?,
        began: UtcMillis(row.try_get("began_ms")?),
        seconds: row.try_get("seconds")?,
        phases,
        series: series
            .iter()
            .map(|row| read_series(row, what))
            .collect::<Result<_, _>>()?,
        warnings: warnings.iter().map(read_warning).collect::<Result<_, _>>()?,
    }))
}

pub(super) async fn series(
    db: &mut SqliteConnection,
    study: &str,
    number: TrialNumber,
    name: &str,
) -> Result<Option<Series>, Trouble> {
    let id = study_id(db, study).await?;
    let row = sqlx::query(
        "SELECT name, data FROM series WHERE study = ? AND number = ? AND name = ? ORDER BY position LIMIT 1",
    )
    .bind(id)
    .bind(number as i64)
    .bind(name)
    .fetch_optional(db)
    .await?;
    row.map(|row| read_series(&row, || format!("trial {number} of the study \"{study}\"")))
        .transpose()
}

pub(super) async fn late(
    db: &mut SqliteConnection,
    study: &str,
    number: TrialNumber,
) -> Result<Vec<(u64, TrialRecord)>, Trouble> {
    let id = study_id(db, study).await?;
    let rows = sqlx::query("SELECT token, record FROM late WHERE study = ? AND number = ? ORDER BY token")
        .bind(id)
        .bind(number as i64)
        .fetch_all(db)
        .await?;
    let what = || format!("a late result of trial {number} of the study \"{study}\"");
    rows.iter()
        .map(|row| Ok((row.try_get::<i64, _>("token")? as u64, json(row, "record", what)?)))
        .collect()
}

pub(super) async fn events(
    db: &mut SqliteConnection,
    study: &str,
    limit: u32,
) -> Result<Vec<(UtcMillis, String)>, Trouble> {
    let id = study_id(db, study).await?;
    let newest: Vec<(i64, String)> =
        sqlx::query_as("SELECT at_ms, event FROM event WHERE study = ? ORDER BY id DESC LIMIT ?")
            .bind(id)
            .bind(limit)
            .fetch_all(db)
            .await?;
    Ok(newest
        .into_iter()
        .rev()
        .map(|(at, event)| (UtcMillis(at), event))
        .collect())
}

fn read_phase(row: &SqliteRow, what: impl Fn() -> String) -> Result<PhaseTime, Trouble> {
    let name: String = row.try_get("phase")?;
    let phase =
        serde_json::from_value(serde_json::Value::String(name)).map_err(|error| StoreError::Corrupt {
            what: format!("a phase of {}", what()),
            text: error.to_string(),
        })?;
    Ok(PhaseTime {
        phase,
        began: UtcMillis(row.try_get("began_ms")?),
        seconds: row.try_get("seconds")?,
    })
}

fn read_warning(row: &SqliteRow) -> Result<Warning, Trouble> {
    Ok(Warning {
        text: row.try_get("text")?,
        next: row.try_get("next")?,
    })
}

fn read_series(row: &SqliteRow, what: impl Fn() -> String) -> Result<Series, Trouble> {
    let name: String = row.try_get("name")?;
    let data: &[u8] = row.try_get("data")?;
    blob::decode(&name, data).map_err(|text| {
        let what = format!("the series {name} of {}", what());
        StoreError::Corrupt { what, text }.into()
    })
}

/// The JSON of a column.
fn json<T: DeserializeOwned>(row: &SqliteRow, column: &str, what: impl Fn() -> String) -> Result<T, Trouble> {
    let text: &str = row.try_get(column)?;
    serde_json::from_str(text).map_err(|error| {
        let what = format!("{} ({column})", what());
        let text = error.to_string();
        StoreError::Corrupt { what, text }.into()
    })
}

/// The JSON of a column that may be NULL.
fn optional_json<T: DeserializeOwned>(
    row: &SqliteRow,
    column: &str,
    what: impl Fn() -> String,
) -> Result<Option<T>, Trouble> {
    match row.try_get::<Option<&str>, _>(column)? {
        None => Ok(None),
        Some(_) => json(row, column, what).map(Some),
    }
}
