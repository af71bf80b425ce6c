//! Warm-up and measuring: how long, and what the window says.

use super::journal::Failure;
use super::watch::Watch;
use crate::plan::Length;
use crate::stats::{batch_means, steadiness};
use crate::trial::{EndOfMeasuring, Phase};

/// A warm-up is looked at from this many samples on.
const FEWEST_SAMPLES: usize = 8;
/// Measuring ends early when the 95 % interval of the mean is at most this share of it on either side.
const PRECISE: f64 = 0.01;

/// How a warm-up ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct WarmUp {
    /// Seconds of load it took.
    pub(super) samples: usize,
    /// Whether the throughput was steady at its end.
    pub(super) steady: bool,
}

/// Loads until the throughput is steady, at most to the cap.
pub(super) async fn warm_up(watch: &mut Watch<'_>, length: &Length) -> Result<WarmUp, Failure> {
    loop {
        let second = watch.second(Phase::WarmUp).await?;
        let series: Vec<f64> = watch.seconds.iter().map(|second| second.tps).collect();
        let steady = steadiness(&series, FEWEST_SAMPLES).is_some_and(|seen| seen.steady);
        if steady || second.at >= length.warmup_cap {
            return Ok(WarmUp {
                samples: series.len(),
                steady,
            });
        }
    }
}

/// Measures until the interval is narrow enough, at most to the cap. The window is the seconds after the warm-up's.
pub(super) async fn measure(
    watch: &mut Watch<'_>,
    length: &Length,
    warm_up: &WarmUp,
) -> Result<EndOfMeasuring, Failure> {
    watch.sample_status(Phase::Measure).await?;
    let ended = loop {
        watch.second(Phase::Measure).await?;
        let window: Vec<f64> = watch.seconds[warm_up.samples..]
            .iter()
            .map(|second| second.tps)
            .collect();
        let seconds: f64 = watch.seconds[warm_up.samples..]
            .iter()
            .map(|second| second.length)
            .sum();
        // Half a second of slack: seconds are not exactly one second long.
        if seconds + 0.5 >= length.measure_max {
            break EndOfMeasuring::Cap;
        }
        if seconds + 0.5 >= length.measure_min && is_precise(&window) {
            break EndOfMeasuring::Precise;
        }
    };
    watch.sample_status(Phase::Measure).await?;
    Ok(ended)
}

/// Whether the mean of the samples is known to 1 % (95 %, normal), by batch means.
fn is_precise(window: &[f64]) -> bool {
    batch_means(window)
        .and_then(|mean| mean.standard_error.map(|error| (mean.value, error)))
        .is_some_and(|(mean, error)| mean > 0.0 && 1.96 * error <= PRECISE * mean)
}

#[cfg(test)]
mod tests {
    use super::is_precise;

    #[test]
    fn a_level_series_is_precise_and_a_jumping_one_is_not() {
        let level: Vec<f64> = (0..40).map(|i| 1000.0 + f64::from(i % 2)).collect();
        assert!(is_precise(&level));
        let jumping: Vec<f64> = (0..40).map(|i| 1000.0 + 300.0 * f64::from((i / 7) % 2)).collect();
        assert!(!is_precise(&jumping));
        assert!(!is_precise(&[0.0; 40]), "nothing done is nothing measured");
    }
}
