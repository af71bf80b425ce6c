//! Times how fast a server pays its write debt, after the load has ended.

use std::path::Path;
use std::time::{Duration, Instant};

use super::journal::Failure;
use super::measuring::state;
use super::watch::sample;
use crate::server::{Client, ClientError, Instance};

/// Between two looks.
const LOOK: Duration = Duration::from_millis(250);

/// The rate, in bytes per second, at which the server writes dirty data when told to: its own io_capacity and disk decide.
/// None where nothing was written. The server's settings are changed by it; it is of no use for measuring afterwards.
///
/// Source: MariaDB and MySQL manuals, "innodb_max_dirty_pages_pct": above that share pages are flushed as fast as
/// innodb_io_capacity_max allows.
///
/// # Errors
/// A connection that broke: the server is gone. A server that does not answer in time is busy writing; its rate is unknown.
pub(super) async fn drain_rate(
    client: &mut Client,
    instance: &Instance,
    data: &Path,
) -> Result<Option<f64>, Failure> {
    match watched(client, instance, data).await {
        Err(error) if error.is_lost() => Err(Failure::host(format!(
            "the server was lost while it wrote what it owed: {error}"
        ))),
        Err(_) => Ok(None),
        Ok(rate) => Ok(rate),
    }
}

async fn watched(client: &mut Client, instance: &Instance, data: &Path) -> Result<Option<f64>, ClientError> {
    for statement in [
        "SET GLOBAL innodb_max_dirty_pages_pct_lwm = 0",
        "SET GLOBAL innodb_max_dirty_pages_pct = 0",
    ] {
        client.run(statement).await?;
    }
    let begin = Instant::now();
    let Some(first) = state(&sample(client, instance, data, 0.0).await?) else {
        return Ok(None);
    };
    loop {
        tokio::time::sleep(LOOK).await;
        let at = begin.elapsed();
        let Some(now) = state(&sample(client, instance, data, at.as_secs_f64()).await?) else {
            return Ok(None);
        };
        if first.drain_is_told(&now, at.as_secs_f64()) {
            let rate = first.flush_rate(&now, at.as_secs_f64());
            return Ok((rate > 0.0).then_some(rate));
        }
    }
}
