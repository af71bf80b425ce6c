//! What hangs ends by its limit, with the outcome of whoever hung, with nothing left running, and the next trial is fine.

use std::time::Duration;

use noctune::trial::{Outcome, Phase};

use crate::bench::Bench;
use crate::trials::{Trials, last_phase, short};

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

#[tokio::test]
async fn a_server_that_dies_in_any_part_of_a_trial_has_crashed_and_nothing_else_is_blamed() {
    // The warm-up and the measuring take a second each; at their ends the load and the server are asked for their figures.
    for after in [0.1, 0.9, 1.5, 2.0] {
        let (outcome, phase) = first(&server("crash", after), 1.0).await;
        assert!(
            matches!(outcome, Outcome::Crashed { signal: Some(6), .. })
                || phase == Phase::Collect && outcome.measurement().is_some(),
            "after {after} s, in {phase}: {outcome:?}"
        );
    }
}

#[test]
fn the_limits_of_the_tests_are_shorter_than_those_of_users_only() {
    let (tests, users) = (short(), noctune::runner::Deadlines::default());
    assert!(tests.start < users.start && tests.answer < users.answer && tests.silence < users.silence);
}
