//! When a throughput is steady.

use statrs::distribution::{ContinuousCDF, Normal};

/// Longest stretch looked at, samples; bounds the work and the memory of a long warm-up.
const LONGEST: usize = 120;
/// A trend is believed below this two-sided probability. Large, so that doubt prolongs the warm-up.
const BELIEVED: f64 = 0.1;
/// Largest drift over the stretch, as a share of its median, that is still called steady.
const LARGEST_DRIFT: f64 = 0.05;

/// What the newest samples say about steadiness.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Steadiness {
    /// Number of samples looked at: the newer half of the series, at least the minimum.
    pub samples: usize,
    /// Robust drift over these samples as a share of their median; none where the median is zero.
    pub drift: Option<f64>,
    /// Two-sided probability of such a trend in a series without one.
    pub probability: f64,
    /// Whether the series is steady: no believed trend, and a drift of at most 5 %.
    pub steady: bool,
}

/// Looks whether a series of per-second throughputs has become steady.
///
/// The newer half of the series (at least `min_samples`, at most 120) must show no monotone trend by the Mann-Kendall
/// test at 10 %, and its Theil-Sen slope must add up to at most 5 % of the median over the stretch. Both are rank based:
/// one stalled second does not decide. Correlated samples make the test see trends more often than 10 %, so it errs on
/// the side of a longer warm-up. A throughput that is zero for half of the stretch is never steady.
///
/// None while there are fewer than `min_samples` (never below 8) samples, or where one is not finite.
///
/// Sources: Mann, "Nonparametric tests against trend", Econometrica 13 (1945); Kendall, "Rank correlation methods"
/// (1975); Sen, "Estimates of the regression coefficient based on Kendall's tau", JASA 63 (1968).
pub fn steadiness(series: &[f64], min_samples: usize) -> Option<Steadiness> {
    let min_samples = min_samples.max(8);
    if series.len() < min_samples || series.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let samples = (series.len() / 2).max(min_samples).min(LONGEST.max(min_samples));
    let newest = &series[series.len() - samples..];
    let probability = mann_kendall(newest)?;
    let middle = median(newest.to_vec());
    let drift = (middle > 0.0).then(|| theil_sen(newest) * (samples - 1) as f64 / middle);
    let steady = probability >= BELIEVED && drift.is_some_and(|drift| drift.abs() <= LARGEST_DRIFT);
    Some(Steadiness {
        samples,
        drift,
        probability,
        steady,
    })
}

/// Two-sided probability of the Mann-Kendall statistic, normal approximation with the correction for ties and for
/// continuity; 1 for a constant series, none where the distribution cannot be made.
fn mann_kendall(series: &[f64]) -> Option<f64> {
    let n = series.len() as f64;
    let mut s = 0.0;
    for (i, earlier) in series.iter().enumerate() {
        for later in &series[i + 1..] {
            s += match later.total_cmp(earlier) {
                std::cmp::Ordering::Greater => 1.0,
                std::cmp::Ordering::Less => -1.0,
                std::cmp::Ordering::Equal => 0.0,
            };
        }
    }
    let mut sorted = series.to_vec();
    sorted.sort_by(f64::total_cmp);
    let ties: f64 = sorted
        .chunk_by(|a, b| a.total_cmp(b).is_eq())
        .map(|group| group.len() as f64)
        .map(|t| t * (t - 1.0) * (2.0 * t + 5.0))
        .sum();
    let variance = (n * (n - 1.0) * (2.0 * n + 5.0) - ties) / 18.0;
    if variance <= 0.0 {
        return Some(1.0);
    }
    let z = (f64::abs(s) - 1.0).max(0.0) / variance.sqrt();
    let normal = Normal::new(0.0, 1.0).ok()?;
    Some(2.0 * normal.sf(z))
}

/// Median of all pairwise slopes, per sample.
fn theil_sen(series: &[f64]) -> f64 {
    let mut slopes = Vec::with_capacity(series.len() * (series.len() - 1) / 2);
    for (i, earlier) in series.iter().enumerate() {
        for (j, later) in series.iter().enumerate().skip(i + 1) {
            slopes.push((later - earlier) / (j - i) as f64);
        }
    }
    median(slopes)
}

/// Median of values that are not empty; zero for none.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => 0.0,
        n if n % 2 == 1 => values[middle],
        _ => (values[middle - 1] + values[middle]) / 2.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    fn noisy(seed: u64, n: usize, level: impl Fn(usize) -> f64) -> Vec<f64> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        (0..n)
            .map(|i| level(i) * (1.0 + 0.04 * (rng.random::<f64>() - 0.5)))
            .collect()
    }

    #[test]
    fn too_few_samples_say_nothing() {
        assert_eq!(steadiness(&[100.0; 9], 10), None);
        assert_eq!(steadiness(&[100.0; 5], 0), None);
        assert_eq!(steadiness(&[f64::NAN; 20], 10), None);
    }

    #[test]
    fn a_constant_throughput_is_steady() {
        assert!(steadiness(&[100.0; 10], 10).unwrap().steady);
    }

    #[test]
    fn a_dead_server_is_never_steady() {
        assert!(!steadiness(&[0.0; 30], 10).unwrap().steady);
    }

    #[test]
    fn a_filling_buffer_pool_is_not_steady_until_it_is_full() {
        let filling = |i: usize| 1000.0 * (1.0 - (-(i as f64) / 15.0).exp());
        for seed in 0..20 {
            let series = noisy(seed, 200, filling);
            assert!(!steadiness(&series[..12], 10).unwrap().steady, "seed {seed}");
            assert!(!steadiness(&series[..25], 10).unwrap().steady, "seed {seed}");
        }
    }

    #[test]
    fn most_level_series_are_found_steady_within_seconds() {
        let found = (0..100)
            .filter(|seed| {
                let series = noisy(*seed, 20, |_| 800.0);
                (10..=20).any(|n| steadiness(&series[..n], 10).unwrap().steady)
            })
            .count();
        assert!(found >= 95, "{found} of 100");
    }

    #[test]
    fn one_stalled_second_does_not_decide() {
        let mut series = noisy(3, 24, |_| 800.0);
        series[20] = 0.0;
        assert!((12..=24).any(|n| steadiness(&series[..n], 10).unwrap().steady));
        assert!(steadiness(&series, 10).unwrap().drift.unwrap().abs() < 0.05);
    }
}
