use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

macro_rules! fixture {
    ($name:literal) => {
        include_str!(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/tests/fixtures/sysbench/",
            $name,
            ".txt"
        ))
    };
}

#[test]
fn a_whole_run_of_1_0_is_read() {
    let output = Output::parse(fixture!("whole-run-1.0")).unwrap();
    assert_eq!(output.version, Some((1, 0, 20)));
    assert!(output.started);
    assert_eq!(output.intervals.len(), 2);
    assert_eq!(output.intervals[1].tps, 101.0);
    assert_eq!(output.intervals[1].percentile_ms, Some(23.95));
    let summary = output.summary.unwrap();
    assert_eq!((summary.events, summary.seconds), (200, 2.004));
    assert_eq!(summary.percentile_ms, Some(24.38));
    assert_eq!(output.disagreement(0.1), None);
    assert!(output.fatals.is_empty());
}

#[test]
fn the_summary_of_1_1_is_read_and_a_counted_warm_up_is_flagged() {
    let output = Output::parse(fixture!("warm-up-counted-in-the-totals-1.1")).unwrap();
    assert_eq!(output.version, Some((1, 1, 0)));
    let summary = output.summary.unwrap();
    assert_eq!((summary.events, summary.seconds, summary.errors), (7500, 10.0, 1));
    let (intervals, whole) = output.disagreement(0.1).unwrap();
    assert!((intervals - 500.0).abs() < 0.01 && (whole - 750.0).abs() < 0.01);
}

#[test]
fn errors_in_mid_run_are_counted_once_each() {
    let output = Output::parse(fixture!("errors-in-mid-run")).unwrap();
    assert_eq!(output.errnos(), BTreeMap::from([(1205, 1), (2013, 8)]));
    assert_eq!(output.fatals[0].errno, Some(1205));
    assert_eq!(output.summary, None);
}

#[test]
fn the_intervals_of_a_script_with_its_own_reporter_are_read() {
    let line = "[ 2s ] thds: 4 tps: 45.66 qps: 913.20 (r/w/o: 1.00/2.00/3.00) lat (ms,95%): 88.10 err/s 1.50 reconn/s: 0.50";
    let output = Output::parse(line).unwrap();
    assert_eq!(output.intervals[0].errors, 1.5);
    assert_eq!(output.intervals[0].reconnects, 0.5);
}

#[test]
fn a_decimal_comma_is_an_error_with_a_hint_never_a_number() {
    let problem = Output::parse(fixture!("decimal-comma")).unwrap_err().to_string();
    assert!(
        problem.contains("712,40") && problem.contains("LC_ALL=C"),
        "{problem}"
    );
    assert!(problem.contains("line 5"), "{problem}");
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused_without_a_panic(text in "(\\PC|\n){0,200}") {
        let _ = Output::parse(&text);
    }

    #[test]
    fn any_mutilated_interval_line_is_read_or_refused_without_a_panic(cut in 0usize..120, junk in "\\PC{0,5}") {
        let line = "[ 1s ] thds: 4 tps: 712.40 qps: 0.00 (r/w/o: 0.00/0.00/0.00) lat (ms,95%): 31.2 err/s: 0.00 reconn/s: 0.00";
        let cut = cut.min(line.len());
        let _ = Output::parse(&format!("{}{junk}{}", &line[..cut], &line[cut..]));
    }
}
