//! The process and its likelihood against numbers computed elsewhere.

use crate::space::{Coordinate, Dimension, Point};

use super::fit::Likelihood;
use super::gp::Posterior;
use super::kernel::{Hyper, Rows};
use super::prior::Prior;

fn dimensions() -> [Dimension; 4] {
    let number = Dimension::Number {
        steps: None,
        log: false,
    };
    [number, number, Dimension::Category { count: 3 }, number]
}

fn rows(points: &[(f64, f64, usize, Option<f64>)]) -> Rows {
    let mut rows = Rows::new(&dimensions());
    for &(a, b, c, last) in points {
        let last = last.map_or(Coordinate::Inactive, Coordinate::Number);
        rows.push(&Point(vec![
            Coordinate::Number(a),
            Coordinate::Number(b),
            Coordinate::Category(c),
            last,
        ]));
    }
    rows
}

const OBSERVED: [(f64, f64, usize, Option<f64>); 5] = [
    (0.1, 0.2, 0, Some(0.5)),
    (0.9, 0.4, 1, None),
    (0.5, 0.7, 2, Some(0.25)),
    (0.3, 0.9, 0, None),
    (0.65, 0.05, 1, Some(0.75)),
];
const LABELS: [f64; 5] = [-1.2, 0.3, 0.8, -0.4, 0.5];
const VARIANCES: [f64; 5] = [0.0, 0.01, 0.02, 0.0, 0.005];

fn hyper() -> Hyper {
    Hyper {
        lengths: [0.5f64, 1.3, 0.8, 2.0].iter().map(|l| l.ln()).collect(),
        signal: 1.1f64.ln(),
        noise: 0.02f64.ln(),
    }
}

// The expected numbers of this file were computed with numpy from the textbook formulas (explicit inverse and slogdet
// instead of a Cholesky factor), not with this code.

#[test]
fn predictions_agree_with_independent_numbers() {
    let posterior = Posterior::new(&rows(&OBSERVED), &LABELS, &VARIANCES, &hyper()).unwrap();
    let at = rows(&[
        (0.4, 0.6, 0, Some(0.5)),
        (0.8, 0.1, 1, None),
        (0.0, 1.0, 2, Some(0.9)),
    ]);
    let expected = [
        (-0.5162331151759365, 0.5647543273923114),
        (0.3534482895314341, 0.347804799555189),
        (0.08973918844582739, 0.8989425439611747),
    ];
    for (found, (mean, sd)) in posterior.predict(&rows(&OBSERVED), &at).iter().zip(expected) {
        assert!((found.mean - mean).abs() < 1e-6, "{found:?} against {mean}");
        assert!((found.sd - sd).abs() < 1e-6, "{found:?} against {sd}");
    }
}

#[test]
fn the_likelihood_agrees_with_an_independent_number() {
    let rows = rows(&OBSERVED);
    let likelihood = Likelihood::new(&rows, &LABELS, &VARIANCES, Prior::Flat);
    let (value, _) = likelihood.evaluate(&hyper().flat()).unwrap();
    assert!((value - 1.108842655759557).abs() < 1e-6, "{value}");
}

#[test]
fn gradients_agree_with_finite_differences() {
    let rows = rows(&OBSERVED);
    for prior in [Prior::Flat, Prior::DimensionScaled, Prior::Sparse] {
        let likelihood = Likelihood::new(&rows, &LABELS, &VARIANCES, prior);
        let at = hyper().flat();
        let (_, gradient) = likelihood.evaluate(&at).unwrap();
        for k in 0..at.len() {
            let shifted = |by: f64| {
                let mut flat = at.clone();
                flat[k] += by;
                likelihood.evaluate(&flat).unwrap().0
            };
            let numeric = (shifted(1e-5) - shifted(-1e-5)) / 2e-5;
            assert!(
                (numeric - gradient[k]).abs() < 1e-5,
                "{prior:?} {k}: {numeric} {}",
                gradient[k]
            );
        }
    }
}

#[test]
fn fitting_ends_below_every_start() {
    let rows = rows(&OBSERVED);
    let likelihood = Likelihood::new(&rows, &LABELS, &VARIANCES, Prior::Flat);
    let start = hyper().flat();
    let found = likelihood.minimize(std::slice::from_ref(&start), 60);
    let value = |flat: &[f64]| likelihood.evaluate(flat).unwrap().0;
    assert!(value(&found.flat()) < value(&start));
}

#[test]
fn equal_rows_without_noise_still_factor() {
    let rows = rows(&[OBSERVED[0]; 4]);
    let certain = Hyper {
        noise: -40.0,
        ..hyper()
    };
    let posterior = Posterior::new(&rows, &[1.0, 1.0, 1.0, 1.0], &[0.0; 4], &certain).unwrap();
    let found = posterior.predict(&rows, &rows);
    assert!((found[0].mean - 1.0).abs() < 1e-3);
    assert!(found[0].sd.is_finite() && found[0].sd > 0.0);
}
