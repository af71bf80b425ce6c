//! What single strategies add to what all promise.

use super::testing::{Night, Spec, knobs, mixed, space, throughput};
use super::tests::{defaults, median_reached, strategy};
use super::{Goal, ProposalPurpose};
use crate::space::{Configuration, Ground, Space, Value};

#[test]
fn coordinate_descent_tells_what_each_change_did() {
    let space = mixed();
    let strategy = strategy("coordinate");
    let mut night = Night::new(&space, 1, &throughput);
    (0..3).for_each(|_| night.observe(defaults(), None));
    night.run(strategy.as_ref(), 1);
    let why = &strategy.propose(&night.search(), 1)[0].why;
    assert!(why.starts_with("pool_mb 128 -> 512 gave +"), "{why}");
    assert!(why.contains(", kept; next pool_mb 512 -> 2048"), "{why}");
}

#[test]
fn coordinate_descent_repeats_a_step_within_the_noise_and_then_decides() {
    let space = space(&[Spec::Float("x", 0.0, 1.0)]);
    let strategy = strategy("coordinate");
    let mut night = Night::new(&space, 1, &|c| {
        Some(100.0 + c.get("x").and_then(Value::as_f64).unwrap())
    });
    let mut start = Configuration::new();
    start.set("x", 0.2);
    (0..3).for_each(|_| night.observe(start.clone(), None));
    night.run(strategy.as_ref(), 1);
    let second = strategy.propose(&night.search(), 1).remove(0);
    assert_eq!(second.purpose, ProposalPurpose::Repeat { of: 4 });
    assert!(second.why.contains("within the noise"), "{}", second.why);
    night.run(strategy.as_ref(), 40);
    let most = night.observations.iter().map(|o| {
        night
            .observations
            .iter()
            .filter(|p| p.configuration == o.configuration)
            .count()
    });
    assert_eq!(most.max(), Some(3));
}

#[test]
fn coordinate_descent_repeats_a_step_of_two_standard_errors_too() {
    // With the usual noise of 4 %, one run against one has a standard error of 5.7 %: a step of 8 % is more than one of
    // them, and still happens by chance in one of six steps.
    let space = space(&[Spec::Float("x", 0.0, 1.0)]);
    let strategy = strategy("coordinate");
    let gain = |by: f64| {
        let response = move |c: &Configuration| {
            let moved = c.get("x").and_then(Value::as_f64).unwrap() > 0.3;
            Some(if moved { 100.0 * (1.0 + by) } else { 100.0 })
        };
        let mut night = Night::new(&space, 1, &response);
        let mut start = Configuration::new();
        start.set("x", 0.2);
        night.observe(start, None);
        night.run(strategy.as_ref(), 1);
        strategy.propose(&night.search(), 1).remove(0).purpose
    };
    assert!(matches!(gain(0.08), ProposalPurpose::Repeat { .. }));
    assert_eq!(gain(0.3), ProposalPurpose::Explore);
}

#[test]
fn coordinate_descent_finds_its_way_out_of_a_special_value() {
    // 0 is off, the default, and far from the best.
    let mut knobs = knobs(&[Spec::Special("lwm", 1, 70)]);
    knobs[0].default = Some(0.into());
    let space = Space::new(knobs, Vec::new(), Ground::default()).unwrap();
    let response = |c: &Configuration| {
        let lwm = c.get("lwm").and_then(Value::as_f64).unwrap();
        Some(if lwm == 0.0 { 100.0 } else { 150.0 + lwm })
    };
    let mut night = Night::new(&space, 1, &response);
    (0..3).for_each(|_| night.observe(space.default_configuration(), None));
    let strategy = strategy("coordinate");
    night.run(strategy.as_ref(), 12);
    assert!(
        night.reached(strategy.as_ref()) > 200.0,
        "{:?}",
        night.observations
    );
}

#[test]
fn coordinate_descent_tells_what_else_a_step_from_an_illegal_value_changes() {
    let space = space(&[Spec::Int("a", 1, 64, false), Spec::Int("b", 10, 20, false)]);
    let mut night = Night::new(&space, 1, &|c| c.get("a").and_then(Value::as_f64));
    let mut start = Configuration::new();
    start.set("a", 8);
    start.set("b", 30);
    night.observe(start, None);
    let strategy = strategy("coordinate");
    let why = strategy.propose(&night.search(), 1).remove(0).why;
    assert_eq!(why, "next a 8 -> 24, b 30 -> 20");
    night.run(strategy.as_ref(), 1);
    let why = strategy.propose(&night.search(), 1).remove(0).why;
    assert!(
        why.starts_with("a 8 -> 24, b 30 -> 20 gave +200.0 % (more is better), kept; next a 24 -> 40"),
        "{why}"
    );
}

#[test]
fn nelder_mead_finishes_near_the_optimum_of_a_smooth_response() {
    let space = space(&[Spec::Float("x", 0.0, 1.0), Spec::Float("y", 0.0, 1.0)]);
    let at = |c: &Configuration, knob: &str| c.get(knob).and_then(Value::as_f64).unwrap();
    let response = |c: &Configuration| Some(5.0 - (at(c, "x") - 0.7).powi(2) - (at(c, "y") - 0.3).powi(2));
    let mut night = Night::new(&space, 1, &response);
    let mut start = Configuration::new();
    start.set("x", 0.5);
    start.set("y", 0.5);
    night.observe(start, None);
    night.run(strategy("nelder-mead").as_ref(), 40);
    let best = strategy("nelder-mead")
        .recommend(&night.search())
        .unwrap()
        .configuration;
    assert!(
        (at(&best, "x") - 0.7).abs() < 0.02 && (at(&best, "y") - 0.3).abs() < 0.02,
        "{best:?}"
    );
}

#[test]
fn bayes_beats_random_search() {
    let (bayes, random) = (median_reached("bayes", 5, 16), median_reached("random", 5, 16));
    // 1000 is out of reach by less than 1 %: what is missing to it is the regret.
    assert!(
        1000.0 - bayes < 0.9 * (1000.0 - random),
        "bayes {bayes}, random {random}"
    );
}

#[test]
fn few_proposals_fail_once_the_border_is_known() {
    let space = mixed();
    // A third of the range of the pool does not start, and the best lies at the border.
    let response = |c: &Configuration| {
        throughput(c).filter(|_| c.get("pool_mb").and_then(Value::as_f64).unwrap() < 2500.0)
    };
    let strategy = strategy("bayes");
    let (mut late, mut failed) = (0, 0);
    for seed in 1..9 {
        let mut night = Night::new(&space, seed, &response);
        night.noise = 0.02;
        night.observe(defaults(), None);
        night.run(strategy.as_ref(), 30);
        late += night.observations[20..].len();
        failed += night.observations[20..]
            .iter()
            .filter(|o| o.seen == super::Seen::Failed)
            .count();
    }
    // Chance alone fails a third; so close to the border a search that learns nothing of it would fail half.
    assert!(3 * failed <= late, "{failed} of {late} failed");
}

#[test]
fn less_is_better_is_searched_downwards() {
    let space = mixed();
    let latency = |c: &Configuration| throughput(c).map(|tps| 16_000.0 / tps);
    let strategy = strategy("bayes");
    let mut night = Night::new(&space, 2, &latency);
    night.goal = Goal::Minimize;
    night.observe(defaults(), None);
    night.run(strategy.as_ref(), 18);
    let best = strategy.recommend(&night.search()).unwrap();
    let truth = latency(&best.configuration).unwrap();
    assert!(truth < 0.6 * latency(&defaults()).unwrap(), "{truth}");
    assert!(
        (best.mean / truth - 1.0).abs() < 0.2,
        "{} against {truth}",
        best.mean
    );
}

#[test]
fn the_noise_between_runs_is_found() {
    let space = mixed();
    let strategy = strategy("bayes");
    let mut night = Night::new(&space, 7, &throughput);
    night.noise = 0.05;
    let mut good = defaults();
    good.set("pool_mb", 8000);
    (0..3).for_each(|_| night.observe(defaults(), None));
    (0..8).for_each(|_| night.observe(good.clone(), None));
    night.run(strategy.as_ref(), 12);
    let noise = strategy.fitted_noise(&night.search()).unwrap();
    assert!((0.015..0.15).contains(&noise), "{noise}");
}
