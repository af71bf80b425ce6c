//! Whole trials of the real server under the real load, in which something goes wrong: the outcome, and nothing left. Other
//! causes of a failed start are in `failures`, without the trial around them.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use noctune::trial::{CauseKind, Outcome, Phase};
use rustix::process::{Pid, Signal, kill_process};

use crate::bench::found;
use crate::skip::{skip, skip_anywhere};
use crate::trials::{Trials, last_phase};

/// A folder and a runner in it; none where this host lacks a program.
async fn trials(folder: &Path) -> Option<Trials> {
    let (Some(server), Some(load)) = (found("mariadbd"), found("sysbench")) else {
        skip("no mariadbd or no sysbench on this host");
        return None;
    };
    open(folder);
    Some(Trials::new(&server, &load.display().to_string(), folder).await)
}

fn scratch() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

fn open(folder: &Path) {
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(folder, mode).unwrap();
}

/// Processes of this name that were started with a path in `folder`.
fn processes(name: &str, folder: &Path) -> Vec<i32> {
    let folder = folder.to_str().unwrap();
    std::fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok())
        .filter(|pid| {
            let read =
                |what: &str| std::fs::read_to_string(format!("/proc/{pid}/{what}")).unwrap_or_default();
            read("comm").trim() == name && read("cmdline").contains(folder)
        })
        .collect()
}

/// Sends a signal to the program of a trial, so many seconds after its load has begun.
async fn hit(trial: &Path, program: &str, signal: Signal, after: f64) {
    let end = Instant::now() + Duration::from_secs(30);
    while processes("sysbench", trial).is_empty() {
        assert!(Instant::now() < end, "no load was started");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    tokio::time::sleep(Duration::from_secs_f64(after)).await;
    let pid = *processes(program, trial).first().unwrap();
    kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
}

/// The outcome of a trial in which a program is hit in the middle of measuring.
async fn hit_while_measured(program: &str, signal: Signal) -> Option<(Outcome, Phase)> {
    let scratch = scratch();
    let mut trials = trials(scratch.path()).await?;
    let record = trials
        .run_while(4.0, async |trial| hit(trial, program, signal, 6.0).await)
        .await;
    nothing_left(scratch.path());
    let next = trials.run().await;
    assert!(next.outcome.measurement().is_some(), "{:?}", next.outcome);
    Some((record.outcome.clone(), last_phase(&record)))
}

fn nothing_left(folder: &Path) {
    for program in ["mariadbd", "sysbench"] {
        assert_eq!(processes(program, folder), [0; 0], "{program} still runs");
    }
}

/// The outcome of a trial that ends in its start with one more argument; nothing of it is left running.
async fn start_with(folder: &Path, argument: &str) -> Option<Outcome> {
    let mut trials = trials(folder).await?;
    trials.runner.args.push(argument.to_owned());
    let record = trials.run().await;
    nothing_left(folder);
    assert_eq!(last_phase(&record), Phase::Start);
    Some(record.outcome)
}

#[tokio::test]
async fn an_unknown_variable_refuses_the_trial_by_name() {
    let scratch = scratch();
    let Some(outcome) = start_with(scratch.path(), "--innodb-nonsense=1").await else {
        return;
    };
    let Outcome::ServerRefused { cause } = outcome else {
        panic!("{outcome:?}")
    };
    assert_eq!(
        (cause.kind, cause.variable.as_deref()),
        (CauseKind::UnknownVariable, Some("innodb_nonsense"))
    );
}

/// A small disk in memory; given back when dropped.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn mount(at: &Path) -> Option<Self> {
        std::fs::create_dir(at).unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=400m", "tmpfs"])
            .arg(at)
            .output();
        mounted
            .is_ok_and(|output| output.status.success())
            .then(|| Self(at.to_owned()))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

#[tokio::test]
async fn a_redo_log_larger_than_the_disk_is_a_full_disk_and_no_fault_of_the_server() {
    let scratch = scratch();
    let Some(disk) = SmallDisk::mount(&scratch.path().join("disk")) else {
        skip_anywhere("a small disk cannot be mounted here (needs root)");
        return;
    };
    open(scratch.path());
    let Some(outcome) = start_with(&disk.0, "--innodb-log-file-size=2G").await else {
        return;
    };
    let Outcome::HostFault { cause } = outcome else {
        panic!("{outcome:?}")
    };
    assert_eq!(cause.kind, CauseKind::DiskFull, "{cause:?}");
}

#[tokio::test]
async fn kill_9_of_the_server_under_load_is_told_as_such() {
    let Some((outcome, phase)) = hit_while_measured("mariadbd", Signal::KILL).await else {
        return;
    };
    assert_eq!(phase, Phase::Measure);
    assert!(
        matches!(
            outcome,
            Outcome::Crashed { signal: Some(9), .. } | Outcome::OutOfMemory { .. }
        ),
        "{outcome:?}"
    );
    assert!(outcome.reason().unwrap().contains("signal 9"), "{outcome:?}");
}

#[tokio::test]
async fn a_server_that_is_stopped_while_it_is_measured_timed_out() {
    let Some((outcome, _)) = hit_while_measured("mariadbd", Signal::STOP).await else {
        return;
    };
    assert_eq!(
        outcome,
        Outcome::TimedOut {
            phase: Phase::Measure
        }
    );
}

#[tokio::test]
async fn a_load_that_is_stopped_while_the_server_is_idle_is_the_hosts_fault() {
    let Some((outcome, _)) = hit_while_measured("sysbench", Signal::STOP).await else {
        return;
    };
    let Outcome::HostFault { cause } = outcome else {
        panic!("{outcome:?}")
    };
    assert!(cause.text.contains("while the server was idle"), "{}", cause.text);
}
