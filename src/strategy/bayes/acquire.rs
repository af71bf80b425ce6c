//! The acquisition: how promising a point is.
//!
//! Source of the stable form: Ament et al., "Unexpected Improvements to Expected Improvement for Bayesian
//! Optimization", 2023, equation 9.

use std::f64::consts::{PI, SQRT_2};

use statrs::function::erf::erfc;

use super::gp::Prediction;

/// ln of the expected improvement over `best`, finite for every finite input with `sd` above zero.
pub fn log_expected_improvement(prediction: Prediction, best: f64) -> f64 {
    let z = (prediction.mean - best) / prediction.sd;
    log_h(z) + prediction.sd.ln()
}

/// ln(φ(z) + z Φ(z)).
fn log_h(z: f64) -> f64 {
    let log_density = -0.5 * z * z - 0.5 * (2.0 * PI).ln();
    if z > -1.0 {
        (log_density.exp() + z * 0.5 * erfc(-z / SQRT_2)).ln()
    } else if z > -25.0 {
        let x = -z / SQRT_2;
        let scaled_erfc = (x * x).exp() * erfc(x);
        log_density + (z * (0.5 * PI).sqrt() * scaled_erfc).ln_1p()
    } else {
        // The expansion 1/z² (1 - 3/z² + 15/z⁴ - ...), within 1e-6 here and better beyond.
        let q = 1.0 / (z * z);
        log_density - 2.0 * (-z).ln() + (-3.0 * q + 15.0 * q * q).ln_1p()
    }
}

/// ln of the standard normal distribution function.
pub fn log_normal_cdf(z: f64) -> f64 {
    if z > -10.0 {
        (0.5 * erfc(-z / SQRT_2)).ln()
    } else {
        let q = 1.0 / (z * z);
        -0.5 * z * z - 0.5 * (2.0 * PI).ln() - (-z).ln() + (-q + 3.0 * q * q).ln_1p()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Computed with mpmath at 60 and 200 digits: log(npdf(z) + z * ncdf(z)) and log(erfc(-z / sqrt(2)) / 2).
    const LOG_H: [(f64, f64); 9] = [
        (3.0, 1.0987396653277077),
        (0.0, -0.9189385332046728),
        (-0.5, -1.6205162643873199),
        (-1.5, -3.52993592080571),
        (-10.0, -55.55312203612235),
        (-20.0, -206.9178385094251),
        (-24.0, -295.2802232348049),
        (-26.0, -345.439546722318),
        (-100.0, -5010.12957880025),
    ];
    const LOG_CDF: [(f64, f64); 6] = [
        (2.0, -0.023012909328963486),
        (0.0, -std::f64::consts::LN_2),
        (-3.0, -6.607726221510349),
        (-9.5, -48.30601929896523),
        (-12.0, -75.4106730015688),
        (-40.0, -804.6084420137538),
    ];

    #[test]
    fn improvement_and_probability_agree_with_reference_numbers_far_into_the_tail() {
        for (z, expected) in LOG_H {
            assert!(
                (log_h(z) - expected).abs() < 1e-6,
                "at {z}: {} against {expected}",
                log_h(z)
            );
        }
        for (z, expected) in LOG_CDF {
            let found = log_normal_cdf(z);
            assert!(
                (found - expected).abs() < 1e-4 * expected.abs().min(1.0),
                "at {z}: {found}"
            );
        }
    }

    #[test]
    fn improvement_stays_finite_where_the_model_is_certain() {
        for mean in [-1e6, -1.0, 0.0, 1.0, 1e6] {
            let prediction = Prediction { mean, sd: 1e-9 };
            assert!(log_expected_improvement(prediction, 0.0).is_finite());
        }
    }
}
