//! Output warping: how measured values become labels of the Gaussian process, and back.
//!
//! Positive objectives are modelled as logarithms. Below the median only the rank counts; above it the gap to the best
//! is stretched logarithmically, so that one disaster does not flatten the surface.
//! Source: Song et al., "The Vizier Gaussian Process Bandit Algorithm", 2024, section on output warping.

use statrs::distribution::{ContinuousCDF, Normal};

use crate::strategy::Goal;

/// The linear or logarithmic scale on which an objective is modelled, turned so that more is better.
#[derive(Debug, Clone, Copy)]
pub struct Scale {
    goal: Goal,
    log: bool,
    unit: f64,
}

impl Scale {
    /// Logarithmic where every value is positive; else linear in units of the largest magnitude.
    pub fn of(goal: Goal, values: &[f64]) -> Self {
        let log = !values.is_empty() && values.iter().all(|&value| value > 0.0);
        let unit = values.iter().fold(0.0, |most: f64, value| most.max(value.abs()));
        Self {
            goal,
            log,
            unit: if unit > 0.0 { unit } else { 1.0 },
        }
    }

    /// `value` on this scale.
    pub fn forward(&self, value: f64) -> f64 {
        self.goal
            .oriented(if self.log { value.ln() } else { value / self.unit })
    }

    /// The value at `scaled`; finite.
    pub fn backward(&self, scaled: f64) -> f64 {
        let plain = self.goal.oriented(scaled);
        let value = if self.log { plain.exp() } else { plain * self.unit };
        value.clamp(-f64::MAX, f64::MAX)
    }

    /// A standard deviation of `value` on this scale (delta method).
    pub fn deviation(&self, value: f64, sd: f64) -> f64 {
        sd / if self.log { value } else { self.unit }
    }

    /// A standard deviation on this scale as one of the value it stands at.
    pub fn deviation_backward(&self, scaled: f64, sd: f64) -> f64 {
        let unit = if self.log {
            self.backward(scaled).abs()
        } else {
            self.unit
        };
        (sd * unit).min(f64::MAX)
    }
}

/// A rising curve from scaled values to standardised labels: straight between knots, one knob a distinct configuration.
#[derive(Debug, Clone)]
pub struct Warp {
    from: Vec<f64>,
    to: Vec<f64>,
    /// Slope beyond the best knot.
    top: f64,
}

impl Warp {
    /// Learned from the scaled means of the distinct configurations. `shaped` false: standardises only.
    pub fn new(means: &[f64], shaped: bool) -> Self {
        let mut from = means.to_vec();
        from.sort_by(f64::total_cmp);
        from.dedup();
        let (Some(&low), Some(&high)) = (from.first(), from.last()) else {
            return Self::flat(0.0);
        };
        if high <= low {
            return Self::flat(low);
        }
        let (mut to, mut top) = if shaped {
            bend(&from, median(means))
        } else {
            (from.clone(), 1.0)
        };
        let labels: Vec<f64> = means
            .iter()
            .map(|&mean| interpolate(&from, &to, 0.0, mean))
            .collect();
        let centre = labels.iter().sum::<f64>() / labels.len() as f64;
        let spread = (labels.iter().map(|l| (l - centre).powi(2)).sum::<f64>() / labels.len() as f64).sqrt();
        let spread = if spread > 0.0 { spread } else { 1.0 };
        for label in &mut to {
            *label = (*label - centre) / spread;
        }
        top /= spread;
        Self { from, to, top }
    }

    fn flat(at: f64) -> Self {
        Self {
            from: vec![at],
            to: vec![0.0],
            top: 1.0,
        }
    }

    /// The label of a scaled value. Below the worst knot the curve is level.
    pub fn forward(&self, scaled: f64) -> f64 {
        interpolate(&self.from, &self.to, self.top, scaled)
    }

    /// The scaled value of a label, within the knots below and straight beyond the best.
    pub fn backward(&self, label: f64) -> f64 {
        interpolate(&self.to, &self.from, 1.0 / self.top, label)
    }

    /// A standard deviation in scaled units as one of labels, by a difference across it.
    pub fn deviation(&self, scaled: f64, sd: f64) -> f64 {
        0.5 * (self.forward(scaled + sd) - self.forward(scaled - sd))
    }

    /// A standard deviation of labels in scaled units, by a difference across it.
    pub fn deviation_backward(&self, label: f64, sd: f64) -> f64 {
        0.5 * (self.backward(label + sd) - self.backward(label - sd))
    }
}

/// Labels of the sorted distinct values, and the slope at the best: ranks below the median, log of the gap to the best.
fn bend(from: &[f64], median: f64) -> (Vec<f64>, f64) {
    let upper: Vec<f64> = from.iter().copied().filter(|&v| v >= median).collect();
    let spread = (upper.iter().map(|v| (v - median).powi(2)).sum::<f64>() / upper.len() as f64).sqrt();
    let below = from.len() - upper.len();
    let count = below as f64 + if upper.first() == Some(&median) { 0.5 } else { 0.0 };
    let standard = Normal::standard();
    let ranked: Vec<f64> = from
        .iter()
        .enumerate()
        .map(|(i, &value)| {
            if value >= median {
                return value;
            }
            let quantile = 0.5 * (i as f64 + 0.5) / count;
            median + spread * standard.inverse_cdf(quantile)
        })
        .collect();
    let (low, high) = (ranked[0], ranked[ranked.len() - 1]);
    let range = high - low;
    if range <= 0.0 {
        return (from.to_vec(), 1.0);
    }
    let to = ranked
        .iter()
        .map(|v| 0.5 - (0.5 * (high - v) / range).ln_1p() / 1.5f64.ln())
        .collect();
    (to, 0.5 / range / 1.5f64.ln())
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    if sorted.len().is_multiple_of(2) {
        // Halved before the sum so that it cannot overflow.
        0.5 * sorted[middle - 1] + 0.5 * sorted[middle]
    } else {
        sorted[middle]
    }
}

/// The straight line between the knots around `x`; level below the first, with slope `top` above the last.
fn interpolate(from: &[f64], to: &[f64], top: f64, x: f64) -> f64 {
    let right = from.partition_point(|&knot| knot < x);
    if right == 0 {
        return to[0];
    }
    if right == from.len() {
        return to[right - 1] + top * (x - from[right - 1]);
    }
    let (x0, x1) = (from[right - 1], from[right]);
    if x1 <= x0 {
        return to[right];
    }
    to[right - 1] + (to[right] - to[right - 1]) * (x - x0) / (x1 - x0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_disaster_costs_a_rank_and_not_the_surface() {
        let mild = Warp::new(&[1.0, 2.0, 3.0, 4.0, 5.0], true);
        let awful = Warp::new(&[-1e6, 2.0, 3.0, 4.0, 5.0], true);
        for value in [2.0, 3.0, 4.0, 5.0] {
            assert!((mild.forward(value) - awful.forward(value)).abs() < 1e-9);
        }
    }

    #[test]
    fn less_is_better_turns_the_scale() {
        let scale = Scale::of(Goal::Minimize, &[1.0, 10.0]);
        assert!(scale.forward(1.0) > scale.forward(10.0));
        assert!((scale.backward(scale.forward(7.0)) - 7.0).abs() < 1e-12);
    }

    proptest! {
        #[test]
        fn labels_keep_the_order_and_lead_back(
            values in prop::collection::vec(-1e3f64..1e3, 1..20),
        ) {
            let warp = Warp::new(&values, true);
            for &a in &values {
                prop_assert!(warp.forward(a).is_finite());
                if warp.from.len() > 1 {
                    prop_assert!((warp.backward(warp.forward(a)) - a).abs() < 1e-6);
                }
                for &b in &values {
                    if a < b {
                        prop_assert!(warp.forward(a) <= warp.forward(b));
                    }
                }
            }
        }
    }
}
