//! Standard error of the mean of a correlated series, by batch means.

use super::{Estimate, Interval, t_critical};

/// Fewest batches from which a variance is taken.
const MIN_BATCHES: usize = 4;

/// Mean of a series with its standard error by non-overlapping batch means.
///
/// Seconds of one run are correlated (checkpoints, flushing), so the plain standard error is too small. Means of batches
/// of about √n neighbours are nearly independent; their variance gives the error of the whole mean. An incomplete batch
/// is left out at the beginning for the error, never for the mean. Short series have smaller batches, so that there are four.
///
/// None where the series is empty or has a value that is not finite; no standard error where it is shorter than four
/// batches of two, eight values.
///
/// Source: Flegal and Jones, "Batch means and spectral variance estimators in Markov chain Monte Carlo", Annals of
/// Statistics 38 (2010): batch size ⌊√n⌋.
pub fn batch_means(values: &[f64]) -> Option<Estimate> {
    if values.is_empty() || values.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let mean = average(values);
    Some(Estimate {
        value: mean,
        standard_error: standard_error(values),
    })
}

/// The t interval of the mean of a correlated series, from [`batch_means`]: as many degrees of freedom as there are
/// batches but one. None where there is no standard error, or `level` is not in (0, 1).
pub fn batch_interval(values: &[f64], level: f64) -> Option<Interval> {
    let mean = batch_means(values)?;
    let (_, batches) = shape(values.len())?;
    let half = t_critical(level, (batches - 1) as f64)? * mean.standard_error?;
    Some(Interval {
        point: mean.value,
        low: mean.value - half,
        high: mean.value + half,
        level,
    })
}

/// Size and number of batches; none where the series is too short.
fn shape(length: usize) -> Option<(usize, usize)> {
    let size = length.isqrt().min(length / MIN_BATCHES);
    (size >= 2).then(|| (size, length / size))
}

fn standard_error(values: &[f64]) -> Option<f64> {
    let (size, batches) = shape(values.len())?;
    let used = &values[values.len() - batches * size..];
    let means: Vec<f64> = used.chunks_exact(size).map(average).collect();
    let middle = average(&means);
    let spread: f64 = means.iter().map(|mean| (mean - middle).powi(2)).sum();
    let variance_of_a_batch = spread / (batches - 1) as f64;
    Some((variance_of_a_batch / batches as f64).sqrt())
}

/// Mean of a series that is not empty.
fn average(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    #[test]
    fn a_short_series_has_a_mean_but_no_standard_error() {
        let estimate = batch_means(&[1.0, 2.0, 3.0]).unwrap();
        assert_eq!(estimate.value, 2.0);
        assert_eq!(estimate.standard_error, None);
        assert_eq!(batch_means(&[]), None);
        assert_eq!(batch_means(&[1.0, f64::NAN]), None);
    }

    #[test]
    fn the_interval_has_the_width_of_students_t_with_one_degree_less_than_batches() {
        let series = [1.0, 1.0, 3.0, 3.0, 1.0, 1.0, 3.0, 3.0];
        let (mean, interval) = (
            batch_means(&series).unwrap(),
            batch_interval(&series, 0.95).unwrap(),
        );
        let half = 3.182 * mean.standard_error.unwrap();
        assert!((interval.high - 2.0 - half).abs() < 1e-3 && (2.0 - interval.low - half).abs() < 1e-3);
        assert_eq!(batch_interval(&series[..7], 0.95), None);
    }

    #[test]
    fn a_correlated_series_has_a_larger_error_than_the_plain_formula_says() {
        // AR(1) with coefficient 0.8: the true error of the mean is 3 times the plain one.
        let mut rng = ChaCha8Rng::seed_from_u64(7);
        let mut value = 0.0;
        let series: Vec<f64> = (0..2000)
            .map(|_| {
                value = 0.8 * value + rng.random::<f64>() - 0.5;
                value
            })
            .collect();
        let mean = average(&series);
        let variance = series.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (series.len() - 1) as f64;
        let plain = (variance / series.len() as f64).sqrt();
        let batched = batch_means(&series).unwrap().standard_error.unwrap();
        assert!(
            batched > 2.0 * plain && batched < 4.5 * plain,
            "{batched} {plain}"
        );
    }

    proptest! {
        #[test]
        fn scale_and_shift_pass_through(
            series in prop::collection::vec(0.0f64..1000.0, 8..80),
            factor in 0.1f64..10.0,
            shift in -100.0f64..100.0,
        ) {
            let before = batch_means(&series).unwrap();
            let changed: Vec<f64> = series.iter().map(|v| v * factor + shift).collect();
            let after = batch_means(&changed).unwrap();
            prop_assert!((after.value - (before.value * factor + shift)).abs() < 1e-6);
            let (a, b) = (before.standard_error.unwrap(), after.standard_error.unwrap());
            prop_assert!((b - a * factor).abs() < 1e-6);
        }
    }
}
