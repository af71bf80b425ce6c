//! Replies.

use serde_json::{Map, Value as Json, json};

use crate::space::{Configuration, Space, Value};
use crate::strategy::importance::{KnobEffect, Share};
use crate::strategy::{Importance, ProposalPurpose, Recommendation, TrialNumber};

/// Whole numbers beyond this lose digits in readers that hold numbers as doubles.
const EXACT: i64 = 1 << 53;

/// One proposed trial.
pub(super) fn trial(
    id: TrialNumber,
    configuration: &Configuration,
    purpose: ProposalPurpose,
    why: &str,
) -> Json {
    let mut reply = json!({ "id": id, "config": config(configuration), "why": why });
    match purpose {
        ProposalPurpose::Explore => reply["purpose"] = "explore".into(),
        ProposalPurpose::Repeat { of } => {
            reply["purpose"] = "repeat".into();
            reply["of"] = of.into();
        }
    }
    reply
}

/// A recommendation.
pub(super) fn recommendation(of: &Recommendation) -> Json {
    json!({
        "id": of.trial,
        "config": config(&of.configuration),
        "mean": of.mean,
        "sd": of.sd.filter(|sd| sd.is_finite()),
    })
}

/// What the knobs do: of every knob its share, 0 where it cannot be told, with what is known beside it.
pub(super) fn importance(space: &Space, of: &Importance) -> Json {
    let range = |share: &Share| json!([share.low, share.high]);
    match of {
        Importance::Measured(effects) => json!({
            "importance": by_knob(&effects.knobs, |effect| effect.main.share.into()),
            "measurable": true,
            "explained": effects.explained,
            "ranges": by_knob(&effects.knobs, |effect| range(&effect.main)),
            "told": by_knob(&effects.knobs, |effect| effect.told.into()),
            "effects": by_knob(&effects.knobs, |effect| effect.curve.iter().map(|level| json!({
                "value": plain(&level.value),
                "mean": level.mean,
                "range": [level.low, level.high],
            })).collect()),
            "pairs": effects.pairs.iter().map(|pair| json!({
                "knobs": pair.knobs,
                "share": pair.together.share,
                "range": range(&pair.together),
            })).collect::<Vec<_>>(),
        }),
        Importance::NotMeasurable(reason) => {
            let none: Map<String, Json> = space
                .knobs()
                .iter()
                .map(|knob| (knob.name.clone(), 0.0.into()))
                .collect();
            json!({
                "importance": none,
                "measurable": false,
                "explained": reason.explained,
                "why": reason.why,
            })
        }
    }
}

fn by_knob(effects: &[KnobEffect], value: impl Fn(&KnobEffect) -> Json) -> Map<String, Json> {
    effects
        .iter()
        .map(|effect| (effect.knob.clone(), value(effect)))
        .collect()
}

fn config(configuration: &Configuration) -> Json {
    let fields: Map<String, Json> = configuration
        .iter()
        .map(|(name, value)| (name.to_owned(), plain(value)))
        .collect();
    Json::Object(fields)
}

fn plain(value: &Value) -> Json {
    match value {
        Value::Bool(b) => (*b).into(),
        Value::Int(n) if n.abs() > EXACT => n.to_string().into(),
        Value::Int(n) => (*n).into(),
        Value::Float(x) => (*x).into(),
        Value::Text(text) => text.as_str().into(),
    }
}
