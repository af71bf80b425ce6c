//! A space resolved for one machine class and one server.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::constraint::Constraint;
use super::durability::DurabilityClass;
use super::expr::Scope;
use super::hardware::MachineClass;
use super::{Configuration, Dimension, Knob, Value};
use crate::error::{Error, Result};

/// What a resolved space stands on.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Ground {
    /// The machine class; none where the space is searched for another program.
    pub class: Option<MachineClass>,
    /// Effective variables of the baseline.
    pub variables: BTreeMap<String, Value>,
    /// The server's own limits of written variables.
    pub limits: BTreeMap<String, (f64, f64)>,
    /// No configuration may be less safe than this.
    pub durability: Option<DurabilityClass>,
    /// Variables whose unsafe values are explicitly permitted: they do not count for the class above.
    pub permitted: Vec<String>,
}

impl Scope for Ground {
    fn get(&self, name: &str) -> Option<Value> {
        self.variables
            .get(name)
            .cloned()
            .or_else(|| self.class.as_ref().and_then(|class| class.get(name)))
    }
}

/// The knobs of a study, their domains, conditions and constraints, resolved for one machine class and one server.
/// It is frozen in the store as it is.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Space {
    pub(super) knobs: Vec<Knob>,
    pub(super) dimensions: Vec<Dimension>,
    /// Of each dimension, its knob.
    pub(super) owners: Vec<usize>,
    /// Knobs in an order in which conditions speak of earlier ones only.
    pub(super) order: Vec<usize>,
    pub(super) constraints: Vec<Constraint>,
    pub(super) ground: Ground,
}

impl Space {
    /// A space of `knobs` as they are. Names are not checked: a condition without a value does not hold, a constraint
    /// without one is broken. `resolve` checks them.
    ///
    /// # Errors
    /// Two knobs of one name, or conditions that go in a circle.
    pub fn new(knobs: Vec<Knob>, constraints: Vec<Constraint>, ground: Ground) -> Result<Self> {
        let order = order(&knobs)?;
        let mut dimensions = Vec::new();
        let mut owners = Vec::new();
        for (index, knob) in knobs.iter().enumerate() {
            for dimension in knob_dimensions(knob) {
                dimensions.push(dimension);
                owners.push(index);
            }
        }
        Ok(Self {
            knobs,
            dimensions,
            owners,
            order,
            constraints,
            ground,
        })
    }

    /// Its knobs.
    pub fn knobs(&self) -> &[Knob] {
        &self.knobs
    }

    /// The knob of this name.
    pub fn knob(&self, name: &str) -> Option<&Knob> {
        self.knobs.iter().find(|knob| knob.name == name)
    }

    /// Its dimensions, in the order of the knobs.
    pub fn dimensions(&self) -> &[Dimension] {
        &self.dimensions
    }

    /// Index of the knob of dimension `i`.
    ///
    /// # Panics
    /// Where `i` is no dimension.
    pub fn dimension_knob(&self, i: usize) -> usize {
        self.owners[i]
    }

    /// Its constraints, the implicit ones of bounds that mention other knobs included.
    pub fn constraints(&self) -> &[Constraint] {
        &self.constraints
    }

    /// What it stands on: machine class, baseline variables, durability.
    pub fn ground(&self) -> &Ground {
        &self.ground
    }

    /// Whether the knob is active in `configuration`; false for an index that is no knob.
    pub fn is_active(&self, knob_index: usize, configuration: &Configuration) -> bool {
        self.activity(configuration)
            .get(knob_index)
            .copied()
            .unwrap_or(false)
    }

    /// Of each knob, whether it is active in `configuration`. Values of inactive knobs are not looked at.
    pub(super) fn activity(&self, configuration: &Configuration) -> Vec<bool> {
        let mut active = vec![false; self.knobs.len()];
        for &index in &self.order {
            active[index] = self.holds(index, configuration, &active);
        }
        active
    }

    /// Whether the condition of knob `index` holds, where `active` is known for the knobs it speaks of.
    pub(super) fn holds(&self, index: usize, configuration: &Configuration, active: &[bool]) -> bool {
        match &self.knobs[index].when {
            None => true,
            Some(when) => when
                .holds(&Values {
                    space: self,
                    configuration,
                    active,
                    written: None,
                })
                .unwrap_or(false),
        }
    }
}

/// The dimensions of a knob: those of its domain, or one step where it is fixed.
fn knob_dimensions(knob: &Knob) -> Vec<Dimension> {
    use super::Domain;
    let all = knob.domain.dimensions();
    match (&knob.fixed, &knob.domain) {
        (None, _) => all,
        (Some(_), Domain::Enum { .. } | Domain::Bool) => vec![Dimension::Category { count: 1 }],
        (Some(_), _) => vec![Dimension::Number {
            steps: Some(1),
            log: false,
        }],
    }
}

/// Names in the scope of a configuration: knobs (inactive ones at their default), then variables it writes, then those of
/// the baseline, then the machine class.
pub(super) struct Values<'a> {
    pub(super) space: &'a Space,
    pub(super) configuration: &'a Configuration,
    pub(super) active: &'a [bool],
    pub(super) written: Option<&'a BTreeMap<String, Value>>,
}

impl Scope for Values<'_> {
    fn get(&self, name: &str) -> Option<Value> {
        if let Some(index) = self.space.knobs.iter().position(|knob| knob.name == name) {
            let value = self
                .active
                .get(index)
                .copied()
                .unwrap_or(false)
                .then(|| self.configuration.get(name).cloned())
                .flatten();
            return Some(value.unwrap_or_else(|| self.space.knobs[index].fallback()));
        }
        self.written
            .and_then(|written| written.get(name).cloned())
            .or_else(|| self.space.ground.get(name))
    }
}

/// Knobs ordered so that each comes after those its condition names.
fn order(knobs: &[Knob]) -> Result<Vec<usize>> {
    let mut index = BTreeMap::new();
    for (i, knob) in knobs.iter().enumerate() {
        if index.insert(knob.name.as_str(), i).is_some() {
            return Err(Error::input(format!("two knobs are named {}", knob.name)));
        }
    }
    let mut done = vec![false; knobs.len()];
    let mut order = Vec::with_capacity(knobs.len());
    while order.len() < knobs.len() {
        let before = order.len();
        for (i, knob) in knobs.iter().enumerate() {
            let ready = !done[i]
                && knob.when.as_ref().is_none_or(|when| {
                    when.names()
                        .iter()
                        .filter_map(|name| index.get(name.name))
                        .all(|&j| done[j])
                });
            if ready {
                done[i] = true;
                order.push(i);
            }
        }
        if order.len() == before {
            let circle: Vec<&str> = (0..knobs.len())
                .filter(|&i| !done[i])
                .map(|i| knobs[i].name.as_str())
                .collect();
            return Err(
                Error::input(format!("the conditions of {} go in a circle", circle.join(", ")))
                    .next("change a \"when\" so that no knob depends on itself"),
            );
        }
    }
    Ok(order)
}
