//! Bounds in an order in which each is computed from those it mentions.

use std::collections::BTreeMap;

use super::super::expr::{Expr, Range};
use super::super::{Constraint, Domain, DurabilityClass, Knob};
use super::knob::{Built, build};
use super::run::Work;
use crate::error::{Error, Result};

/// All knobs, and the constraints that bounds which mention other knobs stand for.
pub(super) fn all(
    work: &mut Work<'_>,
    floor: Option<DurabilityClass>,
) -> Result<(Vec<Knob>, Vec<Constraint>)> {
    let mut ranges: BTreeMap<String, Option<Range>> = BTreeMap::new();
    let mut knobs = Vec::new();
    let mut constraints = Vec::new();
    let mut waiting = work.merged.clone();
    while !waiting.is_empty() {
        let names: Vec<String> = waiting.iter().map(|m| m.name.clone()).collect();
        let (ready, later): (Vec<_>, Vec<_>) = waiting.into_iter().partition(|merged| {
            bound_names(
                merged.spec.min.as_ref().map(|q| &q.0),
                merged.spec.max.as_ref().map(|q| &q.0),
            )
            .iter()
            .all(|name| !names.contains(name))
        });
        if ready.is_empty() {
            return Err(
                Error::input(format!("the bounds of {} go in a circle", names.join(", ")))
                    .at(work.inputs.study_file)
                    .next("change a bound so that none depends on itself"),
            );
        }
        for merged in ready {
            let range = |name: &str| match ranges.get(name) {
                Some(range) => *range,
                None => work
                    .known(name)
                    .as_ref()
                    .and_then(|v| v.as_f64())
                    .map(Range::point),
            };
            let built = build(work, &merged, &range, floor)?;
            match built {
                Built::LeftOut(reason) => work.leave_out(&merged.name, reason),
                Built::Knob(knob, notes) => {
                    work.notes.extend(notes);
                    ranges.insert(knob.name.clone(), range_of(&knob));
                    constraints.extend(implicit(
                        &knob.name,
                        "<=",
                        merged.spec.max.as_ref().map(|q| &q.0),
                        &ranges,
                    )?);
                    constraints.extend(implicit(
                        &knob.name,
                        ">=",
                        merged.spec.min.as_ref().map(|q| &q.0),
                        &ranges,
                    )?);
                    knobs.push(*knob);
                }
            }
        }
        waiting = later;
    }
    knobs.sort_by(|a, b| (&a.family, &a.name).cmp(&(&b.family, &b.name)));
    Ok((knobs, constraints))
}

fn bound_names(min: Option<&Expr>, max: Option<&Expr>) -> Vec<String> {
    [min, max]
        .into_iter()
        .flatten()
        .flat_map(Expr::names)
        .map(|name| name.name.to_owned())
        .collect()
}

fn range_of(knob: &Knob) -> Option<Range> {
    if let Some(fixed) = knob.fixed.as_ref().and_then(|v| v.as_f64()) {
        return Some(Range::point(fixed));
    }
    let (low, high) = match &knob.domain {
        Domain::Int { min, max, .. } => (*min as f64, *max as f64),
        Domain::Float { min, max, .. } => (*min, *max),
        Domain::Bool => (0.0, 1.0),
        Domain::Enum { .. } => return None,
    };
    let specials = knob.domain.special();
    let specials = || specials.iter().filter_map(|v| v.as_f64());
    Some(Range {
        low: specials().fold(low, f64::min),
        high: specials().fold(high, f64::max),
    })
}

/// The constraint of a bound that mentions other knobs: the static bound is the widest it can be. Special values are free.
fn implicit(
    name: &str,
    sign: &str,
    bound: Option<&Expr>,
    ranges: &BTreeMap<String, Option<Range>>,
) -> Result<Option<Constraint>> {
    let Some(bound) = bound.filter(|b| b.names().iter().any(|n| ranges.contains_key(n.name))) else {
        return Ok(None);
    };
    let require = Expr::parse(&format!("{name} {sign} ({bound})"))
        .map_err(|error| Error::internal(format!("a bound of {name} as a constraint: {error}")))?;
    Ok(Some(Constraint {
        name: format!("bounds of {name}"),
        require,
        only_with: Some(name.to_owned()),
    }))
}
