//! The exact Gaussian process: the posterior for fixed hyper-parameters.
//!
//! Source: Rasmussen and Williams, algorithm 2.1. Labels have mean 0 and a spread near 1; the caller standardises.

use faer::linalg::solvers::{Llt, Solve};
use faer::linalg::triangular_solve::solve_lower_triangular_in_place;
use faer::{Mat, Par, Side};

use super::kernel::{Hyper, Rows, dot, matern};

/// The posterior over the labels of some rows, for fixed hyper-parameters.
#[derive(Debug, Clone)]
pub struct Posterior {
    pub(super) weights: Vec<f64>,
    pub(super) signal: f64,
    pub(super) factor: Mat<f64>,
    pub(super) alpha: Vec<f64>,
}

/// Mean and standard deviation of the latent function, in label units, without the noise of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prediction {
    /// The mean.
    pub mean: f64,
    /// The standard deviation; above zero.
    pub sd: f64,
}

impl Posterior {
    /// Conditions on `labels` at `rows`; `variances` are each row's own, in squared label units, on top of the noise of
    /// `hyper`. `None` where the covariance cannot be factored even with jitter, which finite input does not reach.
    pub fn new(rows: &Rows, labels: &[f64], variances: &[f64], hyper: &Hyper) -> Option<Self> {
        let n = rows.len();
        let weights = hyper.weights();
        let signal = hyper.signal.exp();
        let noise = hyper.noise.exp();
        let mut covariance = Mat::<f64>::zeros(n, n);
        let mut squares = vec![0.0; rows.width()];
        for i in 0..n {
            covariance[(i, i)] = signal + noise + variances[i];
            for j in 0..i {
                rows.squares(rows.row(i), rows.row(j), &mut squares);
                let prior = signal * matern(dot(&squares, &weights)).0;
                covariance[(i, j)] = prior;
                covariance[(j, i)] = prior;
            }
        }
        let llt = factor(covariance)?;
        let alpha = solve(&llt, labels);
        let posterior = Self {
            weights,
            signal,
            factor: llt.L().to_owned(),
            alpha,
        };
        posterior.alpha.iter().all(|a| a.is_finite()).then_some(posterior)
    }

    /// Predictions of the posterior over `rows` (those it was conditioned on) at every row of `at`.
    pub fn predict(&self, rows: &Rows, at: &Rows) -> Vec<Prediction> {
        predict_all(&[self], rows, at).pop().unwrap_or_default()
    }

    /// From the covariances of the points with what was observed, a column a point.
    fn given(&self, mut cross: Mat<f64>) -> Vec<Prediction> {
        let means: Vec<f64> = (0..cross.ncols())
            .map(|j| {
                cross
                    .col(j)
                    .iter()
                    .zip(&self.alpha)
                    .map(|(k, alpha)| k * alpha)
                    .sum()
            })
            .collect();
        solve_lower_triangular_in_place(self.factor.as_ref(), cross.as_mut(), Par::Seq);
        means
            .into_iter()
            .enumerate()
            .map(|(j, mean)| {
                let known: f64 = cross.col(j).iter().map(|v| v * v).sum();
                let sd = (self.signal - known).max(1e-12 * self.signal).sqrt();
                Prediction { mean, sd }
            })
            .collect()
    }
}

/// Predictions of several posteriors over the same `rows` at every row of `at`, one list a posterior: distances are
/// computed once for all.
pub fn predict_all(posteriors: &[&Posterior], rows: &Rows, at: &Rows) -> Vec<Vec<Prediction>> {
    let n = rows.len();
    let mut crosses: Vec<Mat<f64>> = posteriors.iter().map(|_| Mat::zeros(n, at.len())).collect();
    let mut squares = vec![0.0; rows.width()];
    for j in 0..at.len() {
        for i in 0..n {
            rows.squares(at.row(j), rows.row(i), &mut squares);
            for (cross, posterior) in crosses.iter_mut().zip(posteriors) {
                cross[(i, j)] = posterior.signal * matern(dot(&squares, &posterior.weights)).0;
            }
        }
    }
    posteriors
        .iter()
        .zip(crosses)
        .map(|(posterior, cross)| posterior.given(cross))
        .collect()
}

/// The Cholesky factor of a symmetric matrix; jitter on the diagonal grows tenfold from 1e-8 of its mean until it
/// succeeds, at most to 1e-2.
pub fn factor(mut matrix: Mat<f64>) -> Option<Llt<f64>> {
    let n = matrix.nrows();
    let scale = (0..n).map(|i| matrix[(i, i)]).sum::<f64>() / n.max(1) as f64;
    if !scale.is_finite() {
        return None;
    }
    let mut added = 0.0;
    let mut jitter = 1e-8 * scale;
    while jitter <= 1.1e-2 * scale {
        for i in 0..n {
            matrix[(i, i)] += jitter - added;
        }
        added = jitter;
        if let Ok(llt) = Llt::new(matrix.as_ref(), Side::Lower) {
            return Some(llt);
        }
        jitter *= 10.0;
    }
    None
}

/// The solution of `matrix x = right` by its factor.
pub fn solve(llt: &Llt<f64>, right: &[f64]) -> Vec<f64> {
    let mut x = Mat::from_fn(right.len(), 1, |i, _| right[i]);
    llt.solve_in_place(x.as_mut());
    x.col(0).iter().copied().collect()
}
