//! One trial: why it was tried and what it did.

use std::collections::BTreeSet;

use serde_json::{Value as Json, json};

use super::format::{NOT_MEASURABLE, duration, number, percent, table};
use super::json::{changes as json_changes, finite};
use super::text::changes_table;
use super::view::changes;
use crate::plan::{Fact, Purpose};
use crate::space::Configuration;
use crate::trial::{EndOfMeasuring, Measurement, Outcome, TrialRecord};

/// One trial to be explained.
#[derive(Debug, Clone, Copy)]
pub struct Explained<'a> {
    /// The job and what came of it.
    pub fact: &'a Fact,
    /// Its full record; none while it is open.
    pub record: Option<&'a TrialRecord>,
    /// The baseline's configuration; none before it is known.
    pub baseline: Option<&'a Configuration>,
    /// Knobs whose whole numbers are sizes in bytes.
    pub sizes: &'a BTreeSet<String>,
}

/// Purpose with its number or arm.
fn purpose(purpose: &Purpose) -> String {
    match purpose {
        Purpose::Repeat { of } => format!("repeat of trial {of}"),
        Purpose::Pair { block, arm } => format!("pair: block {block}, {}", arm.name()),
        other => other.name().to_owned(),
    }
}

/// The trial as plain text; ends with a line feed.
pub fn explain(trial: &Explained<'_>) -> String {
    let Explained { fact, record, .. } = *trial;
    let mut out = format!("Trial {}: {}\n", fact.number, purpose(&fact.job.purpose));
    let mut row = |name: &str, text: &str| out.push_str(&format!("  {name:<10}{text}\n"));
    row("why", &fact.job.why);
    match record {
        None => row("outcome", "not ended"),
        Some(record) => {
            let outcome = &record.outcome;
            match outcome.reason() {
                Some(reason) => row("outcome", &format!("{}: {reason}", outcome.name())),
                None => row("outcome", outcome.name()),
            }
            if let Outcome::ServerRefused { cause } | Outcome::Crashed { cause, .. } = outcome
                && let Some(variable) = &cause.variable
            {
                let value = cause.value.as_deref().unwrap_or("an unknown value");
                row("variable", &format!("{variable} = {value}"));
            }
            row(
                "began",
                &format!("{}, took {}", record.began, duration(record.seconds)),
            );
        }
    }
    out.push_str(&configuration(trial));
    if let Some(record) = record {
        if let Some(measurement) = record.outcome.measurement() {
            out.push_str(&measured(measurement));
        }
        out.push_str(&phases_and_warnings(record));
    }
    out
}

/// What differs from the baseline.
fn configuration(trial: &Explained<'_>) -> String {
    let Some(baseline) = trial.baseline else {
        return "\nThe baseline is not known yet.\n".to_owned();
    };
    let changes = changes(baseline, trial.fact.configuration());
    if changes.is_empty() {
        return "\nIts configuration is the baseline's.\n".to_owned();
    }
    let table = changes_table(&changes, trial.sizes, ["knob", "baseline", "this trial"]);
    format!("\nWhat it changes\n{table}")
}

fn measured(measurement: &Measurement) -> String {
    let rows: Vec<Vec<String>> = measurement
        .metrics
        .iter()
        .map(|(name, estimate)| {
            let error = estimate.standard_error.filter(|error| error.is_finite());
            let error = error.map_or_else(
                || NOT_MEASURABLE.to_owned(),
                |error| format!("± {}", number(error)),
            );
            vec![name.clone(), number(estimate.value), error]
        })
        .collect();
    let table = table(
        &["metric", "value", "standard error"],
        &[false, true, true],
        &rows,
    );
    let steady = if measurement.steady {
        "steady"
    } else {
        "NOT steady when measuring began: the warm-up cap came first"
    };
    let ended = match measurement.ended {
        EndOfMeasuring::Precise => "the interval was narrow enough",
        EndOfMeasuring::Hopeless => "it could no longer win",
        EndOfMeasuring::Cap => "the longest allowed time was up",
    };
    let mut out = format!(
        "\nWhat was measured\n{table}  window {} after {} of warm-up, {steady}; ended because {ended}\n",
        duration(measurement.window_seconds),
        duration(measurement.warmup_seconds),
    );
    if let Some(debt) = measurement.debt {
        let share = percent(debt.seconds / measurement.window_seconds);
        out.push_str(&format!(
            "  write debt: {} of writing postponed past the window ({share} of it), counted in the score\n",
            duration(debt.seconds)
        ));
    }
    out
}

fn phases_and_warnings(record: &TrialRecord) -> String {
    let rows: Vec<Vec<String>> = record
        .phases
        .iter()
        .map(|time| vec![time.phase.to_string(), format!("{:.2} s", time.seconds)])
        .collect();
    let mut out = format!("\nPhases\n{}", table(&["phase", "took"], &[false, true], &rows));
    if !record.warnings.is_empty() {
        out.push_str("\nWarnings\n");
    }
    for warning in &record.warnings {
        out.push_str(&format!("  {}\n", warning.text));
        if let Some(next) = &warning.next {
            out.push_str(&format!("    next: {next}\n"));
        }
    }
    out
}

/// The trial as one JSON object, `format` 1.
pub fn explain_json(trial: &Explained<'_>) -> Json {
    let Explained { fact, record, .. } = *trial;
    let changed = trial
        .baseline
        .map(|baseline| json_changes(&changes(baseline, fact.configuration())));
    let measurement = record.and_then(|record| record.outcome.measurement());
    json!({
        "format": 1,
        "trial": fact.number,
        "purpose": fact.job.purpose,
        "why": fact.job.why,
        "configuration": fact.configuration(),
        "changes": changed,
        "outcome": record.map(|record| record.outcome.name()),
        "reason": record.and_then(|record| record.outcome.reason()),
        "began": record.map(|record| record.began.to_string()),
        "seconds": finite(record.map(|record| record.seconds)),
        "metrics": measurement.map(|measurement| {
            measurement.metrics.iter().map(|(name, estimate)| {
                let entry = json!({
                    "value": finite(Some(estimate.value)),
                    "standard_error": finite(estimate.standard_error),
                });
                (name.clone(), entry)
            }).collect::<serde_json::Map<_, _>>()
        }),
        "window_seconds": finite(measurement.map(|measurement| measurement.window_seconds)),
        "warmup_seconds": finite(measurement.map(|measurement| measurement.warmup_seconds)),
        "steady": measurement.map(|measurement| measurement.steady),
        "debt_seconds": finite(measurement.and_then(|measurement| measurement.debt).map(|debt| debt.seconds)),
        "phases": record.map(|record| record.phases.iter().map(|time| json!({
            "phase": time.phase,
            "began": time.began.to_string(),
            "seconds": finite(Some(time.seconds)),
        })).collect::<Vec<_>>()),
        "warnings": record.map(|record| &record.warnings),
    })
}
