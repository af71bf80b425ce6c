//! The schema of the database: created and migrated under the write lock, so any number of processes may open it at once.

use std::path::{Path, PathBuf};

use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions, Connection};

use super::patience::Trouble;
use crate::store::StoreError;

/// Marks a file as ours in its header ("Noct").
const APPLICATION_ID: i64 = 0x4E6F_6374;

/// Scripts in order; the database of version `n` has seen the first `n`.
pub(super) const MIGRATIONS: [&str; 1] = [include_str!("../migrations/sqlite/0001_first.sql")];

/// Puts the database into write-ahead logging and brings it to the newest schema: creates it where the file is empty, migrates it after a backup copy where it is
/// older, refuses it where it is newer or another program's.
pub(super) async fn migrate(
    connection: &mut SqliteConnection,
    options: &SqliteConnectOptions,
    scripts: &[&'static str],
) -> Result<(), Trouble> {
    let known = scripts.len() as i64;
    let found = version(connection, known).await?;
    // Only now, since it changes the file: a refused database is left as it is.
    sqlx::query("PRAGMA journal_mode = WAL")
        .execute(&mut *connection)
        .await?;
    if found == known {
        return Ok(());
    }
    let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
    // Read again: somebody else may have been faster, and under the write lock the answer stays true.
    let found = version(&mut transaction, known).await?;
    if found == known {
        transaction.rollback().await?;
        return Ok(());
    }
    if found > 0 {
        back_up(options, found).await?;
    }
    for script in &scripts[found as usize..] {
        sqlx::raw_sql(*script).execute(&mut *transaction).await?;
    }
    let header = format!("PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {known}");
    sqlx::raw_sql(sqlx::AssertSqlSafe(header))
        .execute(&mut *transaction)
        .await?;
    transaction.commit().await?;
    Ok(())
}

/// Refuses a database that is not of the newest schema, without changing it; for readers.
pub(super) async fn check(connection: &mut SqliteConnection, path: &Path) -> Result<(), Trouble> {
    let known = MIGRATIONS.len() as i64;
    match version(connection, known).await? {
        found if found == known => Ok(()),
        0 => Err(corrupt(path, "it holds no studies yet").into()),
        found => Err(corrupt(
            path,
            &format!(
                "it has schema {found}, older than {known}: `noctune tune` migrates it, after a backup copy"
            ),
        )
        .into()),
    }
}

/// The schema version: 0 of an empty database. One newer than `known`, and another program's database, are refused.
async fn version(connection: &mut SqliteConnection, known: i64) -> Result<i64, Trouble> {
    let (found, application, tables, file): (i64, i64, i64, String) = sqlx::query_as(
        "SELECT (SELECT user_version FROM pragma_user_version), (SELECT application_id FROM pragma_application_id), \
         (SELECT count(*) FROM sqlite_schema), (SELECT file FROM pragma_database_list WHERE name = 'main')",
    )
    .fetch_one(connection)
    .await?;
    let empty = found == 0 && application == 0 && tables == 0;
    if empty {
        Ok(0)
    } else if application != APPLICATION_ID || found < 1 {
        Err(corrupt(Path::new(&file), "it is the database of another program").into())
    } else if found > known {
        Err(StoreError::TooNew { found, known }.into())
    } else {
        Ok(found)
    }
}

fn corrupt(path: &Path, text: &str) -> StoreError {
    StoreError::Corrupt {
        what: format!("the database {}", path.display()),
        text: text.to_owned(),
    }
}

/// Copies the database as it is committed now next to itself, as `NAME.schema-N.backup`.
async fn back_up(options: &SqliteConnectOptions, version: i64) -> Result<PathBuf, Trouble> {
    let path = options.get_filename();
    let backup = with_suffix(path, &format!(".schema-{version}.backup"));
    let unfinished = with_suffix(&backup, ".unfinished");
    let failed = |what: &str, error: &std::io::Error| StoreError::Database {
        doing: format!("backing up {} before migrating it", path.display()),
        text: format!("{what}: {error}"),
    };
    match std::fs::remove_file(&unfinished) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(failed("cannot remove what an earlier attempt left", &error).into());
        }
        _ => {}
    }
    // A second connection: VACUUM cannot run inside the transaction that holds the write lock, and reads past it in WAL mode.
    let mut reader = options.connect().await?;
    sqlx::query("VACUUM INTO ?")
        .bind(unfinished.to_string_lossy().into_owned())
        .execute(&mut reader)
        .await?;
    reader.close().await?;
    std::fs::File::open(&unfinished)
        .and_then(|file| file.sync_all())
        .and_then(|()| std::fs::rename(&unfinished, &backup))
        .map_err(|error| failed("cannot finish the copy", &error))?;
    Ok(backup)
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LATER: [&str; 2] = [MIGRATIONS[0], "ALTER TABLE study ADD COLUMN note TEXT;"];
    const BROKEN: [&str; 2] = [
        MIGRATIONS[0],
        "CREATE TABLE half (id); ALTER TABLE nothing ADD COLUMN note;",
    ];

    async fn old_database(path: &Path) -> (SqliteConnectOptions, SqliteConnection) {
        let options = SqliteConnectOptions::new().filename(path).create_if_missing(true);
        let mut connection = options.connect().await.unwrap();
        migrate(&mut connection, &options, &MIGRATIONS).await.unwrap();
        let study = "INSERT INTO study (name, created_ms, seed, file, identity, frozen) VALUES ('a', 1, 1, '', '[]', '{}')";
        sqlx::query(study).execute(&mut connection).await.unwrap();
        (options, connection)
    }

    #[tokio::test]
    async fn an_older_schema_is_migrated_after_a_backup_that_holds_everything() {
        let folder = tempfile::tempdir().unwrap();
        let (options, mut connection) = old_database(&folder.path().join("n.db")).await;
        migrate(&mut connection, &options, &LATER).await.unwrap();
        assert_eq!(version(&mut connection, 2).await.unwrap(), 2);
        let note: Option<String> = sqlx::query_scalar("SELECT note FROM study WHERE name = 'a'")
            .fetch_one(&mut connection)
            .await
            .unwrap();
        assert_eq!(note, None);

        let copy = SqliteConnectOptions::new().filename(folder.path().join("n.db.schema-1.backup"));
        let mut copy = copy.connect().await.unwrap();
        assert_eq!(version(&mut copy, 2).await.unwrap(), 1);
        let studies: i64 = sqlx::query_scalar("SELECT count(*) FROM study")
            .fetch_one(&mut copy)
            .await
            .unwrap();
        assert_eq!(studies, 1);
    }

    #[tokio::test]
    async fn a_migration_that_fails_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let (options, mut connection) = old_database(&folder.path().join("n.db")).await;
        assert!(migrate(&mut connection, &options, &BROKEN).await.is_err());
        // A connection of its own: the rollback of the failed one is queued until its next use.
        let mut other = options.connect().await.unwrap();
        assert_eq!(version(&mut other, 2).await.unwrap(), 1);
        let half: i64 = sqlx::query_scalar("SELECT count(*) FROM sqlite_schema WHERE name = 'half'")
            .fetch_one(&mut other)
            .await
            .unwrap();
        assert_eq!(half, 0);
    }
}
