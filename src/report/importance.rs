//! What the knobs do, as text and as JSON.

use serde_json::{Value as Json, json};

use super::format::{NOT_MEASURABLE, number, percent, table, value};
use super::view::{Input, View};
use crate::strategy::Importance;
use crate::strategy::importance::{Effects, LevelEffect, Share};

/// Knobs and pairs shown.
const KNOBS_SHOWN: usize = 12;
const PAIRS_SHOWN: usize = 3;
/// Pairs of a smaller share are not shown.
const LEAST_SHARE: f64 = 0.01;

/// What the knobs do; nothing, where the conclusion is that they made no difference.
pub(super) fn concluded(input: &Input<'_>) -> Option<Importance> {
    let of = input.importance?.clone();
    Some(match input.conclusion.no_difference {
        Some(_) => of.without_difference(),
        None => of,
    })
}

/// What the knobs do, in words; none where the report has nothing of it.
pub(super) fn text(view: &View) -> Option<String> {
    match view.importance.as_ref()? {
        Importance::Measured(effects) => Some(measured(view, effects)),
        Importance::NotMeasurable(reason) => {
            Some(format!("What the knobs do\n  {NOT_MEASURABLE}: {}\n", reason.why))
        }
    }
}

fn measured(view: &View, effects: &Effects) -> String {
    let metric = view.metric.as_str();
    let rows: Vec<Vec<String>> = effects
        .knobs
        .iter()
        .take(KNOBS_SHOWN)
        .map(|effect| {
            let mut row = vec![
                effect.knob.clone(),
                percent(effect.main.share),
                range(&effect.main),
            ];
            if effect.told {
                let shown = |level: Option<&LevelEffect>| {
                    level.map_or_else(
                        || "-".to_owned(),
                        |level| {
                            let at = value(&effect.knob, &level.value, &view.sizes);
                            format!("{} at {at}", number(level.mean))
                        },
                    )
                };
                row.extend([shown(effect.worst(view.goal)), shown(effect.best(view.goal))]);
            } else {
                row.push("no difference that can be told".to_owned());
            }
            row
        })
        .collect();
    let (worst, best) = (format!("worst {metric}"), format!("best {metric}"));
    let heads = ["knob", "share", "5 to 95 %", worst.as_str(), best.as_str()];
    let mut out = format!(
        "What the knobs do (shares of what a model of them expects of {metric}; share of variance explained: {})\n{}",
        percent(effects.explained),
        table(&heads, &[false, true, false, false, false], &rows)
    );
    if let Some(next) = effects.knobs.get(KNOBS_SHOWN) {
        out.push_str(&format!(
            "  and {} more, {} at most each\n",
            effects.knobs.len() - KNOBS_SHOWN,
            percent(next.main.share)
        ));
    }
    let pairs = effects
        .pairs
        .iter()
        .filter(|pair| pair.together.share >= LEAST_SHARE);
    for pair in pairs.take(PAIRS_SHOWN) {
        out.push_str(&format!(
            "  {} and {} by acting together: {} ({})\n",
            pair.knobs[0],
            pair.knobs[1],
            percent(pair.together.share),
            range(&pair.together)
        ));
    }
    out
}

fn range(share: &Share) -> String {
    format!("{:.1} to {}", 100.0 * share.low, percent(share.high))
}

/// What the knobs do, as JSON: of each knob its share with its range and its curve, and of pairs their share. `null` where
/// the report has nothing of it; where it cannot be told, `measurable` is false and no knob is listed.
pub(super) fn json(view: &View) -> Json {
    match view.importance.as_ref() {
        None => Json::Null,
        Some(Importance::NotMeasurable(reason)) => json!({
            "measurable": false,
            "why": reason.why,
            "explained": reason.explained,
            "knobs": [],
            "pairs": [],
        }),
        Some(Importance::Measured(effects)) => json!({
            "measurable": true,
            "why": null,
            "explained": effects.explained,
            "knobs": effects.knobs.iter().map(|effect| json!({
                "knob": effect.knob,
                "share": effect.main.share,
                "low": effect.main.low,
                "high": effect.main.high,
                "told": effect.told,
                "levels": effect.curve.iter().map(|level| json!({
                    "value": level.value, "mean": level.mean, "low": level.low, "high": level.high,
                })).collect::<Vec<_>>(),
            })).collect::<Vec<_>>(),
            "pairs": effects.pairs.iter().map(|pair| json!({
                "knobs": pair.knobs,
                "share": pair.together.share,
                "low": pair.together.low,
                "high": pair.together.high,
            })).collect::<Vec<_>>(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;
    use crate::plan::Facts;
    use crate::report::{Conclusion, view};
    use crate::space::Value;
    use crate::strategy::Goal;
    use crate::strategy::importance::{KnobEffect, NotMeasurable, PairEffect};
    use crate::study::{Objective, ObjectiveSpec};

    fn seen(importance: Option<&Importance>) -> View {
        let spec = ObjectiveSpec {
            metric: "tps".to_owned(),
            goal: Goal::Maximize,
        };
        view(&Input {
            study: "quick",
            objective: &Objective::new(&spec, &[]).unwrap(),
            facts: &Facts::default(),
            phases: &[],
            conclusion: &Conclusion::default(),
            noise: None,
            sizes: &BTreeSet::from(["pool".to_owned()]),
            importance,
        })
    }

    fn share(share: f64) -> Share {
        Share {
            share,
            low: share / 2.0,
            high: share * 1.2,
        }
    }

    fn knob(name: &str, main: f64, told: bool, levels: &BTreeMap<i64, f64>) -> KnobEffect {
        KnobEffect {
            knob: name.to_owned(),
            main: share(main),
            told,
            curve: levels
                .iter()
                .map(|(&value, &mean)| LevelEffect {
                    value: Value::Int(value),
                    mean,
                    low: mean - 1.0,
                    high: mean + 1.0,
                })
                .collect(),
        }
    }

    #[test]
    fn shares_are_shown_with_ranges_the_best_and_the_worst_level_and_strong_pairs() {
        let levels = BTreeMap::from([(64 << 20, 250.0), (1 << 30, 312.0)]);
        let mut knobs = vec![
            knob("pool", 0.61, true, &levels),
            knob("dead", 0.004, false, &levels),
        ];
        knobs.extend((0..12).map(|i| knob(&format!("k{i}"), 0.002, false, &levels)));
        let pair = |other: &str, together| PairEffect {
            knobs: ["pool".to_owned(), other.to_owned()],
            together: share(together),
        };
        let view = seen(Some(&Importance::Measured(Effects {
            explained: 0.83,
            knobs,
            pairs: vec![pair("dead", 0.04), pair("k0", 0.001)],
        })));
        let text = text(&view).unwrap();
        for expected in [
            "share of variance explained: 83.0 %)\n",
            "  pool  61.0 %  30.5 to 73.2 %  250 at 64M                      312 at 1G\n",
            "  dead   0.4 %  0.2 to 0.5 %    no difference that can be told\n",
            "  and 2 more, 0.2 % at most each\n",
            "  pool and dead by acting together: 4.0 % (2.0 to 4.8 %)\n",
        ] {
            assert!(text.contains(expected), "{expected:?} in\n{text}");
        }
        assert!(!text.contains("pool and k0"));
        let json = json(&view);
        assert_eq!(
            (&json["measurable"], &json["explained"]),
            (&true.into(), &0.83.into())
        );
        assert_eq!(json["knobs"][0]["levels"][1]["value"], 1 << 30);
        assert_eq!(json["knobs"][0]["low"], 0.305);
        assert_eq!(json["pairs"][0]["knobs"][1], "dead");
    }

    #[test]
    fn what_cannot_be_told_says_why() {
        let view = seen(Some(&Importance::NotMeasurable(NotMeasurable {
            why: "every configuration gave the same".to_owned(),
            explained: None,
        })));
        assert_eq!(
            text(&view).unwrap(),
            "What the knobs do\n  not measurable: every configuration gave the same\n"
        );
        assert_eq!(json(&view)["measurable"], false);
        assert!(json(&view)["explained"].is_null());
        assert_eq!((text(&seen(None)), json(&seen(None))), (None, Json::Null));
    }
}
