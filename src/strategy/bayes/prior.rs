//! What is believed of the hyper-parameters before any label is seen. All are natural logarithms.

use serde::Deserialize;

/// A belief about the hyper-parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Prior {
    /// Nearly flat in the logarithms, as Vizier's default Gaussian process has it, with the signal centred at 1 because
    /// labels are standardised (Song et al., "The Vizier Gaussian Process Bandit Algorithm", 2024).
    Flat,
    /// Length scales that grow with the number of dimensions (Hvarfner, Hellsten and Nardi, "Vanilla Bayesian
    /// Optimization Performs Great in High Dimensions", 2024).
    DimensionScaled,
    /// Most knobs do nothing: half-Cauchy inverse squared length scales (Eriksson and Jankowiak, "High-Dimensional
    /// Bayesian Optimization with Sparse Axis-Aligned Subspaces", 2021, with a fixed global scale).
    Sparse,
}

/// Scale of the half-Cauchy belief about inverse squared length scales.
const SPARSE_SCALE: f64 = 0.1;
/// Bounds of ln of the signal's variance.
const SIGNAL_BOUNDS: (f64, f64) = (-3.0, 3.0);
/// Bounds of ln of the noise's variance: 1e-6 to 1.
const NOISE_BOUNDS: (f64, f64) = (-13.8, 0.0);

/// A belief about one logarithm.
#[derive(Debug, Clone, Copy)]
pub(super) enum Belief {
    /// Normal.
    Normal {
        /// Its mean.
        mean: f64,
        /// Its standard deviation.
        sd: f64,
    },
    /// Of ln l, where 1/l² is half-Cauchy with this scale.
    HalfCauchy {
        /// The scale of 1/l².
        scale: f64,
    },
}

impl Belief {
    /// Where the density is highest.
    pub(super) fn centre(self) -> f64 {
        match self {
            Self::Normal { mean, .. } => mean,
            Self::HalfCauchy { scale } => -0.5 * scale.ln(),
        }
    }

    /// The negative logarithm of the density at `x` up to a constant, and its derivative.
    pub(super) fn cost(self, x: f64) -> (f64, f64) {
        match self {
            Self::Normal { mean, sd } => {
                let z = (x - mean) / sd;
                (0.5 * z * z, z / sd)
            }
            Self::HalfCauchy { scale } => {
                let ratio = (-4.0 * x).exp() / (scale * scale);
                (2.0 * x + ratio.ln_1p(), 2.0 - 4.0 * ratio / (1.0 + ratio))
            }
        }
    }
}

impl Prior {
    /// Belief about hyper-parameter `k` of a kernel over `dimensions`: length scales, then the signal, then the noise.
    pub(super) fn belief(self, k: usize, dimensions: usize) -> Belief {
        match k.checked_sub(dimensions) {
            None => self.length(dimensions),
            Some(0) => self.signal(),
            Some(_) => self.noise(),
        }
    }

    /// Bounds of hyper-parameter `k`.
    pub(super) fn bounds(self, k: usize, dimensions: usize) -> (f64, f64) {
        match k.checked_sub(dimensions) {
            None => match self {
                Self::Flat => (0.1f64.ln(), 10f64.ln()),
                Self::DimensionScaled | Self::Sparse => (0.025f64.ln(), 50f64.ln()),
            },
            Some(0) => SIGNAL_BOUNDS,
            Some(_) => NOISE_BOUNDS,
        }
    }

    fn length(self, dimensions: usize) -> Belief {
        match self {
            Self::Flat => Belief::Normal {
                mean: 0.5 * 0.5f64.ln(),
                sd: 1.0 / 0.08f64.sqrt(),
            },
            Self::DimensionScaled => Belief::Normal {
                mean: 2f64.sqrt() + 0.5 * (dimensions.max(1) as f64).ln(),
                sd: 3f64.sqrt(),
            },
            Self::Sparse => Belief::HalfCauchy { scale: SPARSE_SCALE },
        }
    }

    fn signal(self) -> Belief {
        let sd = match self {
            Self::Flat => 1.0 / 0.02f64.sqrt(),
            Self::DimensionScaled => 0.5,
            Self::Sparse => 1.0,
        };
        Belief::Normal { mean: 0.0, sd }
    }

    fn noise(self) -> Belief {
        match self {
            Self::Flat => Belief::Normal {
                mean: 0.0039f64.ln(),
                sd: 1.0 / 0.02f64.sqrt(),
            },
            Self::DimensionScaled | Self::Sparse => Belief::Normal { mean: -4.0, sd: 1.0 },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slopes_agree_with_differences_and_vanish_at_the_centre() {
        for prior in [Prior::Flat, Prior::DimensionScaled, Prior::Sparse] {
            for k in 0..5 {
                let belief = prior.belief(k, 3);
                assert!(belief.cost(belief.centre()).1.abs() < 1e-9);
                for x in [-4.0, -0.3, 0.0, 1.1, 5.0] {
                    let numeric = (belief.cost(x + 1e-5).0 - belief.cost(x - 1e-5).0) / 2e-5;
                    assert!((numeric - belief.cost(x).1).abs() < 1e-6, "{prior:?} {k} at {x}");
                }
            }
        }
    }
}
