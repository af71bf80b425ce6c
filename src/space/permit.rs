//! What a configuration has to keep before a server is started with it.

use std::collections::BTreeMap;

use super::constraint::{Breach, Constraint};
use super::durability::classify;
use super::expr::EvalError;
use super::memory::MemoryBill;
use super::resolved::{Space, Values};
use super::{Configuration, Domain, DurabilityClass, Knob, Value};
use crate::units::Bytes;

impl Space {
    /// Whether a server may be started with `configuration`: values within bounds and on steps, conditions, the server's
    /// limits, constraints, durability, disk and memory.
    ///
    /// # Errors
    /// The first breach, with its arithmetic.
    pub fn permits(&self, configuration: &Configuration) -> Result<(), Breach> {
        let active = self.presence(configuration)?;
        for knob in &self.knobs {
            if let Some(value) = configuration.get(&knob.name) {
                let legal = knob.fixed.clone().or_else(|| knob.domain.snap(value));
                check_value(knob, value, legal.as_ref())?;
            }
        }
        self.keeps(configuration, &active)
    }

    /// As [`Space::permits`], but for values off their steps or out of their bounds: the user's own configurations, and what a
    /// server made of a proposal, are run as they are.
    ///
    /// # Errors
    /// The first breach, with its arithmetic.
    pub fn can_run(&self, configuration: &Configuration) -> Result<(), Breach> {
        let active = self.presence(configuration)?;
        self.keeps(configuration, &active)
    }

    /// Of each knob, whether it is active; its value is of its type then, and there is none else.
    fn presence(&self, configuration: &Configuration) -> Result<Vec<bool>, Breach> {
        let active = self.activity(configuration);
        for (name, _) in configuration.iter() {
            if self.knob(name).is_none() {
                return Err(Breach::new("knobs", format!("{name} is no knob of this space")));
            }
        }
        for (knob, active) in self.knobs.iter().zip(&active) {
            check_presence(knob, *active, configuration)?;
        }
        Ok(active)
    }

    /// The server's limits, constraints, durability, disk and memory.
    fn keeps(&self, configuration: &Configuration, active: &[bool]) -> Result<(), Breach> {
        let effective = self.effective(configuration)?;
        for (variable, (low, high)) in &self.ground.limits {
            if let Some(x) = effective.get(variable).and_then(Value::as_f64)
                && (x < *low || x > *high)
            {
                return Err(Breach::new(
                    "server limit",
                    format!("{variable} = {x} lies outside of what the server takes, {low} to {high}"),
                ));
            }
        }
        let scope = Values {
            space: self,
            configuration,
            active,
            written: Some(&effective),
        };
        for constraint in &self.constraints {
            let counts = constraint
                .only_with
                .as_ref()
                .is_none_or(|name| configuration.get(name).is_some());
            if counts {
                check_constraint(constraint, &scope)?;
            }
        }
        self.check_durability(&effective)?;
        self.check_disk(&effective)?;
        match self.bill(&effective) {
            Some(bill) if !bill.fits() => Err(Breach::new(
                "memory",
                format!(
                    "{} needed, {} there\n{bill}",
                    bill.total.human(),
                    bill.limit.human()
                ),
            )),
            _ => Ok(()),
        }
    }

    /// The memory arithmetic of `configuration`; none where the space has no machine class.
    ///
    /// # Errors
    /// Where a variable it writes has no value.
    pub fn memory(&self, configuration: &Configuration) -> Result<Option<MemoryBill>, Breach> {
        Ok(self.bill(&self.effective(configuration)?))
    }

    /// The durability class that a server with `configuration` is in.
    ///
    /// # Errors
    /// Where a variable it writes has no value.
    pub fn durability(&self, configuration: &Configuration) -> Result<DurabilityClass, Breach> {
        let effective = self.effective(configuration)?;
        Ok(classify(|name| effective.get(name).cloned()))
    }

    fn bill(&self, effective: &BTreeMap<String, Value>) -> Option<MemoryBill> {
        let class = self.ground.class.as_ref()?;
        let connections = match self.ground.variables.get("max_connections") {
            Some(Value::Int(n)) => u64::try_from(*n).ok(),
            _ => None,
        };
        // Without a server's variables there is nothing to add up.
        (!effective.is_empty())
            .then(|| MemoryBill::of(|name| effective.get(name).cloned(), connections, class))
    }

    fn check_durability(&self, effective: &BTreeMap<String, Value>) -> Result<(), Breach> {
        let Some(floor) = self.ground.durability else {
            return Ok(());
        };
        let counts = |name: &str| !self.ground.permitted.iter().any(|p| p == name);
        let class = classify(|name| effective.get(name).filter(|_| counts(name)).cloned());
        if class <= floor {
            return Ok(());
        }
        Err(Breach::new(
            "durability",
            format!("class {class} is less safe than {floor}: {}", class.promise()),
        ))
    }

    fn check_disk(&self, effective: &BTreeMap<String, Value>) -> Result<(), Breach> {
        let Some(class) = &self.ground.class else {
            return Ok(());
        };
        let redo = redo_size(|name| effective.get(name).cloned());
        if redo <= class.disk_free {
            return Ok(());
        }
        Err(Breach::new(
            "disk",
            format!(
                "{} of redo log, {} free on the disk",
                redo.human(),
                class.disk_free.human()
            ),
        ))
    }
}

/// Size of the whole redo log with the settings `variable`; zero where they do not say.
pub fn redo_size(variable: impl Fn(&str) -> Option<Value>) -> Bytes {
    let size = |name: &str| variable(name).and_then(|value| value.as_f64());
    let redo = size("innodb_redo_log_capacity").unwrap_or_else(|| {
        size("innodb_log_file_size").unwrap_or(0.0) * size("innodb_log_files_in_group").unwrap_or(1.0)
    });
    Bytes(redo as u64)
}

/// An active knob has a value of its type, a fixed one the fixed value, an inactive one none.
fn check_presence(knob: &Knob, active: bool, configuration: &Configuration) -> Result<(), Breach> {
    let name = &knob.name;
    let when = knob.when.as_ref().map_or("", |w| w.text());
    match (active, configuration.get(name)) {
        (false, None) => Ok(()),
        (false, Some(_)) => Err(Breach::new(
            "condition",
            format!("{name} has a value, but {when} does not hold"),
        )),
        (true, None) => Err(Breach::new("condition", format!("{name} has no value"))),
        (true, Some(value)) => match (&knob.fixed, knob.domain.snap(value)) {
            (Some(fixed), _) => check_value(knob, value, Some(fixed)),
            (None, Some(_)) => Ok(()),
            (None, None) => Err(illegal(knob, value)),
        },
    }
}

/// Whether a value is the legal one.
fn check_value(knob: &Knob, value: &Value, legal: Option<&Value>) -> Result<(), Breach> {
    let same = legal.is_some_and(|legal| {
        legal == value || matches!((legal.as_f64(), value.as_f64()), (Some(a), Some(b)) if a == b)
    });
    if same { Ok(()) } else { Err(illegal(knob, value)) }
}

fn illegal(knob: &Knob, value: &Value) -> Breach {
    let name = &knob.name;
    let show = |value: &Value| knob.domain.show(value);
    if let Some(fixed) = &knob.fixed {
        return Breach::new(
            "bounds",
            format!("{name} = {} is fixed at {}", show(value), show(fixed)),
        );
    }
    let outside = |low: Value, high: Value| {
        Breach::new(
            "bounds",
            format!(
                "{name} = {} lies outside of {} to {}",
                show(value),
                show(&low),
                show(&high)
            ),
        )
    };
    let off = |unit: String| {
        Breach::new(
            "steps",
            format!("{name} = {} is no multiple of {unit}", show(value)),
        )
    };
    let x = value.as_f64();
    match &knob.domain {
        Domain::Int { min, max, unit, .. } => match x {
            Some(x) if x >= *min as f64 && x <= *max as f64 => off(show(&Value::Int(*unit))),
            _ => outside(Value::Int(*min), Value::Int(*max)),
        },
        Domain::Float { min, max, unit, .. } => match x {
            Some(x) if x >= *min && x <= *max => off(unit.map_or("six digits".to_owned(), |u| u.to_string())),
            _ => outside(Value::Float(*min), Value::Float(*max)),
        },
        Domain::Enum { values } => Breach::new(
            "bounds",
            format!("{name} = {value} is none of {}", values.join(", ")),
        ),
        Domain::Bool => Breach::new("bounds", format!("{name} = {value} is neither ON nor OFF")),
    }
}

fn check_constraint(constraint: &Constraint, scope: &Values<'_>) -> Result<(), Breach> {
    match constraint.require.holds(scope) {
        Ok(true) => Ok(()),
        Ok(false) => Err(Breach::new(
            constraint.name.clone(),
            match constraint.require.sides(scope) {
                Some(((left, a), (right, b))) => {
                    format!(
                        "{} does not hold: {left} is {}, {right} is {}",
                        constraint.require,
                        number(&a),
                        number(&b)
                    )
                }
                None => format!("{} does not hold", constraint.require),
            },
        )),
        Err(error) => Err(Breach::new(constraint.name.clone(), told(constraint, &error))),
    }
}

fn told(constraint: &Constraint, error: &EvalError) -> String {
    format!("{} has no value: {error}", constraint.require)
}

/// A number for people: whole where it is large.
fn number(value: &Value) -> String {
    match value {
        Value::Float(x) if x.abs() >= 1e6 => format!("{x:.0}"),
        other => other.to_string(),
    }
}
