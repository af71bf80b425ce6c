//! A study that is interrupted goes on, and is refused where it would be another one.

use std::process::Child;
use std::time::{Duration, Instant};

use rustix::process::Signal;

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
