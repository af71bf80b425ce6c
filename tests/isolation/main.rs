//! Nothing of production comes along: a trial with a production my.cnf and a production data directory, its system calls
//! recorded. Needs `mariadbd`, `sysbench` and `strace`; skipped with a printed reason where one of them is missing, unless
//! `CI=true`.

#![expect(clippy::unwrap_used, reason = "what cannot be set up fails the test")]

mod calls;
mod production;
#[path = "../common/skip.rs"]
mod skip;

use std::path::Path;
use std::process::Command;

use calls::{Call, TRACED, calls};
use skip::{skip, skip_anywhere};

/// Whether a program of PATH (or /usr/sbin) can be run.
fn there(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(["/usr/sbin".into()])
        .any(|folder| folder.join(program).is_file())
}

/// The files a trial may write to outside of its study folder, and why.
fn may_write(path: &str) -> bool {
    path == "/dev/null"
        // Private sockets; scratch folders of servers lie in the study.
        || (path.starts_with("/tmp/noctune-")
            && !["facts", "baseline"].iter().any(|scratch| path.contains(scratch)))
        || path.starts_with("/run/noctune-")
        // The server as the kernel's first victim; the histograms in memory that the load shares with Noctune.
        || path.starts_with("/proc/")
        || path.starts_with("/memfd:noctune-load")
        // MariaDB 10.11 looks for memory pressure by this odd path and finds nothing.
        || path.starts_with("/sys/fs/cgroup")
}

#[tokio::test]
async fn a_trial_reaches_nothing_but_its_socket_and_writes_nothing_outside_of_its_study() {
    for program in ["mariadbd", "sysbench", "strace"] {
        if !there(program) {
            skip(&format!("no {program} on this host"));
            return;
        }
    }
    let scratch = production::scratch();
    let production = production::make(scratch.path()).await;
    let results = scratch.path().join("results");
    let recorded = scratch.path().join("calls.txt");
    let traced = Command::new("strace")
        .args(["-f", "-y", "-qq", "-s", "400", "-e"])
        .arg(TRACED)
        .arg("-o")
        .arg(&recorded)
        .arg(env!("CARGO_BIN_EXE_noctune"))
        .arg("--results")
        .arg(&results)
        .args(["trial", "--shared-host"])
        .arg(&production.study)
        // Nothing is remembered from an earlier run, and nothing left for a later one.
        .env("XDG_CACHE_HOME", results.join("cache"))
        .current_dir(scratch.path())
        .env_remove("XDG_RUNTIME_DIR")
        .env_remove("TMPDIR")
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&traced.stderr);
    if told.contains("PTRACE_TRACEME") || told.contains("ptrace(PTRACE") {
        skip_anywhere(&format!("strace may not trace here: {told}"));
        return;
    }
    assert!(
        traced.status.success(),
        "{told}\n{}",
        String::from_utf8_lossy(&traced.stdout)
    );

    let text = std::fs::read_to_string(&recorded).unwrap();
    let found = calls(&text, scratch.path().to_str().unwrap());
    assert!(found.len() > 1000, "strace recorded only {} calls", found.len());
    let study = results.to_str().unwrap();
    let mut wrong = Vec::new();
    for call in &found {
        let fine = match call {
            Call::Connect(address) => {
                address.contains("noctune-")
                    // The C library asks for a name service daemon on every host.
                    || address.contains("/nscd/socket")
            }
            Call::Bind(address) => address.contains("noctune-") || address.contains("AF_NETLINK"),
            Call::TcpSocket => false,
            Call::Write(path) | Call::Chdir(path) => path.starts_with(study) || may_write(path),
        };
        if !fine {
            wrong.push(format!("{call:?}"));
        }
    }
    wrong.sort();
    wrong.dedup();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));

    assert_eq!(
        production.contents(),
        production.before,
        "production's data were changed"
    );
    assert_eq!(
        std::fs::read_dir(&production.foreign).unwrap().count(),
        0,
        "something was written where production's my.cnf points"
    );
    stripped(&results.join("production/template/data"));
}

/// The template holds nothing of what names production.
fn stripped(template: &Path) {
    for name in [
        "auto.cnf",
        "master.info",
        "relay-log.info",
        "prod-relay-bin.000001",
        "ib_buffer_pool",
    ] {
        assert!(!template.join(name).exists(), "{name}");
    }
    assert!(template.join("shop/item.ibd").is_file(), "the data are there");
}
