//! What goes wrong in a trial: the outcome and its reason, by the deadline, with nothing left running.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::Value;

use crate::bench::{Bench, of_kind, send};
use crate::study::Study;
use crate::trials::Trials;

/// How the first trial ended in this world. The study is interrupted then.
#[track_caller]
fn ended(world: &str) -> Value {
    let bench = Bench::new(world);
    bench.write("study.toml", &Study::default().text());
    let mut child = bench.spawn(&["tune", "study.toml", "--shared-host", "--json"]);
    let end = Instant::now() + Duration::from_secs(100);
    let ended = loop {
        if let Some(ended) = of_kind(&bench.output(), "trial-ended").next() {
            break ended.clone();
        }
        let gone = child.try_wait().unwrap();
        assert!(
            gone.is_none() && Instant::now() < end,
            "no trial ended: {}",
            bench.errors()
        );
        std::thread::sleep(Duration::from_millis(20));
    };
    send(&child, Signal::INT);
    child.wait().unwrap();
    assert!(
        bench.is_quiet_within(Duration::from_secs(5)),
        "something still runs"
    );
    ended
}

#[track_caller]
fn failed(world: &str, outcome: &str, words: &[&str]) {
    let ended = ended(world);
    assert_eq!(ended["outcome"], outcome, "{ended}");
    assert_eq!(ended["value"], Value::Null);
    let reason = ended["reason"].as_str().unwrap();
    for word in words {
        assert!(reason.contains(word), "no {word:?} in {reason:?}");
    }
}

#[test]
fn a_healthy_trial_is_measured_at_the_rate_of_the_world() {
    let ended = ended("[load]\ntps = \"2 * innodb_io_capacity\"");
    assert_eq!(ended["outcome"], "measured", "{ended}");
    let value = ended["value"].as_f64().unwrap();
    assert!((340.0..=440.0).contains(&value), "{value}");
}

#[test]
fn a_pool_that_does_not_fit_is_told_by_the_first_error_of_the_log() {
    failed(
        r#"[[server.fault]]
        when = "start > 3"
        happens = "refuse"
        log = ["InnoDB: Cannot map innodb_buffer_pool_size_max=921600000m",
               "InnoDB: Plugin initialization aborted with error Generic error",
               "Plugin 'InnoDB' registration as a STORAGE ENGINE failed.",
               "Unknown/unsupported storage engine: InnoDB", "Aborting"]"#,
        "out-of-memory",
        &["Cannot map innodb_buffer_pool_size_max"],
    );
}

#[test]
fn a_value_that_was_silently_not_applied_fails_the_trial() {
    failed(
        r#"[[server.fault]]
        when = "start > 3"
        happens = "not-applied"
        variable = "innodb_flush_neighbors"
        value = "2""#,
        "refused",
        &["innodb_flush_neighbors"],
    );
}

#[test]
fn a_limit_that_the_server_lowers_and_tells_of_is_measured_under_the_value_that_runs() {
    let bench = Bench::new(
        r#"[[server.fault]]
        when = "start > 3"
        happens = "not-applied"
        variable = "table_open_cache"
        value = "431"
        log = ["Changed limits: max_open_files: 1024 (requested 5000)",
               "Changed limits: table_open_cache: 431 (requested 2000)"]"#,
    );
    let study = Study {
        space: "families = []\n[space.knob.table_open_cache]\nmin = 100\nmax = 4000".to_owned(),
        ..Study::default()
    };
    bench.write("study.toml", &study.text());
    let run = bench.run(&["trial", "study.toml", "--shared-host"]);
    assert_eq!(run.code, Some(0), "{}", run.text());
    for words in [
        "table_open_cache: 2000 was asked for, 431 runs",
        "Changed limits: max_open_files: 1024",
        "ulimit -n",
    ] {
        assert!(run.text().contains(words), "no {words:?}: {}", run.text());
    }
}

#[test]
fn a_server_that_aborts_under_load_has_crashed() {
    failed(
        "[[server.fault]]\nhappens = \"crash\"\nafter = 0.6",
        "crashed",
        &["6"],
    );
}

#[test]
fn a_server_that_is_killed_under_load_without_a_word_was_probably_killed_for_memory() {
    let world = "[[server.fault]]\nhappens = \"kill\"\nafter = 0.6";
    let ended = ended(world);
    assert!(
        ["crashed", "out-of-memory"].contains(&ended["outcome"].as_str().unwrap()),
        "{ended}"
    );
    let reason = ended["reason"].as_str().unwrap();
    assert!(
        reason.contains("signal 9") && reason.contains("memory"),
        "{reason}"
    );
}

#[test]
fn a_load_that_says_too_many_connections_blames_the_candidate() {
    failed(
        r#"[[load.fault]]
        happens = "fatal"
        lines = ["FATAL: unable to connect to MySQL server on socket '/tmp/t/s.sock', aborting...",
                 "FATAL: error 1040: Too many connections",
                 "FATAL: `thread_init' function failed: oltp_common.lua:349: connection creation failed"]"#,
        "load-failed",
        &["1040"],
    );
}

#[test]
fn errors_in_mid_run_are_told_by_the_first_and_counted() {
    failed(
        r#"[[load.fault]]
        happens = "fatal"
        after = 0.5
        lines = ["FATAL: mysql_drv_query() returned error 1205 (Lock wait timeout exceeded; try restarting transaction) for query 'UPDATE'",
                 "FATAL: `thread_run' function failed: oltp_common.lua:458: SQL error, errno = 1205, state = 'HY000': Lock wait timeout exceeded",
                 "FATAL: mysql_stmt_execute() returned error 2013 (Lost connection to MySQL server during query) for query 'UPDATE'",
                 "(last message repeated 14 times)"]"#,
        "load-failed",
        &["1205", "2013 x15"],
    );
}

#[test]
fn a_load_that_ends_well_without_a_transaction_is_no_measurement() {
    let ended = ended("[[load.fault]]\nhappens = \"silent\"");
    assert_ne!(ended["outcome"], "measured", "{ended}");
    assert!(
        ended["reason"].as_str().unwrap().contains("transaction"),
        "{ended}"
    );
}

#[test]
fn a_summary_that_does_not_add_up_is_no_measurement() {
    let ended = ended("[[load.fault]]\nhappens = \"wrong-totals\"");
    assert_ne!(ended["outcome"], "measured", "{ended}");
}

#[test]
fn interval_lines_that_disagree_with_the_summary_are_a_warning_of_the_trial_told_and_stored() {
    // After a measured trial or more every server is refused: a short study.
    let bench = Bench::new(
        r#"[[server.fault]]
        when = "start > 5"
        happens = "refuse"
        [[load.fault]]
        happens = "says"
        after = 0.5
        lines = ["[ 1s ] thds: 2 tps: 7.00 qps: 140.00 (r/w/o: 98.00/28.00/14.00) lat (ms,95%): 9.00 err/s: 0.00 reconn/s: 0.00"]"#,
    );
    bench.write("study.toml", &Study::default().text());
    let told = bench.run(&["tune", "study.toml", "--shared-host"]).stderr;
    let text = "interval lines say 7.0 events per second";
    assert!(told.contains(text), "{told}");
    assert!(told.contains("the data are restored by copy"), "{told}");
    for command in [["report"].as_slice(), &["explain", "1"]] {
        let shown = bench.run(command).text();
        assert!(shown.contains(text), "{command:?}: {shown}");
    }
}

#[test]
fn numbers_with_decimal_commas_are_no_measurement() {
    let ended = ended("[[load.fault]]\nhappens = \"decimal-commas\"");
    assert_ne!(ended["outcome"], "measured", "{ended}");
    let reason = ended["reason"].as_str().unwrap();
    assert!(
        reason.contains("is not a number") && reason.contains("LC_ALL=C"),
        "{ended}"
    );
}

#[test]
fn a_wrong_command_line_of_the_load_stops_the_study_at_once() {
    let bench = Bench::new(
        "[[load.fault]]\nhappens = \"fatal\"\nlines = [\"invalid option: --thread-init-timeout=300\"]",
    );
    bench.write("study.toml", &Study::default().text());
    let run = bench.run(&["tune", "study.toml", "--shared-host", "--json"]);
    assert_eq!(run.code, Some(2), "{}", run.text());
    assert!(run.stderr.contains("thread-init-timeout"), "{}", run.text());
    let events = run.events();
    assert!(
        of_kind(&events, "trial-started").count() <= 1,
        "trials were burnt"
    );
}

#[test]
fn a_study_whose_trials_take_longer_than_expected_says_that_no_time_was_left_for_a_candidate() {
    // The rate never is level, so that each window is as long as it may be.
    let bench = Bench::new("[load]\ntps = \"300 + 40 * second\"");
    let study = Study {
        trial: Study::default().trial.replace("max = \"1s\"", "max = \"10s\""),
        strategy: "preset = \"random\"\nrule_of_thumb = false".to_owned(),
        budget: "time = \"140s\"\npatience = false".to_owned(),
        ..Study::default()
    };
    bench.write("study.toml", &study.text());
    let run = bench.run(&["tune", "study.toml", "--shared-host"]);
    assert_eq!(run.code, Some(4), "{}", run.text());
    for words in [
        "no time was left to measure a candidate",
        "not the 10 s that were expected",
        "run the same command again",
    ] {
        assert!(run.stdout.contains(words), "no {words:?} in {}", run.text());
    }
    assert!(!run.stdout.contains("better than the baseline"), "{}", run.text());
    // Told before the first trial, too: such a budget suffices for short trials only.
    let told = run.stderr.find("measures for up to 10s instead of 1s").unwrap();
    assert!(told < run.stderr.find("trial 1").unwrap(), "{}", run.text());
}

#[tokio::test]
async fn a_trial_records_what_server_and_load_used_of_the_cpu() {
    let bench = Bench::new("");
    let sysbench = bench.bin().join("sysbench").display().to_string();
    let mut trials = Trials::new(&bench.bin().join("mariadbd"), &sysbench, bench.path()).await;
    let record = trials.run().await;
    let counters = &record.outcome.measurement().unwrap().counters;
    for name in ["cpu_user_s", "server_cpu_s", "load_cpu_s"] {
        assert!(counters[name] >= 0.0, "{name}: {counters:?}");
    }
}
