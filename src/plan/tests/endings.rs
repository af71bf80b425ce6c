//! How studies end: failures, constraints, what is claimed and what is not.

use super::bench::*;
use crate::plan::*;
use crate::strategy::Goal;
use crate::study::{Objective, ObjectiveSpec};
use crate::trial::{Cause, CauseKind, Outcome, WriteDebt};

#[test]
fn a_spoiled_trial_is_made_again_and_changes_nothing_else() {
    let bench = Bench::new();
    let (clean, _) = bench.run(|_, job| measured(&[("tps", truth(x_of(job)))]));
    let mut spoiled = 0;
    let (facts, verdict) = bench.run(|number, job| {
        if number % 4 == 2 {
            spoiled += 1;
            host_fault()
        } else {
            measured(&[("tps", truth(x_of(job)))])
        }
    });
    assert!(spoiled > 3);
    let kept: Vec<_> = facts
        .jobs
        .iter()
        .filter(|fact| !fact.outcome().unwrap().is_host_fault())
        .map(|fact| fact.job.clone())
        .collect();
    let all: Vec<_> = clean.jobs.iter().map(|fact| fact.job.clone()).collect();
    // The faults cost time, so that the search is a little shorter; the order of the stages is the same.
    assert_eq!(kept[..8], all[..8]);
    assert_eq!(verdict.kind, VerdictKind::Confirmed);
    assert_eq!(verdict.blocks, 5);
}

#[test]
fn three_faults_of_the_host_in_a_row_end_the_study_and_a_new_start_tries_again() {
    let mut bench = Bench::new();
    let (facts, verdict) = bench.run(|number, job| {
        if number > 5 {
            host_fault()
        } else {
            measured(&[("tps", truth(x_of(job)))])
        }
    });
    assert_eq!(
        (facts.jobs.len(), verdict.kind, verdict.exit_code()),
        (8, VerdictKind::HostProblem, 3)
    );
    assert!(verdict.to_string().contains("no space left"), "{verdict}");
    bench.forgiven = 8;
    let (_, verdict) = bench.go_on(facts, |_, job| measured(&[("tps", truth(x_of(job)))]));
    assert_eq!(verdict.kind, VerdictKind::Confirmed);
}

#[test]
fn a_candidate_that_fails_the_host_twice_while_the_baseline_runs_counts_as_failed() {
    let bench = Bench::new();
    let fills_the_disk = |x| x == 2;
    let (facts, verdict) = bench.run(|_, job| {
        if fills_the_disk(x_of(job)) {
            host_fault()
        } else {
            measured(&[("tps", truth(x_of(job)))])
        }
    });
    assert_eq!(verdict.kind, VerdictKind::Confirmed, "{verdict}");
    let asked: Vec<i64> = facts.jobs[4..9].iter().map(|fact| x_of(&fact.job)).collect();
    assert_eq!(asked, [1, 2, 2, 0, 3], "twice, then the baseline once, then on");
    assert!(
        facts.jobs[7].job.why.contains("trials 6 and 7"),
        "{}",
        facts.jobs[7].job.why
    );
    let told = verdict.to_string();
    assert!(
        verdict.failures[0].trials == [6, 7] && told.contains("but not with the baseline: no space left"),
        "{told}"
    );
    let judged = settled(&bench.inputs(), &facts);
    assert!(judged.jobs[5].outcome().unwrap().is_candidate_failure());
}

#[test]
fn a_host_that_fails_with_the_baseline_too_ends_the_study_and_blames_nobody() {
    let mut bench = Bench::new();
    let mut down = false;
    let (facts, verdict) = bench.run(|_, job| {
        down |= x_of(job) == 2;
        if down {
            host_fault()
        } else {
            measured(&[("tps", truth(x_of(job)))])
        }
    });
    assert_eq!((facts.jobs.len(), verdict.kind), (8, VerdictKind::HostProblem));
    assert_eq!(facts.jobs[7].job.purpose, Purpose::Baseline);
    bench.forgiven = 8;
    let Next::Job(job) = bench.next(&facts) else {
        panic!("the study goes on")
    };
    assert_eq!(x_of(&job), 2, "the candidate is tried again");
}

#[test]
fn a_best_that_fails_the_host_in_its_confirmation_gives_way_to_the_next() {
    let mut bench = Bench::new();
    bench.settings.budget_seconds = 1800.0;
    let (_, verdict) = bench.run(|_, job| match (job.purpose, x_of(job)) {
        (Purpose::Pair { .. }, 3) => host_fault(),
        (_, x) => measured(&[("tps", truth(x))]),
    });
    assert_eq!(verdict.kind, VerdictKind::Confirmed, "{verdict}");
    assert_eq!(verdict.best.unwrap().configuration, x_is(100));
}

#[test]
fn a_baseline_that_crashes_as_the_host_fails_candidates_ends_the_study() {
    let mut tried = 0;
    let (_, verdict) = Bench::new().run(|_, job| match x_of(job) {
        2 => {
            tried += 1;
            host_fault()
        }
        0 if tried > 0 => crashed(),
        x => measured(&[("tps", truth(x))]),
    });
    assert_eq!(verdict.kind, VerdictKind::HostProblem, "{verdict}");
}

#[test]
fn a_load_that_is_set_up_wrongly_stops_the_study_at_once() {
    let cause = Cause::new(CauseKind::LoadSetup, "cannot open oltp.lua");
    let (facts, verdict) = Bench::new().run(|_, _| Outcome::LoadFailed { cause: cause.clone() });
    assert_eq!(
        (facts.jobs.len(), verdict.kind, verdict.exit_code()),
        (1, VerdictKind::LoadSetup, 2)
    );
    assert!(verdict.to_string().contains("oltp.lua"));
}

#[test]
fn a_baseline_that_the_server_refuses_ends_the_study_after_one_trial() {
    let (facts, verdict) = Bench::new().run(|_, _| {
        refused(
            CauseKind::UnknownVariable,
            "log_slow",
            "unknown variable 'log_slow=1'",
        )
    });
    assert_eq!(
        (facts.jobs.len(), verdict.kind, verdict.exit_code()),
        (1, VerdictKind::BaselineFailed, 5)
    );
    assert!(verdict.best.is_none());
}

#[test]
fn a_baseline_that_crashes_is_tried_three_times() {
    let (facts, verdict) = Bench::new().run(|_, _| crashed());
    assert_eq!((facts.jobs.len(), verdict.kind), (3, VerdictKind::BaselineFailed));
}

#[test]
fn the_same_failure_again_and_again_stops_the_search_early_with_a_table_by_cause() {
    let (facts, verdict) = Bench::new().run(|number, job| match job.purpose {
        Purpose::Baseline => measured(&[("tps", 500.0)]),
        _ if number == 7 => crashed(),
        _ => {
            let text = format!("unknown variable 'innodb_redo_log_capacity={number}G'");
            refused(CauseKind::UnknownVariable, "innodb_redo_log_capacity", &text)
        }
    });
    assert_eq!(
        (facts.jobs.len(), verdict.kind, verdict.exit_code()),
        (9, VerdictKind::EveryTrialFailed, 5)
    );
    let sizes: Vec<_> = verdict.failures.iter().map(|group| group.trials.len()).collect();
    assert_eq!(sizes, [5, 1]);
    assert!(verdict.failures[0].cause.contains("innodb_redo_log_capacity"));
    assert!(verdict.to_string().contains("5 x refused"), "{verdict}");
}

#[test]
fn a_candidate_that_does_not_serve_the_rate_is_no_failure_and_no_contender() {
    let cause = Cause::new(CauseKind::RateAboveCapacity, "the event queue is full");
    let (facts, verdict) = Bench::new().run(|_, job| match x_of(job) {
        3 => Outcome::LoadFailed { cause: cause.clone() },
        x => measured(&[("tps", truth(x))]),
    });
    assert_eq!(verdict.failures, []);
    assert_eq!(verdict.best.unwrap().configuration, x_is(100));
    let asked = facts.jobs.iter().filter(|fact| x_of(&fact.job) == 3).count();
    assert_eq!(asked, 1, "it is not asked again");
}

#[test]
fn a_bad_rule_of_thumb_is_left() {
    let (_, verdict) = Bench::new().run(|number, job| {
        let x = x_of(job);
        let noise = 1.0 + 0.01 * ((number * 7 % 5) as f64 - 2.0);
        measured(&[("tps", noise * if x == 100 { 120.0 } else { truth(x) })])
    });
    assert_eq!(
        verdict.best.as_ref().map(|best| best.configuration.clone()),
        Some(x_is(3))
    );
    assert!(verdict.gain_over_rule.unwrap().low > 4.0);
}

#[test]
fn a_rule_of_thumb_that_fails_is_no_arm() {
    let (facts, verdict) = Bench::new().run(|_, job| match x_of(job) {
        100 => crashed(),
        x => measured(&[("tps", truth(x))]),
    });
    assert_eq!(count(&facts, "pair"), 10);
    assert_eq!(verdict.gain_over_rule, None);
    assert!(verdict.rule_note.is_some());
}

#[test]
fn when_the_baseline_is_the_best_it_is_kept() {
    let (facts, verdict) = Bench::new().run(|_, job| measured(&[("tps", 500.0 - x_of(job) as f64)]));
    assert_eq!(
        (verdict.kind, verdict.exit_code()),
        (VerdictKind::BaselineIsBest, 4)
    );
    assert_eq!(count(&facts, "pair"), 0);
    let others = count(&facts, "start") + count(&facts, "explore");
    assert!(
        verdict
            .to_string()
            .contains(&format!("{others} other configurations were measured")),
        "{verdict}"
    );
}

#[test]
fn a_faster_configuration_that_breaks_a_constraint_is_not_recommended() {
    let mut bench = Bench::new();
    bench.objective = throughput(&["p95_ms <= 1.1 * baseline.p95_ms"]);
    let (_, verdict) = bench.run(|_, job| {
        let x = x_of(job);
        measured(&[("tps", truth(x)), ("p95_ms", if x == 3 { 40.0 } else { 10.0 })])
    });
    assert_eq!(verdict.best.unwrap().configuration, x_is(100));
    assert_eq!(verdict.kind, VerdictKind::Confirmed);
}

#[test]
fn less_is_better_when_the_goal_says_so() {
    let mut bench = Bench::new();
    let spec = ObjectiveSpec {
        metric: "p95_ms".to_owned(),
        goal: Goal::Minimize,
    };
    bench.objective = Objective::new(&spec, &[]).unwrap();
    let (_, verdict) = bench.run(|number, job| {
        measured(&[(
            "p95_ms",
            1e4 / truth(x_of(job)) * (1.0 + 0.01 * (number % 3) as f64),
        )])
    });
    let gain = verdict.gain.unwrap();
    assert!(verdict.confirmed() && gain.low > 1.5, "{gain:?}");
}

#[test]
fn a_best_that_fails_in_its_confirmation_gives_way_to_the_next() {
    let mut bench = Bench::new();
    bench.settings.budget_seconds = 1800.0;
    let (facts, verdict) = bench.run(|_, job| match (job.purpose, x_of(job)) {
        (Purpose::Pair { .. }, 3) => crashed(),
        (_, x) => measured(&[("tps", truth(x))]),
    });
    assert_eq!(
        verdict.best.as_ref().unwrap().configuration,
        x_is(100),
        "{verdict}"
    );
    assert_eq!(verdict.kind, VerdictKind::Confirmed);
    let best_runs = facts
        .jobs
        .iter()
        .filter(|f| matches!(f.job.purpose, Purpose::Pair { arm: Arm::Best, .. }));
    assert!(
        best_runs.filter(|fact| x_of(&fact.job) == 3).count() == 1,
        "a failing best runs once"
    );
}

#[test]
fn a_my_cnf_that_the_server_refuses_in_the_end_is_an_error() {
    let (_, verdict) = Bench::new().run(|_, job| match job.purpose {
        Purpose::Final => refused(CauseKind::BadValue, "x", "bad value"),
        _ => measured(&[("tps", truth(x_of(job)))]),
    });
    assert_eq!(
        (verdict.kind, verdict.exit_code()),
        (VerdictKind::FinalRefused, 1)
    );
    assert_eq!(verdict.best, None, "what does not start is not handed over");
    let told = verdict.to_string();
    assert!(
        told.contains("none is handed over") && told.contains("bad value"),
        "{told}"
    );
}

#[test]
fn a_debt_that_the_confirmation_left_unpaid_is_in_the_headline() {
    let unpaid = |seconds: f64| {
        let (_, verdict) = Bench::new().run(|_, job| {
            let mut outcome = measured(&[("tps", truth(x_of(job)))]);
            if let Outcome::Measured(measurement) = &mut outcome {
                measurement.debt = Some(WriteDebt {
                    growth_bytes: 60e6 * seconds,
                    flush_bytes_per_second: 60e6,
                    seconds,
                });
            }
            outcome
        });
        verdict.line()
    };
    assert!(
        unpaid(2.0).ends_with("in 5 blocks; burst of 12 s, 120 MB of debt unpaid"),
        "{}",
        unpaid(2.0)
    );
    assert!(!unpaid(0.05).contains("burst"), "{}", unpaid(0.05));
}

#[test]
fn the_two_intervals_are_said_to_hold_each_by_itself() {
    let (_, verdict) = Bench::new().run(noisy(1, 0.03));
    assert!(verdict.gain_over_rule.is_some());
    assert!(verdict.to_string().contains("each by itself"), "{verdict}");
}

#[test]
fn what_the_confirmation_saw_to_be_worse_is_not_handed_over() {
    let (facts, verdict) = Bench::new().run(|number, job| {
        let noise = 1.0 + 0.01 * (number % 3) as f64;
        let spell = if job.purpose.name() == "pair" && x_of(job) == 3 {
            0.5
        } else {
            1.0
        };
        measured(&[("tps", noise * spell * truth(x_of(job)))])
    });
    assert_eq!(verdict.kind, VerdictKind::NotConfirmed);
    assert!(verdict.gain.unwrap().high < 1.0, "{verdict}");
    assert_eq!((verdict.best.as_ref(), count(&facts, "final")), (None, 0));
    assert!(verdict.line().ends_with("keep the baseline"), "{verdict}");
}
