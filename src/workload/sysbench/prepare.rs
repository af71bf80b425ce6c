//! Making and filling the load's database.

use std::path::Path;
use std::time::Duration;

use sqlx::mysql::{MySqlConnectOptions, MySqlConnection};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, Row};
use tokio_util::sync::CancellationToken;

use super::load::Sysbench;
use super::output::Output;
use super::{classify, script};
use crate::error::{Error, IoContext, Problem, Result};
use crate::workload::Endpoint;

/// Makes the database, fills it with sysbench, and counts the rows: `prepare` with several threads exits with 0 even when
/// one of them failed.
pub(super) async fn prepare(
    load: &Sysbench,
    endpoint: &Endpoint,
    folder: &Path,
    stop: &CancellationToken,
) -> Result<()> {
    let file = script::find(load.script())?;
    let database = quoted(&endpoint.database)?;
    let mut server = connect(endpoint).await?;
    execute(&mut server, format!("CREATE DATABASE IF NOT EXISTS {database}")).await?;

    let fills_tables = script::fills_tables(load.script());
    let threads = if fills_tables {
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        let tables = usize::try_from(load.number("tables", 1)?).unwrap_or(usize::MAX);
        tables.min(2 * cores).max(1)
    } else {
        load.threads()
    };
    let log = folder.join("prepare.log");
    let mut child = load
        .spawn(&file, endpoint, threads, folder, &log)
        .and_then(|spawn| spawn.arg("prepare").start())
        .context("sysbench cannot be run, output in", &log)?;
    let exit = loop {
        if stop.is_cancelled() {
            return Err(Error::Interrupted);
        }
        let ended = child.wait(Duration::from_millis(200)).await;
        if let Some(exit) = ended.context("cannot wait for sysbench, output in", &log)? {
            break exit;
        }
    };
    let text = std::fs::read_to_string(&log).context("cannot read", &log)?;
    let output = Output::parse(&text).map_err(Error::Host)?;
    if let Some(failure) = classify::failure(&output, exit.code) {
        let error = match failure.stops_study() {
            Some(error) => error,
            None => Error::host(format!("filling the load's tables failed: {failure}")),
        };
        return Err(error.at(log.display().to_string()));
    }
    let counted = count(&mut server, load, &database, fills_tables).await;
    // The connection was only read from; nothing is lost if its goodbye fails.
    let _ = server.close().await;
    counted.map_err(|error| error.at(log.display().to_string()))
}

/// Compares the rows with what was asked for; for scripts that are not known, only that there is a table.
async fn count(
    server: &mut MySqlConnection,
    load: &Sysbench,
    database: &str,
    fills_tables: bool,
) -> Result<()> {
    if !fills_tables {
        let tables = number(
            server,
            format!(
                "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = '{}'",
                database.trim_matches('`')
            ),
        )
        .await?;
        return if tables > 0 {
            Ok(())
        } else {
            Err(Error::host("sysbench prepare made no table"))
        };
    }
    // oltp_insert leaves its tables empty where the client makes the ids.
    let own_ids = load.script() == "oltp_insert" && load.has("auto-inc", "off");
    let expected = if own_ids {
        0
    } else {
        load.number("table-size", 10_000)?
    };
    for table in 1..=load.number("tables", 1)? {
        let rows = number(server, format!("SELECT COUNT(*) FROM {database}.sbtest{table}")).await?;
        if rows != expected {
            return Err(Error::Host(
                Problem::new(format!(
                    "table sbtest{table} has {rows} rows instead of {expected}"
                ))
                .next("drop the load's database, then try again; the log tells why rows are missing"),
            ));
        }
    }
    Ok(())
}

async fn connect(endpoint: &Endpoint) -> Result<MySqlConnection> {
    let mut options = MySqlConnectOptions::new()
        .username(&endpoint.user)
        .ssl_mode(sqlx::mysql::MySqlSslMode::Disabled);
    options = match endpoint.port {
        Some(port) => options.host("127.0.0.1").port(port),
        None => options.socket(&endpoint.socket),
    };
    if let Some(password) = &endpoint.password {
        options = options.password(password);
    }
    options.connect().await.map_err(|error| {
        Error::host(format!("cannot connect to the server to fill it: {error}"))
            .at(endpoint.socket.display().to_string())
    })
}

async fn execute(server: &mut MySqlConnection, statement: String) -> Result<()> {
    // The statement is made here from names that were checked.
    sqlx::raw_sql(AssertSqlSafe(statement.clone()))
        .execute(server)
        .await
        .map(|_| ())
        .map_err(|error| Error::host(format!("`{statement}` failed: {error}")))
}

async fn number(server: &mut MySqlConnection, query: String) -> Result<u64> {
    let failed = |error: sqlx::Error| Error::host(format!("`{query}` failed: {error}"));
    let row = sqlx::query(AssertSqlSafe(query.clone()))
        .fetch_one(server)
        .await
        .map_err(failed)?;
    let count: i64 = row.try_get(0).map_err(failed)?;
    Ok(count.unsigned_abs())
}

/// A database name between backquotes; letters, digits, `_`, `$` and `-` only, so that nothing has to be escaped.
fn quoted(database: &str) -> Result<String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '-');
    if database.is_empty() || database.len() > 64 || !database.chars().all(plain) {
        return Err(Error::Input(
            Problem::new(format!("\"{database}\" is no name for the load's database"))
                .next("take letters, digits, _ and -, at most 64"),
        ));
    }
    Ok(format!("`{database}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_name_that_would_need_escaping_is_refused() {
        assert_eq!(quoted("sbtest").unwrap(), "`sbtest`");
        for name in ["", "a`b", "a;b", "ä", "a b"] {
            assert_eq!(quoted(name).unwrap_err().exit_code(), 2, "{name}");
        }
    }
}
