//! What every strategy promises.

use std::collections::HashSet;

use super::testing::{MIXED, Night, Spec, mixed, ruled, space, throughput};
use super::{Goal, ProposalPurpose, Search, Strategy, embedded, load, names};
use crate::space::{Configuration, Value};

pub(super) fn strategy(name: &str) -> Box<dyn Strategy> {
    load(embedded(name).unwrap()).unwrap()
}

/// The defaults of a fresh server in the mixed space: far from the best.
pub(super) fn defaults() -> Configuration {
    let mut c = Configuration::new();
    c.set("pool_mb", 128);
    c.set("io", 200);
    c.set("threads", 8);
    c.set("dirty", 75.0);
    c.set("flush", "v0");
    c.set("mode", "v0");
    c
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Median of what `name` reaches over seeds after the baseline, measured three times, and `trials` of its own.
pub(super) fn median_reached(name: &str, seeds: u64, trials: usize) -> f64 {
    let space = mixed();
    let strategy = strategy(name);
    median(
        (0..seeds)
            .map(|seed| {
                let mut night = Night::new(&space, seed, &throughput);
                night.noise = 0.03;
                (0..3).for_each(|_| night.observe(defaults(), None));
                night.run(strategy.as_ref(), trials);
                night.reached(strategy.as_ref())
            })
            .collect(),
    )
}

#[test]
fn every_strategy_improves_on_the_baseline_within_a_short_night() {
    let baseline = throughput(&defaults()).unwrap();
    for (name, gain) in [
        ("bayes", 1.5),
        ("coordinate", 1.3),
        ("sobol", 1.3),
        ("random", 1.3),
        ("nelder-mead", 1.1),
    ] {
        let reached = median_reached(name, 3, 8);
        assert!(reached > gain * baseline, "{name}: {reached} from {baseline}");
    }
}

#[test]
fn a_bad_rule_of_thumb_is_left_by_the_strategies_that_search_the_whole_space() {
    let space = mixed();
    let mut thumb = defaults();
    // A large pool, and everything else at its worst.
    thumb.set("pool_mb", 11000);
    thumb.set("io", 100);
    thumb.set("threads", 1);
    thumb.set("dirty", 0.0);
    thumb.set("flush", "v1");
    let bad = throughput(&thumb).unwrap();
    for name in ["bayes", "coordinate"] {
        let strategy = strategy(name);
        let mut night = Night::new(&space, 3, &throughput);
        night.noise = 0.02;
        (0..3).for_each(|_| night.observe(defaults(), None));
        night.observe(thumb.clone(), None);
        night.run(strategy.as_ref(), 16);
        let reached = night.reached(strategy.as_ref());
        assert!(reached > 1.15 * bad, "{name}: {reached} from {bad}");
        let best = strategy.recommend(&night.search()).unwrap().configuration;
        assert_ne!(best, thumb, "{name}");
    }
}

#[test]
fn the_same_search_gives_the_same_proposals_on_any_thread() {
    let space = mixed();
    for name in names() {
        let strategy = strategy(name);
        let mut night = Night::new(&space, 11, &throughput);
        night.noise = 0.03;
        night.observe(defaults(), None);
        night.run(strategy.as_ref(), 9);
        let search = night.search();
        let here = strategy.propose(&search, 2);
        let there = std::thread::scope(|scope| {
            let one = scope.spawn(|| strategy.propose(&search, 2));
            let two = scope.spawn(|| strategy.propose(&search, 2));
            [one.join().unwrap(), two.join().unwrap()]
        });
        assert_eq!(there, [here.clone(), here.clone()], "{name}");
        // What a store keeps is JSON: the same again after the models went through it.
        let mut stored = night.observations.clone();
        for observation in &mut stored {
            observation.model = observation
                .model
                .take()
                .map(|model| serde_json::from_str(&model.to_string()).unwrap());
        }
        let again = strategy.propose(
            &Search {
                observations: &stored,
                ..search
            },
            2,
        );
        assert_eq!(again, here, "{name}");
    }
}

#[test]
fn other_seeds_give_other_proposals() {
    let space = mixed();
    for name in ["bayes", "random", "sobol"] {
        let first = |seed| {
            let mut night = Night::new(&space, seed, &throughput);
            night.observe(defaults(), None);
            strategy(name).propose(&night.search(), 1).remove(0).configuration
        };
        assert_ne!(first(1), first(2), "{name}");
    }
}

#[test]
fn a_small_space_is_used_up_without_a_repeat_and_then_nothing_is_proposed() {
    let space = space(&[Spec::Enum("a", 2), Spec::Int("b", 1, 3, false)]);
    for name in ["bayes", "random", "sobol"] {
        let mut night = Night::new(&space, 5, &|c| c.get("b").and_then(Value::as_f64));
        night.run(strategy(name).as_ref(), 20);
        let distinct: HashSet<String> = night.observations.iter().map(|o| o.configuration.key()).collect();
        assert_eq!((night.observations.len(), distinct.len()), (6, 6), "{name}");
        assert!(strategy(name).propose(&night.search(), 3).is_empty(), "{name}");
    }
}

#[test]
fn what_is_being_measured_is_not_proposed_again() {
    let space = mixed();
    for name in names() {
        let mut night = Night::new(&space, 2, &throughput);
        night.observe(defaults(), None);
        night.run(strategy(name).as_ref(), 6);
        let mut pending: Vec<Configuration> = Vec::new();
        for _ in 0..3 {
            let search = Search {
                pending: &pending,
                ..night.search()
            };
            let Some(next) = strategy(name).propose(&search, 1).into_iter().next() else {
                break;
            };
            assert!(!pending.contains(&next.configuration), "{name}");
            if next.purpose == ProposalPurpose::Explore {
                assert!(
                    night
                        .observations
                        .iter()
                        .all(|o| o.configuration != next.configuration),
                    "{name}"
                );
            }
            pending.push(next.configuration);
        }
        assert!(!pending.is_empty(), "{name}");
        let batch = strategy(name).propose(&night.search(), 3);
        let distinct: HashSet<String> = batch.iter().map(|p| p.configuration.key()).collect();
        assert_eq!(distinct.len(), batch.len(), "{name}");
    }
}

#[test]
fn a_server_that_rounds_is_not_asked_the_same_again() {
    let space = space(&[Spec::Int("a", 1, 64, true), Spec::Float("b", 0.0, 1.0)]);
    for name in names() {
        let mut night = Night::new(&space, 4, &|c| c.get("a").and_then(Value::as_f64));
        let mut asked = HashSet::new();
        let mut start = Configuration::new();
        start.set("a", 1);
        start.set("b", 0.5);
        night.observe(start, None);
        for _ in 0..8 {
            let Some(next) = strategy(name).propose(&night.search(), 1).into_iter().next() else {
                break;
            };
            if next.purpose == ProposalPurpose::Explore {
                assert!(asked.insert(next.configuration.key()), "{name} asks again");
            }
            let mut ran = next.configuration;
            ran.set("a", 8);
            night.observe(ran, next.model);
        }
    }
}

#[test]
fn constraints_are_kept() {
    let space = ruled(&MIXED, "pool_mb <= 1024");
    for name in names() {
        let mut night = Night::new(&space, 6, &throughput);
        night.observe(defaults(), None);
        // Night::run asserts it for every proposal.
        night.run(strategy(name).as_ref(), 10);
        assert!(night.observations.len() > 5, "{name}");
    }
}

#[test]
fn where_everything_failed_nothing_is_recommended_and_the_search_goes_on() {
    let space = mixed();
    for name in names() {
        let mut night = Night::new(&space, 8, &|_| None);
        night.observe(defaults(), None);
        night.run(strategy(name).as_ref(), 8);
        assert_eq!(strategy(name).recommend(&night.search()), None, "{name}");
        assert_eq!(strategy(name).fitted_noise(&night.search()), None, "{name}");
        assert!(!strategy(name).propose(&night.search(), 1).is_empty(), "{name}");
    }
}

#[test]
fn extreme_and_equal_values_and_odd_spaces_never_end_in_a_panic_or_a_nan() {
    let one_value = [Spec::Int("only", 7, 7, false), Spec::Float("x", 0.0, 1.0)];
    let many = [Spec::Enum("many", 60), Spec::Int("y", 1, 1000, true)];
    type Response<'a> = &'a dyn Fn(&Configuration) -> Option<f64>;
    let responses: [Response<'_>; 5] = [
        &|_| Some(42.0),
        &|_| Some(0.0),
        &|c| Some(if c.key().len() % 2 == 0 { 1e300 } else { 1e-300 }),
        &|c| Some(if c.key().len() % 3 == 0 { -1e300 } else { 1e300 }),
        &|c| {
            if c.key().len() % 2 == 0 {
                None
            } else {
                Some(f64::MIN_POSITIVE)
            }
        },
    ];
    for specs in [&one_value, &many] {
        let space = space(specs);
        for response in responses {
            for name in names() {
                for goal in [Goal::Maximize, Goal::Minimize] {
                    let mut night = Night::new(&space, 1, response);
                    night.goal = goal;
                    night.run(strategy(name).as_ref(), 7);
                    if let Some(best) = strategy(name).recommend(&night.search()) {
                        assert!(best.mean.is_finite(), "{name}");
                        assert!(
                            best.sd.is_none_or(|sd| sd.is_finite() && sd >= 0.0),
                            "{name} {:?}",
                            best.sd
                        );
                    }
                    if let Some(noise) = strategy(name).fitted_noise(&night.search()) {
                        assert!(noise.is_finite(), "{name}");
                    }
                }
            }
        }
    }
}

#[test]
fn a_space_without_knobs_has_nothing_to_search() {
    let space = space(&[]);
    for name in names() {
        let mut night = Night::new(&space, 1, &|_| Some(1.0));
        night.observe(Configuration::new(), None);
        assert!(strategy(name).propose(&night.search(), 2).is_empty(), "{name}");
        assert_eq!(
            strategy(name).recommend(&night.search()).unwrap().trial,
            1,
            "{name}"
        );
    }
}
