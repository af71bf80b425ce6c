//! `noctune status`: where a study stands, also while it runs.

use serde::Serialize;

use super::open::OpenStudy;
use super::{Global, output};
use crate::error::Result;
use crate::plan::{Next, State, expected_left, last_confirmed, next, settled, standing};
use crate::setup::{is_gone, is_worked_in};
use crate::stats::Interval;

/// Where a study stands.
#[derive(Debug, Serialize)]
struct Status {
    format: u32,
    study: String,
    folder: String,
    /// `running`, `interrupted` (a trial was begun and its worker is gone), `unfinished`, or `done`.
    state: &'static str,
    ended: usize,
    measured: usize,
    running_trial: Option<u64>,
    running_purpose: Option<&'static str>,
    spent_seconds: f64,
    budget_seconds: f64,
    left_seconds: f64,
    metric: String,
    best_trial: Option<u64>,
    best: Option<f64>,
    ratio: Option<Interval>,
    /// The trial whose configuration was confirmed last; none before one was.
    confirmed_trial: Option<u64>,
    confirmed_ratio: Option<Interval>,
    /// Trials that the space of now does not hold.
    left_out: usize,
    verdict: Option<String>,
    /// What else is to be said of the verdict, one line each.
    details: Vec<String>,
}

/// Prints it.
pub(super) async fn run(global: &Global, study: Option<&str>) -> Result<u8> {
    let study = OpenStudy::find(global, study).await?;
    let inputs = study.inputs();
    let facts = &study.facts;
    let open = study.store.open_jobs(&study.record.name).await?;
    let alive = open
        .iter()
        .find(|job| !job.expired && !is_gone(&job.worker, &study.frozen.host));
    // A study that had ended by a failure and is run again is not over while its first new trial runs.
    let verdict = match next(&inputs, facts) {
        Next::Done(verdict) if alive.is_none() => Some(verdict),
        _ => None,
    };
    let details = verdict.as_ref().map(|verdict| verdict.details());
    let verdict = verdict.map(|verdict| verdict.line());
    let state = match (&verdict, alive, open.is_empty()) {
        (Some(_), _, true) => "done",
        (_, Some(_), _) => "running",
        // Between two trials, or while it is set up: the load's tables are filled, perhaps.
        _ if is_worked_in(&study.folder) => "running",
        (_, None, false) => "interrupted",
        (None, None, true) => "unfinished",
    };
    let standing = standing(&inputs, facts);
    let confirmed = last_confirmed(&inputs, facts);
    let status = Status {
        format: 1,
        study: study.record.name.clone(),
        folder: study.folder.display().to_string(),
        state,
        ended: facts.jobs.iter().filter(|fact| fact.state != State::Open).count(),
        measured: facts
            .jobs
            .iter()
            .filter(|fact| {
                fact.outcome()
                    .is_some_and(|outcome| outcome.measurement().is_some())
            })
            .count(),
        running_trial: alive.map(|job| job.number),
        running_purpose: alive.map(|job| job.job.purpose.name()),
        spent_seconds: facts.seconds(),
        budget_seconds: inputs.settings.budget_seconds,
        left_seconds: if state == "done" {
            0.0
        } else {
            expected_left(&inputs, facts)
        },
        metric: inputs.objective.name().to_owned(),
        best_trial: standing.as_ref().map(|standing| standing.trial),
        best: standing.as_ref().map(|standing| standing.value),
        ratio: standing
            .as_ref()
            .filter(|standing| !standing.is_baseline)
            .and_then(|standing| standing.ratio),
        confirmed_trial: confirmed
            .as_ref()
            .and_then(|confirmed| confirmed.best.as_ref())
            .map(|best| best.trial),
        confirmed_ratio: confirmed.as_ref().and_then(|confirmed| confirmed.gain),
        left_out: settled(&inputs, facts).past.left_out.len(),
        verdict,
        details: details.unwrap_or_default(),
    };
    if global.json {
        output::print_json(&status)?;
    } else {
        output::print(&text(&status))?;
    }
    Ok(0)
}

fn text(status: &Status) -> String {
    let mut lines = vec![format!(
        "study {} ({}): {}",
        status.study, status.folder, status.state
    )];
    lines.push(format!(
        "  trials: {} ended, {} of them measured",
        status.ended, status.measured
    ));
    if let (Some(trial), Some(purpose)) = (status.running_trial, status.running_purpose) {
        lines.push(format!("  now:    trial {trial} ({purpose})"));
    }
    lines.push(format!(
        "  time:   {} of {} spent on trials, about {} left",
        minutes(status.spent_seconds),
        minutes(status.budget_seconds),
        minutes(status.left_seconds)
    ));
    if let (Some(trial), Some(best)) = (status.best_trial, status.best) {
        let ratio = status.ratio.map_or_else(String::new, |ratio| {
            format!(
                ", x {} of the baseline ({}{})",
                point(&ratio),
                ends(&ratio),
                // What is confirmed is told by itself; after the verdict nothing is still to come.
                if status.confirmed_ratio.is_some() || status.verdict.is_some() {
                    ", as the search believes"
                } else {
                    ", not confirmed yet"
                }
            )
        });
        lines.push(format!(
            "  best:   trial {trial}, {} {best:.1}{ratio}",
            status.metric
        ));
    }
    if let (Some(trial), Some(ratio), None) =
        (status.confirmed_trial, status.confirmed_ratio, &status.verdict)
    {
        lines.push(format!(
            "  confirmed: trial {trial}, x {} of the baseline ({})",
            point(&ratio),
            ends(&ratio)
        ));
    }
    if status.left_out > 0 {
        lines.push(format!(
            "  left out: {} trials that the space does not hold any more; `noctune report` tells why",
            status.left_out
        ));
    }
    if let Some(verdict) = &status.verdict {
        lines.push(format!("  verdict: {verdict}"));
        let details = status.details.iter().flat_map(|detail| detail.lines());
        lines.extend(details.map(|line| format!("    {line}")));
    }
    if status.state == "interrupted" || status.state == "unfinished" {
        lines.push("  next:   run `noctune tune` with the same study file to go on".to_owned());
    }
    lines.join("\n")
}

fn point(ratio: &Interval) -> String {
    format!("{:.2}", ratio.point)
}

fn ends(ratio: &Interval) -> String {
    format!(
        "{:.0} % interval {:.2} to {:.2}",
        100.0 * ratio.level,
        ratio.low,
        ratio.high
    )
}

fn minutes(seconds: f64) -> String {
    let whole = seconds.max(0.0).round() as u64;
    humantime::format_duration(std::time::Duration::from_secs(whole)).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_believed_gain_is_told_with_the_ends_of_its_interval_in_their_places() {
        let status = Status {
            format: 1,
            study: "night".to_owned(),
            folder: "results/night".to_owned(),
            state: "running",
            ended: 9,
            measured: 8,
            running_trial: None,
            running_purpose: None,
            spent_seconds: 300.0,
            budget_seconds: 900.0,
            left_seconds: 600.0,
            metric: "tps".to_owned(),
            best_trial: Some(7),
            best: Some(900.0),
            ratio: Some(Interval {
                point: 1.8,
                low: 1.1,
                high: 3.5,
                level: 0.95,
            }),
            confirmed_trial: None,
            confirmed_ratio: None,
            left_out: 0,
            verdict: None,
            details: Vec::new(),
        };
        let told = text(&status);
        assert!(
            told.contains(
                "trial 7, tps 900.0, x 1.80 of the baseline (95 % interval 1.10 to 3.50, not confirmed yet)"
            ),
            "{told}"
        );
        let over = Status {
            verdict: Some("keep the baseline".to_owned()),
            details: vec!["compared was trial 7".to_owned()],
            ..status
        };
        let told = text(&over);
        assert!(
            told.contains("1.10 to 3.50, as the search believes)")
                && told.contains("\n  verdict: keep the baseline\n    compared was trial 7"),
            "{told}"
        );
        let json = serde_json::to_value(&over).unwrap();
        assert_eq!(json["ratio"]["point"], 1.8);
        assert_eq!(json["ratio"]["low"], 1.1);
    }
}
