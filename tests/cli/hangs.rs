//! What hangs ends by its limit, with the outcome of whoever hung, with nothing left running, and the next trial is fine.

use std::time::Duration;

use noctune::trial::{Outcome, Phase};
use rustix::process::Signal;
use serde_json::Value;

use crate::bench::{Bench, of_kind, send};
use crate::study::Study;
use crate::trials::{Trials, last_phase};

/// A trial that takes longer hangs itself; each of these needs seconds.
const HUNG: Duration = Duration::from_secs(120);

/// The outcome of the first trial of a world, and the phase in which it came. The second trial of the same world, without
/// the fault, is measured.
async fn first(fault: &str, seconds: f64) -> (Outcome, Phase) {
    let bench = Bench::new("");
    let sysbench = bench.bin().join("sysbench").display().to_string();
    let mut trials = Trials::new(&bench.bin().join("mariadbd"), &sysbench, bench.path()).await;
    trials.runner.deadlines.start = Duration::from_secs(3);
    bench.world(fault);
    let record = tokio::time::timeout(HUNG, trials.run_while(seconds, async |_| ()))
        .await
        .unwrap();
    assert_eq!(bench.running(), [0; 0], "something still runs");
    let ended = (record.outcome.clone(), last_phase(&record));
    bench.world("");
    let next = trials.run().await;
    assert!(
        next.outcome.measurement().is_some(),
        "the next trial: {:?}",
        next.outcome
    );
    ended
}

fn server(happens: &str, after: f64) -> String {
    format!("[[server.fault]]\nhappens = \"{happens}\"\nafter = {after}")
}

#[tokio::test]
async fn a_server_that_never_answers_after_its_start_timed_out() {
    let (outcome, _) = first(&server("hang-at-start", 0.0), 1.0).await;
    assert_eq!(outcome, Outcome::TimedOut { phase: Phase::Start });
}

#[tokio::test]
async fn a_server_that_freezes_in_the_warm_up_timed_out_in_it() {
    let (outcome, phase) = first(&server("freeze", 0.6), 4.0).await;
    assert_eq!(outcome, Outcome::TimedOut { phase: Phase::WarmUp });
    assert_eq!(phase, Phase::WarmUp);
}

#[tokio::test]
async fn a_server_that_freezes_while_it_is_measured_timed_out_in_that_phase() {
    let (outcome, phase) = first(&server("freeze", 2.5), 2.0).await;
    assert_eq!(
        outcome,
        Outcome::TimedOut {
            phase: Phase::Measure
        }
    );
    assert_eq!(phase, Phase::Measure);
}

#[tokio::test]
async fn a_server_that_takes_no_request_to_end_is_killed_and_its_trial_counts() {
    let (outcome, _) = first(&server("deaf", 0.0), 1.0).await;
    assert!(outcome.measurement().is_some(), "{outcome:?}");
}

#[tokio::test]
async fn a_load_that_hangs_before_an_idle_server_is_the_hosts_fault() {
    let fault = "[[load.fault]]\nhappens = \"hang\"\nafter = 0.6";
    let (outcome, _) = first(fault, 4.0).await;
    let Outcome::HostFault { cause } = outcome else {
        panic!("{outcome:?}")
    };
    assert!(cause.text.contains("while the server was idle"), "{}", cause.text);
}

/// What happens when the server is asked this.
fn on(happens: &str, statement: &str) -> String {
    format!("[server]\ndebt = 20000\n[[server.fault]]\nhappens = \"{happens}\"\non = \"{statement}\"")
}

/// Statements of verifying, of reading the tables, of the load's start, and of watching the debt being paid.
const PARTS: [(&str, Phase); 4] = [
    ("SHOW GLOBAL VARIABLES", Phase::Verify),
    ("information_schema.TABLES", Phase::WarmUp),
    ("SHOW SESSION VARIABLES", Phase::WarmUp),
    ("innodb_max_dirty_pages_pct_lwm", Phase::Collect),
];

#[tokio::test]
async fn a_server_that_dies_in_any_part_of_a_trial_has_crashed_and_nothing_else_is_blamed() {
    for (statement, part) in PARTS {
        let (outcome, phase) = first(&on("crash", statement), 1.0).await;
        assert!(
            matches!(outcome, Outcome::Crashed { signal: Some(6), .. }),
            "at {statement}: {outcome:?}"
        );
        assert_eq!(phase, part, "{statement}");
    }
}

#[tokio::test]
async fn a_server_that_freezes_in_any_part_of_a_trial_timed_out_in_it() {
    // Once measured, a trial counts: the load has ended well by then.
    for (statement, part) in PARTS.into_iter().filter(|(_, part)| *part != Phase::Collect) {
        let (outcome, phase) = first(&on("freeze", statement), 1.0).await;
        assert_eq!(outcome, Outcome::TimedOut { phase: part }, "at {statement}");
        assert_eq!(phase, part, "{statement}");
    }
}

#[tokio::test]
async fn reading_the_tables_for_too_long_is_killed_and_disturbs_nothing() {
    let bench = Bench::new("");
    let sysbench = bench.bin().join("sysbench").display().to_string();
    let mut trials = Trials::new(&bench.bin().join("mariadbd"), &sysbench, bench.path()).await;
    trials.runner.deadlines.scan = Duration::from_millis(500);
    bench.world("[server]\nscan_hangs = true");
    let record = tokio::time::timeout(HUNG, trials.run()).await.unwrap();
    assert!(record.outcome.measurement().is_some(), "{:?}", record.outcome);
    let log = std::fs::read_to_string(bench.path().join("trial-1/server.log")).unwrap();
    assert!(log.contains("asked to KILL"), "{log}");
}

/// The first three trials of a night, in the second of which something hangs, with the limits of users.
async fn night(fault: &str) -> Vec<Value> {
    let bench = Bench::new(fault);
    let study = Study {
        // Time enough to see that nothing comes; a healthy load is steady before.
        trial: Study::default()
            .trial
            .replace("warmup = \"1s\"", "warmup = \"30s\""),
        ..Study::default()
    };
    bench.write("study.toml", &study.text());
    let mut child = bench.spawn(&["tune", "study.toml", "--shared-host", "--json"]);
    let watched = async {
        loop {
            let ended: Vec<Value> = of_kind(&bench.output(), "trial-ended").cloned().collect();
            if ended.len() >= 3 {
                return ended;
            }
            assert_eq!(child.try_wait().unwrap(), None, "{}", bench.errors());
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let ended = tokio::time::timeout(HUNG, watched).await.unwrap();
    send(&child, Signal::INT);
    child.wait().unwrap();
    assert!(
        bench.is_quiet_within(Duration::from_secs(10)),
        "something still runs"
    );
    ended
}

#[tokio::test]
async fn a_night_goes_on_after_a_server_froze() {
    let fault = "[[server.fault]]\nwhen = \"start == 5\"\nhappens = \"freeze\"\nafter = 0.3";
    let ended = night(fault).await;
    assert_eq!(ended[0]["outcome"], "measured", "{ended:?}");
    assert_eq!(ended[1]["outcome"], "timed-out", "{ended:?}");
    assert_eq!(ended[2]["outcome"], "measured", "{ended:?}");
}

#[tokio::test]
async fn a_night_goes_on_after_a_load_hung() {
    let fault = "[[load.fault]]\nwhen = \"run == 2\"\nhappens = \"hang\"\nafter = 0.3";
    let ended = night(fault).await;
    assert_eq!(ended[0]["outcome"], "measured", "{ended:?}");
    assert_eq!(ended[1]["outcome"], "host-fault", "{ended:?}");
    assert_eq!(ended[2]["outcome"], "measured", "{ended:?}");
}
