//! What names mean: refused variables, knobs the server lacks, unknown names with their position.

use std::collections::{BTreeMap, BTreeSet};

use super::super::Knob;
use super::super::expr::Expr;
use super::super::file::{ConstraintSpec, closest};
use super::super::isolation::{reason_to_keep_out, reason_to_refuse};
use super::super::refused::{Guard, guard, permissions};
use super::merge::Merged;
use super::run::Work;
use crate::error::{Error, Result};

/// Names of the machine class and the server.
const CLASS_NAMES: [&str; 8] = [
    "ram",
    "cores",
    "disk_free",
    "storage",
    "connections",
    "flavor",
    "version_major",
    "version_minor",
];

/// Refused and pinned variables, and unknown words of `allow`.
pub(super) fn check_permissions(work: &Work<'_>) -> Result<()> {
    let known = permissions();
    for word in work.inputs.allow {
        if !known.contains(&word.as_str()) {
            let error = Error::input(format!("allow: \"{word}\" is nothing that can be permitted"))
                .at(work.inputs.study_file);
            return Err(match closest(word, known.iter().copied()) {
                Some(meant) => error.next(format!("did you mean \"{meant}\"?")),
                None => error.next(format!("there are {}", known.join(", "))),
            });
        }
    }
    // Spaces of other programs have names and values of their own, and nothing is started with them.
    if work.inputs.server.is_none() {
        return Ok(());
    }
    for merged in &work.merged {
        for variable in merged.variables() {
            let allowed = work.inputs.allow.iter().any(|word| word == variable);
            let isolating = || reason_to_keep_out(variable).map(|reason| (Guard::Refused, reason));
            match guard(variable).or_else(isolating) {
                Some((Guard::Refused, reason)) => {
                    return Err(Error::input(format!("{variable} is never tuned: {reason}"))
                        .at(merged.place())
                        .next("take it out of the space; set it in the baseline"));
                }
                Some((_, reason)) if !allowed => {
                    return Err(
                        Error::input(format!("{variable} stays at the baseline: {reason}"))
                            .at(merged.place())
                            .next(format!(
                                "take it out, or permit it: [space] allow = [\"{variable}\"]"
                            )),
                    );
                }
                _ => {}
            }
        }
        check_texts(merged)?;
    }
    Ok(())
}

/// No value that would lead a private server out of its folder.
fn check_texts(merged: &Merged) -> Result<()> {
    for (variable, text) in merged.texts() {
        if let Some(reason) = reason_to_refuse(variable, &text) {
            return Err(
                Error::input(format!("{variable} = {text} is never tried: {reason}"))
                    .at(merged.place())
                    .next("take the value out of the space"),
            );
        }
    }
    Ok(())
}

/// Leaves out knobs that the server lacks or whose `needs` does not hold, and those that speak of them.
pub(super) fn leave_out_foreign(work: &mut Work<'_>) -> Result<()> {
    let Some(server) = work.inputs.server else {
        return Ok(());
    };
    let named = server.name();
    for merged in work.merged.clone() {
        if let Some(needs) = &merged.spec.needs {
            for name in needs.names() {
                let known = CLASS_NAMES.contains(&name.name) || server.variables.contains_key(name.name);
                // A variable of another version is no mistake: there the knob is left out.
                if !known && !looks_like_a_variable(name.name) {
                    return Err(unknown(work, &merged.place(), "needs", needs, name.name, name.at));
                }
            }
            if !needs.holds(&|name: &str| work.known(name)).unwrap_or(false) {
                work.leave_out(&merged.name, format!("it needs {needs}"));
                continue;
            }
        }
        let lacking = merged
            .variables()
            .into_iter()
            .find(|v| !server.variables.contains_key(*v));
        if let Some(variable) = lacking {
            work.leave_out(&merged.name, format!("{named} has no variable {variable}"));
        }
    }
    // Conditions and bounds that speak of a knob that is gone, where no variable of that name stands in for it.
    loop {
        let gone: BTreeSet<String> = work
            .left_out
            .iter()
            .map(|l| l.knob.clone())
            .filter(|name| !work.variables.contains_key(name))
            .collect();
        let dependent = work.merged.iter().find_map(|merged| {
            expressions(merged)
                .iter()
                .flat_map(|(_, e)| e.names())
                .find(|name| gone.contains(name.name))
                .map(|name| (merged.name.clone(), name.name.to_owned()))
        });
        let Some((knob, missing)) = dependent else {
            return Ok(());
        };
        work.leave_out(&knob, format!("it speaks of {missing}, which is left out"));
    }
}

fn looks_like_a_variable(name: &str) -> bool {
    name.contains('_') && !name.contains('.')
}

/// The expressions of a knob with their keys.
fn expressions(merged: &Merged) -> Vec<(&'static str, &Expr)> {
    let spec = &merged.spec;
    let mut all = Vec::new();
    for (key, quantity) in [
        ("min", &spec.min),
        ("max", &spec.max),
        ("unit", &spec.unit),
        ("rule", &spec.rule),
    ] {
        all.extend(quantity.as_ref().map(|q| (key, &q.0)));
    }
    all.extend(spec.when.as_ref().map(|e| ("when", e)));
    all.extend(spec.reads.as_ref().map(|e| ("reads", e)));
    if let Some(writes) = &spec.writes {
        all.extend(writes.values().map(|q| ("writes", &q.0)));
    }
    all
}

/// Every name of every knob's expressions is known.
pub(super) fn check_all(work: &Work<'_>) -> Result<()> {
    for merged in &work.merged {
        for (key, expression) in expressions(merged) {
            for name in expression.names() {
                let known = is_known(work, name.name)
                    || (key == "writes" && name.name == "value")
                    || (key == "reads" && merged.variables().contains(&name.name));
                if !known {
                    return Err(unknown(
                        work,
                        &merged.place(),
                        key,
                        expression,
                        name.name,
                        name.at,
                    ));
                }
            }
        }
    }
    Ok(())
}

fn is_known(work: &Work<'_>, name: &str) -> bool {
    CLASS_NAMES.contains(&name)
        || work.variables.contains_key(name)
        || work
            .merged
            .iter()
            .any(|m| m.name == name || m.variables().contains(&name))
}

fn unknown(work: &Work<'_>, place: &str, key: &str, expression: &Expr, name: &str, at: usize) -> Error {
    let shown = expression.error_at(at, format!("unknown name \"{name}\" in {key}"));
    let candidates = CLASS_NAMES
        .into_iter()
        .chain(work.merged.iter().map(|m| m.name.as_str()))
        .chain(work.variables.keys().map(String::as_str));
    let error = Error::input(shown.to_string()).at(place);
    match closest(name, candidates) {
        Some(meant) => error.next(format!("did you mean \"{meant}\"?")),
        None => error
            .next("names are knobs, variables of the server, ram, cores, disk_free, storage, connections"),
    }
}

/// The knob a constraint speaks of that is no part of the space; an error where it was never one.
pub(super) fn missing_knob(
    work: &Work<'_>,
    knobs: &[Knob],
    spec: &ConstraintSpec,
    origin: &str,
) -> Result<Option<String>> {
    for name in spec.require.names() {
        let there = CLASS_NAMES.contains(&name.name)
            || work.variables.contains_key(name.name)
            || knobs
                .iter()
                .any(|k| k.name == name.name || k.variables().contains(&name.name));
        if there {
            continue;
        }
        if work.left_out.iter().any(|l| l.knob == name.name) {
            return Ok(Some(name.name.to_owned()));
        }
        return Err(unknown(
            work,
            origin,
            "a constraint",
            &spec.require,
            name.name,
            name.at,
        ));
    }
    Ok(None)
}

/// No two knobs write one variable.
pub(super) fn check_writers(work: &Work<'_>) -> Result<()> {
    let mut writers: BTreeMap<&str, &str> = BTreeMap::new();
    for merged in &work.merged {
        for variable in merged.variables() {
            if let Some(other) = writers.insert(variable, &merged.name) {
                return Err(
                    Error::input(format!("{other} and {} both write {variable}", merged.name))
                        .at(merged.place())
                        .next("take one of them out"),
                );
            }
        }
    }
    Ok(())
}
