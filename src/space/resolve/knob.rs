//! One knob: its type, domain, default and notes.

use std::collections::BTreeMap;

use super::super::domain::clean;
use super::super::durability::classify;
use super::super::expr::{Expr, Range};
use super::super::file::{EnumValues, KnobType};
use super::super::refused::{Guard, UNSAFE_PERMISSIONS, guard};
use super::super::write::{read_knob, same, typed};
use super::super::{Domain, DurabilityClass, Knob, Scale, Value, VariableFacts, VariableKind, Writes};
use super::merge::Merged;
use super::run::Work;
use crate::error::{Error, Result};
use crate::units::Bytes;

/// More steps than this are not told apart in double precision on a logarithmic scale; the unit is doubled until there are fewer.
const MOST_STEPS: f64 = (1u64 << 40) as f64;

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

/// A numeric domain; or a reason to leave the knob out.
fn numbers(
    work: &Work<'_>,
    merged: &Merged,
    kind: KnobType,
    facts: &[(String, &VariableFacts)],
    range: &dyn Fn(&str) -> Option<Range>,
    notes: &mut Vec<String>,
) -> Result<std::result::Result<Domain, String>> {
    let spec = &merged.spec;
    let bound = |key: &str, expr: Option<&Expr>| -> Result<Option<Range>> {
        let Some(expr) = expr else {
            return Ok(None);
        };
        // Exact where no other knob is mentioned: interval arithmetic knows no case distinction.
        let free = expr
            .names()
            .iter()
            .all(|name| !work.merged.iter().any(|m| m.name == name.name));
        let exact = || {
            expr.eval_number(&|name: &str| work.known(name))
                .ok()
                .map(Range::point)
        };
        let range = if free { exact() } else { expr.range(range) };
        range.map(Some).ok_or_else(|| {
            Error::input(format!("{key} = {expr} has no finite value"))
                .at(merged.place())
                .next("bounds are computed from numbers; without a machine class ram, cores and disk_free have no value")
        })
    };
    let missing =
        |key: &str| Error::input(format!("the knob has no {key}, and no server tells it")).at(merged.place());
    let server_min = facts.iter().filter_map(|(_, f)| f.min).reduce(f64::max);
    let server_max = facts.iter().filter_map(|(_, f)| f.max).reduce(f64::min);
    let declared_min = bound("min", spec.min.as_ref().map(|q| &q.0))?.map(|r| r.low);
    let declared_max = bound("max", spec.max.as_ref().map(|q| &q.0))?.map(|r| r.high);
    let mut min = declared_min.or(server_min).ok_or_else(|| missing("min"))?;
    let mut max = declared_max.or(server_max).ok_or_else(|| missing("max"))?;
    if min > max {
        let show = |x: f64| {
            if kind == KnobType::Bytes && x >= 0.0 {
                Bytes(x as u64).to_string()
            } else {
                x.to_string()
            }
        };
        return Err(
            Error::input(format!("min {} is above max {}", show(min), show(max)))
                .at(merged.place())
                .next("swap them, or correct one"),
        );
    }
    for (name, _) in facts {
        if matches!(guard(name), Some((Guard::Capacity, _)))
            && let Some(x) = work.variables.get(name).and_then(Value::as_f64)
        {
            min = min.max(x);
            max = max.max(x);
        }
    }
    min = server_min.map_or(min, |s| min.max(s));
    max = server_max.map_or(max, |s| max.min(s));
    if min > max {
        return Ok(Err(format!(
            "{} takes {} to {} only",
            work.server_name(),
            server_min.unwrap_or(f64::NEG_INFINITY),
            server_max.unwrap_or(f64::INFINITY)
        )));
    }
    let unit = bound("unit", spec.unit.as_ref().map(|q| &q.0))?.map(|r| r.low);
    if unit.is_some_and(|u| u <= 0.0) {
        return Err(Error::input("unit must be above zero").at(merged.place()));
    }
    let scale = spec.scale.unwrap_or(if kind == KnobType::Bytes {
        Scale::Log
    } else {
        Scale::Linear
    });
    let blocks = facts
        .iter()
        .filter_map(|(_, f)| f.block)
        .chain(chunk(work, &merged.name))
        .filter(|b| *b > 1);
    let special: Vec<f64> = spec
        .special
        .iter()
        .flatten()
        .map(|v| {
            v.as_f64()
                .ok_or_else(|| Error::input(format!("special = {v} is no number")).at(merged.place()))
        })
        .collect::<Result<_>>()?;
    if kind == KnobType::Float {
        if scale == Scale::Log && min <= 0.0 && unit.is_none() {
            return Err(
                Error::input(format!("a logarithmic scale from {min} has no beginning"))
                    .at(merged.place())
                    .next("raise min above 0, give a unit, or write scale = \"linear\""),
            );
        }
        return Ok(float(merged, min, max, unit, scale, special));
    }
    let unit = blocks.fold(
        unit.unwrap_or(1.0).round().clamp(1.0, i64::MAX as f64) as i64,
        |unit, block| multiple(unit, i64::try_from(block).unwrap_or(i64::MAX)),
    );
    let ends = (min.ceil(), max.floor());
    Ok(int(merged, kind, ends, unit, scale, &special, notes))
}

/// What a server rounds the buffer pool up to: chunks, where it says their size.
fn chunk(work: &Work<'_>, name: &str) -> Option<u64> {
    if name != "innodb_buffer_pool_size" {
        return None;
    }
    match work.variables.get("innodb_buffer_pool_chunk_size") {
        Some(Value::Int(n)) => u64::try_from(*n).ok(),
        _ => None,
    }
}

/// The least common multiple; the greater one where it does not fit.
fn multiple(a: i64, b: i64) -> i64 {
    let (mut x, mut y) = (a, b);
    while y != 0 {
        (x, y) = (y, x % y);
    }
    (a / x.max(1)).checked_mul(b).unwrap_or_else(|| a.max(b))
}

fn float(
    merged: &Merged,
    min: f64,
    max: f64,
    unit: Option<f64>,
    scale: Scale,
    special: Vec<f64>,
) -> std::result::Result<Domain, String> {
    // A linear continuum gets a fine grid: its values stay short, and survive the way through the unit interval.
    let unit = unit.or_else(|| {
        let fine = 10f64.powf((max - min).log10().floor() - 6.0);
        (scale == Scale::Linear
            && fine.is_finite()
            && fine > 0.0
            && min.abs().max(max.abs()) / fine < MOST_STEPS)
            .then_some(fine)
    });
    let (min, max) = match unit {
        Some(unit) => {
            // Bounds that are multiples but for the dust of binary fractions count as multiples.
            let low = clean((min / unit - 1e-9).ceil() * unit, 12);
            let high = clean((max / unit + 1e-9).floor() * unit, 12);
            (low, high)
        }
        None => (min, max),
    };
    if min > max {
        return Err(format!(
            "no multiple of its unit lies within the bounds ({})",
            merged.origin
        ));
    }
    Ok(Domain::Float {
        min,
        max,
        unit,
        scale,
        special,
    })
}

fn int(
    merged: &Merged,
    kind: KnobType,
    (min, max): (f64, f64),
    unit: i64,
    scale: Scale,
    special: &[f64],
    notes: &mut Vec<String>,
) -> std::result::Result<Domain, String> {
    // `as` saturates: a limit above i64 is clamped.
    let (min, max) = (min as i64, max as i64);
    let mut wide = unit;
    while (max as f64 - min as f64).max(max as f64) / wide as f64 > MOST_STEPS {
        match wide.checked_mul(2) {
            Some(next) => wide = next,
            None => break,
        }
    }
    if wide != unit {
        notes.push(format!(
            "{}: the range is so wide that only multiples of {wide} are proposed",
            merged.name
        ));
    }
    let grid = |n: i128, up: bool| {
        let unit = i128::from(wide);
        let floor = n.div_euclid(unit) * unit;
        if up && floor < n { floor + unit } else { floor }
    };
    let (low, high) = (grid(i128::from(min), true), grid(i128::from(max), false));
    if low > high {
        return Err(format!(
            "no multiple of {} lies between {} and {} ({})",
            show(kind, wide),
            show(kind, min),
            show(kind, max),
            merged.origin
        ));
    }
    let fit = |n: i128| i64::try_from(n).unwrap_or(if n < 0 { i64::MIN } else { i64::MAX });
    Ok(Domain::Int {
        min: fit(low),
        max: fit(high),
        unit: wide,
        scale,
        special: special.iter().map(|x| x.round() as i64).collect(),
        bytes: kind == KnobType::Bytes,
    })
}

fn show(kind: KnobType, n: i64) -> String {
    match u64::try_from(n) {
        Ok(n) if kind == KnobType::Bytes => Bytes(n).to_string(),
        _ => n.to_string(),
    }
}

/// The words of an enum that the server takes and that are safe enough; or a reason to leave the knob out.
fn words(
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
