//! The model of which configurations run at all, learned from what failed.

use rand::Rng;

use super::acquire::log_normal_cdf;
use super::kernel::Rows;
use super::surrogate::{Anchors, Fitting, Labelled, Surrogate, log_mean};
use crate::strategy::history::Arm;

/// A second surrogate, of +1 for what ran and -1 for what did not.
#[derive(Debug)]
pub(super) struct Feasibility {
    surrogate: Surrogate,
    centre: f64,
    spread: f64,
}

impl Feasibility {
    /// Learned from one row a configuration; `None` where nothing, or everything, failed.
    pub(super) fn fit(arms: &[Arm], rows: &Rows, fitting: &Fitting<'_>, rng: &mut impl Rng) -> Option<Self> {
        let signs: Vec<f64> = arms
            .iter()
            .map(|arm| if arm.is_feasible() { 1.0 } else { -1.0 })
            .collect();
        let centre = signs.iter().sum::<f64>() / signs.len().max(1) as f64;
        // Of values that are +1 or -1.
        let spread = (1.0 - centre * centre).sqrt();
        if spread <= 0.0 {
            return None;
        }
        let data = Labelled {
            rows: rows.clone(),
            labels: signs.iter().map(|sign| (sign - centre) / spread).collect(),
            variances: vec![0.0; signs.len()],
        };
        Some(Self {
            surrogate: Surrogate::fit(data, fitting, rng)?,
            centre,
            spread,
        })
    }

    /// Where the next fit begins.
    pub(super) fn anchors(&self) -> &Anchors {
        self.surrogate.anchors()
    }

    /// ln of the probability that each row runs.
    pub(super) fn log_probability(&self, at: &Rows) -> Vec<f64> {
        let members = self.surrogate.predict(at);
        let noises: Vec<f64> = self.surrogate.noises().collect();
        (0..at.len())
            .map(|row| {
                log_mean(members.iter().zip(&noises).map(|(member, noise)| {
                    let predicted = member[row];
                    let sd = self.spread * (predicted.sd * predicted.sd + noise).sqrt();
                    log_normal_cdf((predicted.mean * self.spread + self.centre) / sd)
                }))
            })
            .collect()
    }
}
