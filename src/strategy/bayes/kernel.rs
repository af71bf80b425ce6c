//! The kernel: Matérn 5/2 with a length scale per dimension over numbers, categories and inactive coordinates.
//!
//! Source: Rasmussen and Williams, "Gaussian Processes for Machine Learning", equation 4.17; the mismatch distance of
//! categories is the one of Vizier and of Optuna's Gaussian process.

use crate::space::{Coordinate, Dimension, Point};

/// Rows of coordinates as plain numbers: a category is its index, an inactive coordinate is NaN.
#[derive(Debug, Clone)]
pub struct Rows {
    /// Which dimensions compare by mismatch.
    categorical: Vec<bool>,
    values: Vec<f64>,
}

impl Rows {
    /// No rows yet, in the coordinates of `dimensions`.
    pub fn new(dimensions: &[Dimension]) -> Self {
        let categorical = dimensions
            .iter()
            .map(|dimension| matches!(dimension, Dimension::Category { .. }))
            .collect();
        Self {
            categorical,
            values: Vec::new(),
        }
    }

    /// No rows, in the same coordinates.
    pub fn emptied(&self) -> Self {
        Self {
            categorical: self.categorical.clone(),
            values: Vec::new(),
        }
    }

    /// Number of dimensions.
    pub fn width(&self) -> usize {
        self.categorical.len()
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.values.len().checked_div(self.width()).unwrap_or(0)
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Adds `point` behind the last row.
    pub fn push(&mut self, point: &Point) {
        self.values.extend(point.0.iter().map(plain));
    }

    /// Adds row `index` of `other` behind the last row.
    pub fn push_row(&mut self, other: &Self, index: usize) {
        self.values.extend_from_slice(other.row(index));
    }

    /// The coordinates of row `index`.
    pub fn row(&self, index: usize) -> &[f64] {
        let width = self.width();
        &self.values[index * width..(index + 1) * width]
    }

    /// Squared distance of two coordinates of dimension `k` before scaling: the squared difference of numbers, 1 for
    /// different categories, 1 where only one of them is active, 0 where none is.
    pub fn squared(&self, k: usize, a: f64, b: f64) -> f64 {
        let difference = a - b;
        if difference.is_nan() {
            f64::from(u8::from(a.is_nan() != b.is_nan()))
        } else if self.categorical[k] {
            f64::from(u8::from(difference != 0.0))
        } else {
            difference * difference
        }
    }

    /// [`Self::squared`] of every dimension of two rows, into `into`.
    pub fn squares(&self, a: &[f64], b: &[f64], into: &mut [f64]) {
        for (k, into) in into.iter_mut().enumerate() {
            *into = self.squared(k, a[k], b[k]);
        }
    }
}

fn plain(coordinate: &Coordinate) -> f64 {
    match coordinate {
        Coordinate::Inactive => f64::NAN,
        Coordinate::Number(u) => *u,
        Coordinate::Category(index) => *index as f64,
    }
}

/// The sum of products, in four lanes that the compiler can keep in one register.
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    let (mut lanes, mut rest) = ([0.0; 4], 0.0);
    let (a, b) = (a.chunks_exact(4), b.chunks_exact(4));
    for (x, y) in a.remainder().iter().zip(b.remainder()) {
        rest += x * y;
    }
    for (x, y) in a.zip(b) {
        for lane in 0..4 {
            lanes[lane] += x[lane] * y[lane];
        }
    }
    rest + (lanes[0] + lanes[1]) + (lanes[2] + lanes[3])
}

/// The Matérn 5/2 correlation at squared distance `r2`, and its derivative by `r2`.
pub fn matern(r2: f64) -> (f64, f64) {
    let r = (5.0 * r2).sqrt();
    let decay = (-r).exp();
    ((1.0 + r + r * r / 3.0) * decay, -5.0 / 6.0 * (1.0 + r) * decay)
}

/// The free numbers of the kernel, all as natural logarithms.
#[derive(Debug, Clone, PartialEq)]
pub struct Hyper {
    /// ln of the length scale of each dimension.
    pub lengths: Vec<f64>,
    /// ln of the signal's variance.
    pub signal: f64,
    /// ln of the variance between runs.
    pub noise: f64,
}

impl Hyper {
    /// From the flat form: length scales, signal, noise. `None` for fewer than two numbers.
    pub fn from_flat(flat: &[f64]) -> Option<Self> {
        let (&noise, rest) = flat.split_last()?;
        let (&signal, lengths) = rest.split_last()?;
        Some(Self {
            lengths: lengths.to_vec(),
            signal,
            noise,
        })
    }

    /// The flat form: length scales, signal, noise.
    pub fn flat(&self) -> Vec<f64> {
        let mut flat = self.lengths.clone();
        flat.extend([self.signal, self.noise]);
        flat
    }

    /// Inverse squared length scales.
    pub fn weights(&self) -> Vec<f64> {
        self.lengths.iter().map(|l| (-2.0 * l).exp()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inactive_coordinate_separates_only_from_an_active_one() {
        let rows = Rows::new(&[
            Dimension::Number {
                steps: None,
                log: false,
            },
            Dimension::Category { count: 3 },
        ]);
        assert_eq!(rows.squared(0, f64::NAN, f64::NAN), 0.0);
        assert_eq!(rows.squared(0, f64::NAN, 0.3), 1.0);
        assert_eq!(rows.squared(1, f64::NAN, 0.0), 1.0);
        assert_eq!(rows.squared(1, 0.0, 2.0), 1.0);
        assert_eq!(rows.squared(1, 2.0, 2.0), 0.0);
        assert!((rows.squared(0, 0.5, 0.2) - 0.09).abs() < 1e-15);
    }

    #[test]
    fn the_derivative_of_the_kernel_agrees_with_differences() {
        for r2 in [1e-6, 0.01, 0.3, 2.0, 40.0] {
            let h = r2 * 1e-3;
            let numeric = (matern(r2 + h).0 - matern(r2 - h).0) / (2.0 * h);
            assert!((numeric - matern(r2).1).abs() < 1e-5, "at {r2}");
        }
        assert_eq!(matern(0.0).0, 1.0);
    }
}
