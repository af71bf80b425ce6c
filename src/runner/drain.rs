//! Times how fast a server pays its write debt, after the load has ended.

use std::path::Path;
use std::time::{Duration, Instant};

use super::measuring::state;
use super::watch::sample;
use crate::server::{Client, Instance};

/// How long it is watched.
const WATCHED: Duration = Duration::from_secs(2);
/// Between two looks.
const LOOK: Duration = Duration::from_millis(250);
/// Less dirty data than this share of the first look's tells nothing any more.
const RUN_DRY: f64 = 0.1;

/// The rate, in bytes per second, at which the server writes dirty data when told to: its own io_capacity and disk decide.
/// None where nothing was written. The server's settings are changed by it; it is of no use for measuring afterwards.
///
/// Source: MariaDB and MySQL manuals, "innodb_max_dirty_pages_pct": above that share pages are flushed as fast as
/// innodb_io_capacity_max allows.
pub(super) async fn drain_rate(client: &mut Client, instance: &Instance, data: &Path) -> Option<f64> {
    for statement in [
        "SET GLOBAL innodb_max_dirty_pages_pct_lwm = 0",
        "SET GLOBAL innodb_max_dirty_pages_pct = 0",
    ] {
        client.run(statement).await.ok()?;
    }
    let begin = Instant::now();
    let first = state(&sample(client, instance, data, 0.0).await.ok()?)?;
    loop {
        tokio::time::sleep(LOOK).await;
        let at = begin.elapsed();
        let now = state(&sample(client, instance, data, at.as_secs_f64()).await.ok()?)?;
        if at >= WATCHED || now.dirty_bytes <= RUN_DRY * first.dirty_bytes {
            let rate = first.flush_rate(&now, at.as_secs_f64());
            return (rate > 0.0).then_some(rate);
        }
    }
}
