//! Hyper-parameters: maximum a posteriori by L-BFGS with analytic gradients, from several starts.
//!
//! Source of the likelihood and its gradient: Rasmussen and Williams, equations 5.8 and 5.9.

use std::cell::RefCell;

use argmin::core::{CostFunction, Error, Executor, Gradient};
use argmin::solver::linesearch::MoreThuenteLineSearch;
use argmin::solver::quasinewton::LBFGS;
use faer::Mat;
use faer::linalg::solvers::DenseSolveCore;
use ndarray::Array1;
use rand::Rng;

use super::gp::{factor, solve};
use super::kernel::{Hyper, Rows, dot, matern};
use super::prior::{Belief, Prior};

/// Cost of hyper-parameters whose covariance cannot be factored: worse than any other, and still finite.
const UNUSABLE: f64 = 1e10;

/// The posterior of the hyper-parameters given labels: what is minimised.
#[derive(Debug)]
pub struct Likelihood<'a> {
    labels: &'a [f64],
    variances: &'a [f64],
    dimensions: usize,
    /// Squared distances before scaling, `dimensions` values for each pair i > j.
    pairs: Vec<f64>,
    prior: Prior,
}

impl<'a> Likelihood<'a> {
    /// Of `labels` (standardised) at `rows`, each with its own variance.
    pub fn new(rows: &Rows, labels: &'a [f64], variances: &'a [f64], prior: Prior) -> Self {
        let mut pairs = Vec::with_capacity(rows.len() * rows.len() / 2 * rows.width());
        let mut pair = vec![0.0; rows.width()];
        for i in 0..rows.len() {
            for j in 0..i {
                rows.squares(rows.row(i), rows.row(j), &mut pair);
                pairs.extend_from_slice(&pair);
            }
        }
        Self {
            labels,
            variances,
            dimensions: rows.width(),
            pairs,
            prior,
        }
    }

    /// The negative logarithm of the posterior density (up to a constant) at the flat hyper-parameters, and its
    /// gradient. `None` where the covariance cannot be factored.
    pub fn evaluate(&self, flat: &[f64]) -> Option<(f64, Vec<f64>)> {
        let d = self.dimensions;
        let n = self.labels.len();
        let weights: Vec<f64> = flat[..d].iter().map(|l| (-2.0 * l).exp()).collect();
        let (signal, noise) = (flat[d].exp(), flat[d + 1].exp());
        let mut covariance = Mat::<f64>::zeros(n, n);
        let mut shapes = Vec::with_capacity(n * n / 2);
        let mut distances = self.pairs.chunks_exact(d.max(1));
        for i in 0..n {
            covariance[(i, i)] = signal + noise + self.variances[i];
            for j in 0..i {
                let r2 = distances.next().map_or(0.0, |pair| dot(pair, &weights));
                let shape = matern(r2);
                covariance[(i, j)] = signal * shape.0;
                covariance[(j, i)] = signal * shape.0;
                shapes.push(shape);
            }
        }
        let llt = factor(covariance)?;
        let alpha = solve(&llt, self.labels);
        let inverse = llt.inverse();
        let log_determinant: f64 = llt.L().diagonal().column_vector().iter().map(|v| v.ln()).sum();
        let mut value = 0.5 * dot(self.labels, &alpha) + log_determinant;

        let mut gradient = vec![0.0; d + 2];
        let mut distances = self.pairs.chunks_exact(d.max(1));
        let mut shapes = shapes.iter();
        for i in 0..n {
            let slope = 0.5 * (inverse[(i, i)] - alpha[i] * alpha[i]);
            gradient[d] += slope * signal;
            gradient[d + 1] += slope * noise;
            for j in 0..i {
                // Each pair stands for two equal entries of the covariance.
                let slope = inverse[(i, j)] - alpha[i] * alpha[j];
                let Some(&(shape, derivative)) = shapes.next() else {
                    continue;
                };
                gradient[d] += slope * signal * shape;
                let by_distance = slope * signal * derivative;
                if let Some(pair) = distances.next() {
                    for k in 0..d {
                        gradient[k] += by_distance * pair[k];
                    }
                }
            }
        }
        for k in 0..d {
            gradient[k] *= -2.0 * weights[k];
        }
        for (k, entry) in gradient.iter_mut().enumerate() {
            let (cost, slope) = self.belief(k).cost(flat[k]);
            value += cost;
            *entry += slope;
        }
        (value.is_finite() && gradient.iter().all(|g| g.is_finite())).then_some((value, gradient))
    }

    fn belief(&self, k: usize) -> Belief {
        self.prior.belief(k, self.dimensions)
    }

    fn bounds(&self, k: usize) -> (f64, f64) {
        self.prior.bounds(k, self.dimensions)
    }

    /// Flat hyper-parameters as logits of their shares of the bounds, so that every real number is legal.
    pub(super) fn to_free(&self, flat: &[f64]) -> Vec<f64> {
        flat.iter()
            .enumerate()
            .map(|(k, &value)| {
                let (low, high) = self.bounds(k);
                let share = ((value - low) / (high - low)).clamp(0.01, 0.99);
                (share / (1.0 - share)).ln()
            })
            .collect()
    }

    /// Back from logits, with the slope of each hyper-parameter by its logit.
    pub(super) fn bounded_from(&self, free: &[f64]) -> (Vec<f64>, Vec<f64>) {
        free.iter()
            .enumerate()
            .map(|(k, z)| {
                let (low, high) = self.bounds(k);
                let share = 1.0 / (1.0 + (-z).exp());
                (low + (high - low) * share, (high - low) * share * (1.0 - share))
            })
            .unzip()
    }

    /// The best hyper-parameters found from all `starts` (flat), with at most `iterations` steps from each.
    pub fn minimize(&self, starts: &[Vec<f64>], iterations: u64) -> Hyper {
        let best = RefCell::new((f64::INFINITY, Vec::new()));
        for start in starts.iter().filter(|start| start.len() == self.dimensions + 2) {
            let bounded = Bounded {
                likelihood: self,
                best: &best,
                last: RefCell::new(None),
            };
            let initial = Array1::from(self.to_free(start));
            let search = MoreThuenteLineSearch::new().with_c(1e-4, 0.9);
            let Ok(search) = search else { continue };
            // A failed line search ends this start; the best point it saw is kept all the same.
            let _ = Executor::new(bounded, LBFGS::new(search, 7))
                .configure(|state| state.param(initial).max_iters(iterations))
                .timer(false)
                .run();
        }
        let (_, flat) = best.into_inner();
        Hyper::from_flat(&flat).unwrap_or_else(|| self.default_hyper())
    }

    /// The prior's own centre, inside the bounds.
    fn default_hyper(&self) -> Hyper {
        let at = |k: usize| {
            let (low, high) = self.bounds(k);
            self.belief(k).centre().clamp(low, high)
        };
        let d = self.dimensions;
        Hyper {
            lengths: (0..d).map(at).collect(),
            signal: at(d),
            noise: at(d + 1),
        }
    }

    /// Starts of a full fit: the prior's centre, medium length scales, and one at random.
    pub fn starts(&self, rng: &mut impl Rng) -> Vec<Vec<f64>> {
        let d = self.dimensions;
        let mut centre = self.default_hyper().flat();
        centre[d + 1] = 0.02f64.ln();
        let mut medium = vec![0.5f64.ln(); d];
        medium.extend([0.0, 0.02f64.ln()]);
        let mut random: Vec<f64> = (0..d).map(|_| rng.random_range(-1.5..1.5)).collect();
        random.extend([0.0, 0.05f64.ln()]);
        vec![centre, medium, random]
    }
}

/// Where, the cost there, and its gradient.
type Evaluation = (Array1<f64>, f64, Array1<f64>);

/// The likelihood over all real numbers: each bounded parameter through a logistic curve, because argmin's L-BFGS knows
/// no bounds. Remembers the best point of all starts and the last evaluation (cost and gradient come together).
struct Bounded<'a> {
    likelihood: &'a Likelihood<'a>,
    best: &'a RefCell<(f64, Vec<f64>)>,
    last: RefCell<Option<Evaluation>>,
}

impl Bounded<'_> {
    fn both(&self, free: &Array1<f64>) -> (f64, Array1<f64>) {
        if let Some((at, value, gradient)) = self.last.borrow().as_ref()
            && at == free
        {
            return (*value, gradient.clone());
        }
        let (flat, slopes) = self.likelihood.bounded_from(&free.to_vec());
        let (value, gradient) = match self.likelihood.evaluate(&flat) {
            Some((value, gradient)) => {
                let gradient = gradient.iter().zip(&slopes).map(|(g, s)| g * s).collect();
                if value < self.best.borrow().0 {
                    *self.best.borrow_mut() = (value, flat);
                }
                (value, gradient)
            }
            None => (UNUSABLE, Array1::zeros(free.len())),
        };
        *self.last.borrow_mut() = Some((free.clone(), value, gradient.clone()));
        (value, gradient)
    }
}

impl CostFunction for Bounded<'_> {
    type Param = Array1<f64>;
    type Output = f64;

    fn cost(&self, free: &Self::Param) -> Result<f64, Error> {
        Ok(self.both(free).0)
    }
}

impl Gradient for Bounded<'_> {
    type Param = Array1<f64>;
    type Gradient = Array1<f64>;

    fn gradient(&self, free: &Self::Param) -> Result<Self::Gradient, Error> {
        Ok(self.both(free).1)
    }
}
