//! A study that is interrupted goes on, and is refused where it would be another one.

use std::process::Child;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions as _, Connection as _};

use crate::bench::{Bench, of_kind, send};
use crate::study::Study;

/// A slope so steep that no jitter of a measurement changes an order.
pub(crate) const SLOPE: &str = "[load]\ntps = \"100 * (1 + ln(innodb_io_capacity / 100))\"";

/// What runs the study.
pub(crate) const ARGUMENTS: [&str; 4] = ["tune", "study.toml", "--shared-host", "--json"];

/// The study that is interrupted.
pub(crate) fn study() -> Study {
    Study {
        strategy: "preset = \"sobol\"".to_owned(),
        budget: "time = \"10m\"\ntrials = 21\npatience = false".to_owned(),
        ..Study::default()
    }
}

/// Waits until the last trial that began is for `purpose` and in `phase`; false when noctune ended before.
pub(crate) fn reaches(bench: &Bench, child: &mut Child, purpose: &str, phase: &str) -> bool {
    let end = Instant::now() + Duration::from_secs(120);
    while Instant::now() < end {
        let events = bench.output();
        let trial = of_kind(&events, "trial-started").last();
        let last = of_kind(&events, "phase-started").last();
        if let (Some(trial), Some(last)) = (trial, last)
            && trial["job"]["purpose"] == purpose
            && last["trial"] == trial["trial"]
            && last["phase"] == phase
        {
            return true;
        }
        if child.try_wait().unwrap().is_some() {
            return false;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("never came to {phase} of {purpose}");
}

#[test]
fn ctrl_c_ends_what_runs_and_says_how_to_go_on() {
    let bench = Bench::new(SLOPE);
    bench.write("study.toml", &study().text());
    let mut child = bench.spawn(&ARGUMENTS);
    assert!(reaches(&bench, &mut child, "baseline", "measure"));
    send(&child, Signal::INT);
    let status = child.wait().unwrap();
    assert_eq!(status.code(), Some(130));
    let events = bench.output();
    let phases = |kind| {
        of_kind(&events, kind)
            .map(|e| e["phase"].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        phases("phase-started"),
        phases("phase-ended"),
        "every phase that began has ended"
    );
    assert!(
        bench.is_quiet_within(Duration::from_secs(1)),
        "something still runs"
    );
    let told = bench.errors();
    assert!(told.contains("again"), "{told}");
}

#[test]
fn another_workload_is_refused_on_resume_and_a_longer_budget_is_not() {
    let bench = Bench::new(SLOPE);
    bench.write("study.toml", &study().text());
    let mut child = bench.spawn(&ARGUMENTS);
    assert!(reaches(&bench, &mut child, "baseline", "measure"));
    send(&child, Signal::INT);
    child.wait().unwrap();

    let other = study().text().replace("threads = 2", "threads = 3");
    bench.write("study.toml", &other);
    let run = bench.run(&ARGUMENTS);
    assert_eq!(run.code, Some(2), "{}", run.text());
    assert!(run.stderr.contains("workload"), "{}", run.text());

    bench.write("study.toml", &study().text().replace("10m", "12m"));
    let mut child = bench.spawn(&ARGUMENTS);
    assert!(
        reaches(&bench, &mut child, "baseline", "measure"),
        "a longer budget was refused"
    );
    send(&child, Signal::INT);
    assert_eq!(child.wait().unwrap().code(), Some(130));
}

/// Starts the study, and stops it as its tables are about to be filled; false where it does not come to that.
fn is_set_up(bench: &Bench) -> bool {
    let mut child = bench.spawn(&ARGUMENTS);
    let end = Instant::now() + Duration::from_secs(60);
    let held = bench.bin().join("held");
    while !held.exists() && Instant::now() < end && child.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(20));
    }
    let came = held.exists();
    send(&child, Signal::INT);
    child.wait().unwrap();
    let _ = std::fs::remove_file(held);
    came
}

#[test]
fn a_script_of_the_load_that_was_edited_is_refused_on_resume() {
    let bench = Bench::new(&format!("holds = [\"prepare\"]\n{SLOPE}"));
    bench.write("mine.lua", "-- as it was\n");
    let mut study = study();
    study.workload = study.workload.replace("oltp_read_write", "mine.lua");
    bench.write("study.toml", &study.text());
    assert!(is_set_up(&bench), "{}", bench.errors());

    bench.write("mine.lua", "-- edited\n");
    let run = bench.run(&ARGUMENTS);
    assert_eq!(run.code, Some(2), "{}", run.text());
    assert!(
        run.stderr.contains("script: the load's script says other things"),
        "{}",
        run.text()
    );
    bench.write("mine.lua", "-- as it was\n");
    assert!(is_set_up(&bench), "{}", bench.errors());
}

#[test]
fn another_seed_is_told_to_begin_no_other_study_and_is_not_stored() {
    let bench = Bench::new(SLOPE);
    bench.write("study.toml", &study().text());
    let mut child = bench.spawn(&ARGUMENTS);
    assert!(reaches(&bench, &mut child, "baseline", "measure"));
    send(&child, Signal::INT);
    child.wait().unwrap();
    bench.write("study.toml", &study().text().replace("seed = 1", "seed = 2"));
    for _ in 0..2 {
        let mut child = bench.spawn(&ARGUMENTS);
        assert!(reaches(&bench, &mut child, "baseline", "measure"));
        send(&child, Signal::INT);
        child.wait().unwrap();
        let told = bench.output();
        let told: Vec<_> = of_kind(&told, "warning")
            .map(|event| event["text"].to_string())
            .collect();
        assert!(
            told.iter().any(|text| text.contains("the study keeps its seed")),
            "{told:?}"
        );
        let stored = std::fs::read_to_string(bench.path().join("results/fake/study.toml")).unwrap();
        assert!(stored.contains("seed = 1"), "{stored}");
    }
}

#[test]
fn a_study_that_is_set_up_is_told_to_run_and_not_to_wait_for_its_user() {
    let bench = Bench::new(&format!("holds = [\"prepare\"]\n{SLOPE}"));
    bench.write("study.toml", &study().text());
    let mut child = bench.spawn(&ARGUMENTS);
    let end = Instant::now() + Duration::from_secs(60);
    while !bench.bin().join("held").exists() && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(20));
    }
    let status = bench.run(&["status"]);
    assert!(status.stdout.contains("): running\n"), "{}", status.text());
    assert!(!status.stdout.contains("noctune tune"), "{}", status.text());
    send(&child, Signal::INT);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let status = bench.run(&["status"]);
    assert!(
        status.stdout.contains("): unfinished\n") && status.stdout.contains("noctune tune"),
        "{}",
        status.text()
    );
}

#[tokio::test]
async fn a_host_that_changed_since_the_study_began_is_told_each_time_it_is_resumed() {
    let bench = Bench::new(SLOPE);
    bench.write("study.toml", &study().text());
    let mut child = bench.spawn(&ARGUMENTS);
    assert!(reaches(&bench, &mut child, "baseline", "measure"));
    send(&child, Signal::INT);
    child.wait().unwrap();
    let mut database = SqliteConnectOptions::new()
        .filename(bench.path().join("results/fake/noctune.db"))
        .connect()
        .await
        .unwrap();
    sqlx::query("UPDATE study SET frozen = json_set(frozen, '$.environment.kernel', 'an older one')")
        .execute(&mut database)
        .await
        .unwrap();
    database.close().await.unwrap();
    for _ in 0..2 {
        let mut child = bench.spawn(&ARGUMENTS);
        assert!(reaches(&bench, &mut child, "baseline", "measure"));
        send(&child, Signal::INT);
        child.wait().unwrap();
        let told = bench.output();
        let told: Vec<_> = of_kind(&told, "warning")
            .map(|event| event["text"].to_string())
            .collect();
        assert!(
            told.iter().any(|text| text.contains("kernel an older one → ")),
            "{told:?}"
        );
    }
}

#[test]
fn a_machine_class_with_other_figures_is_refused_on_resume() {
    let bench = Bench::new(SLOPE);
    let class = |ram: &str| {
        format!(
            "format = 1\nname = \"small\"\ncores = 1\nram = \"{ram}\"\ndisk_free = \"1G\"\nstorage = \"ssd\"\n"
        )
    };
    bench.write("small.toml", &class("1536M"));
    let mut study = study();
    study.hardware = "class = \"small.toml\"".to_owned();
    bench.write("study.toml", &study.text());
    let mut child = bench.spawn(&ARGUMENTS);
    assert!(
        reaches(&bench, &mut child, "baseline", "measure"),
        "{}",
        bench.errors()
    );
    send(&child, Signal::INT);
    child.wait().unwrap();

    bench.write("small.toml", &class("1400M"));
    let run = bench.run(&ARGUMENTS);
    assert_eq!(run.code, Some(2), "{}", run.text());
    assert!(
        run.stderr
            .contains("hardware: the machine class has other figures"),
        "{}",
        run.text()
    );

    bench.write("small.toml", &class("1536M"));
    let mut child = bench.spawn(&ARGUMENTS);
    assert!(
        reaches(&bench, &mut child, "baseline", "measure"),
        "the same class was refused"
    );
    send(&child, Signal::INT);
    child.wait().unwrap();
}
