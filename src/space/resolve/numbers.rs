//! The domain of a numeric knob: bounds declared and the server's, its unit, its special values.

use super::super::expr::{Expr, Range};
use super::super::file::KnobType;
use super::super::line::clean;
use super::super::refused::{Guard, guard};
use super::super::{Domain, Scale, Value, VariableFacts};
use super::merge::Merged;
use super::run::Work;
use crate::error::{Error, Result};
use crate::units::Bytes;

/// More steps than this are not told apart in double precision on a logarithmic scale; the unit is doubled until there are fewer.
const MOST_STEPS: f64 = (1u64 << 40) as f64;

/// A numeric domain; or a reason to leave the knob out.
pub(super) fn numbers(
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
