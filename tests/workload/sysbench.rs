use std::path::Path;
use std::process::Command;
use std::time::Duration;

use noctune::error::Error;
use noctune::workload::sysbench::{Output, Sysbench};
use noctune::workload::{LoadFailure, RunningLoad, Workload};
use tokio_util::sync::CancellationToken;

use crate::server::Server;

const CAP: Duration = Duration::from_secs(60);
const PATIENCE: Duration = Duration::from_secs(20);

fn load(script: &str, options: &[(&str, &str)]) -> Sysbench {
    let options = options.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
    Sysbench::new(script, 4, options).unwrap()
}

fn small(script: &str) -> Sysbench {
    load(script, &[("tables", "2"), ("table-size", "2000")])
}

async fn prepared(load: &Sysbench) -> Option<Server> {
    let server = Server::start()?;
    load.preflight().await.unwrap();
    load.prepare(&server.endpoint(), server.folder(), &CancellationToken::new())
        .await
        .unwrap();
    Some(server)
}

async fn started(load: &Sysbench, server: &Server) -> Box<dyn RunningLoad> {
    load.start(&server.endpoint(), server.folder(), CAP, 7)
        .await
        .unwrap()
}

/// Ids of the processes that run with this folder as their working directory.
fn running_in(folder: &Path) -> Vec<i32> {
    std::fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|pid| {
            std::fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd == folder)
                && std::fs::read_to_string(format!("/proc/{pid}/stat"))
                    .is_ok_and(|stat| !stat.contains(") Z "))
        })
        .collect()
}

#[tokio::test]
async fn windows_agree_with_the_summary_and_the_flag_ends_the_run() {
    let load = small("oltp_read_write");
    let Some(server) = prepared(&load).await else {
        return;
    };
    let mut run = started(&load, &server).await;
    let mut seconds = Vec::new();
    for _ in 0..4 {
        seconds.push(run.next_second().await.unwrap().unwrap());
    }
    assert!(seconds.windows(2).all(|pair| pair[0].at < pair[1].at));
    assert!(
        seconds
            .iter()
            .all(|second| second.p95_ms.is_some_and(|ms| ms > 0.0))
    );
    let whole = run.window(0, 4);
    let (first, second) = (run.window(0, 2), run.window(2, 4));
    assert_eq!(whole.transactions, first.transactions + second.transactions);
    let summed: f64 = seconds.iter().map(|second| second.tps * second.length).sum();
    assert!((summed - whole.transactions as f64).abs() < 1.0);
    assert_eq!(LoadFailure::check_window(&whole), Ok(()));
    let summary = run.stop(PATIENCE).await.unwrap();
    assert!(summary.transactions >= whole.transactions);
    let log = std::fs::read_to_string(server.folder().join("load.log")).unwrap();
    let printed = Output::parse(&log).unwrap().summary.unwrap();
    assert_eq!(printed.events, summary.transactions);
    assert!(
        printed.seconds < CAP.as_secs_f64(),
        "ended by the flag, not by its cap"
    );
    assert!(running_in(server.folder()).is_empty());
}

#[tokio::test]
async fn our_percentile_of_a_whole_run_is_sysbenchs_own() {
    let load = small("oltp_point_select");
    let Some(server) = prepared(&load).await else {
        return;
    };
    let mut run = load
        .start(&server.endpoint(), server.folder(), Duration::from_secs(4), 7)
        .await
        .unwrap();
    let mut seconds = 0;
    while run.next_second().await.unwrap().is_some() {
        seconds += 1;
    }
    let ours = run.window(0, seconds).histogram.unwrap();
    run.stop(PATIENCE).await.unwrap();
    let log = std::fs::read_to_string(server.folder().join("load.log")).unwrap();
    let theirs = Output::parse(&log)
        .unwrap()
        .summary
        .unwrap()
        .percentile_ms
        .unwrap();
    let ours = ours.quantile_ms(0.95).unwrap();
    // Their buckets are about 2 % wide, ours 1.6 %, and ours misses the last fraction of a second.
    assert!((ours / theirs - 1.0).abs() < 0.25, "{ours} {theirs}");
}

#[tokio::test]
async fn missing_tables_stop_the_study() {
    let load = small("oltp_read_write");
    let Some(server) = prepared(&load).await else {
        return;
    };
    let more = self::load("oltp_read_write", &[("tables", "3"), ("table-size", "2000")]);
    let failure = match more.start(&server.endpoint(), server.folder(), CAP, 7).await {
        Err(failure) => failure,
        Ok(mut run) => loop {
            match run.next_second().await {
                Err(failure) => break failure,
                Ok(second) => assert!(second.is_some(), "ended without an error"),
            }
        },
    };
    assert!(failure.stops_study().is_some(), "{failure:?}");
    assert!(running_in(server.folder()).is_empty());
}

#[tokio::test]
async fn rows_that_are_missing_after_prepare_are_noticed() {
    let load = small("oltp_read_write");
    let Some(server) = prepared(&load).await else {
        return;
    };
    // The tables are there already, so sysbench's own prepare fails now.
    let again = load
        .prepare(&server.endpoint(), server.folder(), &CancellationToken::new())
        .await;
    assert!(
        matches!(again, Err(Error::Host(_) | Error::Input(_))),
        "{again:?}"
    );
}

#[tokio::test]
async fn an_unknown_option_stops_the_study_before_the_first_event() {
    let load = small("oltp_read_write");
    let Some(server) = prepared(&load).await else {
        return;
    };
    let wrong = self::load("oltp_read_write", &[("tabel-size", "2000")]);
    let failure = wrong
        .start(&server.endpoint(), server.folder(), CAP, 7)
        .await
        .err()
        .unwrap();
    assert!(failure.stops_study().is_some(), "{failure:?}");
    assert!(failure.to_string().contains("tabel"), "{failure}");
}

#[tokio::test]
async fn a_load_that_hangs_is_killed_by_the_deadline() {
    let load = small("oltp_read_write");
    let Some(server) = prepared(&load).await else {
        return;
    };
    let mut run = started(&load, &server).await;
    run.next_second().await.unwrap().unwrap();
    let stopped = running_in(server.folder());
    assert!(!stopped.is_empty());
    for pid in stopped {
        assert!(
            Command::new("kill")
                .args(["-STOP", &pid.to_string()])
                .status()
                .unwrap()
                .success()
        );
    }
    // A frozen load is seconds of nothing, not an error: the server might be the one that hangs.
    run.next_second().await.unwrap().unwrap();
    assert_eq!(run.next_second().await.unwrap().unwrap().tps, 0.0);
    let failure = run.stop(Duration::from_secs(1)).await.unwrap_err();
    assert!(matches!(failure, LoadFailure::Hung { .. }), "{failure:?}");
    assert!(running_in(server.folder()).is_empty());
}

#[tokio::test]
async fn a_server_killed_in_mid_run_is_a_lost_server() {
    let load = small("oltp_read_write");
    let Some(mut server) = prepared(&load).await else {
        return;
    };
    let mut run = started(&load, &server).await;
    run.next_second().await.unwrap().unwrap();
    server.kill();
    let failure = loop {
        match run.next_second().await {
            Err(failure) => break failure,
            Ok(second) => assert!(second.is_some(), "ended without an error"),
        }
    };
    assert!(failure.server_lost(), "{failure:?}");
}

#[tokio::test]
async fn a_dropped_run_leaves_no_process() {
    let load = small("oltp_read_only");
    let Some(server) = prepared(&load).await else {
        return;
    };
    let run = started(&load, &server).await;
    assert!(!running_in(server.folder()).is_empty());
    drop(run);
    for _ in 0..100 {
        if running_in(server.folder()).is_empty() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("sysbench outlived its run");
}

#[tokio::test]
async fn a_script_with_its_own_loop_has_rates_and_says_that_percentiles_are_missing() {
    let load = small("oltp_read_only");
    let Some(server) = prepared(&load).await else {
        return;
    };
    let script = server.folder().join("own_loop.lua");
    std::fs::write(&script, include_str!("../fixtures/sysbench/own-loop.lua")).unwrap();
    let own = self::load(script.to_str().unwrap(), &[]);
    let mut run = started(&own, &server).await;
    let second = run.next_second().await.unwrap().unwrap();
    assert!(second.tps > 0.0 && second.p95_ms.is_none());
    assert!(run.window(0, 1).histogram.is_none());
    let summary = run.stop(Duration::from_secs(3)).await.unwrap();
    assert!(
        summary.notes.iter().any(|note| note.contains("percentiles")),
        "{summary:?}"
    );
}
