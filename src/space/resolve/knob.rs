//! One knob: its type, domain, default and notes.

use super::super::expr::Range;
use super::super::file::{EnumValues, KnobType};
use super::super::write::{read_knob, typed};
use super::super::{Domain, DurabilityClass, Knob, Value, VariableFacts, VariableKind, Writes};
use super::merge::Merged;
use super::numbers::numbers;
use super::run::Work;
use super::words::words;
use crate::error::{Error, Result};

/// A knob, or why there is none.
pub(super) enum Built {
    Knob(Box<Knob>, Vec<String>),
    LeftOut(String),
}

/// Whether it writes anything but its value.
pub(super) fn computes(knob: &Knob) -> bool {
    match &knob.writes {
        Writes::Expressions(all) => all.values().any(|e| !e.is_name("value")),
        Writes::Own | Writes::ByValue(_) => false,
    }
}

/// Builds a knob; `range` gives the range of what bounds mention.
pub(super) fn build(
    work: &Work<'_>,
    merged: &Merged,
    range: &dyn Fn(&str) -> Option<Range>,
    floor: Option<DurabilityClass>,
) -> Result<Built> {
    let spec = &merged.spec;
    let mut notes = Vec::new();
    let facts = facts(work, merged);
    let mut writes = match (&spec.writes, &spec.values) {
        (Some(all), _) => {
            Writes::Expressions(all.iter().map(|(name, q)| (name.clone(), q.0.clone())).collect())
        }
        (None, Some(EnumValues::Table(values))) => Writes::ByValue(
            values
                .iter()
                .map(|(word, v)| (word.clone(), v.writes.clone()))
                .collect(),
        ),
        _ => Writes::Own,
    };
    let Some(kind) = spec.kind.or_else(|| server_type(spec.values.is_some(), &facts)) else {
        return Err(Error::input("the knob has no type, and no server tells it")
            .at(merged.place())
            .next("write type = \"bytes\", \"int\", \"float\", \"bool\" or \"enum\""));
    };
    let domain = match kind {
        KnobType::Bytes | KnobType::Int | KnobType::Float => {
            match numbers(work, merged, kind, &facts, range, &mut notes)? {
                Ok(domain) => domain,
                Err(reason) => return Ok(Built::LeftOut(reason)),
            }
        }
        // A switch that this server has made an enum (or the other way round) is what the server says.
        KnobType::Bool if facts.iter().any(|(_, f)| f.kind == VariableKind::Enum) => Domain::Enum {
            values: vec!["OFF".to_owned(), "ON".to_owned()],
        },
        KnobType::Bool => Domain::Bool,
        KnobType::Enum => match words(work, merged, &mut writes, &facts, floor)? {
            Ok(values) => Domain::Enum { values },
            Err(reason) => return Ok(Built::LeftOut(reason)),
        },
    };
    let mut knob = Knob {
        name: merged.name.clone(),
        family: spec.family.clone().unwrap_or_else(|| "own".to_owned()),
        domain,
        when: spec.when.clone(),
        writes,
        reads: spec.reads.clone(),
        default: None,
        fixed: None,
        rule: spec.rule.as_ref().map(|q| q.0.clone()),
        source: spec.source.clone().unwrap_or_else(|| merged.origin.clone()),
        note: spec.note.clone(),
        dynamic: (!facts.is_empty()).then(|| facts.iter().all(|(_, f)| f.dynamic)),
    };
    let own = |value: &Value, key: &str| {
        typed(&knob.domain, value.clone()).ok_or_else(|| {
            Error::input(format!("{key} = {value} is no value of this knob")).at(merged.place())
        })
    };
    let declared = spec.default.as_ref().map(|v| own(v, "default")).transpose()?;
    let fixed = spec.fix.as_ref().map(|v| own(v, "fix")).transpose()?;
    if let (Some(Value::Text(word)), Domain::Enum { values }) = (&fixed, &knob.domain)
        && !values.contains(word)
    {
        return Err(
            Error::input(format!("fix = \"{word}\" is none of {}", values.join(", "))).at(merged.place()),
        );
    }
    knob.default = read_knob(&knob, &work.variables).or(declared);
    knob.fixed = fixed;
    if let Some(note) = &knob.note {
        notes.push(format!("{}: {note}", knob.name));
    }
    Ok(Built::Knob(Box::new(knob), notes))
}

/// The server's word on the variables that get the knob's value as it is.
fn facts<'a>(work: &Work<'a>, merged: &Merged) -> Vec<(String, &'a VariableFacts)> {
    let Some(server) = work.inputs.server else {
        return Vec::new();
    };
    let names: Vec<&str> = match (&merged.spec.writes, &merged.spec.values) {
        (Some(all), _) => all
            .iter()
            .filter(|(_, q)| q.0.is_name("value"))
            .map(|(n, _)| n.as_str())
            .collect(),
        (None, Some(EnumValues::Table(_))) => Vec::new(),
        _ => vec![merged.name.as_str()],
    };
    names
        .into_iter()
        .filter_map(|name| Some((name.to_owned(), server.variables.get(name)?)))
        .collect()
}

fn server_type(has_values: bool, facts: &[(String, &VariableFacts)]) -> Option<KnobType> {
    if has_values {
        return Some(KnobType::Enum);
    }
    match facts.first()?.1.kind {
        VariableKind::Int => Some(KnobType::Int),
        VariableKind::Float => Some(KnobType::Float),
        VariableKind::Bool => Some(KnobType::Bool),
        VariableKind::Enum => Some(KnobType::Enum),
        VariableKind::Set | VariableKind::Text => None,
    }
}
