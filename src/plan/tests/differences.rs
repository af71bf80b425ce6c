//! What is handed over and said where the confirmation tells no difference from the baseline.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::bench::*;
use crate::plan::*;
use crate::trial::Outcome;

/// A load that feels no knob, on a host that varies from run to run; two of its cores are always busy.
fn feels_nothing(seed: u64) -> impl Fn(u64, &Job) -> Outcome {
    move |number, _| {
        let mut rng = ChaCha8Rng::seed_from_u64(seed * 1000 + number);
        let mut outcome = measured(&[("tps", 500.0 * (1.0 + rng.random_range(-0.05..0.05)))]);
        if let Outcome::Measured(measurement) = &mut outcome {
            measurement.counters = [("cpu_user_s", 23.0), ("cpu_system_s", 1.0), ("cpu_idle_s", 0.0)]
                .map(|(name, value)| (name.to_owned(), value))
                .into();
        }
        outcome
    }
}

#[test]
fn a_load_that_feels_no_knob_is_told_with_what_seems_to_limit_it_and_hands_nothing_over() {
    let (mut told, mut kept) = (0, 0);
    for seed in 1..=40 {
        let (_, verdict) = Bench::new().run(feels_nothing(seed));
        assert!(
            matches!(
                verdict.kind,
                VerdictKind::NotConfirmed | VerdictKind::BaselineIsBest | VerdictKind::Confirmed
            ),
            "{verdict}"
        );
        if verdict.best.is_some() {
            // One in forty at 95 %: the low end of its interval lies above 1.
            assert!(verdict.gain.unwrap().low > 1.0, "{verdict}");
            continue;
        }
        kept += 1;
        let text = verdict.to_string();
        if let Some(seen) = &verdict.no_difference {
            told += 1;
            assert!(seen.configurations >= 6 && seen.spread < 0.1, "{seen:?}");
            assert!(
                text.contains("the knobs made no difference")
                    && text.contains("the CPU: 2.0 of 2 cores were in use"),
                "{text}"
            );
        }
        if let Some(trial) = verdict.compared {
            assert!(text.contains(&format!("noctune explain {trial}")), "{text}");
        }
    }
    // Three runs of the baseline do not always show how much runs vary.
    assert!(
        kept >= 36 && told >= 24,
        "{kept} kept the baseline, {told} said why"
    );
}

#[test]
fn equal_results_everywhere_are_no_difference_without_a_number_that_is_none() {
    let (_, verdict) = Bench::new().run(|_, _| measured(&[("tps", 1200.0)]));
    assert!(!verdict.confirmed() && verdict.exit_code() == 4);
    let seen = verdict.no_difference.as_ref().unwrap();
    assert!(seen.spread < 1e-9 && seen.run_noise < 1e-9, "{seen:?}");
    assert!(!verdict.to_string().contains("NaN"), "{verdict}");
    assert_eq!(verdict.best, None);
}

#[test]
fn knobs_that_only_make_it_worse_do_make_a_difference() {
    let (_, verdict) = Bench::new().run(|number, job| {
        let noise = 1.0 + 0.01 * (number % 3) as f64;
        measured(&[("tps", noise * (500.0 - 60.0 * (x_of(job) % 7) as f64))])
    });
    assert_eq!(verdict.kind, VerdictKind::BaselineIsBest, "{verdict}");
    assert_eq!(verdict.no_difference, None);
}

#[test]
fn a_gain_that_is_certain_but_small_is_handed_over_as_not_confirmed() {
    let mut bench = Bench::new();
    bench.settings.min_gain = 0.9;
    let (_, verdict) = bench.run(noisy(3, 0.03));
    let gain = verdict.gain.unwrap();
    assert!(gain.low > 1.0 && gain.low < 1.9, "{gain:?}");
    assert_eq!(verdict.kind, VerdictKind::NotConfirmed);
    assert!(!verdict.confirmed() && verdict.exit_code() == 4);
    assert_eq!(verdict.best.map(|best| best.configuration), Some(x_is(3)));
    assert_eq!(verdict.no_difference, None);
}

#[test]
fn a_best_that_cannot_be_told_from_the_baseline_is_not_handed_over() {
    // In the confirmation the best is now faster, now slower.
    let (facts, verdict) = Bench::new().run(|number, job| {
        let luck = match job.purpose {
            Purpose::Pair {
                block,
                arm: Arm::Best,
            } if block % 2 == 0 => 0.7,
            Purpose::Pair { .. } => 1.0 + 0.01 * (number % 3) as f64,
            _ => 1.0,
        };
        measured(&[("tps", luck * if x_of(job) == 3 { 650.0 } else { 500.0 })])
    });
    let gain = verdict.gain.unwrap();
    assert!(gain.point > 1.0 && gain.low < 1.0, "{gain:?}");
    assert_eq!(verdict.kind, VerdictKind::NotConfirmed);
    assert_eq!((verdict.best.as_ref(), count(&facts, "final")), (None, 0));
    assert!(verdict.line().ends_with("keep the baseline"), "{verdict}");
    assert_eq!(
        verdict
            .compared
            .map(|trial| x_of(&facts.jobs[trial as usize - 1].job)),
        Some(3)
    );
}
