//! Reads the load's tables once before the load, where they fit into the buffer pool: a cold pool fills at the disk's
//! sequential speed and not by random reads.

use std::time::Duration;

use tokio::time::Instant;

use super::journal::Failure;
use super::trial::DATABASE;
use crate::server::{Client, ClientError, Instance};
use crate::trial::{Outcome, Phase};

/// Reads every index of every table, if all of it fits into the buffer pool, within `limit`; what is not read by then the
/// load reads. Gives what was done, for a note.
///
/// It has a connection of its own, so that `client` is free at its end: a query that is still running then is killed
/// through `client`, and does not disturb the load.
pub(super) async fn scan(
    instance: &Instance,
    client: &mut Client,
    limit: Duration,
) -> Result<Option<String>, Failure> {
    let end = Instant::now() + limit;
    let failed = |error: ClientError| format!("tables were not read: {error}");
    let mut own = match instance.client(limit).await {
        Ok(own) => own,
        Err(error) => return Ok(Some(failed(error))),
    };
    let id = match number(&mut own, "SELECT CONNECTION_ID()").await {
        Ok(id) => id,
        Err(error) => return Ok(Some(failed(error))),
    };
    match read_all(&mut own, end).await {
        Ok(note) => {
            own.close().await;
            Ok(note)
        }
        Err(ClientError::TimedOut { .. }) => {
            if let Some(id) = id {
                kill(client, id).await?;
            }
            Ok(Some("tables read in part".to_owned()))
        }
        Err(error) => Ok(Some(failed(error))),
    }
}

/// Ends a connection and what runs in it. A server that does not even do that hangs.
async fn kill(client: &mut Client, id: f64) -> Result<(), Failure> {
    match client.run(&format!("KILL {id:.0}")).await {
        Err(ClientError::TimedOut { .. }) => {
            Err(Failure::Outcome(Outcome::TimedOut { phase: Phase::WarmUp }))
        }
        // It may have ended just now.
        Ok(()) | Err(ClientError::Failed { .. }) => Ok(()),
    }
}

async fn number(client: &mut Client, sql: &str) -> Result<Option<f64>, ClientError> {
    let rows = client.rows(sql).await?;
    Ok(rows.first().and_then(|row| row.first()?.as_ref()?.parse().ok()))
}

async fn read_all(client: &mut Client, end: Instant) -> Result<Option<String>, ClientError> {
    let left = || end.saturating_duration_since(Instant::now());
    client.set_deadline(left());
    let data = number(
        client,
        &format!(
            "SELECT SUM(data_length + index_length) FROM information_schema.TABLES WHERE table_schema = '{DATABASE}'"
        ),
    )
    .await?;
    let pool = number(client, "SELECT @@GLOBAL.innodb_buffer_pool_size").await?;
    let (Some(data), Some(pool)) = (data, pool) else {
        return Ok(None);
    };
    if data > 0.9 * pool {
        return Ok(None);
    }
    client.set_deadline(left());
    let indexes = client
        .rows(&format!(
            "SELECT DISTINCT table_name, index_name FROM information_schema.STATISTICS WHERE table_schema = '{DATABASE}'"
        ))
        .await?;
    for row in &indexes {
        let [Some(table), Some(index)] = row.as_slice() else {
            continue;
        };
        let (table, index) = (table.replace('`', "``"), index.replace('`', "``"));
        client.set_deadline(left());
        client
            .rows(&format!(
                "SELECT COUNT(*) FROM `{DATABASE}`.`{table}` FORCE INDEX (`{index}`)"
            ))
            .await?;
    }
    Ok(Some("tables read into the pool".to_owned()))
}
