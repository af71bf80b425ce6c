//! A numeric range laid out on the unit interval.

use super::Scale;

/// Observed values out of the bounds are placed at most this far outside of [0, 1].
const OUTSIDE: f64 = 1.0;

/// A numeric range with its transformation; all in f64, exact for the steps that [`Domain`] admits (see `resolve`).
pub(super) struct Line {
    pub(super) min: f64,
    pub(super) max: f64,
    pub(super) unit: Option<f64>,
    pub(super) scale: Scale,
}

impl Line {
    /// What is added before the logarithm, so that ranges that touch zero have one.
    fn offset(&self) -> f64 {
        if self.min > 0.0 {
            0.0
        } else {
            self.unit.unwrap_or(1.0) - self.min
        }
    }

    pub(super) fn place(&self, x: f64) -> f64 {
        if self.max <= self.min {
            return match x.partial_cmp(&self.min) {
                Some(std::cmp::Ordering::Less) => -OUTSIDE,
                Some(std::cmp::Ordering::Greater) => 1.0 + OUTSIDE,
                _ => 0.0,
            };
        }
        let u = match self.scale {
            // Halves first: max - min may overflow.
            Scale::Linear => (x / 2.0 - self.min / 2.0) / (self.max / 2.0 - self.min / 2.0),
            Scale::Log => {
                let o = self.offset();
                if x + o <= 0.0 {
                    -OUTSIDE
                } else {
                    ((x + o).ln() - (self.min + o).ln()) / ((self.max + o).ln() - (self.min + o).ln())
                }
            }
        };
        if u.is_nan() {
            0.0
        } else {
            u.clamp(-OUTSIDE, 1.0 + OUTSIDE)
        }
    }

    pub(super) fn at(&self, u: f64) -> f64 {
        if u.is_nan() || u <= 0.0 || self.max <= self.min {
            return self.min;
        }
        if u >= 1.0 {
            return self.max;
        }
        let x = match self.scale {
            Scale::Linear => self.min * (1.0 - u) + self.max * u,
            Scale::Log => {
                let o = self.offset();
                let (low, high) = ((self.min + o).ln(), (self.max + o).ln());
                (low + u * (high - low)).exp() - o
            }
        };
        self.snap(x)
    }

    /// The nearest legal number.
    pub(super) fn snap(&self, x: f64) -> f64 {
        let x = if x.is_nan() {
            self.min
        } else {
            x.clamp(self.min, self.max)
        };
        let snapped = match self.unit {
            Some(unit) if unit > 0.0 => clean((x / unit).round() * unit, 12),
            _ => clean(x, 6),
        };
        snapped.clamp(self.min, self.max)
    }

    pub(super) fn steps(&self) -> Option<u64> {
        if self.max <= self.min {
            return Some(1);
        }
        self.unit
            .map(|unit| ((self.max / unit).round() - (self.min / unit).round()) as u64 + 1)
    }
}

/// `x` with `digits` significant digits, without the dust of binary fractions (0.30000000000000004).
pub(super) fn clean(x: f64, digits: usize) -> f64 {
    format!("{x:.*e}", digits - 1).parse().unwrap_or(x)
}
