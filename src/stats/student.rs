//! Quantiles of Student's t distribution.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// The two-sided critical value of Student's t: a share `level` of the distribution with `df` degrees of freedom lies
/// within plus and minus it. None where `df` is not positive or `level` not in (0, 1).
pub fn t_critical(level: f64, df: f64) -> Option<f64> {
    if !(0.0..1.0).contains(&level) {
        return None;
    }
    StudentsT::new(0.0, 1.0, df)
        .ok()
        .map(|t| t.inverse_cdf(0.5 + level / 2.0))
        .filter(|t| t.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn critical_values_are_those_of_the_printed_tables() {
        for (df, expected) in [
            (1.0, 12.706),
            (2.0, 4.303),
            (4.0, 2.776),
            (9.0, 2.262),
            (30.0, 2.042),
        ] {
            let got = t_critical(0.95, df).unwrap();
            assert!((got - expected).abs() < 2e-3, "df {df}: {got}");
        }
    }

    #[test]
    fn no_degrees_of_freedom_have_no_critical_value() {
        assert_eq!(t_critical(0.95, 0.0), None);
        assert_eq!(t_critical(1.0, 4.0), None);
    }
}
