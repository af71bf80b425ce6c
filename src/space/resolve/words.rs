//! The words of an enum knob: those that the server takes and that the study's durability permits.

use std::collections::BTreeMap;

use super::super::durability::classify;
use super::super::file::EnumValues;
use super::super::refused::UNSAFE_PERMISSIONS;
use super::super::write::same;
use super::super::{DurabilityClass, Value, VariableFacts, Writes};
use super::merge::Merged;
use super::run::Work;
use crate::error::{Error, Result};

/// The words of an enum that the server takes and that are safe enough; or a reason to leave the knob out.
pub(super) fn words(
    work: &Work<'_>,
    merged: &Merged,
    writes: &mut Writes,
    facts: &[(String, &VariableFacts)],
    floor: Option<DurabilityClass>,
) -> Result<std::result::Result<Vec<String>, String>> {
    let server: Vec<String> = facts
        .first()
        .map(|(_, f)| f.enum_values.clone())
        .unwrap_or_default();
    let (mut values, asked) = match &merged.spec.values {
        Some(EnumValues::List(words)) => (words.clone(), true),
        Some(EnumValues::Table(words)) => (words.keys().cloned().collect(), true),
        None => (server.clone(), false),
    };
    if values.is_empty() {
        return Err(Error::input("the knob has no values, and no server tells them")
            .at(merged.place())
            .next("write values = [\"...\"]"));
    }
    let named = values.clone();
    if asked && !server.is_empty() {
        values.retain(|word| server.iter().any(|s| s.eq_ignore_ascii_case(word)));
    }
    if let (Writes::ByValue(all), Some(server)) = (&*writes, work.inputs.server) {
        let taken = |(name, value): (&String, &Value)| match (server.variables.get(name), value.as_f64()) {
            (Some(facts), Some(x)) => facts.min.is_none_or(|m| x >= m) && facts.max.is_none_or(|m| x <= m),
            _ => true,
        };
        values.retain(|word| all.get(word).is_none_or(|written| written.iter().all(taken)));
    }
    // Words with what they write: where none says what the baseline runs, the baseline is one more.
    if let Writes::ByValue(all) = writes
        && let Some(have) = baseline_of(all, &work.variables)
        && !all
            .values()
            .any(|w| w.iter().all(|(n, v)| have.get(n).is_some_and(|h| same(h, v))))
    {
        all.insert("baseline".to_owned(), have);
        values.push("baseline".to_owned());
    }
    values.retain(|word| safe(work, merged, writes, word, floor));
    if let Writes::ByValue(all) = writes {
        all.retain(|word, _| values.contains(word));
    }
    if values.is_empty() {
        return Ok(Err(format!(
            "none of its values ({}) is taken by {} within the durability of this study",
            named.join(", "),
            work.server_name()
        )));
    }
    if values.len() == 1 && named.len() > 1 && merged.spec.fix.is_none() {
        return Ok(Err(format!(
            "of its values the server and the durability of this study leave only {}",
            values[0]
        )));
    }
    Ok(Ok(values))
}

/// What the baseline has for all the variables that words write.
fn baseline_of(
    all: &BTreeMap<String, BTreeMap<String, Value>>,
    variables: &BTreeMap<String, Value>,
) -> Option<BTreeMap<String, Value>> {
    all.values()
        .flat_map(BTreeMap::keys)
        .map(|name| Some((name.clone(), variables.get(name)?.clone())))
        .collect()
}

/// Whether a word is safe enough by itself: everything else taken as safe, and the binlog as in the baseline.
fn safe(
    work: &Work<'_>,
    merged: &Merged,
    writes: &Writes,
    word: &str,
    floor: Option<DurabilityClass>,
) -> bool {
    let Some(floor) = floor else {
        return true;
    };
    let written: BTreeMap<String, Value> = match writes {
        Writes::ByValue(all) => all.get(word).cloned().unwrap_or_default(),
        Writes::Own => BTreeMap::from([(merged.name.clone(), Value::from(word))]),
        Writes::Expressions(_) => return true,
    };
    let permitted = |name: &str| {
        UNSAFE_PERMISSIONS
            .iter()
            .any(|(p, v)| *v == name && work.inputs.allow.iter().any(|a| a == p || a == v))
    };
    if written.keys().any(|name| permitted(name)) {
        return true;
    }
    let class = classify(|name| {
        written.get(name).cloned().or_else(|| {
            (name == "log_bin")
                .then(|| work.variables.get(name).cloned())
                .flatten()
        })
    });
    // Unsafe values need permission, also where the baseline is unsafe.
    class <= floor && class != DurabilityClass::Unsafe
}
