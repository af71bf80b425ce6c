//! The report as JSON, `format` 1: fields may be added, never renamed or removed.

use serde_json::{Value as Json, json};

use super::importance;
use super::view::{Change, View};
use crate::plan::Arm;
use crate::stats::Interval;

/// The report as one JSON object. What cannot be told is `null`.
pub fn json(view: &View) -> Json {
    let counts = view.counts;
    json!({
        "format": 1,
        "study": view.study,
        "metric": view.metric,
        "goal": view.goal,
        "verdict": view.conclusion.text,
        "over_baseline": interval(view.conclusion.over_baseline.as_ref()),
        "over_rule_of_thumb": interval(view.conclusion.over_rule_of_thumb.as_ref()),
        "burst": view.conclusion.burst.filter(|burst| burst.seconds.is_finite() && burst.unpaid_bytes.is_finite()),
        "best_trial": view.conclusion.best,
        "compared_trial": view.conclusion.compared,
        "no_difference": view.conclusion.no_difference,
        "trials": {
            "ended": counts.ended,
            "measured": counts.measured,
            "failed": counts.failed,
            "censored": counts.censored,
            "host_faults": counts.host_faults,
            "open": counts.open,
        },
        "seconds": finite(Some(view.seconds)),
        "began": view.began.map(|began| began.to_string()),
        "baseline": finite(view.baseline),
        "run_noise": view.noise.map(|noise| json!({
            "share": finite(Some(noise.cv)),
            "degrees": finite(Some(noise.df)),
        })),
        "changes": changes(&view.changes),
        "importance": importance::json(view),
        "blocks": view.blocks.iter().map(|block| json!({
            "block": block.block,
            "best_trial": block.best_trial,
            "baseline": finite(block.arms.get(&Arm::Baseline).copied().flatten()),
            "rule_of_thumb": finite(block.arms.get(&Arm::RuleOfThumb).copied().flatten()),
            "best": finite(block.arms.get(&Arm::Best).copied().flatten()),
            "over_baseline": finite(block.ratio(Arm::Baseline, view.goal)),
            "over_rule_of_thumb": finite(block.ratio(Arm::RuleOfThumb, view.goal)),
        })).collect::<Vec<_>>(),
        "configurations": view.configurations.iter().map(|row| json!({
            "trials": row.trials,
            "purpose": row.purpose.name(),
            "mean": finite(Some(row.mean)),
            "over_baseline": finite(row.over_baseline),
            "steady": row.steady,
            "debt_share": finite(row.debt_share),
            "configuration": row.configuration,
        })).collect::<Vec<_>>(),
        "left_out": view.left_out,
        "failures": view.failures,
        "phases": view.phases.iter().map(|row| json!({
            "phase": row.phase,
            "trials": row.trials,
            "median_seconds": finite(Some(row.median)),
            "seconds": finite(Some(row.total)),
        })).collect::<Vec<_>>(),
        "overhead_seconds": finite(view.overhead),
        "warnings": view.warnings.iter().map(|(warning, trials)| json!({
            "text": warning.text,
            "next": warning.next,
            "trials": trials,
        })).collect::<Vec<_>>(),
    })
}

/// A number where it is one that JSON can hold.
pub(super) fn finite(x: Option<f64>) -> Option<f64> {
    x.filter(|x| x.is_finite())
}

/// An interval; `null` where one of its numbers is not finite.
pub(super) fn interval(of: Option<&Interval>) -> Json {
    match of.filter(|of| of.is_finite()) {
        Some(of) => json!({ "point": of.point, "low": of.low, "high": of.high, "level": of.level }),
        None => Json::Null,
    }
}

/// Changed knobs as an array.
pub(super) fn changes(changes: &[Change]) -> Json {
    changes
        .iter()
        .map(|change| json!({ "knob": change.knob, "from": change.from, "to": change.to }))
        .collect()
}
