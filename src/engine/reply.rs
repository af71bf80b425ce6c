//! Replies.

use serde_json::{Map, Value as Json, json};

use crate::space::{Configuration, Value};
use crate::strategy::{ProposalPurpose, Recommendation, TrialNumber};

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
