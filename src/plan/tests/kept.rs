//! A confirmed result is not lost: not by more budget, not by how the search ends after it.

use super::bench::*;
use crate::plan::*;
use crate::stats::Interval;
use crate::trial::{CauseKind, Outcome};

fn exact(_: u64, job: &Job) -> Outcome {
    measured(&[("tps", truth(x_of(job)))])
}

/// A study that confirmed x = 3, and was given more time.
fn confirmed_and_grown() -> (Bench, Facts, Interval) {
    let mut bench = Bench::new();
    let (facts, verdict) = bench.run(noisy(1, 0.03));
    assert_eq!(verdict.kind, VerdictKind::Confirmed);
    assert_eq!(verdict.best.unwrap().configuration, x_is(3));
    bench.settings.budget_seconds = 2000.0;
    (bench, facts, verdict.gain.unwrap())
}

/// What a study claims: the configuration and its interval.
fn claimed(verdict: &Verdict) -> Option<(i64, Interval)> {
    let claim = verdict.claim();
    let x = claim.best.as_ref()?.configuration.get("x")?.as_f64()? as i64;
    Some((x, claim.gain?))
}

/// After the confirmed result the search finds x = 20, which is not what it seems.
fn misled(pairs_of_20: impl Fn() -> Outcome) -> impl Fn(u64, &Job) -> Outcome {
    move |number, job| match (job.purpose, x_of(job)) {
        (Purpose::Explore | Purpose::Repeat { .. }, 20) => measured(&[("tps", 2000.0)]),
        (Purpose::Pair { .. }, 20) => pairs_of_20(),
        _ => exact(number, job),
    }
}

#[test]
fn wherever_a_study_with_more_budget_is_stopped_its_confirmed_result_stands() {
    let (bench, before, gain) = confirmed_and_grown();
    let (after, _) = bench.go_on(before.clone(), misled(|| measured(&[("tps", 500.0)])));
    assert!(after.jobs.len() > before.jobs.len() + 10);
    for n in before.jobs.len()..=after.jobs.len() {
        let facts = Facts {
            jobs: after.jobs[..n].to_vec(),
            ..Facts::default()
        };
        let kept = last_confirmed(&bench.inputs(), &facts).unwrap();
        assert_eq!(claimed(&kept), Some((3, gain)), "after {n} trials");
        assert_eq!((kept.blocks, kept.detail), (5, None));
    }
}

#[test]
fn what_is_found_after_a_confirmed_result_and_not_confirmed_does_not_replace_it() {
    let (bench, facts, gain) = confirmed_and_grown();
    let (facts, verdict) = bench.go_on(facts, misled(|| measured(&[("tps", 490.0)])));
    assert_eq!(
        facts
            .jobs
            .iter()
            .rev()
            .find(|fact| matches!(fact.job.purpose, Purpose::Pair { arm: Arm::Best, .. }))
            .map(|fact| x_of(&fact.job)),
        Some(20)
    );
    assert_eq!(
        (verdict.kind, verdict.exit_code()),
        (VerdictKind::NotConfirmed, 0)
    );
    assert!(verdict.confirmed());
    assert_eq!(claimed(&verdict), Some((3, gain)));
    let told = verdict.to_string();
    assert!(
        told.starts_with("tps improved over the baseline: x 1.")
            && told.contains("the search went on since")
            && told.contains("the last confirmation saw x 0.98")
            && !told.contains("keep the baseline"),
        "{told}"
    );
}

#[test]
fn a_result_that_is_confirmed_later_is_the_one_that_counts() {
    let (bench, facts, _) = confirmed_and_grown();
    let (facts, verdict) = bench.go_on(facts, misled(|| measured(&[("tps", 800.0)])));
    assert_eq!((verdict.kind, &verdict.kept), (VerdictKind::Confirmed, &None));
    assert_eq!(verdict.best.as_ref().unwrap().configuration, x_is(20));
    let kept = last_confirmed(&bench.inputs(), &facts).unwrap();
    assert_eq!((kept.best, kept.gain), (verdict.best, verdict.gain));
}

#[test]
fn a_host_that_fails_afterwards_takes_no_confirmed_result_away() {
    let (bench, facts, gain) = confirmed_and_grown();
    let (_, verdict) = bench.go_on(facts, |_, _| host_fault());
    assert_eq!((verdict.kind, verdict.exit_code()), (VerdictKind::HostProblem, 3));
    assert_eq!(claimed(&verdict), Some((3, gain)));
    let told = verdict.line();
    assert!(
        told.contains("what was confirmed before is kept: tps improved"),
        "{told}"
    );
}

#[test]
fn a_start_of_the_final_my_cnf_that_the_host_prevents_is_told_with_the_confirmed_result() {
    let mut bench = Bench::new();
    let mut down = false;
    let (facts, verdict) = bench.run(|number, job| {
        down |= job.purpose == Purpose::Final;
        if down { host_fault() } else { exact(number, job) }
    });
    assert_eq!(verdict.kind, VerdictKind::HostProblem);
    assert_eq!(claimed(&verdict).map(|(x, _)| x), Some(3));
    let told = verdict.to_string();
    assert!(
        told.contains("start with this my.cnf could not be tried"),
        "{told}"
    );
    bench.forgiven = facts.jobs.len() as u64;
    let (_, verdict) = bench.go_on(facts, exact);
    assert_eq!((verdict.kind, verdict.kept), (VerdictKind::Confirmed, None));
}

#[test]
fn a_result_whose_start_was_never_tried_is_tried_before_the_study_ends_with_it() {
    let (bench, mut facts, gain) = confirmed_and_grown();
    assert_eq!(facts.jobs.pop().unwrap().job.purpose, Purpose::Final);
    let kept = last_confirmed(&bench.inputs(), &facts).unwrap();
    assert!(kept.detail.unwrap().contains("has not been tried yet"));
    let (facts, verdict) = bench.go_on(facts, misled(|| measured(&[("tps", 490.0)])));
    let last = facts.jobs.last().unwrap();
    assert_eq!((last.job.purpose, x_of(&last.job)), (Purpose::Final, 3));
    assert_eq!(claimed(&verdict), Some((3, gain)));
    assert_eq!(verdict.details().len(), 1, "{verdict}");
}

#[test]
fn a_my_cnf_that_the_server_refuses_gives_way_to_the_one_confirmed_before() {
    let (bench, facts, gain) = confirmed_and_grown();
    let (_, verdict) = bench.go_on(facts, |number, job| match (job.purpose, x_of(job)) {
        (Purpose::Final, 20) => refused(CauseKind::BadValue, "x", "bad value"),
        _ => misled(|| measured(&[("tps", 800.0)]))(number, job),
    });
    assert_eq!(
        (verdict.kind, verdict.exit_code()),
        (VerdictKind::FinalRefused, 0)
    );
    assert_eq!(claimed(&verdict), Some((3, gain)));
}

#[test]
fn a_larger_threshold_takes_a_claim_back() {
    let (mut bench, facts, gain) = confirmed_and_grown();
    bench.settings.min_gain = gain.low;
    assert_eq!(last_confirmed(&bench.inputs(), &facts), None);
}

#[test]
fn a_later_comparison_that_is_not_sure_leaves_the_claim_and_is_told() {
    let (bench, facts, gain) = confirmed_and_grown();
    let (_, verdict) = bench.go_on(facts, |number, job| match (job.purpose, x_of(job)) {
        // From half to twice, by turns.
        (Purpose::Pair { .. }, 3) => measured(&[("tps", if number % 2 == 0 { 250.0 } else { 1100.0 })]),
        (Purpose::Pair { .. }, _) => measured(&[("tps", 500.0)]),
        _ => exact(number, job),
    });
    assert_eq!(verdict.kind, VerdictKind::NotConfirmed, "{verdict}");
    assert_eq!(claimed(&verdict), Some((3, gain)));
    let told = verdict.to_string();
    assert!(
        told.contains("the same configuration was compared anew") && told.contains("no difference shown"),
        "{told}"
    );
}

#[test]
fn a_configuration_that_fails_or_gains_nothing_when_confirmed_anew_is_no_claim_any_more() {
    let again: [fn() -> Outcome; 2] = [crashed, || measured(&[("tps", 500.0)])];
    for outcome in again {
        let (bench, facts, _) = confirmed_and_grown();
        let (facts, verdict) = bench.go_on(facts, |number, job| match (job.purpose, x_of(job)) {
            (Purpose::Pair { .. }, 3) => outcome(),
            (Purpose::Pair { .. }, _) => measured(&[("tps", 500.0)]),
            _ => exact(number, job),
        });
        assert!(!verdict.confirmed(), "{verdict}");
        assert_eq!(last_confirmed(&bench.inputs(), &facts), None);
    }
}
