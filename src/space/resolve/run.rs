//! The steps of resolving.

use std::collections::BTreeMap;

use super::super::durability::classify;
use super::super::expr::Scope;
use super::super::file::{ConstraintSpec, KnobSpec, NamedFile};
use super::super::refused::UNSAFE_PERMISSIONS;
use super::super::{
    Constraint, DurabilityClass, DurabilityRule, Flavor, Ground, Knob, MachineClass, ServerFacts, Space,
    Value, variable_value,
};
use super::merge::{Merged, merge};
use super::{bounds, feasible, knob, names};
use crate::error::{Error, Result};

/// Everything a space is resolved from.
#[derive(Debug, Clone, Copy)]
pub struct Inputs<'a> {
    /// Space files; of a knob in several, later keys replace earlier ones.
    pub files: &'a [NamedFile],
    /// The study's own knobs: they narrow, widen, fix or add.
    pub knobs: &'a BTreeMap<String, KnobSpec>,
    /// The study's own constraints.
    pub constraints: &'a [ConstraintSpec],
    /// Name of the study file, for messages.
    pub study_file: &'a str,
    /// The machine class; none where the space is searched for another program.
    pub class: Option<&'a MachineClass>,
    /// The server; none where the space is searched for another program.
    pub server: Option<&'a ServerFacts>,
    /// Effective variables of the baseline, by lower-case name; the server's running values where it says nothing.
    pub baseline: &'a BTreeMap<String, String>,
    /// Which durability classes may be visited.
    pub durability: DurabilityRule,
    /// What is explicitly permitted: pinned variables by name, or `doublewrite-off`, `unsafe-flush-method`.
    pub allow: &'a [String],
}

/// A knob that is not part of the space.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// The knob, or `constraint NAME`.
    pub knob: String,
    /// Why, one sentence without a full stop.
    pub reason: String,
}

/// A resolved space with what a person should know about it.
#[derive(Debug, Clone, PartialEq)]
pub struct Resolution {
    /// The space.
    pub space: Space,
    /// What is not part of it, and why.
    pub left_out: Vec<LeftOut>,
    /// Notes on what is.
    pub notes: Vec<String>,
}

/// What the steps share.
pub(super) struct Work<'a> {
    pub(super) inputs: Inputs<'a>,
    pub(super) merged: Vec<Merged>,
    /// Effective variables of the baseline.
    pub(super) variables: BTreeMap<String, Value>,
    pub(super) left_out: Vec<LeftOut>,
    pub(super) notes: Vec<String>,
}

impl Work<'_> {
    /// The server's name for messages.
    pub(super) fn server_name(&self) -> String {
        self.inputs
            .server
            .map_or_else(|| "the server".to_owned(), ServerFacts::name)
    }

    /// A variable or a name of the machine class.
    pub(super) fn known(&self, name: &str) -> Option<Value> {
        self.variables
            .get(name)
            .cloned()
            .or_else(|| self.inputs.class.and_then(|class| class.get(name)))
            .or_else(|| match (name, self.inputs.server) {
                ("version_major", Some(server)) => Some(Value::Int(i64::from(server.version.0))),
                ("version_minor", Some(server)) => Some(Value::Int(i64::from(server.version.1))),
                ("flavor", Some(server)) => Some(Value::from(match server.flavor {
                    Flavor::MariaDb => "mariadb",
                    Flavor::MySql => "mysql",
                })),
                _ => None,
            })
    }

    /// Takes a knob out.
    pub(super) fn leave_out(&mut self, knob: &str, reason: impl Into<String>) {
        self.merged.retain(|m| m.name != knob);
        self.left_out.push(LeftOut {
            knob: knob.to_owned(),
            reason: reason.into(),
        });
    }
}

/// Resolves a space. Pure: same inputs, same space.
///
/// # Errors
/// Every mistake of a file, with file and knob: a refused variable, an unknown name (with its position), min above max, no
/// legal value, a circle of bounds or conditions, two knobs that write one variable, constraints that nothing satisfies.
pub fn resolve(inputs: Inputs<'_>) -> Result<Resolution> {
    let mut work = Work {
        inputs,
        merged: merge(&inputs)?,
        variables: effective(inputs.server, inputs.baseline),
        left_out: Vec::new(),
        notes: Vec::new(),
    };
    names::check_permissions(&work)?;
    names::leave_out_foreign(&mut work)?;
    names::check_all(&work)?;
    names::check_writers(&work)?;
    let rule = floor(&work);
    let (knobs, mut constraints) = bounds::all(&mut work, rule)?;
    for (spec, origin) in inputs
        .files
        .iter()
        .flat_map(|file| file.file.constraint.iter().map(move |c| (c, file.name.as_str())))
        .chain(inputs.constraints.iter().map(|c| (c, inputs.study_file)))
    {
        let name = spec.name().to_owned();
        match names::missing_knob(&work, &knobs, spec, spec.place.as_deref().unwrap_or(origin))? {
            Some(missing) => work.left_out.push(LeftOut {
                knob: format!("constraint {name}"),
                reason: format!("it speaks of {missing}, which is no part of the space"),
            }),
            None => constraints.push(Constraint {
                name,
                require: spec.require.clone(),
                only_with: None,
            }),
        }
    }
    if knobs.is_empty() {
        let reasons: Vec<String> = work
            .left_out
            .iter()
            .map(|l| format!("{}: {}", l.knob, l.reason))
            .collect();
        return Err(Error::input("the space has no knob")
            .at(inputs.study_file)
            .next(format!(
                "name families or knobs in [space]\n{}",
                reasons.join("\n")
            )));
    }
    let ground = Ground {
        class: inputs.class.cloned(),
        limits: limits(&knobs, inputs.server),
        durability: rule,
        permitted: permitted(inputs.allow),
        variables: work.variables.clone(),
    };
    let space = Space::new(knobs, constraints, ground).map_err(|error| error.at(inputs.study_file))?;
    feasible::check(&space, inputs.study_file, inputs.constraints)?;
    Ok(Resolution {
        space,
        left_out: work.left_out,
        notes: work.notes,
    })
}

/// Effective variables: the server's running values, with the baseline's over them.
fn effective(server: Option<&ServerFacts>, baseline: &BTreeMap<String, String>) -> BTreeMap<String, Value> {
    let kind = |name: &str| server.and_then(|s| s.variables.get(name)).map(|facts| facts.kind);
    let mut all: BTreeMap<String, Value> = server
        .iter()
        .flat_map(|s| s.variables.iter())
        .map(|(name, facts)| (name.clone(), variable_value(&facts.value, Some(facts.kind))))
        .collect();
    all.extend(
        baseline
            .iter()
            .map(|(name, text)| (name.clone(), variable_value(text, kind(name)))),
    );
    all
}

/// Variables whose unsafe values are explicitly permitted.
fn permitted(allow: &[String]) -> Vec<String> {
    UNSAFE_PERMISSIONS
        .iter()
        .filter(|(word, variable)| allow.iter().any(|a| a == word || a == variable))
        .map(|(_, variable)| (*variable).to_owned())
        .collect()
}

/// The class that no configuration may fall below; none without a server.
fn floor(work: &Work<'_>) -> Option<DurabilityClass> {
    work.inputs.server?;
    match work.inputs.durability {
        DurabilityRule::Keep => Some(classify(|name| work.variables.get(name).cloned())),
        DurabilityRule::Class(class) => Some(class),
        DurabilityRule::Explore => Some(DurabilityClass::Crash1s),
    }
}

/// The server's limits of computed variables; those of others are their knobs' bounds.
fn limits(knobs: &[Knob], server: Option<&ServerFacts>) -> BTreeMap<String, (f64, f64)> {
    let Some(server) = server else {
        return BTreeMap::new();
    };
    knobs
        .iter()
        .filter(|k| knob::computes(k))
        .flat_map(Knob::variables)
        .filter_map(|name| {
            let facts = server.variables.get(name)?;
            Some((name.to_owned(), (facts.min?, facts.max?)))
        })
        .collect()
}
