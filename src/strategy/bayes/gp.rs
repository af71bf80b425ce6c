//! The exact Gaussian process: the posterior for fixed hyper-parameters.
//!
//! Source: Rasmussen and Williams, algorithm 2.1. Labels have mean 0 and a spread near 1; the caller standardises.

use faer::linalg::solvers::{Llt, Solve};
use faer::linalg::triangular_solve::solve_lower_triangular_in_place;
use faer::{Mat, Par, Side};

use super::kernel::{Hyper, Rows, matern};

/// The posterior over the labels of some rows, for fixed hyper-parameters.
#[derive(Debug, Clone)]
pub struct Posterior {
    rows: Rows,
    weights: Vec<f64>,
    signal: f64,
    factor: Mat<f64>,
    alpha: Vec<f64>,
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
        let covariance = Mat::from_fn(n, n, |i, j| {
            let prior = signal * matern(rows.scaled(rows.row(i), rows.row(j), &weights)).0;
            if i == j {
                prior + noise + variances[i]
            } else {
                prior
            }
        });
        let llt = factor(covariance)?;
        let alpha = solve(&llt, labels);
        let posterior = Self {
            rows: rows.clone(),
            weights,
            signal,
            factor: llt.L().to_owned(),
            alpha,
        };
        posterior.alpha.iter().all(|a| a.is_finite()).then_some(posterior)
    }

    /// Predictions at every row of `at`.
    pub fn predict(&self, at: &Rows) -> Vec<Prediction> {
        let n = self.rows.len();
        let mut cross = Mat::<f64>::zeros(n, at.len());
        let mut means = vec![0.0; at.len()];
        for (j, mean) in means.iter_mut().enumerate() {
            let here = at.row(j);
            for (i, alpha) in self.alpha.iter().enumerate() {
                let k = self.signal * matern(self.rows.scaled(here, self.rows.row(i), &self.weights)).0;
                cross[(i, j)] = k;
                *mean += k * alpha;
            }
        }
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
