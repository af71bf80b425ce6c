//! Known functions have the shares that were worked out for them; nothing is ever other than finite.

use proptest::prelude::*;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::*;
use crate::space::expr::Expr;
use crate::space::{Configuration, Coordinate, Ground};
use crate::strategy::testing::{Night, Spec, knobs, ruled, space};
use crate::strategy::{Search, Strategy, embedded, load};

/// A function of the coordinates.
struct Known<F>(F);

impl<F: Fn(&[Coordinate]) -> f64> Member for Known<F> {
    fn weight(&self) -> f64 {
        1.0
    }

    fn means(&self, at: &[Point]) -> Vec<f64> {
        at.iter().map(|point| (self.0)(&point.0)).collect()
    }

    fn draws(&self, _: &[Point], _: usize, _: &mut ChaCha8Rng) -> Vec<Vec<f64>> {
        Vec::new()
    }
}

fn u(coordinate: Coordinate) -> f64 {
    match coordinate {
        Coordinate::Number(u) => u,
        Coordinate::Category(index) => index as f64,
        Coordinate::Inactive => f64::NAN,
    }
}

fn effects(space: &Space, function: impl Fn(&[Coordinate]) -> f64) -> Effects {
    match analysed(space, function) {
        Importance::Measured(effects) => effects,
        Importance::NotMeasurable(reason) => panic!("{reason:?}"),
    }
}

fn analysed(space: &Space, function: impl Fn(&[Coordinate]) -> f64) -> Importance {
    let known = Known(function);
    Analysis {
        space,
        members: &[&known],
        explained: 0.9,
        measured: &vec![Point(Vec::new()); 20],
        seed: 1,
    }
    .importance(&mut ChaCha8Rng::seed_from_u64(1))
}

fn share(effects: &Effects, knob: &str) -> f64 {
    effects
        .knobs
        .iter()
        .find(|effect| effect.knob == knob)
        .unwrap()
        .main
        .share
}

fn together(effects: &Effects, a: &str, b: &str) -> f64 {
    let is = |pair: &PairEffect| pair.knobs.iter().all(|knob| knob == a || knob == b);
    effects.pairs.iter().find(|pair| is(pair)).unwrap().together.share
}

fn floats(names: &[&'static str]) -> Space {
    let specs: Vec<Spec> = names.iter().map(|name| Spec::Float(name, 0.0, 1.0)).collect();
    space(&specs)
}

#[test]
fn the_g_function_of_sobol_has_its_analytic_shares() {
    // Sobol: V_i = 1 / (3 (1 + a_i)^2), V_ij = V_i V_j, V = prod (1 + V_i) - 1.
    let a = [0.0, 1.0, 4.5, 9.0];
    let space = floats(&["x0", "x1", "x2", "x3"]);
    let found = effects(&space, |at| {
        at.iter()
            .zip(a)
            .map(|(&x, a)| ((4.0 * u(x) - 2.0).abs() + a) / (1.0 + a))
            .product()
    });
    let part: Vec<f64> = a.iter().map(|a| 1.0 / (3.0 * (1.0 + a) * (1.0 + a))).collect();
    let total = part.iter().map(|v| 1.0 + v).product::<f64>() - 1.0;
    for (i, part) in part.iter().enumerate() {
        let main = share(&found, &format!("x{i}"));
        assert!(
            (main - part / total).abs() < 0.015,
            "x{i}: {main} against {}",
            part / total
        );
    }
    let pair = together(&found, "x0", "x1");
    let expected = part[0] * part[1] / total;
    // Five levels are few for two kinks.
    assert!((pair - expected).abs() < 0.03, "{pair} against {expected}");
    let order: Vec<&str> = found.knobs.iter().map(|effect| effect.knob.as_str()).collect();
    assert_eq!(order, ["x0", "x1", "x2", "x3"]);
}

#[test]
fn the_function_of_ishigami_has_its_analytic_shares() {
    let pi = std::f64::consts::PI;
    let space = floats(&["x0", "x1", "x2"]);
    let found = effects(&space, |at| {
        let [x, y, z] = [u(at[0]), u(at[1]), u(at[2])].map(|u| pi * (2.0 * u - 1.0));
        x.sin() + 7.0 * y.sin().powi(2) + 0.1 * z.powi(4) * x.sin()
    });
    // With a = 7, b = 0.1: 0.3139, 0.4424, 0; x0 and x2 together 0.2437.
    for (knob, expected) in [("x0", 0.3139), ("x1", 0.4424), ("x2", 0.0)] {
        let main = share(&found, knob);
        assert!(
            (main - expected).abs() < 0.04,
            "{knob}: {main} against {expected}"
        );
    }
    // Five levels are few for a fourth power: they find the pair, and too little of it.
    let pair = together(&found, "x0", "x2");
    assert!(pair > 0.1 && pair < 0.2437, "{pair}");
    assert_eq!(found.pairs[0].knobs, ["x0", "x2"]);
    assert!(found.pairs[1].together.share < 0.02, "{:?}", found.pairs);
}

#[test]
fn what_adds_up_has_no_pairs_and_a_dead_knob_nothing() {
    let space = space(&[
        Spec::Float("a", 0.0, 1.0),
        Spec::Int("b", 1, 1024, true),
        Spec::Enum("c", 3),
        Spec::Int("dead", 1, 8, false),
    ]);
    let found = effects(&space, |at| 100.0 + 2.0 * u(at[0]) + u(at[1]) + u(at[2]));
    // Variances: 4/12, 1/12, 2/3.
    let total = 4.0 / 12.0 + 1.0 / 12.0 + 2.0 / 3.0;
    for (knob, part) in [
        ("a", 4.0 / 12.0),
        ("b", 1.0 / 12.0),
        ("c", 2.0 / 3.0),
        ("dead", 0.0),
    ] {
        let main = share(&found, knob);
        assert!((main - part / total).abs() < 0.01, "{knob}: {main}");
    }
    assert!(
        found.pairs.iter().all(|pair| pair.together.share < 1e-6),
        "{:?}",
        found.pairs
    );
    let dead = found.knobs.last().unwrap();
    assert!(!dead.told && dead.main.high < 1e-9, "{dead:?}");
    assert!(found.knobs[..3].iter().all(|effect| effect.told));
    // The curve is the mean over the others: 100 + 1 + 0.5 + c.
    let c = &found.knobs[0];
    for (level, at) in c.curve.iter().enumerate() {
        assert!((at.mean - 101.5 - level as f64).abs() < 0.02, "{at:?}");
    }
    assert_eq!(c.best(Goal::Maximize).unwrap().value, Value::from("v2"));
    assert_eq!(c.best(Goal::Minimize).unwrap().value, Value::from("v0"));
    assert_eq!(c.worst(Goal::Maximize).unwrap().value, Value::from("v0"));
}

#[test]
fn knobs_that_only_act_together_are_found_as_a_pair() {
    let space = floats(&["a", "b", "c"]);
    let found = effects(&space, |at| (u(at[0]) - 0.5) * (u(at[1]) - 0.5) + 0.1 * u(at[2]));
    // Variances: 1/144 together, 0.01/12 of c.
    let total = 1.0 / 144.0 + 0.01 / 12.0;
    let pair = together(&found, "a", "b");
    assert!((pair - 1.0 / 144.0 / total).abs() < 0.09, "{pair}");
    assert!(share(&found, "a") < 0.01 && share(&found, "b") < 0.01);
    assert!((share(&found, "c") - 0.01 / 12.0 / total).abs() < 0.01);
}

#[test]
fn a_knob_that_is_active_in_a_half_of_the_space_has_the_share_of_what_it_moves_there() {
    let mut knobs = knobs(&[Spec::Enum("mode", 2), Spec::Float("size", 0.0, 1.0)]);
    knobs[1].when = Some(Expr::parse("mode == 'v1'").unwrap());
    let space = Space::new(knobs, Vec::new(), Ground::default()).unwrap();
    let found = effects(&space, |at| match at[1] {
        Coordinate::Number(u) => 10.0 + 4.0 * u,
        _ => 10.0,
    });
    // Within v1 the variance is 16/12; between the modes (0 and 2) it is 1.
    let total = 1.0 + 0.5 * 16.0 / 12.0;
    assert!((share(&found, "mode") - 1.0 / total).abs() < 0.02, "{found:?}");
    assert!(
        (share(&found, "size") - 0.5 * 16.0 / 12.0 / total).abs() < 0.02,
        "{found:?}"
    );
    assert!(together(&found, "mode", "size") < 1e-9);
    let size = found.knobs.iter().find(|effect| effect.knob == "size").unwrap();
    assert!((size.curve[0].mean - 10.0).abs() < 1e-9 && (size.curve[8].mean - 14.0).abs() < 1e-9);
}

#[test]
fn a_constraint_does_not_lend_one_knob_the_effect_of_another() {
    // A large a leaves room for a small b only, and only b does something.
    let space = ruled(
        &[Spec::Float("a", 0.0, 1.0), Spec::Float("b", 0.0, 1.0)],
        "a + b <= 1.2",
    );
    let found = effects(&space, |at| 50.0 + u(at[1]));
    assert!(share(&found, "a") < 1e-6, "{found:?}");
    assert!(share(&found, "b") > 0.9, "{found:?}");
}

#[test]
fn a_space_in_which_nothing_can_be_told_says_why() {
    let why = |importance: Importance| match importance {
        Importance::NotMeasurable(reason) => reason.why,
        Importance::Measured(effects) => panic!("{effects:?}"),
    };
    let one = space(&[Spec::Int("only", 7, 7, false)]);
    assert!(why(analysed(&one, |_| 1.0)).contains("two values"));
    assert!(why(analysed(&floats(&["a"]), |_| 3.0)).contains("same everywhere"));
    let none = ruled(&[Spec::Float("a", 0.0, 1.0)], "a > 2");
    assert!(why(analysed(&none, |at| u(at[0]))).contains("hardly any"));
    let known = Known(|at: &[Coordinate]| u(at[0]));
    // Of 20 configurations a fifth is explained by chance.
    for explained in [f64::NAN, -3.0, 0.0, 0.05, 0.2] {
        let importance = Analysis {
            space: &floats(&["a"]),
            members: &[&known],
            explained,
            measured: &vec![Point(Vec::new()); 20],
            seed: 1,
        }
        .importance(&mut ChaCha8Rng::seed_from_u64(1));
        check(&importance);
        assert!(why(importance).contains("noise of single runs"));
    }
}

/// That every number is finite, and every share and range is in order.
fn check(importance: &Importance) {
    let share = |share: &Share| {
        assert!(0.0 <= share.low && share.low <= share.share, "{share:?}");
        assert!(share.share <= share.high && share.high <= 1.0, "{share:?}");
    };
    if let Some(explained) = importance.explained() {
        assert!((0.0..=1.0).contains(&explained));
    }
    if let Importance::Measured(effects) = importance {
        for effect in &effects.knobs {
            share(&effect.main);
            for at in &effect.curve {
                assert!(at.low <= at.mean && at.mean <= at.high && at.low.is_finite() && at.high.is_finite());
            }
        }
        effects.pairs.iter().for_each(|pair| share(&pair.together));
    }
}

fn bayes() -> Box<dyn Strategy> {
    load(embedded("bayes").unwrap()).unwrap()
}

#[test]
fn odd_results_never_end_in_a_panic_or_a_nan() {
    type Response<'a> = &'a dyn Fn(&Configuration) -> Option<f64>;
    let even = |c: &Configuration| c.key().len().is_multiple_of(2);
    let responses: [Response<'_>; 6] = [
        &|_| Some(42.0),
        &|_| None,
        &|c| Some(if even(c) { 1e300 } else { 1e-300 }),
        &|c| Some(if even(c) { -1e300 } else { 1e300 }),
        &|c| (!even(c)).then_some(f64::MIN_POSITIVE),
        &|c| Some(c.get("y").and_then(Value::as_f64).unwrap_or(0.0)),
    ];
    let specs = || {
        [
            Spec::Enum("many", 60),
            Spec::Int("y", 1, 1000, true),
            Spec::Special("z", 1, 9),
        ]
    };
    let one_value = [Spec::Int("only", 7, 7, false), Spec::Float("y", 0.0, 1.0)];
    let none: [Spec; 0] = [];
    for space in [
        space(&specs()),
        space(&one_value),
        space(&none),
        ruled(&specs(), "y < 3"),
    ] {
        for response in responses {
            for trials in [0, 1, 5, 9] {
                let mut night = Night::new(&space, 1, response);
                night.run(load(embedded("sobol").unwrap()).unwrap().as_ref(), trials);
                check(&bayes().importance(&night.search()));
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn whatever_was_measured_every_number_is_finite_and_comes_out_the_same_again(
        values in prop::collection::vec(prop_oneof![
            -1e3f64..1e3, Just(5.0), Just(1e300), Just(-1e300), Just(1e-300), Just(f64::NAN)
        ], 0..14),
        seed in 0u64..100,
    ) {
        let space = space(&[Spec::Enum("mode", 3), Spec::Int("y", 1, 1000, true), Spec::Special("z", 1, 9)]);
        let mut left = values.iter().copied();
        let answers = std::cell::RefCell::new(&mut left);
        let response = |_: &Configuration| answers.borrow_mut().next().filter(|value| !value.is_nan());
        let mut night = Night::new(&space, seed, &response);
        night.run(load(embedded("random").unwrap()).unwrap().as_ref(), values.len());
        let strategy = bayes();
        let importance = strategy.importance(&night.search());
        check(&importance);
        prop_assert_eq!(strategy.importance(&night.search()), importance);
    }
}

/// A night of the quasi-random sequence.
fn told<'a>(
    space: &'a Space,
    seed: u64,
    trials: usize,
    noise: f64,
    response: &'a dyn Fn(&Configuration) -> Option<f64>,
) -> Night<'a> {
    let mut night = Night::new(space, seed, response);
    night.noise = noise;
    night.run(load(embedded("sobol").unwrap()).unwrap().as_ref(), trials);
    night
}

fn number(configuration: &Configuration, knob: &str) -> f64 {
    configuration.get(knob).and_then(Value::as_f64).unwrap_or(0.0)
}

#[test]
fn a_model_of_noisy_trials_finds_what_matters_and_does_not_find_what_does_not() {
    let space = space(&[
        Spec::Int("pool", 64, 16384, true),
        Spec::Float("ratio", 0.0, 1.0),
        Spec::Enum("flush", 3),
        Spec::Int("dead", 1, 64, true),
        Spec::Enum("dead_mode", 2),
    ]);
    let response = |c: &Configuration| {
        let pool = (number(c, "pool") / 64.0).ln() / 256f64.ln();
        let flush = if c.get("flush") == Some(&Value::from("v1")) {
            60.0
        } else {
            0.0
        };
        Some(500.0 + 300.0 * pool + flush - 100.0 * (number(c, "ratio") - 0.4).powi(2))
    };
    let night = told(&space, 3, 50, 0.02, &response);
    let Importance::Measured(found) = bayes().importance(&night.search()) else {
        panic!("not measurable");
    };
    assert!(found.explained > 0.8, "{}", found.explained);
    assert_eq!(
        (found.knobs[0].knob.as_str(), found.knobs[1].knob.as_str()),
        ("pool", "flush")
    );
    // Variances: 300^2/12, 60^2 * 2/9, and about 100 of ratio.
    assert!((share(&found, "pool") - 0.88).abs() < 0.08, "{found:?}");
    let pool = &found.knobs[0];
    assert!(pool.told && pool.main.low > 0.6, "{pool:?}");
    let (first, last) = (&pool.curve[0], &pool.curve[8]);
    assert!(
        (last.mean - first.mean - 300.0).abs() < 40.0,
        "{first:?} {last:?}"
    );
    assert!(
        first.low < first.high && first.high - first.low < 80.0,
        "{first:?}"
    );
    for dead in ["dead", "dead_mode"] {
        let effect = found.knobs.iter().find(|effect| effect.knob == dead).unwrap();
        assert!(effect.main.share < 0.03, "{effect:?}");
    }
}

#[test]
fn knobs_that_make_no_difference_are_said_to_make_none() {
    let space = space(&[
        Spec::Int("a", 1, 8, true),
        Spec::Int("b", 2, 4, false),
        Spec::Int("fixed", 7, 7, false),
    ]);
    let night = told(&space, 1, 12, 0.0, &|_| Some(1200.0));
    for name in crate::strategy::names() {
        let strategy = load(embedded(name).unwrap()).unwrap();
        let Importance::NotMeasurable(reason) = strategy.importance(&night.search()) else {
            panic!("{name}");
        };
        assert!(reason.why.contains("no difference"), "{reason:?}");
    }
}

#[test]
fn knobs_that_drown_in_noise_are_not_measurable_mostly() {
    let space = space(&[
        Spec::Int("a", 1, 100_000, true),
        Spec::Float("b", 0.0, 1.0),
        Spec::Enum("c", 3),
    ]);
    let measurable = (0..12)
        .filter(|&seed| {
            let night = told(&space, seed, 14, 0.04, &|_| Some(1000.0));
            matches!(bayes().importance(&night.search()), Importance::Measured(_))
        })
        .count();
    assert!(measurable <= 2, "{measurable} of 12");
}

#[test]
fn a_search_that_goes_on_does_not_change_what_was_measured() {
    let space = floats(&["a", "b"]);
    let response = |c: &Configuration| Some(10.0 + number(c, "a"));
    let night = told(&space, 2, 12, 0.01, &response);
    let mut half = Configuration::new();
    half.set("a", 0.5);
    half.set("b", 0.5);
    let pending = [half];
    let open = Search {
        pending: &pending,
        ..night.search()
    };
    let strategy = bayes();
    let (open, closed) = (strategy.importance(&open), strategy.importance(&night.search()));
    let (Importance::Measured(open), Importance::Measured(closed)) = (open, closed) else {
        panic!("not measurable");
    };
    assert_eq!(open.explained, closed.explained);
    assert_eq!(share(&open, "a"), share(&closed, "a"));
}
