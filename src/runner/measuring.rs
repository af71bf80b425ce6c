//! Warm-up and measuring: how long, and what the window says.

use super::journal::Failure;
use super::series::counters;
use super::swapping::judge;
use super::watch::{Samples, StatusSample, Watch};
use crate::plan::Length;
use crate::stats::{batch_interval, steadiness};
use crate::trial::{
    EndOfMeasuring, Measurement, Phase, Warning, WindowTotals, WriteDebt, WriteState, metrics_of,
};
use crate::workload::LoadFailure;

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

/// What was measured, before the debt is known.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Window {
    pub(super) warm: WarmUp,
    pub(super) totals: WindowTotals,
    pub(super) ended: EndOfMeasuring,
    /// Server and host at its begin.
    pub(super) first: StatusSample,
    /// Server and host at its end.
    pub(super) last: StatusSample,
    /// What a person should know of it.
    pub(super) warning: Option<Warning>,
}

/// Loads until the throughput is steady, at most to the cap.
pub(super) async fn warm_up(watch: &mut Watch<'_>, length: &Length) -> Result<WarmUp, Failure> {
    loop {
        let second = watch.second(Phase::WarmUp).await?;
        let series: Vec<f64> = watch.samples.seconds.iter().map(|second| second.tps).collect();
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
pub(super) async fn measure(watch: &mut Watch<'_>, length: &Length, warm: WarmUp) -> Result<Window, Failure> {
    watch.sample_status(Phase::Measure).await?;
    let first = newest(watch.samples)?;
    let ended = loop {
        watch.second(Phase::Measure).await?;
        let window = &watch.samples.seconds[warm.samples..];
        let seconds: f64 = window.iter().map(|second| second.length).sum();
        // Half a second of slack: seconds are not exactly one second long.
        if seconds + 0.5 >= length.measure_max {
            break EndOfMeasuring::Cap;
        }
        let rates: Vec<f64> = window.iter().map(|second| second.tps).collect();
        if seconds + 0.5 >= length.measure_min && is_precise(&rates) {
            break EndOfMeasuring::Precise;
        }
    };
    watch.sample_status(Phase::Measure).await?;
    let last = newest(watch.samples)?;
    let totals = watch.load.window(warm.samples, watch.samples.seconds.len());
    LoadFailure::check_window(&totals)
        .map_err(|failure| Failure::Outcome(failure.outcome(Phase::Measure)))?;
    let warning = judge(&last.host.swapping_since(&first.host), totals.seconds)?;
    Ok(Window {
        warm,
        totals,
        ended,
        first,
        last,
        warning,
    })
}

fn newest(samples: &Samples) -> Result<StatusSample, Failure> {
    samples
        .status
        .last()
        .cloned()
        .ok_or_else(|| Failure::host("the server's status was never read"))
}

/// Whether the mean of the samples is known to 1 %, by the 95 % t interval of their batch means.
fn is_precise(window: &[f64]) -> bool {
    batch_interval(window, 0.95)
        .is_some_and(|mean| mean.point > 0.0 && mean.high - mean.point <= PRECISE * mean.point)
}

impl Window {
    /// Dirty data that the window added, bytes; none where the server does not tell.
    pub(super) fn debt_growth(&self) -> Option<f64> {
        Some(state(&self.last)?.dirty_bytes - state(&self.first)?.dirty_bytes)
    }

    /// What the window says. `drain_rate` is the rate, in bytes per second, at which the server was seen to pay its debt
    /// afterwards.
    pub(super) fn measurement(
        &self,
        samples: &Samples,
        writes: bool,
        drain_rate: Option<f64>,
    ) -> Measurement {
        let debt = writes.then(|| self.debt(drain_rate)).flatten();
        let seconds = &samples.seconds[self.warm.samples..];
        let mut counted = counters(&self.first, &self.last);
        counted.extend(self.last.host.since(&self.first.host));
        Measurement {
            metrics: metrics_of(&self.totals, seconds, debt.as_ref()),
            window_seconds: self.totals.seconds,
            warmup_seconds: samples.seconds[..self.warm.samples]
                .last()
                .map_or(0.0, |second| second.at),
            steady: self.warm.steady,
            ended: self.ended,
            debt,
            counters: counted,
        }
    }

    fn debt(&self, drain_rate: Option<f64>) -> Option<WriteDebt> {
        state(&self.first)?.debt(&state(&self.last)?, self.last.at - self.first.at, drain_rate)
    }
}

/// The write state in a status sample.
pub(super) fn state(sample: &StatusSample) -> Option<WriteState> {
    WriteState::from_status(|name| sample.values.get(&name.to_ascii_lowercase()).copied())
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

    #[test]
    fn few_batches_need_a_smaller_spread_than_a_normal_quantile_asks_for() {
        // Standard error 4.6: times 1.96 that is 0.9 % of the mean, times the t of 3 degrees of freedom 1.5 %.
        let window: Vec<f64> = [1008.0, 992.0, 1008.0, 992.0]
            .into_iter()
            .flat_map(|mean| [mean; 2])
            .collect();
        assert!(!is_precise(&window));
    }
}
