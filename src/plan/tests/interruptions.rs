//! Killed at any moment, a study takes the same jobs as if it had not been: studies drawn at random, every prefix of their
//! facts.

use std::collections::BTreeSet;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::bench::*;
use crate::plan::*;
use crate::study::{PatienceRule, Time};
use crate::trial::{Cause, CauseKind, Outcome};

/// Studies that are drawn.
const STUDIES: u64 = 36;
/// Times a study is run: the first, and again where it ended by a failure.
const LIVES: usize = 3;

fn rng(seed: u64, number: u64) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed.wrapping_mul(1000).wrapping_add(number))
}

/// A small study, different in all that the plan looks at.
fn any_study(seed: u64) -> Bench {
    let mut rng = rng(seed, 0);
    let mut bench = Bench::new();
    bench.settings.seed = seed;
    bench.settings.budget_seconds = rng.random_range(450.0..1500.0);
    bench.settings.min_gain = [0.0, 0.01, 0.3][rng.random_range(0..3)];
    if rng.random_bool(0.4) {
        bench.settings.max_trials = Some(rng.random_range(14..32));
    }
    if rng.random_bool(0.3) {
        let over = Time::seconds(150);
        bench.settings.patience = Some(PatienceRule { gain: 0.01, over });
    }
    if rng.random_bool(0.3) {
        bench.objective = throughput(&["p95_ms <= 1.1 * baseline.p95_ms"]);
    }
    if rng.random_bool(0.3) {
        bench.rule = None;
    }
    bench.candidates = (0..rng.random_range(0..3)).map(|i| x_is(200 + i)).collect();
    bench.strategy.most = rng.random_range(1..20);
    bench
}

/// What comes of a job: now and then the host fails, some configurations always do, and some studies are set up badly
/// until somebody mends that.
fn outcome(seed: u64, number: u64, job: &Job) -> Outcome {
    let mut rng = rng(seed, number);
    let x = x_of(job);
    let mended = number > 9;
    match seed % 10 {
        1 if number == 1 => {
            return Outcome::LoadFailed {
                cause: Cause::new(CauseKind::LoadSetup, "cannot open oltp.lua"),
            };
        }
        2 if number <= 3 => return crashed(),
        3 if (6..9).contains(&number) => return host_fault(),
        4 if !mended && x != 0 => return refused(CauseKind::BadValue, "x", "bad value"),
        5 if x == 3 && job.purpose.name() == "pair" => return crashed(),
        6 if job.purpose == Purpose::Final => return refused(CauseKind::BadValue, "x", "bad value"),
        7 if x == 3 && job.purpose.name() == "pair" => return host_fault(),
        8 if !mended && x != 0 => return host_fault(),
        9 if x == 0 && number < 24 && job.purpose.name() == "pair" => return crashed(),
        _ => {}
    }
    if rng.random_bool(0.06) {
        return host_fault();
    }
    if x % 5 == 2 {
        return match seed % 4 {
            0 => host_fault(),
            1 => crashed(),
            2 => refused(CauseKind::Memory, "x", "cannot allocate"),
            _ => Outcome::LoadFailed {
                cause: Cause::new(CauseKind::RateAboveCapacity, "the event queue is full"),
            },
        };
    }
    let noise: f64 = 1.0 + rng.random_range(-0.05..0.05);
    let latency = if x == 3 && seed.is_multiple_of(2) {
        40.0
    } else {
        10.0
    };
    measured(&[("tps", truth(x) * noise), ("p95_ms", latency / noise)])
}

/// The fact of a job that ended; some servers round what they are given.
fn fact(seed: u64, number: u64, job: Job) -> Fact {
    let outcome = outcome(seed, number, &job);
    let mut fact = ended(number, job, outcome, "here");
    if let State::Ended {
        effective: Some(effective),
        ..
    } = &mut fact.state
        && seed.is_multiple_of(4)
    {
        let x = x_of(&fact.job);
        *effective = x_is(if x > 3 { (x + 1) / 2 * 2 } else { x });
    }
    fact
}

fn is_failure(kind: VerdictKind) -> bool {
    matches!(
        kind,
        VerdictKind::HostProblem
            | VerdictKind::LoadSetup
            | VerdictKind::BaselineFailed
            | VerdictKind::EveryTrialFailed
    )
}

/// A process that starts now knows nothing but the facts; where they ended the study by a failure, it forgives that.
fn start(bench: &mut Bench, facts: &Facts) {
    bench.forgiven = 0;
    if let Next::Done(verdict) = bench.next(facts)
        && is_failure(verdict.kind)
    {
        bench.forgiven = facts.jobs.len() as u64;
    }
}

/// A process that nobody kills.
fn run(bench: &mut Bench, seed: u64, facts: &mut Facts) -> Verdict {
    start(bench, facts);
    for _ in 0..200 {
        match bench.next(facts) {
            Next::Job(job) => facts.jobs.push(fact(seed, facts.jobs.len() as u64 + 1, job)),
            Next::Wait => panic!("study {seed}: a fleet of one never waits"),
            Next::Done(verdict) => return verdict,
        }
    }
    panic!("study {seed} does not end");
}

/// The facts that a kill in trial `number` leaves, without the job that was open.
fn killed_in(facts: &Facts, number: usize) -> Facts {
    let mut left = facts.jobs[..number].to_vec();
    if let Some(last) = left.last_mut() {
        last.state = State::Open;
    }
    left.retain(|fact| fact.state != State::Open);
    Facts {
        jobs: left,
        ..Facts::default()
    }
}

#[test]
fn given_more_budget_again_and_again_a_study_loses_no_claim_but_to_what_speaks_against_it() {
    let (mut kept, mut taken_back) = (0, 0);
    for seed in 0..STUDIES {
        let mut bench = any_study(seed);
        let mut facts = Facts::default();
        for _ in 0..LIVES {
            let began = facts.jobs.len();
            let before = last_confirmed(&bench.inputs(), &facts).and_then(|verdict| verdict.best);
            let verdict = run(&mut bench, seed, &mut facts);
            assert_eq!(
                last_confirmed(&bench.inputs(), &facts).is_some(),
                verdict.confirmed(),
                "study {seed}"
            );
            if let Some(before) = before {
                // A run of its own in a later confirmation, or a later start with it.
                let is_against = facts.jobs[began..].iter().any(|fact| {
                    fact.job.configuration == before.configuration
                        && matches!(
                            fact.job.purpose,
                            Purpose::Pair { arm: Arm::Best, .. } | Purpose::Final
                        )
                });
                assert!(verdict.confirmed() || is_against, "study {seed}: {verdict}");
                kept += usize::from(verdict.kept.is_some());
                taken_back += usize::from(!verdict.confirmed());
            }
            bench.settings.budget_seconds *= 1.6;
            bench.settings.max_trials = bench.settings.max_trials.map(|most| most * 2);
        }
    }
    assert!(kept > 0, "{kept} kept, {taken_back} taken back");
}

#[test]
fn killed_in_any_trial_a_study_takes_the_jobs_it_would_have_taken() {
    let mut ends = BTreeSet::new();
    let mut again = 0;
    for seed in 0..STUDIES {
        let mut bench = any_study(seed);
        let mut facts = Facts::default();
        let mut verdict = run(&mut bench, seed, &mut facts);
        ends.insert(format!("{:?}", verdict.kind));
        for _ in 1..LIVES {
            let before = facts.jobs.len();
            if is_failure(verdict.kind) {
                verdict = run(&mut bench, seed, &mut facts);
                ends.insert(format!("{:?}", verdict.kind));
                again += usize::from(facts.jobs.len() > before);
            }
        }
        for fact in &facts.jobs {
            let left = killed_in(&facts, fact.number as usize);
            start(&mut bench, &left);
            assert_eq!(
                bench.next(&left),
                Next::Job(fact.job.clone()),
                "study {seed}, killed in trial {}",
                fact.number
            );
        }
        assert_eq!(
            last_confirmed(&bench.inputs(), &facts).map(|kept| (kept.best, kept.gain)),
            verdict
                .confirmed()
                .then(|| (verdict.claim().best.clone(), verdict.claim().gain)),
            "study {seed}: what it claims"
        );
        if !is_failure(verdict.kind) {
            start(&mut bench, &facts);
            assert_eq!(
                bench.next(&facts),
                Next::Done(verdict),
                "study {seed}, at its end"
            );
        }
    }
    // The draw holds what it is drawn for.
    assert!(ends.len() >= 7 && again >= 5, "{again} run again, {ends:?}");
}

/// Every trial began before the one before it, as if the host's clock had been set back each time.
fn with_a_clock_that_was_set_back(mut facts: Facts) -> Facts {
    for fact in &mut facts.jobs {
        if let State::Ended { began, .. } = &mut fact.state {
            began.0 = -began.0;
        }
    }
    facts
}

#[test]
fn whoever_reads_a_study_that_was_run_again_sees_that_its_failure_was_forgiven() {
    let setup = Cause::new(CauseKind::LoadSetup, "cannot open oltp.lua");
    let alike = refused(CauseKind::BadValue, "x", "bad value");
    type Fail<'a> = &'a dyn Fn(&Job) -> Outcome;
    let failures: [(VerdictKind, Fail<'_>); 5] = [
        (VerdictKind::LoadSetup, &|_| Outcome::LoadFailed {
            cause: setup.clone(),
        }),
        (VerdictKind::HostProblem, &|_| host_fault()),
        (VerdictKind::BaselineFailed, &|_| crashed()),
        (VerdictKind::EveryTrialFailed, &|job| match x_of(job) {
            0 => measured(&[("tps", 500.0)]),
            _ => alike.clone(),
        }),
        (
            VerdictKind::BaselineFailed,
            &|job| match (job.purpose, x_of(job)) {
                (Purpose::Pair { .. }, 0) => crashed(),
                (_, x) => measured(&[("tps", truth(x))]),
            },
        ),
    ];
    for (kind, fail) in failures {
        let mut bench = Bench::new();
        bench.settings.budget_seconds = 1800.0;
        let (facts, verdict) = bench.run(|_, job| fail(job));
        assert_eq!(verdict.kind, kind);
        bench.forgiven = facts.jobs.len() as u64;
        let (facts, verdict) = bench.go_on(facts, |_, job| measured(&[("tps", truth(x_of(job)))]));
        assert_eq!(verdict.kind, VerdictKind::Confirmed, "{kind:?}: {verdict}");
        bench.forgiven = 0;
        assert_eq!(bench.next(&facts), Next::Done(verdict.clone()), "{kind:?}");
        let set_back = with_a_clock_that_was_set_back(facts);
        assert_eq!(bench.next(&set_back), Next::Done(verdict), "{kind:?}");
    }
}
