//! What only a file can get wrong: locks, many openers, readers beside a writer, old and new schemas, damage (case O09).

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use noctune::store::{Delivery, Patience, Spool, SqliteStore, Store, StoreError};
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions, Connection, Executor};

use super::samples::{HOUR, STUDY, claim, job, measured, refused, study, worker};

/// Gives up soon, and asks SQLite to wait even shorter, so that trying again is what is tested.
const SHORT: Patience = Patience {
    attempt: Duration::from_millis(20),
    total: Duration::from_millis(300),
};

async fn store(path: &Path, patience: Patience) -> SqliteStore {
    SqliteStore::open(path, patience).await.unwrap()
}

/// Another program with the file open.
async fn foreign(path: &Path) -> SqliteConnection {
    SqliteConnectOptions::new()
        .filename(path)
        .connect()
        .await
        .unwrap()
}

fn database() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("noctune.db");
    (folder, path)
}

#[tokio::test]
async fn a_result_waits_for_a_foreign_lock_and_is_written() {
    let (_folder, path) = database();
    let patience = Patience {
        attempt: Duration::from_millis(20),
        total: Duration::from_secs(60),
    };
    let store = store(&path, patience).await;
    store.create(&study(STUDY)).await.unwrap();
    let made = claim(&store, &job(1), &worker(1), HOUR).await;
    let mut other = foreign(&path).await;
    other.execute("BEGIN IMMEDIATE").await.unwrap();
    let release = async {
        // Many times the busy timeout of one attempt.
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(store.record(STUDY, 1).await.unwrap(), None, "readers do not wait");
        other.execute("COMMIT").await.unwrap();
    };
    let (record, worker) = (measured(1.0), worker(1));
    let (delivery, ()) = tokio::join!(store.deliver(&made, &worker, &record), release);
    assert_eq!(delivery.unwrap(), Delivery::Written);
}

#[tokio::test]
async fn a_lock_that_never_ends_is_named_and_the_spool_keeps_the_result() {
    let (folder, path) = database();
    let store = store(&path, SHORT).await;
    store.create(&study(STUDY)).await.unwrap();
    let made = claim(&store, &job(1), &worker(1), HOUR).await;
    let spool = Spool::new(folder.path().join("spool"));
    let mut other = foreign(&path).await;
    other.execute("BEGIN IMMEDIATE").await.unwrap();
    let error = store
        .deliver(&made, &worker(1), &measured(2.0))
        .await
        .unwrap_err();
    assert!(
        matches!(error, StoreError::Locked { waited, .. } if waited >= SHORT.total),
        "{error}"
    );
    assert_eq!(noctune::error::Error::from(error).exit_code(), 3);

    spool.keep(&made, &worker(1), &measured(2.0)).unwrap();
    let flushed = spool.flush(&store).await.unwrap();
    assert!(matches!(flushed.stopped, Some(StoreError::Locked { .. })));
    other.execute("ROLLBACK").await.unwrap();
    let flushed = spool.flush(&store).await.unwrap();
    assert_eq!(flushed.delivered, [1]);
    assert!(flushed.stopped.is_none());
    assert_eq!(store.record(STUDY, 1).await.unwrap(), Some(measured(2.0)));
    assert_eq!(std::fs::read_dir(folder.path().join("spool")).unwrap().count(), 0);
}

#[tokio::test]
async fn spooled_results_that_cannot_be_read_or_placed_are_set_aside_and_the_others_delivered() {
    let (folder, path) = database();
    let store = store(&path, SHORT).await;
    store.create(&study(STUDY)).await.unwrap();
    let mut made = claim(&store, &job(1), &worker(1), HOUR).await;
    let spool_folder = folder.path().join("spool");
    let spool = Spool::new(&spool_folder);
    assert!(
        spool.flush(&store).await.unwrap().warnings.is_empty(),
        "no folder yet"
    );
    spool.keep(&made, &worker(1), &refused()).unwrap();
    spool.keep(&made, &worker(1), &measured(3.0)).unwrap();
    std::fs::write(
        spool_folder.join("00000000-cut-short.json"),
        "{\"format\":1,\"stu",
    )
    .unwrap();
    std::fs::write(spool_folder.join("later.json"), "{\"format\":2}").unwrap();
    made.study = "gone".to_owned();
    spool.keep(&made, &worker(1), &refused()).unwrap();
    let flushed = spool.flush(&store).await.unwrap();
    assert_eq!(flushed.delivered, [1]);
    assert_eq!(flushed.warnings.len(), 3, "{:?}", flushed.warnings);
    assert!(flushed.warnings.iter().any(|text| text.contains("format 2")));
    assert_eq!(store.record(STUDY, 1).await.unwrap(), Some(measured(3.0)));
    let mut endings: Vec<_> = std::fs::read_dir(&spool_folder)
        .unwrap()
        .map(|entry| entry.unwrap().path().extension().unwrap().to_owned())
        .collect();
    endings.dedup();
    assert_eq!(endings, ["unreadable"]);
    assert!(
        spool.flush(&store).await.unwrap().warnings.is_empty(),
        "set aside for good"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn thirty_two_openers_in_the_same_second_make_one_schema() {
    let (_folder, path) = database();
    let start = Arc::new(tokio::sync::Barrier::new(32));
    let openers: Vec<_> = (0..32)
        .map(|pid| {
            let (path, start) = (path.clone(), Arc::clone(&start));
            tokio::spawn(async move {
                start.wait().await;
                let store = SqliteStore::open(&path, Patience::default()).await?;
                match store.create(&study(STUDY)).await {
                    Ok(()) | Err(StoreError::StudyExists(_)) => {}
                    Err(error) => return Err(error),
                }
                Ok::<_, StoreError>(claim(&store, &job(pid), &worker(1), HOUR).await.number)
            })
        })
        .collect();
    let mut numbers = Vec::new();
    for opener in openers {
        numbers.push(opener.await.unwrap().unwrap());
    }
    numbers.sort_unstable();
    assert_eq!(numbers, (1..=32).collect::<Vec<_>>());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn readers_in_a_loop_never_hold_the_writer_up() {
    let (_folder, path) = database();
    // A writer with hardly any patience: one reader in its way would fail it.
    let writer = store(&path, SHORT).await;
    writer.create(&study(STUDY)).await.unwrap();
    let done = Arc::new(AtomicBool::new(false));
    let readers: Vec<_> = (0..3)
        .map(|_| {
            let (path, done) = (path.clone(), Arc::clone(&done));
            tokio::spawn(async move {
                let mut reads = 0;
                while !done.load(Ordering::Relaxed) {
                    let reader = SqliteStore::open_read_only(&path, Patience::default())
                        .await
                        .unwrap();
                    let (facts, _) = reader.facts(STUDY).await.unwrap();
                    reads += 1 + facts.jobs.len();
                    reader.close().await;
                }
                reads
            })
        })
        .collect();
    // One reader stays inside a transaction the whole time.
    let mut slow = foreign(&path).await;
    slow.execute("BEGIN; SELECT count(*) FROM study").await.unwrap();
    for number in 1..=15 {
        let made = claim(&writer, &job(number), &worker(1), HOUR).await;
        writer.deliver(&made, &worker(1), &measured(1.0)).await.unwrap();
    }
    done.store(true, Ordering::Relaxed);
    for reader in readers {
        assert!(reader.await.unwrap() > 0);
    }
    slow.close().await.unwrap();
}

#[tokio::test]
async fn a_reader_creates_nothing_and_cannot_write() {
    let (folder, path) = database();
    assert!(SqliteStore::open_read_only(&path, SHORT).await.is_err());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);

    let writer = store(&path, SHORT).await;
    writer.create(&study(STUDY)).await.unwrap();
    let reader = SqliteStore::open_read_only(&path, SHORT).await.unwrap();
    assert_eq!(reader.study(STUDY).await.unwrap(), Some(study(STUDY)));
    let error = reader.create(&study("b")).await.unwrap_err();
    assert!(matches!(error, StoreError::Database { .. }), "{error}");
    // What is written after the reader opened is seen by it.
    writer.create(&study("b")).await.unwrap();
    assert_eq!(reader.studies().await.unwrap(), [STUDY, "b"]);
}

#[tokio::test]
async fn a_database_of_a_newer_version_is_refused_by_writers_and_readers() {
    let (_folder, path) = database();
    store(&path, SHORT).await.close().await;
    foreign(&path)
        .await
        .execute("PRAGMA user_version = 99")
        .await
        .unwrap();
    let errors = [
        SqliteStore::open(&path, SHORT).await.unwrap_err(),
        SqliteStore::open_read_only(&path, SHORT).await.unwrap_err(),
    ];
    for error in errors {
        assert!(
            matches!(error, StoreError::TooNew { found: 99, known: 1 }),
            "{error}"
        );
    }
}

#[tokio::test]
async fn another_programs_database_is_left_alone() {
    let (_folder, path) = database();
    let mut other = SqliteConnectOptions::new()
        .filename(&path)
        .create_if_missing(true)
        .connect()
        .await
        .unwrap();
    other.execute("CREATE TABLE mails (id)").await.unwrap();
    other.close().await.unwrap();
    let before = std::fs::read(&path).unwrap();
    let error = SqliteStore::open(&path, SHORT).await.unwrap_err();
    assert!(
        matches!(&error, StoreError::Corrupt { text, .. } if text.contains("another program")),
        "{error}"
    );
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

#[tokio::test]
async fn a_file_that_is_no_database_is_an_error_not_an_empty_store() {
    let (_folder, path) = database();
    std::fs::write(&path, "[mysqld]\n".repeat(200)).unwrap();
    assert!(SqliteStore::open(&path, SHORT).await.is_err());
    assert!(SqliteStore::open_read_only(&path, SHORT).await.is_err());
}

#[tokio::test]
async fn a_damaged_file_is_called_so_and_not_a_lack_of_space() {
    let (_folder, path) = database();
    let whole = store(&path, SHORT).await;
    whole.create(&study(STUDY)).await.unwrap();
    for number in 0..20 {
        let made = claim(&whole, &job(number), &worker(1), HOUR).await;
        whole.deliver(&made, &worker(1), &measured(1.0)).await.unwrap();
    }
    whole.close().await;
    let length = std::fs::metadata(&path).unwrap().len();
    let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.set_len(length / 2).unwrap();
    let damaged = |error: StoreError| {
        let error = noctune::error::Error::from(error);
        assert_eq!(error.exit_code(), 3);
        assert!(error.to_string().contains("from a copy"), "{error}");
    };
    match SqliteStore::open(&path, SHORT).await {
        Err(error) => damaged(error),
        Ok(store) => damaged(store.facts(STUDY).await.unwrap_err()),
    }
}

#[tokio::test]
async fn facts_cannot_be_changed_even_by_another_program() {
    let (_folder, path) = database();
    let store = store(&path, SHORT).await;
    store.create(&study(STUDY)).await.unwrap();
    let made = claim(&store, &job(1), &worker(1), HOUR).await;
    store.deliver(&made, &worker(1), &measured(1.0)).await.unwrap();
    let mut other = foreign(&path).await;
    for change in [
        "UPDATE record SET seconds = 1",
        "DELETE FROM series",
        "UPDATE job SET number = 2",
        "DELETE FROM phase",
    ] {
        let error = other.execute(change).await.unwrap_err().to_string();
        assert!(error.contains("append-only"), "{change}: {error}");
    }
}

#[tokio::test]
async fn metrics_and_counters_can_be_queried_as_rows() {
    let (_folder, path) = database();
    let store = store(&path, SHORT).await;
    store.create(&study(STUDY)).await.unwrap();
    let made = claim(&store, &job(1), &worker(1), HOUR).await;
    store.deliver(&made, &worker(1), &measured(812.4)).await.unwrap();
    let made = claim(&store, &job(2), &worker(1), HOUR).await;
    store.deliver(&made, &worker(1), &refused()).await.unwrap();
    let mut other = foreign(&path).await;
    let rows: Vec<(i64, String, f64)> =
        sqlx::query_as("SELECT number, name, value FROM metric ORDER BY number, name")
            .fetch_all(&mut other)
            .await
            .unwrap();
    assert_eq!(
        rows,
        [(1, "p95_ms".to_owned(), 5e-324), (1, "tps".to_owned(), 812.4)]
    );
    let counters: i64 = sqlx::query_scalar("SELECT count(*) FROM counter")
        .fetch_one(&mut other)
        .await
        .unwrap();
    assert_eq!(counters, 2);
}
