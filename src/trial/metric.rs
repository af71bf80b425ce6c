//! The registry of metrics: what each name means, its unit, which direction is better, and how it comes from a window.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::{Second, WindowTotals, WriteDebt};
use crate::stats::{Estimate, batch_means};

/// Which way is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// More is better.
    Higher,
    /// Less is better.
    Lower,
}

impl Direction {
    /// The word for it in output and study files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Higher => "higher",
            Self::Lower => "lower",
        }
    }
}

/// How a metric comes from a window.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Aggregation {
    /// Transactions over the window and the time its write debt would take to pay.
    RateWithDebt,
    /// A count over the window's length.
    Rate(Counted),
    /// A quantile (0 to 1) of the latencies of all transactions of the window, from the merged histogram.
    Quantile(f64),
    /// Mean latency of all transactions of the window.
    Mean,
    /// Timed apart from the window, where a study asks for it.
    Apart,
}

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counted {
    /// Transactions.
    Transactions,
    /// Errors that the load ignored.
    Errors,
    /// Reconnects.
    Reconnects,
}

/// A metric.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Metric {
    /// Its name in study files, stores and output.
    pub name: &'static str,
    /// Its unit as written behind a number.
    pub unit: &'static str,
    /// Which way is better.
    pub direction: Direction,
    /// How it comes from a window.
    pub aggregation: Aggregation,
    /// What it is, one sentence.
    pub definition: &'static str,
}

/// All metrics, in the order in which they are shown.
pub const METRICS: [Metric; 10] = [
    Metric {
        name: "tps",
        unit: "tps",
        direction: Direction::Higher,
        aggregation: Aggregation::RateWithDebt,
        definition: "Transactions per second, with the time that the window's write debt would take to pay added to the window; equals raw_tps for loads that do not write",
    },
    Metric {
        name: "raw_tps",
        unit: "tps",
        direction: Direction::Higher,
        aggregation: Aggregation::Rate(Counted::Transactions),
        definition: "Transactions per second of the window alone",
    },
    Metric {
        name: "mean_ms",
        unit: "ms",
        direction: Direction::Lower,
        aggregation: Aggregation::Mean,
        definition: "Mean latency of a transaction",
    },
    Metric {
        name: "p50_ms",
        unit: "ms",
        direction: Direction::Lower,
        aggregation: Aggregation::Quantile(0.5),
        definition: "Latency that half of the window's transactions stayed under",
    },
    Metric {
        name: "p95_ms",
        unit: "ms",
        direction: Direction::Lower,
        aggregation: Aggregation::Quantile(0.95),
        definition: "Latency that 95 % of the window's transactions stayed under",
    },
    Metric {
        name: "p99_ms",
        unit: "ms",
        direction: Direction::Lower,
        aggregation: Aggregation::Quantile(0.99),
        definition: "Latency that 99 % of the window's transactions stayed under",
    },
    Metric {
        name: "max_ms",
        unit: "ms",
        direction: Direction::Lower,
        aggregation: Aggregation::Quantile(1.0),
        definition: "Latency of the window's slowest transaction",
    },
    Metric {
        name: "errors_per_s",
        unit: "1/s",
        direction: Direction::Lower,
        aggregation: Aggregation::Rate(Counted::Errors),
        definition: "Errors that the load ignored and tried again (deadlocks, lock wait timeouts)",
    },
    Metric {
        name: "reconnects_per_s",
        unit: "1/s",
        direction: Direction::Lower,
        aggregation: Aggregation::Rate(Counted::Reconnects),
        definition: "Connections lost and made anew",
    },
    Metric {
        name: "recovery_s",
        unit: "s",
        direction: Direction::Lower,
        aggregation: Aggregation::Apart,
        definition: "Time from the start of a server that was killed under load to its first commit; only with crash_recovery = true",
    },
];

impl Metric {
    /// The metric of this name.
    pub fn by_name(name: &str) -> Option<&'static Self> {
        METRICS.iter().find(|metric| metric.name == name)
    }

    /// Its value in a window; none where the window does not hold it (no histogram, nothing finished, no time). The
    /// standard error is that of the per-second rates by batch means, which percentiles do not have.
    fn estimate(
        &self,
        window: &WindowTotals,
        seconds: &[Second],
        debt: Option<&WriteDebt>,
    ) -> Option<Estimate> {
        if window.seconds <= 0.0 {
            return None;
        }
        // The errors of a rate come from the seconds, the rate itself from the exact counts.
        let rate = |count: u64, over: f64, of_second: fn(&Second) -> f64| {
            let values: Vec<f64> = seconds.iter().map(of_second).collect();
            let error = batch_means(&values).and_then(|estimate| estimate.standard_error);
            Estimate {
                value: count as f64 / over,
                standard_error: error.map(|error| error * window.seconds / over),
            }
        };
        let estimate = match self.aggregation {
            Aggregation::RateWithDebt => {
                let debt = debt.map_or(0.0, |debt| debt.seconds);
                rate(window.transactions, window.seconds + debt, |second| second.tps)
            }
            Aggregation::Rate(Counted::Transactions) => {
                rate(window.transactions, window.seconds, |second| second.tps)
            }
            Aggregation::Rate(Counted::Errors) => rate(window.errors, window.seconds, |second| second.errors),
            Aggregation::Rate(Counted::Reconnects) => {
                rate(window.reconnects, window.seconds, |second| second.reconnects)
            }
            Aggregation::Quantile(q) => Estimate {
                value: window.histogram.as_ref()?.quantile_ms(q)?,
                standard_error: None,
            },
            Aggregation::Apart => return None,
            Aggregation::Mean => Estimate {
                value: window.histogram.as_ref()?.mean_ms()?,
                standard_error: None,
            },
        };
        estimate.value.is_finite().then_some(estimate)
    }
}

/// Every metric that a window holds. `seconds` are the samples of the same window; they give the standard errors of
/// rates.
pub fn metrics_of(
    window: &WindowTotals,
    seconds: &[Second],
    debt: Option<&WriteDebt>,
) -> BTreeMap<String, Estimate> {
    METRICS
        .iter()
        .filter_map(|metric| {
            let estimate = metric.estimate(window, seconds, debt)?;
            Some((metric.name.to_owned(), estimate))
        })
        .collect()
}

/// The registry as a Markdown table, for the documentation.
pub fn metrics_markdown() -> String {
    let mut table = String::from("| metric | unit | better | what it is |\n|---|---|---|---|\n");
    for metric in &METRICS {
        // Writing to a String cannot fail.
        let _ = writeln!(
            table,
            "| `{}` | {} | {} | {} |",
            metric.name,
            metric.unit,
            metric.direction.name(),
            metric.definition
        );
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Histogram;

    fn second(at: f64, tps: f64) -> Second {
        Second {
            at,
            length: 1.0,
            tps,
            errors: 0.0,
            reconnects: 0.0,
            p95_ms: None,
        }
    }

    fn window() -> WindowTotals {
        let mut histogram = Histogram::default();
        (0..950).for_each(|_| histogram.record(10_000));
        (0..50).for_each(|_| histogram.record(90_000));
        WindowTotals {
            seconds: 10.0,
            transactions: 1000,
            errors: 5,
            reconnects: 0,
            histogram: Some(histogram),
        }
    }

    #[test]
    fn the_score_counts_the_time_of_the_debt_and_the_raw_rate_does_not() {
        let debt = WriteDebt {
            growth_bytes: 1e8,
            flush_bytes_per_second: 1e7,
            seconds: 10.0,
        };
        let metrics = metrics_of(&window(), &[], Some(&debt));
        assert_eq!(metrics["tps"].value, 50.0);
        assert_eq!(metrics["raw_tps"].value, 100.0);
        assert_eq!(metrics["errors_per_s"].value, 0.5);
    }

    #[test]
    fn the_error_of_the_score_shrinks_with_the_score() {
        let seconds: Vec<Second> = (0..25)
            .map(|i| second(f64::from(i), 90.0 + f64::from((i / 5) % 3) * 10.0))
            .collect();
        let debt = WriteDebt {
            growth_bytes: 1.0,
            flush_bytes_per_second: 1.0,
            seconds: 10.0,
        };
        let metrics = metrics_of(&window(), &seconds, Some(&debt));
        let (score, raw) = (
            metrics["tps"].standard_error.unwrap(),
            metrics["raw_tps"].standard_error.unwrap(),
        );
        assert!(raw > 0.0 && (score - raw / 2.0).abs() < 1e-9);
    }

    #[test]
    fn a_load_without_histograms_has_rates_and_no_percentiles() {
        let window = WindowTotals {
            histogram: None,
            ..window()
        };
        let metrics = metrics_of(&window, &[], None);
        assert!(metrics.contains_key("tps") && !metrics.contains_key("p95_ms"));
        assert!(metrics_of(&WindowTotals::default(), &[], None).is_empty());
    }

    #[test]
    fn names_are_unique_and_every_metric_has_its_row() {
        let table = metrics_markdown();
        for metric in &METRICS {
            assert_eq!(
                METRICS.iter().filter(|other| other.name == metric.name).count(),
                1
            );
            assert!(table.contains(&format!("| `{}` |", metric.name)));
            assert_eq!(Metric::by_name(metric.name), Some(metric));
        }
        assert_eq!(Metric::by_name("qps"), None);
    }
}
