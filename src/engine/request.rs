//! Requests, read strictly: an unknown operation or key is an error that names it.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value as Json};

use crate::space::{Configuration, Domain, Knob, Space, Value};
use crate::strategy::TrialNumber;

/// Names of the operations.
pub(super) const OPERATIONS: [&str; 7] = ["hello", "ask", "tell", "add", "drop", "recommend", "importance"];
/// Proposals in one request at most.
const MOST: usize = 1_000;

/// One request.
#[derive(Debug)]
pub(super) enum Request {
    /// What this engine can do.
    Hello,
    /// Propose configurations.
    Ask(usize),
    /// What came of a proposal.
    Tell(TrialNumber, Told),
    /// A trial that was not asked for.
    Add(Told),
    /// A proposal will not be tried.
    Drop(TrialNumber),
    /// The best configuration so far.
    Recommend,
    /// What the knobs do.
    Importance,
}

/// What came of a trial.
#[derive(Debug)]
pub(super) struct Told {
    /// The outcome's name.
    pub(super) outcome: Outcome,
    /// The objective, where only one value was given.
    pub(super) value: Option<f64>,
    /// Its variance from within the run.
    pub(super) variance: Option<f64>,
    /// Metrics by name.
    pub(super) values: BTreeMap<String, f64>,
    /// Their variances.
    pub(super) variances: BTreeMap<String, f64>,
    /// What really ran, where that differs from the proposal.
    pub(super) config: Option<Map<String, Json>>,
}

/// How a trial ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Outcome {
    /// It was measured.
    Measured,
    /// It was not even started.
    Rejected,
    /// The server refused it.
    Refused,
    /// The server crashed.
    Crashed,
    /// It ran out of memory.
    OutOfMemory,
    /// A phase took too long.
    TimedOut,
    /// The host spoiled it: it says nothing, and is told again later.
    HostFault,
}

/// A request with what it wants echoed.
#[derive(Debug)]
pub(super) struct Envelope {
    /// What the caller numbers its requests by.
    pub(super) seq: Option<Json>,
    /// The request, or why it is none.
    pub(super) request: Result<Request, String>,
}

impl Envelope {
    /// Reads one line.
    pub(super) fn read(line: &str) -> Self {
        let mut fields = match serde_json::from_str::<Json>(line) {
            Ok(Json::Object(fields)) => fields,
            Ok(_) => return Self::wrong("a request is a JSON object, such as {\"op\":\"ask\",\"n\":1}"),
            Err(error) => return Self::wrong(format!("this line is no JSON: {error}")),
        };
        Self {
            seq: fields.remove("seq"),
            request: read(fields),
        }
    }

    fn wrong(problem: impl Into<String>) -> Self {
        Self {
            seq: None,
            request: Err(problem.into()),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AskFields {
    #[serde(default = "one")]
    n: usize,
}

fn one() -> usize {
    1
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DropFields {
    id: TrialNumber,
}

/// Fields of `tell` and `add`. What is not named below is noted by the caller's own book-keeping: the engine takes it and
/// learns nothing from it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TellFields {
    id: Option<TrialNumber>,
    outcome: Outcome,
    value: Option<f64>,
    variance: Option<f64>,
    #[serde(default)]
    values: BTreeMap<String, f64>,
    #[serde(default)]
    variances: BTreeMap<String, f64>,
    config: Option<Map<String, Json>>,
    #[serde(default, rename = "seconds")]
    _seconds: Option<f64>,
    #[serde(default, rename = "host")]
    _host: Option<String>,
    #[serde(default, rename = "at")]
    _at: Option<Json>,
}

impl TellFields {
    fn told(self) -> (Option<TrialNumber>, Told) {
        let told = Told {
            outcome: self.outcome,
            value: self.value,
            variance: self.variance,
            values: self.values,
            variances: self.variances,
            config: self.config,
        };
        (self.id, told)
    }
}

fn read(mut fields: Map<String, Json>) -> Result<Request, String> {
    let op = match fields.remove("op") {
        Some(Json::String(op)) => op,
        Some(_) => return Err("\"op\" is a text".to_owned()),
        None => {
            return Err(format!(
                "\"op\" is missing; it is one of {}",
                OPERATIONS.join(", ")
            ));
        }
    };
    match op.as_str() {
        "hello" => typed::<Nothing>(&op, fields).map(|_| Request::Hello),
        "ask" => match typed::<AskFields>(&op, fields)?.n {
            n if (1..=MOST).contains(&n) => Ok(Request::Ask(n)),
            n => Err(format!("ask: n is 1 to {MOST}, not {n}")),
        },
        "tell" => match typed::<TellFields>(&op, fields)?.told() {
            (Some(id), told) => Ok(Request::Tell(id, told)),
            (None, _) => Err("tell: \"id\" is missing".to_owned()),
        },
        "add" => match typed::<TellFields>(&op, fields)?.told() {
            (None, told) => Ok(Request::Add(told)),
            (Some(_), _) => Err("add: the engine gives the id; leave \"id\" out".to_owned()),
        },
        "drop" => typed::<DropFields>(&op, fields).map(|fields| Request::Drop(fields.id)),
        "recommend" => typed::<Nothing>(&op, fields).map(|_| Request::Recommend),
        "importance" => typed::<Nothing>(&op, fields).map(|_| Request::Importance),
        _ => Err(format!(
            "unknown op \"{op}\"; it is one of {}",
            OPERATIONS.join(", ")
        )),
    }
}

fn typed<T: DeserializeOwned>(op: &str, fields: Map<String, Json>) -> Result<T, String> {
    serde_json::from_value(Json::Object(fields)).map_err(|error| format!("{op}: {error}"))
}

/// A configuration as JSON has it, by the types of the knobs. Whole numbers may come as text, since JSON readers lose digits
/// above 2^53. Values off the steps or out of the bounds are taken as they are.
pub(super) fn configuration(space: &Space, fields: &Map<String, Json>) -> Result<Configuration, String> {
    fields
        .iter()
        .map(|(name, json)| {
            let knob = space
                .knob(name)
                .ok_or_else(|| format!("\"{name}\" is no knob of this space"))?;
            let value = value(knob, json)
                .ok_or_else(|| format!("{json} is no value of {name}: {}", expected(&knob.domain)))?;
            Ok((name.clone(), value))
        })
        .collect()
}

fn value(knob: &Knob, json: &Json) -> Option<Value> {
    match (&knob.domain, json) {
        (Domain::Int { .. }, Json::String(text)) => text.parse().ok().map(Value::Int),
        (Domain::Int { .. }, json) => json
            .as_i64()
            .or_else(|| {
                json.as_f64()
                    .filter(|x| x.fract() == 0.0 && x.abs() < 9e15)
                    .map(|x| x as i64)
            })
            .map(Value::Int),
        (Domain::Float { .. }, json) => json.as_f64().map(Value::Float),
        (Domain::Bool, json) => json.as_bool().map(Value::Bool),
        (Domain::Enum { .. }, json) => json.as_str().map(Value::from),
    }
}

fn expected(domain: &Domain) -> &'static str {
    match domain {
        Domain::Int { bytes: true, .. } => "a size is a whole number of bytes",
        Domain::Int { .. } => "it is a whole number",
        Domain::Float { .. } => "it is a number",
        Domain::Bool => "it is true or false",
        Domain::Enum { .. } => "it is a text",
    }
}
