//! Servers that do not start, each cause once, and servers that hang. Whole trials are in `whole_trials`.

use std::time::Duration;

use noctune::server::{Death, StartFailure, classify_death};
use noctune::trial::{CauseKind, Outcome};

use crate::bench::{DEADLINE, bench};

/// The outcome of a start that fails by itself, with the exit code.
async fn failed_start(settings: &[(&str, &str)]) -> Option<(Outcome, Option<i32>)> {
    let bench = bench().await?;
    bench.reset(None);
    match bench.start(settings, None).await {
        Err(StartFailure::Ended { exit, log, .. }) => {
            let death = Death {
                code: exit.code,
                signal: exit.signal,
                ..Death::default()
            };
            Some((classify_death(&log, &death), exit.code))
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn an_unknown_variable_is_refused_by_name() {
    let Some((outcome, code)) = failed_start(&[("innodb_nonsense", "1")]).await else {
        return;
    };
    let Outcome::ServerRefused { cause } = outcome else {
        panic!("{outcome:?}")
    };
    assert_eq!(code, Some(7));
    assert_eq!(
        (cause.kind, cause.variable.as_deref()),
        (CauseKind::UnknownVariable, Some("innodb_nonsense"))
    );
}

#[tokio::test]
async fn a_bad_enum_is_refused_with_its_value() {
    let Some((outcome, _)) = failed_start(&[("thread_handling", "loaded")]).await else {
        return;
    };
    let Outcome::ServerRefused { cause } = outcome else {
        panic!("{outcome:?}")
    };
    assert_eq!(
        (cause.kind, cause.value.as_deref()),
        (CauseKind::BadValue, Some("loaded"))
    );
}

#[tokio::test]
async fn a_pool_larger_than_memory_is_out_of_memory() {
    let Some((outcome, _)) = failed_start(&[("innodb_buffer_pool_size", "900T")]).await else {
        return;
    };
    assert!(matches!(outcome, Outcome::OutOfMemory { .. }), "{outcome:?}");
}

#[tokio::test]
async fn a_server_that_hangs_answers_no_query_in_time_and_can_still_be_ended() {
    let Some(bench) = bench().await else { return };
    bench.reset(None);
    let mut instance = bench.start(&[], None).await.unwrap();
    let mut client = instance.client(DEADLINE).await.unwrap();
    instance.identity().signal_group(rustix::process::Signal::STOP);
    client.set_deadline(Duration::from_millis(200));
    assert!(client.ping().await.is_err());
    assert_eq!(instance.kill().await.unwrap().unwrap().signal, Some(9));
    assert!(instance.identity().is_gone());
}
