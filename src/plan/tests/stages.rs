//! Whole studies in milliseconds: stages, resuming, budget, duplicates.

use std::collections::BTreeMap;

use super::bench::*;
use crate::plan::*;

#[test]
fn fifteen_minutes_hold_three_baselines_about_seven_candidates_and_five_blocks_of_three() {
    let (facts, verdict) = Bench::new().run(noisy(1, 0.03));
    assert_eq!(
        purposes(&facts)[..5],
        ["baseline", "baseline", "baseline", "start", "explore"]
    );
    let candidates = count(&facts, "start") + count(&facts, "explore");
    assert!((6..=8).contains(&candidates), "{candidates} candidates");
    assert_eq!(count(&facts, "pair"), 15);
    assert_eq!(purposes(&facts).last(), Some(&"final"));
    assert!(facts.seconds() < 900.0 + 35.0, "{} s", facts.seconds());
    assert_eq!(verdict.kind, VerdictKind::Confirmed, "{verdict}");
    assert_eq!(verdict.exit_code(), 0);
    assert_eq!(x_of(&facts.jobs.last().unwrap().job), 3);
    let gain = verdict.gain.unwrap();
    assert!(gain.low > 1.5 && gain.high < 2.1, "{gain:?}");
    assert!(verdict.gain_over_rule.unwrap().low > 1.0);
}

#[test]
fn each_block_holds_every_arm_once_in_balanced_orders() {
    let (facts, _) = Bench::new().run(noisy(1, 0.03));
    let mut blocks: BTreeMap<u32, Vec<Arm>> = BTreeMap::new();
    for fact in &facts.jobs {
        if let Purpose::Pair { block, arm } = fact.job.purpose {
            blocks.entry(block).or_default().push(arm);
        }
    }
    assert_eq!(blocks.len(), 5);
    let mut first: BTreeMap<Arm, u32> = BTreeMap::new();
    for arms in blocks.values() {
        let mut sorted = arms.clone();
        sorted.sort();
        assert_eq!(sorted, [Arm::Baseline, Arm::RuleOfThumb, Arm::Best]);
        *first.entry(arms[0]).or_default() += 1;
    }
    assert!(first.len() == 3 && first.values().all(|n| *n <= 2), "{first:?}");
}

#[test]
fn after_any_interruption_the_same_jobs_follow() {
    let bench = Bench::new();
    let (facts, verdict) = bench.run(noisy(7, 0.08));
    for n in 0..facts.jobs.len() {
        let prefix = Facts {
            jobs: facts.jobs[..n].to_vec(),
            ..Facts::default()
        };
        assert_eq!(
            bench.next(&prefix),
            Next::Job(facts.jobs[n].job.clone()),
            "after {n} trials"
        );
    }
    assert_eq!(bench.next(&facts), Next::Done(verdict));
}

#[test]
fn a_larger_budget_opens_a_finished_study_again_with_new_blocks() {
    let mut bench = Bench::new();
    let (facts, _) = bench.run(noisy(1, 0.03));
    let (before, blocks) = (count(&facts, "explore"), count(&facts, "pair"));
    bench.settings.budget_seconds = 2000.0;
    let (facts, verdict) = bench.go_on(facts, noisy(1, 0.03));
    assert!(count(&facts, "explore") > before);
    assert!(count(&facts, "pair") >= blocks + 10);
    assert_eq!(verdict.kind, VerdictKind::Confirmed);
    let largest = facts.jobs.iter().filter_map(|fact| match fact.job.purpose {
        Purpose::Pair { block, .. } => Some(block),
        _ => None,
    });
    assert!(largest.max().unwrap() >= 10, "blocks have numbers of their own");
}

#[test]
fn a_smaller_budget_ends_the_search_and_confirms() {
    let mut bench = Bench::new();
    bench.settings.budget_seconds = 8.0 * 3600.0;
    let mut facts = Facts::default();
    for number in 1..=12 {
        let Next::Job(job) = bench.next(&facts) else {
            panic!("more to search")
        };
        let outcome = measured(&[("tps", truth(x_of(&job)))]);
        facts.jobs.push(ended(number, job, outcome, "here"));
    }
    bench.settings.budget_seconds = 950.0;
    let Next::Job(job) = bench.next(&facts) else {
        panic!("a confirmation")
    };
    assert_eq!(job.purpose.name(), "pair");
}

#[test]
fn a_number_of_trials_is_kept_to() {
    let mut bench = Bench::new();
    bench.settings.budget_seconds = 8.0 * 3600.0;
    bench.settings.max_trials = Some(30);
    let (facts, verdict) = bench.run(noisy(2, 0.03));
    assert_eq!(facts.jobs.len() - count(&facts, "final"), 30);
    assert_eq!(verdict.kind, VerdictKind::Confirmed);
}

#[test]
fn a_small_space_is_not_measured_twice_but_for_labelled_repeats_of_the_best() {
    let mut bench = Bench::new();
    bench.settings.budget_seconds = 8.0 * 3600.0;
    bench.strategy = Ladder { most: 6 };
    let (facts, _) = bench.run(noisy(2, 0.03));
    assert_eq!(count(&facts, "explore"), 6);
    let mut explored: Vec<i64> = facts
        .jobs
        .iter()
        .filter(|fact| fact.job.purpose == Purpose::Explore)
        .map(|fact| x_of(&fact.job))
        .collect();
    explored.dedup();
    assert_eq!(explored.len(), 6);
    assert!((1..=10).contains(&count(&facts, "repeat")));
}

#[test]
fn a_proposal_that_the_server_rounds_to_a_known_one_is_not_made_again() {
    let bench = Bench::new();
    let mut facts = Facts::default();
    for number in 1..=10u64 {
        let Next::Job(job) = bench.next(&facts) else {
            panic!("more to search")
        };
        let mut fact = ended(number, job, measured(&[("tps", 500.0 + number as f64)]), "here");
        // The server rounds up to even values.
        if let State::Ended { effective, .. } = &mut fact.state {
            *effective = Some(x_is((x_of(&fact.job) + 1) / 2 * 2));
        }
        facts.jobs.push(fact);
    }
    let asked: Vec<i64> = facts
        .jobs
        .iter()
        .filter(|fact| fact.job.purpose == Purpose::Explore)
        .map(|fact| x_of(&fact.job))
        .collect();
    assert_eq!(
        asked,
        [1, 3, 5, 7, 9, 11],
        "2 ran already, as what 1 was rounded to"
    );
}

#[test]
fn open_jobs_are_pending_and_never_started_twice() {
    let bench = Bench::new();
    let mut facts = Facts::default();
    let mut waited = false;
    for number in 1..=12 {
        match bench.next(&facts) {
            Next::Job(job) => facts.jobs.push(open(number, job)),
            Next::Wait => waited = true,
            Next::Done(verdict) => panic!("{verdict}"),
        }
    }
    assert!(waited, "three open baselines are enough");
    assert_eq!(purposes(&facts), ["baseline", "baseline", "baseline"]);
}

#[test]
fn a_block_stays_on_its_host_until_that_host_is_gone() {
    let mut bench = Bench::new();
    let (mut facts, _) = bench.run(noisy(1, 0.03));
    let second = facts
        .jobs
        .iter()
        .position(|f| matches!(f.job.purpose, Purpose::Pair { .. }))
        .unwrap()
        + 1;
    facts.jobs.truncate(second);
    bench.host = "there";
    let Next::Job(job) = bench.next(&facts) else {
        panic!("a job")
    };
    assert!(
        matches!(job.purpose, Purpose::Pair { block: 2, .. }),
        "the block of the other host is left alone"
    );
    let (facts, verdict) = bench.go_on(facts, noisy(1, 0.03));
    assert_eq!((verdict.kind, verdict.blocks), (VerdictKind::Confirmed, 5));
    assert_eq!(
        count(&facts, "pair"),
        16,
        "block 1 is made anew as a whole when its host does not come back"
    );
}

#[test]
fn the_search_ends_early_when_it_gained_nothing_for_long() {
    let mut bench = Bench::new();
    bench.settings.budget_seconds = 8.0 * 3600.0;
    let over = crate::study::Time::seconds(350);
    bench.settings.patience = Some(crate::study::PatienceRule { gain: 0.01, over });
    let (facts, verdict) = bench.run(|_, job| measured(&[("tps", truth(x_of(job)))]));
    assert!(count(&facts, "explore") < 20, "{}", count(&facts, "explore"));
    assert_eq!(verdict.best.unwrap().configuration, x_is(3));
}

#[test]
fn the_time_left_shrinks_to_nothing() {
    let bench = Bench::new();
    let (facts, _) = bench.run(noisy(1, 0.03));
    let inputs = bench.inputs();
    assert!((expected_left(&inputs, &Facts::default()) - 900.0).abs() < 1.0);
    let mut last = f64::INFINITY;
    for n in (0..facts.jobs.len()).step_by(3) {
        let left = expected_left(
            &inputs,
            &Facts {
                jobs: facts.jobs[..n].to_vec(),
                ..Facts::default()
            },
        );
        assert!(left <= last + 120.0, "after {n}: {left} then {last}");
        last = left;
    }
    assert!(expected_left(&inputs, &facts) < 1.0);
}

#[test]
fn run_noise_and_standing_come_from_repeats() {
    let bench = Bench::new();
    let (facts, _) = bench.run(noisy(1, 0.05));
    let inputs = bench.inputs();
    let noise = run_noise(&inputs, &facts).unwrap();
    assert!(noise.df == 2.0 && noise.cv > 0.0 && noise.cv < 0.2, "{noise:?}");
    let standing = standing(&inputs, &facts).unwrap();
    let ratio = standing.ratio.unwrap();
    assert!(ratio.low < ratio.point && ratio.point < ratio.high && ratio.point > 1.5);
    assert_eq!(standing.configuration, x_is(3));
}

#[test]
fn runs_of_a_confirmation_are_of_one_length_whatever_the_study_file_says_meanwhile() {
    let mut bench = Bench::new();
    bench.settings.budget_seconds = 3000.0;
    bench.strategy.most = 4;
    let truthful = |_: u64, job: &Job| measured(&[("tps", truth(x_of(job)))]);
    let (mut facts, _) = bench.run(truthful);
    let then = bench.settings.confirm_length;
    let begun = facts
        .jobs
        .iter()
        .position(|fact| fact.job.purpose.name() == "pair");
    facts.jobs.truncate(begun.unwrap() + 2);

    bench.settings.confirm_length.measure_max = 300.0;
    bench.settings.confirm_length.measure_min = 300.0;
    let (facts, verdict) = bench.go_on(facts, truthful);
    assert!(verdict.confirmed(), "{verdict}");
    let lengths = |facts: &Facts| {
        let pairs = facts.jobs.iter().filter(|fact| fact.job.purpose.name() == "pair");
        pairs.map(|fact| fact.job.length).collect::<Vec<_>>()
    };
    let first = lengths(&facts);
    assert!(first.len() > 2 && first.iter().all(|length| *length == then));

    // The next confirmation has the new length, and is planned by what that takes.
    bench.settings.budget_seconds = 12_000.0;
    bench.strategy.most = 6;
    let (facts, _) = bench.go_on(facts, truthful);
    let all = lengths(&facts);
    let next = &all[first.len()..];
    assert!(
        !next.is_empty() && next.iter().all(|length| *length == bench.settings.confirm_length),
        "{next:?}"
    );
}
