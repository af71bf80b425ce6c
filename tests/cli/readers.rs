//! Readers that do not read: a stopped terminal, a pager, a stalled connection. They hold up nothing.

use std::io::{PipeReader, PipeWriter, Write};
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::bench::{Bench, send};
use crate::study::Study;

/// A study of which most trials are refused takes some seconds.
const LIMIT: Duration = Duration::from_secs(90);

/// A pipe that takes no byte more; nobody reads while the reader is only held.
fn full_pipe() -> (PipeReader, PipeWriter) {
    let (reader, writer) = std::io::pipe().unwrap();
    let mut filler = writer.try_clone().unwrap();
    // It ends when the pipe does; until then one of its writes is waiting.
    std::thread::spawn(move || while filler.write_all(&[b'\n'; 4096]).is_ok() {});
    // Until the filler waits: a pipe holds 64 KiB, which takes no time.
    std::thread::sleep(Duration::from_millis(200));
    (reader, writer)
}

fn bench(world: &str) -> Bench {
    let bench = Bench::new(world);
    bench.write("study.toml", &Study::default().text());
    bench
}

fn file(bench: &Bench, name: &str) -> std::fs::File {
    std::fs::File::create(bench.path().join(name)).unwrap()
}

fn log(bench: &Bench) -> String {
    std::fs::read_to_string(bench.path().join("results/fake/noctune.log")).unwrap_or_default()
}

/// Waits for the end; kills what does not end.
fn ended(child: &mut Child, bench: &Bench) -> ExitStatus {
    let end = Instant::now() + LIMIT;
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        if Instant::now() > end {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("it still ran: {}", log(bench));
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_study_whose_json_nobody_reads_goes_on_to_its_end_and_tells_that_events_were_not_shown() {
    // After a measured trial or more every server is refused: a short study.
    let bench = bench("[[server.fault]]\nwhen = \"start > 5\"\nhappens = \"refuse\"");
    let (_reader, writer) = full_pipe();
    let mut child = bench
        .command(&["tune", "study.toml", "--shared-host", "--json"])
        .stdout(writer)
        .stderr(file(&bench, "err"))
        .spawn()
        .unwrap();
    let status = ended(&mut child, &bench);
    let told = log(&bench);
    assert!(told.contains("study ended"), "{status}: {}{told}", bench.errors());
    assert!(told.contains(" tps, "), "{told}");
    assert!(
        bench.errors().contains("event(s) were not shown"),
        "{}",
        bench.errors()
    );
}

#[test]
fn a_study_whose_progress_nobody_reads_ends_when_its_user_wants_it() {
    let bench = bench("");
    let (_reader, writer) = full_pipe();
    let mut child = bench
        .command(&["tune", "study.toml", "--shared-host"])
        .stdout(file(&bench, "out"))
        .stderr(writer)
        .spawn()
        .unwrap();
    let end = Instant::now() + LIMIT;
    while !log(&bench).contains("trial 2 ") {
        assert!(Instant::now() < end, "no second trial: {}", log(&bench));
        std::thread::sleep(Duration::from_millis(50));
    }
    send(&child, Signal::INT);
    assert_eq!(ended(&mut child, &bench).code(), Some(130));
    assert!(
        bench.is_quiet_within(Duration::from_secs(10)),
        "something still runs"
    );
}
