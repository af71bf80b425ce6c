//! Noctune dies; its servers die with it.

use std::ffi::OsString;
use std::time::{Duration, Instant};

use noctune::host::{Guardian, Identity, Spawn, end_leftovers};

use crate::bench::bench;

/// This test program, told to run one of the helpers below.
fn helper(name: &str) -> Vec<OsString> {
    let program = std::env::current_exe().unwrap();
    vec![
        program.into(),
        "--ignored".into(),
        "--exact".into(),
        format!("death::{name}").into(),
    ]
}

#[test]
#[ignore = "the supervisor of the test below"]
fn supervisor_helper() {
    noctune::host::supervise(std::io::stdin().lock());
}

#[tokio::test]
#[ignore = "the process that the test below kills"]
async fn parent_helper() {
    let Some(note) = std::env::var_os("NOCTUNE_TEST_NOTE") else {
        return;
    };
    let bench = bench().await.unwrap();
    bench.reset(None);
    let record = std::path::PathBuf::from(&note).with_file_name("running.json");
    let guardian = Guardian::start(&helper("supervisor_helper"), &record).unwrap();
    let instance = bench.start(&[], Some(&guardian)).await.unwrap();
    let told = (instance.identity(), instance.socket(), bench.scratch.path());
    let text = serde_json::to_string(&told).unwrap();
    let new = std::path::PathBuf::from(&note).with_extension("new");
    std::fs::write(&new, text).unwrap();
    std::fs::rename(&new, &note).unwrap();
    tokio::time::sleep(Duration::from_secs(120)).await;
}

#[tokio::test]
async fn kill_9_of_noctune_leaves_no_server_even_before_the_next_start() {
    if bench().await.is_none() {
        return;
    }
    let scratch = tempfile::tempdir().unwrap();
    let note = scratch.path().join("note");
    let command = helper("parent_helper");
    let mut parent = Spawn::new(&command[0])
        .args(command[1..].to_vec())
        .env("NOCTUNE_TEST_NOTE", &note)
        .start()
        .unwrap();
    let end = Instant::now() + Duration::from_secs(60);
    let text = loop {
        if let Ok(text) = std::fs::read_to_string(&note) {
            break text;
        }
        assert!(Instant::now() < end, "the helper did not start its server");
        assert_eq!(parent.try_exit().unwrap(), None, "the helper ended early");
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    let (server, socket, folder): (Identity, std::path::PathBuf, std::path::PathBuf) =
        serde_json::from_str(&text).unwrap();
    assert!(server.is_alive());
    // Only the parent itself: what it started is in groups and a session of their own.
    let pid = rustix::process::Pid::from_raw(parent.pid()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    assert!(server.wait_gone(Duration::from_secs(30)));
    let socket_folder = socket.parent().unwrap();
    let end = Instant::now() + Duration::from_secs(30);
    while socket_folder.exists() {
        assert!(
            Instant::now() < end,
            "the supervisor did not remove {}",
            socket_folder.display()
        );
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(
        end_leftovers(&scratch.path().join("running.json")).unwrap(),
        0,
        "nothing was left to end"
    );
    std::fs::remove_dir_all(folder).unwrap();
}
