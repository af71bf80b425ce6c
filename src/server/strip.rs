//! Takes from a template what belongs to production or would be loaded by itself.

use std::fs;
use std::path::Path;

use super::client::{Client, ClientError};
use crate::error::{Error, IoContext, Result};
use crate::space::Flavor;

/// Files a server makes anew, or reads to find its primary, its id, or its last state.
const FILES: [&str; 9] = [
    "auto.cnf",
    "master.info",
    "multi-master.info",
    "relay-log.info",
    "mysqld-auto.cnf",
    "ib_buffer_pool",
    "ib_buffer_pool.incomplete",
    "tc.log",
    "ddl_recovery-backup.log",
];

/// Whether a file at the top of a data directory is stripped.
pub(super) fn is_stripped(name: &str) -> bool {
    let numbered = |name: &str| {
        name.rsplit_once('.').is_some_and(|(stem, end)| {
            (end.len() >= 6 && end.bytes().all(|b| b.is_ascii_digit()) || end == "index" || end == "state")
                && ["bin", "binlog", "relay", "relay-log"]
                    .iter()
                    .any(|log| stem.ends_with(log))
        })
    };
    FILES.contains(&name)
        || name.starts_with("relay-log.")
        || name.starts_with("master-") && name.ends_with(".info")
        || name.ends_with(".pid")
        || name.ends_with(".err")
        || numbered(name)
}

/// Removes such files.
pub(super) fn strip_files(data: &Path) -> Result<()> {
    let failed = "cannot strip the template";
    for entry in fs::read_dir(data).context(failed, data)? {
        let entry = entry.context(failed, data)?;
        if entry.file_name().to_str().is_some_and(is_stripped) {
            fs::remove_file(entry.path()).context(failed, &entry.path())?;
        }
    }
    Ok(())
}

/// No such table (ER_NO_SUCH_TABLE of both families).
const NO_SUCH_TABLE: u16 = 1146;

/// Empties the tables that make a server a replica, and disables events. Which of them exist depends on the version.
///
/// # Errors
/// What the server reports, with the statement, unless the table is missing.
pub(super) async fn strip_rows(client: &mut Client) -> Result<(), ClientError> {
    for statement in [
        "DELETE FROM mysql.gtid_slave_pos",
        "DELETE FROM mysql.slave_master_info",
        "DELETE FROM mysql.slave_relay_log_info",
        "DELETE FROM mysql.slave_worker_info",
        "DELETE FROM mysql.plugin",
        "DELETE FROM mysql.servers",
        "UPDATE mysql.event SET status = 'DISABLED'",
    ] {
        match client.run(statement).await {
            Ok(()) => {}
            // A table that is missing needs no emptying.
            Err(error) if error.number() == Some(NO_SUCH_TABLE) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Gives the copy of a user's accounts a `root` without a password; the server runs without grant tables when called.
pub(super) async fn take_over_accounts(client: &mut Client, flavor: Flavor) -> Result<(), ClientError> {
    let identified = match flavor {
        Flavor::MariaDb => "IDENTIFIED VIA mysql_native_password USING ''",
        Flavor::MySql => "IDENTIFIED BY ''",
    };
    client.run("FLUSH PRIVILEGES").await?;
    client.run("CREATE USER IF NOT EXISTS 'root'@'localhost'").await?;
    client
        .run(&format!("ALTER USER 'root'@'localhost' {identified}"))
        .await?;
    client
        .run("GRANT ALL PRIVILEGES ON *.* TO 'root'@'localhost' WITH GRANT OPTION")
        .await
}

/// Tables that would reach other servers or files, and tables whose engine is not there or tells nothing: private servers
/// load no plugins. Views have no engine.
const UNUSABLE_TABLES: &str = "SELECT CONCAT(table_schema, '.', table_name, ' (', \
     COALESCE(engine, NULLIF(table_comment, ''), 'no engine'), ')') FROM information_schema.tables \
     WHERE table_type NOT IN ('VIEW', 'SYSTEM VIEW') AND (engine IS NULL \
     OR engine IN ('FEDERATED', 'SPIDER', 'CONNECT') \
     OR engine NOT IN (SELECT engine FROM information_schema.engines WHERE support IN ('YES', 'DEFAULT'))) \
     ORDER BY 1";

/// Refuses tables that would reach other hosts or files, or that a private server cannot open.
///
/// # Errors
/// [`Error::Input`] with the tables and what the server says of each; a host error where it does not list them.
pub(super) async fn refuse_unusable_tables(client: &mut Client) -> Result<()> {
    let rows = client
        .rows(UNUSABLE_TABLES)
        .await
        .map_err(|error| Error::host(format!("the tables cannot be listed: {error}")))?;
    let names: Vec<String> = rows.into_iter().flatten().flatten().collect();
    if names.is_empty() {
        return Ok(());
    }
    Err(Error::input(format!(
        "tables that a private server cannot use, since they reach other servers or files, are damaged, or need a plugin: {}",
        names.join(", ")
    ))
    .next("drop them from the copy you give to Noctune"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_belongs_to_production_is_stripped_and_data_stay() {
        let scratch = tempfile::tempdir().unwrap();
        let gone = [
            "auto.cnf",
            "master.info",
            "relay-log.info",
            "relay-log.000003",
            "db7-relay-bin.000001",
            "db7-relay-bin.index",
            "prod-bin.000017",
            "prod-bin.index",
            "prod-bin.state",
            "binlog.000001",
            "mysqld-auto.cnf",
            "ib_buffer_pool",
            "master-shard1.info",
            "db7.pid",
            "db7.err",
        ];
        let kept = [
            "ibdata1",
            "ib_logfile0",
            "aria_log.00000001",
            "aria_log_control",
            "undo001",
            "mysql.ibd",
        ];
        for name in gone.iter().chain(&kept) {
            fs::write(scratch.path().join(name), "").unwrap();
        }
        strip_files(scratch.path()).unwrap();
        for name in gone {
            assert!(!scratch.path().join(name).exists(), "{name}");
        }
        for name in kept {
            assert!(scratch.path().join(name).exists(), "{name}");
        }
    }
}
