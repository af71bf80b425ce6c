//! The report as plain text.

use super::format::{NOT_MEASURABLE, duration, maybe, number, percent, ratio, table, trials, value};
use super::importance;
use super::view::{Change, View};
use crate::plan::Arm;
use crate::space::Value;

/// Rows of the table of configurations.
const BEST_SHOWN: usize = 10;
/// Warnings shown.
const WARNINGS_SHOWN: usize = 5;

/// What was found, for a terminal: plain text without colours, about 110 columns; ends with a line feed.
pub fn text(view: &View) -> String {
    let sections = [
        headline(view),
        changes(view),
        confirmation(view),
        best(view),
        importance::text(view),
        left_out(view),
        failures(view),
        time(view),
        warnings(view),
    ];
    sections.into_iter().flatten().collect::<Vec<_>>().join("\n")
}

fn headline(view: &View) -> Option<String> {
    let counts = view.counts;
    let mut out = format!("Study {}: {}", view.study, view.metric);
    if let Some(began) = view.began {
        out.push_str(&format!(", begun {began}"));
    }
    out.push('\n');
    if !view.conclusion.text.is_empty() {
        out.push_str(&format!("{}\n", view.conclusion.text));
    }
    let rows = [
        (
            "best against the baseline",
            ratio(view.conclusion.over_baseline.as_ref()),
        ),
        (
            "best against the rule of thumb",
            ratio(view.conclusion.over_rule_of_thumb.as_ref()),
        ),
        (
            "run noise",
            match view.noise {
                Some(noise) => format!(
                    "{} between runs of one configuration ({:.0} degree{} of freedom)",
                    percent(noise.cv),
                    noise.df,
                    if noise.df == 1.0 { "" } else { "s" }
                ),
                None => format!("{NOT_MEASURABLE}: no configuration was measured twice"),
            },
        ),
        (
            "trials",
            format!(
                "{} ended in {}: {} measured, {} failed,{} {} host faults; {} open",
                counts.ended,
                duration(view.seconds),
                counts.measured,
                counts.failed,
                match counts.censored {
                    0 => String::new(),
                    n => format!(" {n} below the load's rate,"),
                },
                counts.host_faults,
                counts.open
            ),
        ),
    ];
    for (name, text) in rows {
        out.push_str(&format!("  {name:<32}{text}\n"));
    }
    Some(out)
}

/// One cell for the value of a knob.
pub(super) fn cell(
    view_sizes: &std::collections::BTreeSet<String>,
    knob: &str,
    of: Option<&Value>,
) -> String {
    of.map_or_else(|| "-".to_owned(), |of| value(knob, of, view_sizes))
}

/// A table of changed knobs.
pub(super) fn changes_table(
    changes: &[Change],
    sizes: &std::collections::BTreeSet<String>,
    heads: [&str; 3],
) -> String {
    let rows: Vec<Vec<String>> = changes
        .iter()
        .map(|change| {
            vec![
                change.knob.clone(),
                cell(sizes, &change.knob, change.from.as_ref()),
                cell(sizes, &change.knob, change.to.as_ref()),
            ]
        })
        .collect();
    table(&heads, &[false, true, true], &rows)
}

fn changes(view: &View) -> Option<String> {
    let Some(best) = view.conclusion.best else {
        let compared = view.conclusion.compared?;
        let table = changes_table(&view.changes, &view.sizes, ["knob", "baseline", "compared"]);
        return Some(format!(
            "What the configuration that was compared (trial {compared}) changes; it is not recommended\n{table}"
        ));
    };
    if view.changes.is_empty() {
        return Some("The best configuration is the baseline.\n".to_owned());
    }
    let table = changes_table(&view.changes, &view.sizes, ["knob", "baseline", "best"]);
    Some(format!(
        "What the best configuration (trial {best}) changes\n{table}"
    ))
}

fn confirmation(view: &View) -> Option<String> {
    if view.blocks.is_empty() {
        return None;
    }
    let arms: Vec<Arm> = [Arm::Baseline, Arm::RuleOfThumb, Arm::Best]
        .into_iter()
        .filter(|arm| view.blocks.iter().any(|block| block.arms.contains_key(arm)))
        .collect();
    let others: Vec<Arm> = arms.iter().copied().filter(|arm| *arm != Arm::Best).collect();
    // Which configuration was confirmed is told where it is not the same in all blocks.
    let tells_best = view
        .blocks
        .iter()
        .any(|block| block.best_trial != view.blocks[0].best_trial);
    let mut heads: Vec<String> = vec!["block".to_owned()];
    if tells_best {
        heads.push("best of trial".to_owned());
    }
    heads.extend(arms.iter().map(|arm| arm.name().to_owned()));
    heads.extend(others.iter().map(|arm| format!("best / {}", arm.name())));
    let rows: Vec<Vec<String>> = view
        .blocks
        .iter()
        .map(|block| {
            let mut row = vec![block.block.to_string()];
            if tells_best {
                row.push(
                    block
                        .best_trial
                        .map_or_else(|| "-".to_owned(), |trial| trial.to_string()),
                );
            }
            row.extend(
                arms.iter()
                    .map(|arm| maybe(block.arms.get(arm).copied().flatten())),
            );
            row.extend(others.iter().map(|arm| maybe(block.ratio(*arm, view.goal))));
            row
        })
        .collect();
    let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
    let table = table(&heads, &vec![true; heads.len()], &rows);
    Some(format!("Confirmation, block by block ({})\n{table}", view.metric))
}

fn best(view: &View) -> Option<String> {
    if view.configurations.is_empty() {
        return None;
    }
    let rows: Vec<Vec<String>> = view
        .configurations
        .iter()
        .take(BEST_SHOWN)
        .map(|row| {
            let mut notes = Vec::new();
            if !row.steady {
                notes.push("not steady".to_owned());
            }
            if let Some(share) = row.debt_share.filter(|share| *share >= 0.01) {
                notes.push(format!("write debt {} of the window", percent(share)));
            }
            vec![
                trials(&row.trials),
                row.purpose.name().to_owned(),
                number(row.mean),
                row.over_baseline
                    .map_or_else(|| "-".to_owned(), |ratio| format!("× {}", number(ratio))),
                notes.join(", "),
            ]
        })
        .collect();
    let heads = ["trials", "purpose", view.metric.as_str(), "baseline", "notes"];
    let table = table(&heads, &[false, false, true, true, false], &rows);
    let left = view.configurations.len().saturating_sub(BEST_SHOWN);
    let rest = if left > 0 {
        format!("  and {left} more\n")
    } else {
        String::new()
    };
    Some(format!(
        "Best configurations of the search (one run each says little; only the confirmation is proof)\n{table}{rest}"
    ))
}

fn left_out(view: &View) -> Option<String> {
    if view.left_out.is_empty() {
        return None;
    }
    let mut out = "Left out since the space changed\n".to_owned();
    for group in &view.left_out {
        out.push_str(&format!("  {group}\n"));
    }
    Some(out)
}

fn failures(view: &View) -> Option<String> {
    if view.failures.is_empty() {
        return None;
    }
    let rows: Vec<Vec<String>> = view
        .failures
        .iter()
        .map(|row| {
            vec![
                row.trials.len().to_string(),
                row.cause.clone(),
                trials(&row.trials),
                row.example.lines().next().unwrap_or_default().to_owned(),
            ]
        })
        .collect();
    let heads = ["count", "cause", "trials", "the first one"];
    let table = table(&heads, &[true, false, false, false], &rows);
    Some(format!("Failures by cause\n{table}"))
}

fn time(view: &View) -> Option<String> {
    if view.phases.is_empty() {
        return None;
    }
    let all: f64 = view.phases.iter().map(|row| row.total).sum();
    let rows: Vec<Vec<String>> = view
        .phases
        .iter()
        .map(|row| {
            vec![
                row.phase.to_string(),
                row.trials.to_string(),
                format!("{:.2} s", row.median),
                duration(row.total),
                if all > 0.0 {
                    percent(row.total / all)
                } else {
                    "-".to_owned()
                },
            ]
        })
        .collect();
    let heads = ["phase", "trials", "median", "in all", "share"];
    let table = table(&heads, &[false, true, true, true, true], &rows);
    let overhead = view
        .overhead
        .map_or_else(|| NOT_MEASURABLE.to_owned(), |seconds| format!("{seconds:.2} s"));
    Some(format!(
        "Where the time went\n{table}  fixed overhead per trial (all but warm-up and measure), median: {overhead}\n"
    ))
}

fn warnings(view: &View) -> Option<String> {
    if view.warnings.is_empty() {
        return None;
    }
    let mut out = "Warnings\n".to_owned();
    for (warning, count) in view.warnings.iter().take(WARNINGS_SHOWN) {
        let trials = if *count == 1 {
            "1 trial".to_owned()
        } else {
            format!("{count} trials")
        };
        out.push_str(&format!("  {} ({trials})\n", warning.text));
        if let Some(next) = &warning.next {
            out.push_str(&format!("    next: {next}\n"));
        }
    }
    let left = view.warnings.len().saturating_sub(WARNINGS_SHOWN);
    if left > 0 {
        out.push_str(&format!("  and {left} more kinds\n"));
    }
    Some(out)
}
