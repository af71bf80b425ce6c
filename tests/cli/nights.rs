//! Whole studies: the order of things, and what comes out.

use std::time::Duration;

use serde_json::Value;

use crate::bench::{Bench, Run, of_kind};
use crate::study::Study;

/// A server that is at its best with a capacity near 3000 and neighbours left alone; twice the default at most.
const HILL: &str = r#"[load]
tps = "300 * (2 - min(1, abs(ln(innodb_io_capacity / 3000)) / 3)) * if(innodb_flush_neighbors == 0, 1.15, 1)"
"#;

/// Runs a study to its end.
pub(crate) fn tuned(bench: &Bench, study: &Study) -> Run {
    bench.write("study.toml", &study.text());
    let run = bench.run(&["tune", "study.toml", "--shared-host", "--json"]);
    assert!(
        bench.is_quiet_within(Duration::from_secs(5)),
        "something still runs"
    );
    run
}

/// The phases of each trial in the order in which they began.
fn phases(events: &[Value]) -> Vec<(u64, Vec<String>)> {
    let mut trials: Vec<(u64, Vec<String>)> = Vec::new();
    for event in of_kind(events, "phase-started") {
        let trial = event["trial"].as_u64().unwrap();
        if trials.last().is_none_or(|(last, _)| *last != trial) {
            trials.push((trial, Vec::new()));
        }
        let phase = event["phase"].as_str().unwrap().to_owned();
        trials.last_mut().unwrap().1.push(phase);
    }
    trials
}

const ORDER: [&str; 10] = [
    "check",
    "reset",
    "cool",
    "start",
    "verify",
    "warm-up",
    "measure",
    "collect",
    "crash-recovery",
    "stop",
];

#[test]
fn a_night_goes_from_the_baseline_to_a_confirmed_my_cnf_phase_by_phase() {
    let bench = Bench::new(HILL);
    let run = tuned(&bench, &Study::default());
    assert_eq!(run.code, Some(0), "{}", run.text());
    let events = run.events();

    for (trial, phases) in phases(&events) {
        let places: Vec<usize> = phases
            .iter()
            .map(|phase| ORDER.iter().position(|known| known == phase).unwrap())
            .collect();
        assert!(places.is_sorted(), "trial {trial}: {phases:?}");
        assert_eq!(phases.first().unwrap(), "check");
        assert_eq!(phases.last().unwrap(), "stop");
    }
    for event in of_kind(&events, "phase-started") {
        assert!(event["deadline_seconds"].as_f64().unwrap() > 0.0, "{event}");
    }
    assert_eq!(
        of_kind(&events, "phase-started").count(),
        of_kind(&events, "phase-ended").count()
    );

    let purposes = purposes(&events);
    assert_eq!(purposes[..4], ["baseline", "baseline", "baseline", "start"]);
    let explored = purposes.iter().filter(|purpose| *purpose == "explore").count();
    assert!(explored >= 2, "{purposes:?}");
    let pairs = purposes.iter().filter(|purpose| *purpose == "pair").count();
    assert!(pairs >= 10, "{purposes:?}");
    assert!(
        purposes.iter().rposition(|purpose| purpose == "explore")
            < purposes.iter().position(|purpose| purpose == "pair"),
        "confirmation follows the search: {purposes:?}"
    );

    let my_cnf = std::fs::read_to_string(bench.path().join("results/fake/my.cnf")).unwrap();
    assert!(my_cnf.contains("innodb_io_capacity"), "{my_cnf}");
    assert!(bench.path().join("results/fake/my.cnf.rollback").is_file());
    assert!(
        !bench.path().join("results/fake/noctune.db-wal").exists(),
        "a copy of the database's file alone lacks trials"
    );
    let last = events.last().unwrap();
    assert_eq!(last["event"], "study-ended", "{last}");
}

/// What each trial was for, in order.
pub(crate) fn purposes(events: &[Value]) -> Vec<String> {
    of_kind(events, "trial-started")
        .map(|event| event["job"]["purpose"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn when_every_trial_fails_the_study_ends_early_with_a_table_of_causes_and_no_my_cnf() {
    let bench = Bench::new("[[server.fault]]\nhappens = \"crash\"\nafter = 0.3");
    let run = tuned(&bench, &Study::default());
    assert_eq!(run.code, Some(5), "{}", run.text());
    assert!(run.stderr.contains("signal 6"), "{}", run.text());
    assert!(purposes(&run.events()).len() <= 10, "{}", run.text());
    assert!(!bench.path().join("results/fake/my.cnf").exists());
    let report = bench.run(&["report"]);
    assert!(report.text().contains("signal 6"), "{}", report.text());
    assert!(!report.text().contains("panicked"), "{}", report.text());
    let status = bench.run(&["status"]);
    assert!(status.stdout.contains("0 of them measured"), "{}", status.text());
}

#[test]
fn a_load_that_feels_no_knob_hands_nothing_over_and_says_so_and_a_failing_command_at_the_end_changes_nothing()
{
    // Far more than a window of a second varies by itself, so that the same is seen each time.
    let bench = Bench::new("[load]\nnoise = 0.08\nseed = 1");
    let text = format!("{}\n[finish]\nrun = \"exit 7\"\n", Study::default().text());
    bench.write("study.toml", &text);
    let run = bench.run(&["tune", "study.toml", "--shared-host"]);
    assert_eq!(run.code, Some(4), "{}", run.text());
    for words in [
        "keep",
        "the knobs made no difference that can be told from run noise",
        "what seems to limit this load instead: ",
    ] {
        assert!(run.stdout.contains(words), "no {words:?}: {}", run.text());
    }
    let status = bench.run(&["status"]).stdout;
    let log = std::fs::read_to_string(bench.path().join("results/fake/noctune.log")).unwrap();
    for told in [&status, &log] {
        assert!(told.contains("what seems to limit this load instead: "), "{told}");
    }
    assert!(
        run.stderr.contains("the command at its end failed"),
        "{}",
        run.text()
    );
    let report = bench.run(&["report", "--json"]);
    assert!(!report.stdout.contains("NaN"), "{}", report.text());
    let report: Value = serde_json::from_str(&report.stdout).unwrap();
    assert!(report["no_difference"]["limits"][0].is_string(), "{report}");
    assert!(report["best_trial"].is_null(), "{report}");
    assert_eq!(report["importance"]["measurable"], false, "{report}");
    for name in ["my.cnf", "zz-noctune.cnf", "my.cnf.rollback"] {
        let path = bench.path().join("results/fake").join(name);
        assert!(!path.exists(), "no difference was handed over: {name}");
    }
    let explained = bench.run(&["explain"]);
    if report["compared_trial"].is_null() {
        assert_eq!(explained.code, Some(2), "{}", explained.text());
    } else {
        let trial = format!("Trial {}:", report["compared_trial"]);
        assert!(explained.stdout.contains(&trial), "{}", explained.text());
    }
}

#[test]
fn a_space_of_six_points_is_searched_once_and_then_only_repeated_by_name() {
    let bench = Bench::new("");
    let study = Study {
        space: "families = []\n\
                [space.knob.innodb_flush_neighbors]\ntype = \"enum\"\nvalues = [\"0\", \"1\", \"2\"]\n\
                [space.knob.innodb_random_read_ahead]\ntype = \"bool\""
            .to_owned(),
        ..Study::default()
    };
    let run = tuned(&bench, &study);
    assert!(matches!(run.code, Some(0 | 4)), "{}", run.text());
    let events = run.events();
    let mut seen = Vec::new();
    for event in of_kind(&events, "trial-started") {
        let job = &event["job"];
        if ["explore", "start"].contains(&job["purpose"].as_str().unwrap()) {
            assert!(!seen.contains(&job["configuration"]), "twice: {job}");
            seen.push(job["configuration"].clone());
        }
    }
    assert!((4..=6).contains(&seen.len()), "{seen:?}");
}
