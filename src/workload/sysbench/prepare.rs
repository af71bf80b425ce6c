//! Making and filling the load's database.

use std::path::Path;
use std::time::{Duration, Instant};

use sqlx::mysql::{MySqlConnectOptions, MySqlConnection};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, Row};
use tokio_util::sync::CancellationToken;

use super::load::Sysbench;
use super::output::Output;
use super::{classify, script};
use crate::error::{Error, IoContext, Problem, Result};
use crate::host::{Child, Exit, standstill};
use crate::workload::Endpoint;

/// How long the server may take for what needs no rows: connecting, making the database.
const ANSWER: Duration = Duration::from_secs(60);
/// How long filling or counting may take without any row.
const FILL_BASE: Duration = Duration::from_secs(15 * 60);
/// The slowest filling that is waited for, rows a second; a spinning disk does ten times as much.
const SLOWEST_ROWS: u64 = 1000;
/// How long a script whose rows are not known may fill.
const FILL_UNKNOWN: Duration = Duration::from_secs(12 * 3600);
/// How long neither sysbench nor the server may do anything while they fill or count.
const STANDSTILL: Duration = Duration::from_secs(10 * 60);

/// What to do about a filling that hangs.
const HANGS: &str = "read that log and template/making/server.log: the server, its disk or sysbench hangs";

/// Limits of filling, each generous: what is longer hangs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Limits {
    /// Connecting, and statements that touch no rows.
    answer: Duration,
    /// Filling all tables, and counting the rows of one.
    fill: Duration,
    /// Nothing being done at all: a night is too long to wait for what hangs.
    standstill: Duration,
}

impl Limits {
    /// Of a load.
    fn of(load: &Sysbench) -> Result<Self> {
        let fill = if script::fills_tables(load.script()) {
            let tables = load.number("tables", 1)?;
            let rows = tables.saturating_mul(load.number("table-size", 10_000)?);
            FILL_BASE + Duration::from_secs(rows / SLOWEST_ROWS)
        } else {
            FILL_UNKNOWN
        };
        Ok(Self {
            answer: ANSWER,
            fill,
            standstill: STANDSTILL,
        })
    }
}

/// Makes the database, fills it with sysbench, and counts the rows: `prepare` with several threads exits with 0 even when
/// one of them failed.
pub(super) async fn prepare(
    load: &Sysbench,
    endpoint: &Endpoint,
    folder: &Path,
    stop: &CancellationToken,
) -> Result<()> {
    let limits = Limits::of(load)?;
    let file = script::find(load.script())?;
    let database = quoted(&endpoint.database)?;
    let mut server = connect(endpoint, limits.answer).await?;
    let create = format!("CREATE DATABASE IF NOT EXISTS {database}");
    execute(&mut server, create, limits.answer).await?;
    close(server).await;
    let server = server_of(endpoint).await;

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
    let exit = unless_still(server, Some(child.pid()), &log, limits, async {
        filled(&mut child, &log, limits.fill, stop).await
    })
    .await?;
    let text = std::fs::read_to_string(&log).context("cannot read", &log)?;
    let output = Output::parse(&text).map_err(Error::Host)?;
    if let Some(failure) = classify::failure(&output, exit.code) {
        let error = match failure.stops_study() {
            Some(error) => error,
            None => Error::host(format!("filling the load's tables failed: {failure}")),
        };
        return Err(error.at(log.display().to_string()));
    }
    // A new connection: servers end one that is idle for hours.
    let mut connection = connect(endpoint, limits.answer).await?;
    let counted = unless_still(server, None, &log, limits, async {
        count(&mut connection, load, &database, fills_tables, limits.fill).await
    })
    .await;
    close(connection).await;
    counted.map_err(|error| error.at(log.display().to_string()))
}

/// The process that answers on the socket; none where that cannot be known.
async fn server_of(endpoint: &Endpoint) -> Option<i32> {
    if endpoint.port.is_some() {
        return None;
    }
    let stream = tokio::net::UnixStream::connect(&endpoint.socket).await.ok()?;
    stream.peer_cred().ok()?.pid()
}

/// Does `work` unless server and sysbench stand still over it.
async fn unless_still<T>(
    server: Option<i32>,
    sysbench: Option<i32>,
    log: &Path,
    limits: Limits,
    work: impl Future<Output = Result<T>>,
) -> Result<T> {
    let Some(server) = server else {
        return work.await;
    };
    let pids: Vec<i32> = std::iter::once(server).chain(sysbench).collect();
    tokio::select! {
        done = work => done,
        () = standstill(&pids, limits.standstill) => {
            let seconds = limits.standstill.as_secs_f64();
            Err(Error::host(format!(
                "filling the load's tables stands still: neither sysbench nor the server did anything for {seconds} s"
            ))
            .at(log.display().to_string())
            .next(HANGS))
        }
    }
}

/// How the filling sysbench ended, once it did.
async fn filled(child: &mut Child, log: &Path, limit: Duration, stop: &CancellationToken) -> Result<Exit> {
    let end = Instant::now() + limit;
    loop {
        if stop.is_cancelled() {
            return Err(Error::Interrupted);
        }
        let ended = child.wait(Duration::from_millis(200)).await;
        if let Some(exit) = ended.context("cannot wait for sysbench, output in", log)? {
            return Ok(exit);
        }
        if Instant::now() >= end {
            let seconds = limit.as_secs_f64();
            return Err(
                Error::host(format!("filling the load's tables took longer than {seconds} s"))
                    .at(log.display().to_string())
                    .next(HANGS),
            );
        }
    }
}

/// Compares the rows with what was asked for; for scripts that are not known, only that there is a table.
async fn count(
    server: &mut MySqlConnection,
    load: &Sysbench,
    database: &str,
    fills_tables: bool,
    limit: Duration,
) -> Result<()> {
    if !fills_tables {
        let tables = number(
            server,
            format!(
                "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = '{}'",
                database.trim_matches('`')
            ),
            limit,
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
        let query = format!("SELECT COUNT(*) FROM {database}.sbtest{table}");
        let rows = number(server, query, limit).await?;
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

async fn connect(endpoint: &Endpoint, limit: Duration) -> Result<MySqlConnection> {
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
    within(limit, options.connect()).await.map_err(|why| {
        Error::host(format!("cannot connect to the server to fill it: {why}"))
            .at(endpoint.socket.display().to_string())
    })
}

/// Says goodbye; nothing is lost if that fails.
async fn close(server: MySqlConnection) {
    let _ = tokio::time::timeout(ANSWER, server.close()).await;
}

/// The answer of the server, or why there is none.
async fn within<T>(
    limit: Duration,
    answer: impl Future<Output = Result<T, sqlx::Error>>,
) -> Result<T, String> {
    match tokio::time::timeout(limit, answer).await {
        Ok(answer) => answer.map_err(|error| error.to_string()),
        Err(_) => Err(format!("no answer within {} s", limit.as_secs_f64())),
    }
}

async fn execute(server: &mut MySqlConnection, statement: String, limit: Duration) -> Result<()> {
    // The statement is made here from names that were checked.
    let query = sqlx::raw_sql(AssertSqlSafe(statement.clone()));
    within(limit, query.execute(server))
        .await
        .map(|_| ())
        .map_err(|why| Error::host(format!("`{statement}` failed: {why}")))
}

async fn number(server: &mut MySqlConnection, query: String, limit: Duration) -> Result<u64> {
    let failed = |why: String| Error::host(format!("`{query}` failed: {why}"));
    let asked = sqlx::query(AssertSqlSafe(query.clone()));
    let row = within(limit, asked.fetch_one(server)).await.map_err(failed)?;
    let count: i64 = row.try_get(0).map_err(|error| failed(error.to_string()))?;
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

    fn load(tables: &str, size: &str) -> Sysbench {
        let options = [("tables", tables), ("table-size", size)];
        let options = options.map(|(key, value)| (key.to_owned(), value.to_owned()));
        Sysbench::new("oltp_read_write", 4, options).unwrap()
    }

    #[test]
    fn the_limit_of_filling_grows_with_the_rows() {
        let fill = |tables, size| Limits::of(&load(tables, size)).unwrap().fill;
        assert_eq!(fill("1", "1000"), FILL_BASE + Duration::from_secs(1));
        assert!(fill("8", "10000000") > Duration::from_secs(20 * 3600));
        let own = Sysbench::new("./own.lua", 4, []).unwrap();
        assert_eq!(Limits::of(&own).unwrap().fill, FILL_UNKNOWN);
    }

    #[tokio::test]
    async fn a_server_that_takes_the_connection_and_says_nothing_is_not_waited_for() {
        let scratch = tempfile::tempdir().unwrap();
        let socket = scratch.path().join("s");
        let _silent = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        let endpoint = Endpoint {
            socket,
            port: None,
            user: "root".to_owned(),
            password: None,
            database: "sbtest".to_owned(),
        };
        let error = connect(&endpoint, Duration::from_millis(200)).await.unwrap_err();
        assert_eq!(error.exit_code(), 3);
        assert!(error.to_string().contains("no answer within 0.2 s"), "{error}");
    }

    #[tokio::test]
    async fn a_sysbench_that_hangs_while_it_fills_is_told_with_its_log() {
        let mut child = crate::host::Spawn::new("sleep").arg("600").start().unwrap();
        let limit = Duration::from_millis(300);
        let error = filled(
            &mut child,
            Path::new("prepare.log"),
            limit,
            &CancellationToken::new(),
        )
        .await
        .unwrap_err();
        assert_eq!(error.exit_code(), 3);
        let told = error.to_string();
        assert!(
            told.contains("longer than 0.3 s") && told.contains("prepare.log"),
            "{told}"
        );
    }

    #[tokio::test]
    async fn a_filling_in_which_nothing_is_done_is_not_waited_for_until_its_limit() {
        let sleeper = || crate::host::Spawn::new("sleep").arg("600").start().unwrap();
        let (server, mut sysbench) = (sleeper(), sleeper());
        let limits = Limits {
            standstill: Duration::from_millis(300),
            ..Limits::of(&load("8", "250000")).unwrap()
        };
        let (log, stop) = (Path::new("prepare.log"), CancellationToken::new());
        let pid = sysbench.pid();
        let work = async { filled(&mut sysbench, log, limits.fill, &stop).await };
        let ended = unless_still(Some(server.pid()), Some(pid), log, limits, work);
        let error = tokio::time::timeout(Duration::from_secs(60), ended)
            .await
            .unwrap()
            .unwrap_err();
        assert_eq!(error.exit_code(), 3);
        assert!(error.to_string().contains("stands still"), "{error}");
    }

    #[tokio::test]
    async fn the_server_of_a_socket_is_known_by_the_kernel() {
        let scratch = tempfile::tempdir().unwrap();
        let socket = scratch.path().join("s");
        let _ours = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        let endpoint = Endpoint {
            socket,
            port: None,
            user: "root".to_owned(),
            password: None,
            database: "sbtest".to_owned(),
        };
        let own = i32::try_from(std::process::id()).unwrap();
        assert_eq!(server_of(&endpoint).await, Some(own));
    }
}
