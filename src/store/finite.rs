//! Keeps numbers that are none out of every store: they become absent, and a warning of the trial says so.

use std::borrow::Cow;

use crate::space::{Configuration, Value};
use crate::trial::{Cause, CauseKind, Measurement, Outcome, Series, TrialRecord, Warning};

/// The record as it may be stored: borrowed where every number is finite (always, but for a defect elsewhere).
pub(super) fn finite(record: &TrialRecord) -> Cow<'_, TrialRecord> {
    if is_finite(record) {
        return Cow::Borrowed(record);
    }
    let mut clean = record.clone();
    let mut lost = Vec::new();
    clean.phases.retain(|phase| {
        let keep = phase.seconds.is_finite();
        if !keep {
            lost.push(format!("the duration of the phase {}", phase.phase));
        }
        keep
    });
    if !clean.seconds.is_finite() {
        clean.seconds = clean.phases.iter().map(|phase| phase.seconds).sum();
        lost.push("the duration of the trial".to_owned());
    }
    if let Some(effective) = &mut clean.effective {
        let (kept, dropped): (Vec<_>, Vec<_>) = effective
            .iter()
            .map(|(knob, value)| (knob.to_owned(), value.clone()))
            .partition(|(_, value)| value_is_finite(value));
        lost.extend(
            dropped
                .iter()
                .map(|(knob, _)| format!("the effective value of {knob}")),
        );
        *effective = kept.into_iter().collect();
    }
    for series in &mut clean.series {
        if !series_is_finite(series) {
            lost.push(format!("samples of the series {}", series.name));
            clean_series(series);
        }
    }
    if let Outcome::Measured(measurement) = &mut clean.outcome {
        clean_measurement(measurement, &mut lost);
        if !measurement.window_seconds.is_finite() || !measurement.warmup_seconds.is_finite() {
            clean.outcome = Outcome::HostFault {
                cause: Cause::new(
                    CauseKind::LoadInconsistent,
                    "the length of the measured window or of the warm-up is not a number",
                ),
            };
        }
    }
    clean.warnings.extend(lost.into_iter().map(|what| Warning {
        text: format!("{what} was not a number and is left out"),
        next: Some("report this as a defect of noctune".to_owned()),
    }));
    Cow::Owned(clean)
}

/// Whether every number of a configuration is finite.
pub(super) fn configuration_is_finite(configuration: &Configuration) -> bool {
    configuration.iter().all(|(_, value)| value_is_finite(value))
}

fn is_finite(record: &TrialRecord) -> bool {
    record.seconds.is_finite()
        && record.phases.iter().all(|phase| phase.seconds.is_finite())
        && record.effective.as_ref().is_none_or(configuration_is_finite)
        && record.series.iter().all(series_is_finite)
        && record.outcome.measurement().is_none_or(measurement_is_finite)
}

fn value_is_finite(value: &Value) -> bool {
    !matches!(value, Value::Float(x) if !x.is_finite())
}

fn series_is_finite(series: &Series) -> bool {
    series.at.len() == series.values.len()
        && series.at.iter().all(|at| at.is_finite())
        && series.values.iter().flatten().all(|value| value.is_finite())
}

fn clean_series(series: &mut Series) {
    let samples = series.at.iter().zip(&series.values);
    (series.at, series.values) = samples
        .filter(|(at, _)| at.is_finite())
        .map(|(at, value)| (*at, value.filter(|v| v.is_finite())))
        .unzip();
}

fn measurement_is_finite(measurement: &Measurement) -> bool {
    let estimates = measurement.metrics.values();
    measurement.window_seconds.is_finite()
        && measurement.warmup_seconds.is_finite()
        && estimates
            .clone()
            .all(|e| e.value.is_finite() && e.standard_error.is_none_or(f64::is_finite))
        && measurement.counters.values().all(|value| value.is_finite())
        && measurement.debt.is_none_or(|debt| {
            debt.growth_bytes.is_finite()
                && debt.flush_bytes_per_second.is_finite()
                && debt.seconds.is_finite()
        })
}

fn clean_measurement(measurement: &mut Measurement, lost: &mut Vec<String>) {
    measurement.metrics.retain(|name, estimate| {
        let keep = estimate.value.is_finite();
        if !keep {
            lost.push(format!("the metric {name}"));
        } else if estimate.standard_error.is_some_and(|e| !e.is_finite()) {
            estimate.standard_error = None;
            lost.push(format!("the standard error of {name}"));
        }
        keep
    });
    measurement.counters.retain(|name, value| {
        let keep = value.is_finite();
        if !keep {
            lost.push(format!("the counter {name}"));
        }
        keep
    });
    if measurement.debt.is_some_and(|debt| {
        ![debt.growth_bytes, debt.flush_bytes_per_second, debt.seconds]
            .iter()
            .all(|x| x.is_finite())
    }) {
        measurement.debt = None;
        lost.push("the write debt".to_owned());
    }
}
