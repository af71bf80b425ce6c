//! The database of schema 1, frozen when it was current: every later version must still read it.

use std::path::{Path, PathBuf};

use noctune::plan::State;
use noctune::store::{Patience, SqliteStore, Store};

use super::samples::{ENDED, HOUR, STUDY, claim, job, measured, refused, study, worker};

fn frozen() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/store/v1.db")
}

/// What the frozen database holds; `cargo test -- --ignored` wrote it once and is never to be run again for schema 1.
#[tokio::test]
#[ignore = "writes the frozen database; only for a new schema, under a new name"]
async fn freeze_the_database_of_the_current_schema() {
    let path = frozen();
    assert!(!path.exists(), "a frozen database is never rewritten");
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let store = SqliteStore::open(&path, Patience::default()).await.unwrap();
    store.create(&study(STUDY)).await.unwrap();
    for record in [measured(812.4), refused()] {
        let made = claim(&store, &job(1), &worker(1), HOUR).await;
        store.deliver(&made, &worker(1), &record).await.unwrap();
    }
    claim(&store, &job(2), &worker(2), ENDED).await;
    let at = noctune::units::UtcMillis(5);
    store.append_event(STUDY, at, "{\"event\":\"x\"}").await.unwrap();
    store.close().await;
}

#[tokio::test]
async fn the_frozen_database_of_schema_1_is_still_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("noctune.db");
    std::fs::copy(frozen(), &path).unwrap();
    let store = SqliteStore::open(&path, Patience::default()).await.unwrap();
    assert_eq!(store.studies().await.unwrap(), [STUDY]);
    assert_eq!(store.study(STUDY).await.unwrap(), Some(study(STUDY)));
    assert_eq!(store.record(STUDY, 1).await.unwrap(), Some(measured(812.4)));
    assert_eq!(store.record(STUDY, 2).await.unwrap(), Some(refused()));
    let (facts, _) = store.facts(STUDY).await.unwrap();
    assert_eq!(facts.jobs.len(), 3);
    assert_eq!(facts.jobs[2].state, State::Open);
    assert_eq!(facts.jobs[2].job, job(2));
    let open = store.open_jobs(STUDY).await.unwrap();
    assert_eq!(open.iter().map(|job| job.number).collect::<Vec<_>>(), [3]);
    assert!(open[0].expired);
    assert_eq!(store.events(STUDY, 9).await.unwrap().len(), 1);
}

#[cfg(unix)]
#[tokio::test]
async fn a_study_on_a_medium_that_cannot_be_written_is_still_read() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("noctune.db");
    std::fs::copy(frozen(), &path).unwrap();
    let mode = |mode| std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(mode)).unwrap();
    // Root may write nevertheless; then this is an ordinary read.
    mode(0o555);
    let store = SqliteStore::open_read_only(&path, Patience::default())
        .await
        .unwrap();
    assert_eq!(store.record(STUDY, 1).await.unwrap(), Some(measured(812.4)));
    store.close().await;
    mode(0o755);
}
