//! What a posterior says of many points at once.

use std::collections::BTreeMap;

use faer::Mat;
use faer::linalg::triangular_solve::solve_lower_triangular_in_place;
use faer::{Accum, Par};
use rand::Rng;

use super::gp::{Posterior, factor};
use super::kernel::{Rows, dot, matern};
use crate::strategy::rng::normal;

impl Posterior {
    /// The covariances of the rows of `at` with those of `rows` before anything was observed, a column a row of `at`.
    fn prior(&self, rows: &Rows, at: &Rows) -> Mat<f64> {
        let mut squares = vec![0.0; rows.width()];
        let mut cross = Mat::zeros(rows.len(), at.len());
        for j in 0..at.len() {
            for i in 0..rows.len() {
                rows.squares(at.row(j), rows.row(i), &mut squares);
                cross[(i, j)] = self.signal * matern(dot(&squares, &self.weights)).0;
            }
        }
        cross
    }

    /// The means at every row of `at`, of the posterior over `rows`: [`Posterior::predict`] without the deviations, which
    /// cost more.
    pub(super) fn means(&self, rows: &Rows, at: &Rows) -> Vec<f64> {
        let mut squares = vec![0.0; rows.width()];
        (0..at.len())
            .map(|j| {
                (0..rows.len())
                    .map(|i| {
                        rows.squares(at.row(j), rows.row(i), &mut squares);
                        self.signal * matern(dot(&squares, &self.weights)).0 * self.alpha[i]
                    })
                    .sum()
            })
            .collect()
    }

    /// `count` draws of the latent function at every row of `at` jointly, of the posterior over `rows`; none where their
    /// covariance cannot be factored.
    pub(super) fn draws(&self, rows: &Rows, at: &Rows, count: usize, rng: &mut impl Rng) -> Vec<Vec<f64>> {
        let mut cross = self.prior(rows, at);
        let means: Vec<f64> = (0..at.len())
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
        let mut covariance = self.prior(at, at);
        faer::linalg::matmul::matmul(
            covariance.as_mut(),
            Accum::Add,
            cross.transpose(),
            cross.as_ref(),
            -1.0,
            Par::Seq,
        );
        let Some(llt) = factor(covariance) else {
            return Vec::new();
        };
        let lower = llt.L();
        (0..count)
            .map(|_| {
                let luck: Vec<f64> = (0..at.len()).map(|_| normal(rng)).collect();
                means
                    .iter()
                    .enumerate()
                    .map(|(j, mean)| mean + (0..=j).map(|k| lower[(j, k)] * luck[k]).sum::<f64>())
                    .collect()
            })
            .collect()
    }
}

/// The rows that are equal, by group in the order of their first ones.
pub(super) fn groups(rows: &Rows) -> Vec<Vec<usize>> {
    let mut places: BTreeMap<Vec<u64>, usize> = BTreeMap::new();
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for index in 0..rows.len() {
        let key: Vec<u64> = rows.row(index).iter().map(|x| x.to_bits()).collect();
        let place = *places.entry(key).or_insert(groups.len());
        if place == groups.len() {
            groups.push(Vec::new());
        }
        groups[place].push(index);
    }
    groups
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    use super::super::kernel::Hyper;
    use super::*;
    use crate::space::{Coordinate, Dimension, Point};

    fn rows(at: &[(f64, usize)]) -> Rows {
        let number = Dimension::Number {
            steps: None,
            log: false,
        };
        let mut rows = Rows::new(&[number, Dimension::Category { count: 2 }]);
        for &(u, c) in at {
            rows.push(&Point(vec![Coordinate::Number(u), Coordinate::Category(c)]));
        }
        rows
    }

    fn hyper() -> Hyper {
        Hyper {
            lengths: vec![-1.0, 0.3],
            signal: 0.2,
            noise: -3.0,
        }
    }

    const PLACES: [(f64, usize); 6] = [(0.1, 0), (0.4, 1), (0.1, 0), (0.9, 0), (0.6, 1), (0.1, 0)];
    const LABELS: [f64; 6] = [0.3, -1.0, 0.5, 1.2, -0.4, 0.1];

    #[test]
    fn equal_rows_are_one_group() {
        assert_eq!(groups(&rows(&PLACES)), [vec![0, 2, 5], vec![1], vec![3], vec![4]]);
    }

    #[test]
    fn joint_draws_have_the_means_and_deviations_of_predictions() {
        let all = rows(&PLACES);
        let posterior = Posterior::new(&all, &LABELS, &[0.0; 6], &hyper()).unwrap();
        let at = rows(&[(0.2, 0), (0.25, 0), (0.8, 1)]);
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let draws = posterior.draws(&all, &at, 4000, &mut rng);
        let means = posterior.means(&all, &at);
        for (j, predicted) in posterior.predict(&all, &at).into_iter().enumerate() {
            assert!((means[j] - predicted.mean).abs() < 1e-12);
            let mean = draws.iter().map(|draw| draw[j]).sum::<f64>() / 4000.0;
            let variance = draws.iter().map(|draw| (draw[j] - mean).powi(2)).sum::<f64>() / 4000.0;
            assert!((mean - predicted.mean).abs() < 0.06, "{mean} {predicted:?}");
            assert!(
                (variance.sqrt() / predicted.sd - 1.0).abs() < 0.06,
                "{variance} {predicted:?}"
            );
        }
        // Neighbours move together.
        let apart: f64 = draws.iter().map(|draw| (draw[0] - draw[1]).powi(2)).sum::<f64>() / 4000.0;
        assert!(apart.sqrt() < 0.3, "{apart}");
    }
}
