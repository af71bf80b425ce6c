//! Studies whose budget is too short for what their trials really take.

use super::bench::*;
use crate::plan::*;

/// Trials take 35 s on this bench; here 10 s are expected.
fn hopeful() -> Bench {
    let mut bench = Bench::new();
    bench.settings.trial_seconds = 10.0;
    bench
}

fn truthful(_: u64, job: &Job) -> crate::trial::Outcome {
    measured(&[("tps", truth(x_of(job)))])
}

#[test]
fn where_no_candidate_fits_the_study_says_so_and_how_to_go_on() {
    let mut bench = hopeful();
    bench.settings.budget_seconds = 300.0;
    let (facts, verdict) = bench.run(truthful);
    assert_eq!(purposes(&facts), ["baseline"; 3]);
    assert_eq!((verdict.kind, verdict.exit_code()), (VerdictKind::NoTime, 4));
    assert_eq!(verdict.best, None);
    let told = verdict.to_string();
    assert!(!told.contains("better than the baseline"), "{told}");
    for words in [
        "no time was left to measure a candidate",
        "a trial takes 35 s here, not the 10 s that were expected",
        "105 s for the 3 trial(s) so far + 35 s for a candidate + 10 x 35 s for the confirmation are more than the \
         budget of 300 s",
        "time = \"9m\"",
        "what was measured is kept",
    ] {
        assert!(told.contains(words), "no {words:?} in {told}");
    }

    bench.settings.budget_seconds = 540.0;
    let (facts, verdict) = bench.go_on(facts, truthful);
    assert_eq!(count(&facts, "baseline"), 3, "what was measured is kept");
    assert_eq!((count(&facts, "start"), count(&facts, "pair")), (1, 10));
    assert_eq!(verdict.kind, VerdictKind::Confirmed, "{verdict}");
}

#[test]
fn where_the_number_of_trials_holds_no_candidate_the_number_that_does_is_told() {
    let mut bench = Bench::new();
    bench.settings.max_trials = Some(13);
    let (facts, verdict) = bench.run(truthful);
    assert_eq!(verdict.kind, VerdictKind::NoTime);
    let told = verdict.to_string();
    assert!(
        told.contains("3 trials so far + 1 candidate + 10 confirmation runs are more than the 13 allowed")
            && told.contains("write trials = 14 or more")
            && !told.contains("of the budget"),
        "{told}"
    );
    bench.settings.max_trials = Some(14);
    let (_, verdict) = bench.go_on(facts, truthful);
    assert_eq!(verdict.kind, VerdictKind::Confirmed, "{verdict}");
}

#[test]
fn what_is_kept_for_the_confirmation_is_part_of_the_arithmetic() {
    let mut bench = Bench::new();
    bench.settings.budget_seconds = 600.0;
    bench.settings.reserve = 0.8;
    let (facts, verdict) = bench.run(truthful);
    let told = verdict.to_string();
    assert!(
        told.contains("(80 % of the budget are kept for that)") && told.contains("time = \"12m\""),
        "{told}"
    );
    bench.settings.budget_seconds = 720.0;
    let (facts, _) = bench.go_on(facts, truthful);
    assert_eq!(count(&facts, "start"), 1);
}

#[test]
fn a_best_without_time_for_its_confirmation_is_told_with_the_arithmetic() {
    let mut bench = Bench::new();
    let mut facts = Facts::default();
    for number in 1..=5 {
        let Next::Job(job) = bench.next(&facts) else {
            panic!("more to search")
        };
        let outcome = truthful(number, &job);
        facts.jobs.push(ended(number, job, outcome, "here"));
    }
    // The budget is cut: 175 s are spent.
    bench.settings.budget_seconds = 300.0;
    let Next::Done(verdict) = bench.next(&facts) else {
        panic!("no time for a confirmation")
    };
    assert_eq!(verdict.kind, VerdictKind::NoTime);
    assert!(verdict.best.is_some());
    let told = verdict.to_string();
    assert!(
        told.contains("no time was left to confirm anything")
            && told.contains("175 s for the 5 trial(s) so far + 15 x 35 s for the confirmation"),
        "{told}"
    );
}

#[test]
fn a_space_without_another_configuration_is_no_lack_of_time() {
    let mut bench = Bench::new();
    bench.rule = None;
    bench.strategy = Ladder { most: 0 };
    let (_, verdict) = bench.run(truthful);
    assert_eq!(verdict.kind, VerdictKind::BaselineIsBest);
    assert!(
        verdict
            .to_string()
            .contains("the space holds no other configuration"),
        "{verdict}"
    );
}

#[test]
fn longer_confirmation_runs_are_reckoned_as_long_as_they_are() {
    let mut bench = Bench::new();
    bench.settings.confirm_length.measure_min = 60.0;
    bench.settings.confirm_length.measure_max = 60.0;
    let reserve = |bench: &Bench, facts: &Facts| reserve_seconds(&bench.inputs(), facts);
    // 35 s are expected, of which 12 s are measured: 83 s with a window of 60 s.
    let expected = 15.0 * 83.0;
    assert!((reserve(&bench, &Facts::default()) - expected).abs() < 1e-9);
    bench.settings.budget_seconds = 3600.0;
    let (mut facts, _) = bench.run(truthful);
    facts.jobs.truncate(4);
    assert!((reserve(&bench, &facts) - expected).abs() < 1e-9);
}
