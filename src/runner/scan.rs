//! Reads the load's tables once before the load, where they fit into the buffer pool: a cold pool fills at the disk's
//! sequential speed and not by random reads.

use std::time::Duration;

use super::trial::DATABASE;
use crate::server::{Client, ClientError};

/// How long the scan may take; what is not read by then the load reads.
const LONGEST: Duration = Duration::from_secs(30);

/// Reads every index of every table, if all of it fits into the buffer pool. Gives what was done, for a note.
pub(super) async fn scan(client: &mut Client) -> Result<Option<String>, ClientError> {
    let sizes = client
        .rows(&format!(
            "SELECT SUM(data_length + index_length), @@GLOBAL.innodb_buffer_pool_size FROM information_schema.TABLES WHERE table_schema = '{DATABASE}'"
        ))
        .await?;
    let number = |column: usize| -> Option<f64> { sizes.first()?.get(column)?.as_ref()?.parse().ok() };
    let (Some(data), Some(pool)) = (number(0), number(1)) else {
        return Ok(None);
    };
    if data > 0.9 * pool {
        return Ok(None);
    }
    let indexes = client
        .rows(&format!(
            "SELECT DISTINCT table_name, index_name FROM information_schema.STATISTICS WHERE table_schema = '{DATABASE}'"
        ))
        .await?;
    let end = tokio::time::Instant::now() + LONGEST;
    for row in &indexes {
        let [Some(table), Some(index)] = row.as_slice() else {
            continue;
        };
        if tokio::time::Instant::now() >= end {
            return Ok(Some("tables read in part".to_owned()));
        }
        let (table, index) = (table.replace('`', "``"), index.replace('`', "``"));
        client
            .rows(&format!(
                "SELECT COUNT(*) FROM `{DATABASE}`.`{table}` FORCE INDEX (`{index}`)"
            ))
            .await?;
    }
    Ok(Some("tables read into the pool".to_owned()))
}
