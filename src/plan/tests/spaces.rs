//! Resumed in another space: knobs that come and go, bounds that shrink.

use super::bench::*;
use crate::plan::*;
use crate::space::{Configuration, Ground, Space, Writes};
use crate::trial::Outcome;

/// The baseline's value of the knob y.
const Y: i64 = 7;

fn exact(_: u64, job: &Job) -> Outcome {
    measured(&[("tps", truth(x_of(job)))])
}

fn with(configuration: &Configuration, y: i64) -> Configuration {
    let mut with = configuration.clone();
    with.set("y", y);
    with
}

/// The facts as if there had been a knob y besides, with this value where the other knob has that value.
fn with_y(facts: &Facts, y: impl Fn(i64) -> i64) -> Facts {
    let mut facts = facts.clone();
    let of = |configuration: &Configuration| {
        let x = configuration
            .get("x")
            .and_then(crate::space::Value::as_f64)
            .unwrap();
        with(configuration, y(x as i64))
    };
    for fact in &mut facts.jobs {
        fact.job.configuration = of(&fact.job.configuration);
        if let State::Ended { effective, .. } = &mut fact.state {
            *effective = effective.as_ref().map(of);
        }
        if let Some(model) = &mut fact.job.model {
            let mut design: Design = serde_json::from_value(model.clone()).unwrap();
            for (_, configuration) in &mut design.arms {
                *configuration = of(configuration);
            }
            *model = serde_json::to_value(design).unwrap();
        }
    }
    facts
}

/// y differs from the baseline where x is 3.
fn three_has_its_own(x: i64) -> i64 {
    if x == 3 { 9 } else { Y }
}

/// The facts of the first `n` jobs.
fn first(facts: &Facts, n: usize) -> Facts {
    Facts {
        jobs: facts.jobs[..n].to_vec(),
        ..Facts::default()
    }
}

/// Where the confirmation begins.
fn searched(facts: &Facts) -> usize {
    facts
        .jobs
        .iter()
        .position(|fact| matches!(fact.job.purpose, Purpose::Pair { .. }))
        .unwrap()
}

#[test]
fn trials_with_the_baselines_value_of_a_knob_that_was_taken_out_count_and_the_others_are_left_out() {
    let bench = Bench::new();
    let (plain, _) = bench.run(exact);
    let facts = with_y(&first(&plain, searched(&plain)), three_has_its_own);
    let three = plain
        .jobs
        .iter()
        .find(|fact| x_of(&fact.job) == 3)
        .unwrap()
        .number;

    let inputs = bench.inputs();
    let groups = left_out(&inputs, &facts);
    assert_eq!(groups.len(), 1);
    assert_eq!(groups[0].trials, [three]);
    let told = groups[0].to_string();
    assert!(
        told.contains("1 earlier trial is left out") && told.contains("y was taken out"),
        "{told}"
    );

    let seen = observations(&inputs, &settled(&inputs, &facts));
    assert_eq!(seen.len(), facts.jobs.len() - 1);
    assert!(seen.iter().all(|seen| seen.configuration.get("y").is_none()));
    assert_eq!(standing(&inputs, &facts).unwrap().configuration, x_is(100));

    let (after, verdict) = bench.go_on(facts.clone(), exact);
    assert_eq!(verdict.kind, VerdictKind::Confirmed, "{verdict}");
    let best = verdict.best.unwrap().configuration;
    let fresh: Vec<i64> = after.jobs[facts.jobs.len()..]
        .iter()
        .filter(|fact| matches!(fact.job.purpose, Purpose::Start | Purpose::Explore))
        .map(|fact| x_of(&fact.job))
        .collect();
    assert!(
        fresh.iter().all(|x| *x == 3 || *x > 7),
        "only news is tried: {fresh:?}"
    );
    let expected = if fresh.contains(&3) { x_is(3) } else { x_is(100) };
    assert_eq!(best, expected);
    assert_eq!(left_out(&inputs, &after).len(), 1);
}

#[test]
fn a_confirmation_of_what_the_space_does_not_hold_is_ended_and_the_next_best_confirmed() {
    let bench = Bench::new();
    let (plain, _) = bench.run(exact);
    let begun = first(&plain, searched(&plain) + 4);
    let ended = with_y(&begun, three_has_its_own);
    let (facts, verdict) = bench.go_on(ended, exact);
    assert_eq!(
        verdict.best.as_ref().unwrap().configuration,
        x_is(100),
        "{verdict}"
    );
    let blocks: Vec<u32> = facts.jobs[begun.jobs.len()..]
        .iter()
        .filter_map(|fact| match fact.job.purpose {
            Purpose::Pair { block, .. } => Some(block),
            _ => None,
        })
        .collect();
    assert!(
        blocks.iter().all(|block| *block > 2),
        "blocks of its own: {blocks:?}"
    );
    assert_eq!(verdict.blocks, 5);
}

#[test]
fn a_confirmation_outside_of_narrower_bounds_is_ended_wherever_it_stands() {
    let (plain, _) = Bench::new().run(exact);
    for n in searched(&plain) + 1..=plain.jobs.len() {
        let mut bench = Bench::new();
        bench.space = space(&[("x", 4, 1000)]);
        bench.settings.budget_seconds = 1800.0;
        let (_, verdict) = bench.go_on(first(&plain, n), |number, job| match x_of(job) {
            1..=3 => panic!("after {n} trials, trial {number} runs {:?}", job.configuration),
            _ => exact(number, job),
        });
        let claim = verdict.claim();
        assert_eq!(
            claim.best.as_ref().unwrap().configuration,
            x_is(100),
            "after {n} trials"
        );
        assert!(verdict.confirmed(), "{verdict}");
    }
}

#[test]
fn a_knob_that_was_taken_out_and_comes_back_brings_its_trials_back() {
    let mut bench = Bench::new();
    let (plain, _) = bench.run(exact);
    let without = with_y(&first(&plain, searched(&plain)), three_has_its_own);
    let (facts, verdict) = bench.go_on(without, exact);
    assert_eq!(verdict.kind, VerdictKind::Confirmed);
    bench.space = space(&[("x", 0, 1000), ("y", 0, 10)]);
    bench.baseline = with(&x_is(0), Y);
    bench.settings.budget_seconds = 3000.0;
    let inputs = bench.inputs();
    assert_eq!(left_out(&inputs, &facts), []);
    let seen = observations(&inputs, &settled(&inputs, &facts));
    assert!(seen.iter().all(|seen| seen.configuration.get("y").is_some()));
    let kept = last_confirmed(&inputs, &facts)
        .unwrap()
        .best
        .unwrap()
        .configuration;
    assert_eq!(kept.get("y"), Some(&Y.into()));
    let settled_once = settled(&inputs, &facts).into_owned();
    assert_eq!(
        *settled(&inputs, &settled_once),
        settled_once,
        "settled again, nothing changes"
    );
}

#[test]
fn a_confirmation_of_what_the_space_holds_goes_on_without_the_knob() {
    let bench = Bench::new();
    let (plain, verdict) = bench.run(exact);
    for n in searched(&plain)..=plain.jobs.len() {
        let begun = with_y(&first(&plain, n), |_| Y);
        let (after, with_y) = bench.go_on(begun, exact);
        assert_eq!(after.jobs.len(), plain.jobs.len(), "from trial {n}");
        assert_eq!(
            (with_y.kind, with_y.blocks),
            (VerdictKind::Confirmed, 5),
            "{with_y}"
        );
        assert_eq!(
            (&with_y.best, with_y.gain),
            (&verdict.best, verdict.gain),
            "from trial {n}"
        );
    }
}

#[test]
fn a_confirmed_result_stands_as_long_as_the_space_holds_it() {
    let mut bench = Bench::new();
    let (plain, _) = bench.run(exact);
    let of = |bench: &Bench, facts: &Facts| last_confirmed(&bench.inputs(), facts).and_then(|v| v.best);
    let best = of(&bench, &with_y(&plain, |_| Y)).unwrap();
    assert_eq!(best.configuration, x_is(3));
    assert_eq!(of(&bench, &with_y(&plain, three_has_its_own)), None);
    assert_eq!(no_longer_held(&bench.inputs(), &plain), None);
    bench.space = space(&[("x", 4, 1000)]);
    assert_eq!(of(&bench, &plain), None);
    assert_eq!(no_longer_held(&bench.inputs(), &plain), Some(best.trial));
    let Next::Job(job) = bench.next(&plain) else {
        return;
    };
    assert_ne!(x_of(&job), 3);
}

#[test]
fn what_lies_outside_of_narrower_bounds_is_left_out_but_the_baseline_stays() {
    let mut bench = Bench::new();
    let (plain, _) = bench.run(exact);
    bench.space = space(&[("x", 4, 1000)]);
    bench.settings.budget_seconds = 1800.0;
    let inputs = bench.inputs();
    let groups = left_out(&inputs, &plain);
    assert_eq!(groups.len(), 1, "{groups:?}");
    assert_eq!(groups[0].trials, [5, 6, 7], "x = 1, 2, 3");
    assert!(
        groups[0].why.starts_with("x has other bounds"),
        "{}",
        groups[0].why
    );
    assert_eq!(count(&plain, "baseline"), 3);
    let standing = standing(&inputs, &plain).unwrap();
    assert_eq!(standing.configuration, x_is(100));
    let (_, verdict) = bench.go_on(plain, |number, job| match x_of(job) {
        1..=3 => panic!("{} runs {:?}", number, job.configuration),
        _ => exact(number, job),
    });
    assert_eq!(
        verdict.claim().best.as_ref().unwrap().configuration,
        x_is(100),
        "{verdict}"
    );
}

#[test]
fn a_knob_that_came_in_has_the_baselines_value_in_trials_and_confirmations_of_before() {
    let mut bench = Bench::new();
    let (plain, _) = bench.run(exact);
    bench.space = space(&[("x", 0, 1000), ("y", 0, 10)]);
    bench.baseline = with(&x_is(0), Y);
    let inputs = bench.inputs();
    assert_eq!(left_out(&inputs, &plain), []);
    let kept = last_confirmed(&inputs, &plain).unwrap();
    assert_eq!(kept.best.unwrap().configuration, with(&x_is(3), Y));
    let begun = first(&plain, searched(&plain) + 1);
    let Next::Job(job) = bench.next(&begun) else {
        panic!("the confirmation goes on")
    };
    assert!(matches!(job.purpose, Purpose::Pair { block: 1, .. }), "{job:?}");
    assert_eq!(job.configuration.get("y"), Some(&Y.into()));
}

#[test]
fn a_knob_that_came_in_and_computes_from_another_leaves_out_trials_that_moved_the_other() {
    let mut bench = Bench::new();
    let (plain, _) = bench.run(exact);
    let mut y = knob("y", 0, 10);
    let expression = crate::space::expr::Expr::parse("x * value").unwrap();
    y.writes = Writes::Expressions([("y_max".to_owned(), expression)].into());
    bench.space = Space::new(vec![knob("x", 0, 1000), y], Vec::new(), Ground::default()).unwrap();
    bench.baseline = with(&x_is(0), Y);
    let inputs = bench.inputs();
    let groups = left_out(&inputs, &plain);
    assert_eq!(groups.len(), 1, "{groups:?}");
    assert_eq!(
        groups[0].trials.len(),
        searched(&plain) - 3,
        "all but the baseline's"
    );
    assert!(groups[0].why.contains("y came in"), "{}", groups[0].why);
    assert_eq!(last_confirmed(&inputs, &plain), None);
}

#[test]
fn a_job_that_is_taken_over_runs_in_the_space_of_now() {
    let bench = Bench::new();
    let (plain, _) = bench.run(exact);
    let facts = with_y(&first(&plain, 4), |_| Y);
    let job = |y| Job {
        configuration: with(&x_is(5), y),
        ..plain.jobs[5].job.clone()
    };
    let inputs = bench.inputs();
    assert_eq!(taken_over(&inputs, &facts, job(Y)).configuration, x_is(5));
    assert_eq!(
        taken_over(&inputs, &facts, job(9)),
        job(9),
        "its check will reject it"
    );
}

#[test]
fn a_job_that_the_space_did_not_hold_any_more_when_it_was_taken_over_is_no_failure_of_a_candidate() {
    let bench = Bench::new();
    let (plain, _) = bench.run(exact);
    let mut facts = with_y(&first(&plain, 5), |x| if x == 1 { 9 } else { Y });
    let last = facts.jobs.last_mut().unwrap();
    assert_eq!(x_of(&last.job), 1);
    if let State::Ended { outcome, .. } = &mut last.state {
        *outcome = Outcome::Rejected {
            constraint: "knobs: y is no knob of this space".to_owned(),
        };
    }
    let inputs = bench.inputs();
    let facts = settled(&inputs, &facts);
    assert_eq!(facts.left_out().len(), 1);
    assert_eq!(failures(&facts), []);
}
