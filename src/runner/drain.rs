//! Times how fast a server pays its write debt, after the load has ended.

use std::path::Path;
use std::time::{Duration, Instant};

use super::journal::Failure;
use super::measuring::state;
use super::watch::sample;
use crate::server::{Client, ClientError, Instance};
use crate::trial::Phase;

/// Between two looks.
const LOOK: Duration = Duration::from_millis(250);

/// What decides how much dirty data a server keeps, in the order in which both can be raised again: the low-water mark is
/// never above the other.
const KEEPS_DIRTY: [&str; 2] = ["innodb_max_dirty_pages_pct", "innodb_max_dirty_pages_pct_lwm"];

/// How much dirty data the server was configured to keep; a drain takes that away.
pub(super) struct Flushing(Vec<(&'static str, String)>);

impl Flushing {
    /// As the server runs now.
    pub(super) async fn read(client: &mut Client) -> Result<Self, Failure> {
        let variables = client.global_variables().await.map_err(|error| {
            Failure::unanswered(Phase::Collect, "the settings of flushing cannot be read", &error)
        })?;
        let known = |name| Some((name, variables.get(name)?.clone()));
        Ok(Self(KEEPS_DIRTY.into_iter().filter_map(known).collect()))
    }

    /// Gives the server its configuration back.
    pub(super) async fn restore(self, client: &mut Client) -> Result<(), Failure> {
        for (name, value) in self.0 {
            client
                .run(&format!("SET GLOBAL {name} = {value}"))
                .await
                .map_err(|error| {
                    Failure::unanswered(
                        Phase::Collect,
                        "the settings of flushing cannot be restored",
                        &error,
                    )
                })?;
        }
        Ok(())
    }
}

/// The rate, in bytes per second, at which the server writes dirty data when told to: its own io_capacity and disk decide.
/// None where nothing was written. The server's settings are changed by it; [`Flushing`] takes that back.
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
    for name in KEEPS_DIRTY.iter().rev() {
        client.run(&format!("SET GLOBAL {name} = 0")).await?;
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
