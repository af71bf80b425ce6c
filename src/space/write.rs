//! Configurations as server variables, and back; the rule of thumb.

use std::collections::BTreeMap;

use super::constraint::Breach;
use super::expr::{Expr, Scope};
use super::knob::Writes;
use super::resolved::{Space, Values};
use super::server_facts::variable_value;
use super::{Configuration, Domain, Knob, Value};

impl Space {
    /// The server variables that `configuration` writes, ordered by name; inactive knobs write nothing.
    ///
    /// # Errors
    /// A written expression without a value.
    pub fn writes(&self, configuration: &Configuration) -> Result<Vec<(String, Value)>, Breach> {
        let active = self.activity(configuration);
        let scope = Values {
            space: self,
            configuration,
            active: &active,
            written: None,
        };
        let mut out = BTreeMap::new();
        for (knob, _) in self.knobs.iter().zip(&active).filter(|(_, active)| **active) {
            let Some(value) = configuration.get(&knob.name) else {
                continue;
            };
            match &knob.writes {
                Writes::Own => {
                    out.insert(knob.name.clone(), value.clone());
                }
                Writes::ByValue(values) => {
                    let written = values.get(&value.to_string()).ok_or_else(|| {
                        Breach::new(
                            "writes",
                            format!("{} = {value} is no value that writes anything", knob.name),
                        )
                    })?;
                    out.extend(written.iter().map(|(name, value)| (name.clone(), value.clone())));
                }
                Writes::Expressions(expressions) => {
                    let exact = self.at_baseline(knob, expressions, configuration, &active);
                    for (name, expression) in expressions {
                        let written = match self.ground.variables.get(name) {
                            Some(baseline) if exact => baseline.clone(),
                            _ => written(knob, value, expression, &scope)?,
                        };
                        out.insert(name.clone(), written);
                    }
                }
            }
        }
        Ok(out.into_iter().collect())
    }

    /// Whether a knob and all it computes with stand at the baseline: then it writes what the baseline has, exactly,
    /// also where two variables that the knob ties differ there.
    fn at_baseline(
        &self,
        knob: &Knob,
        expressions: &BTreeMap<String, Expr>,
        configuration: &Configuration,
        active: &[bool],
    ) -> bool {
        let at = |other: &Knob| {
            other.default.is_some() && configuration.get(&other.name) == other.default.as_ref()
        };
        at(knob)
            && expressions.values().flat_map(Expr::names).all(|name| {
                self.knobs
                    .iter()
                    .zip(active)
                    .find(|(other, _)| other.name == name.name)
                    .is_none_or(|(other, active)| !active || at(other))
            })
    }

    /// The effective variables: the baseline's, with what `configuration` writes over them.
    ///
    /// # Errors
    /// A written expression without a value.
    pub fn effective(&self, configuration: &Configuration) -> Result<BTreeMap<String, Value>, Breach> {
        let mut all = self.ground.variables.clone();
        all.extend(self.writes(configuration)?);
        Ok(all)
    }

    /// The configuration that a server with these variables (as text, by lower-case name) really runs: exact values, which
    /// may lie off the steps or out of the bounds. A knob whose variables are not among them keeps its value of `asked`.
    pub fn read(&self, variables: &BTreeMap<String, String>, asked: &Configuration) -> Configuration {
        let values: BTreeMap<String, Value> = variables
            .iter()
            .map(|(name, text)| (name.clone(), variable_value(text, None)))
            .collect();
        self.assemble(|knob, _| {
            read_knob(knob, &values)
                .unwrap_or_else(|| asked.get(&knob.name).cloned().unwrap_or_else(|| knob.fallback()))
        })
    }

    /// The expert's first guess for the machine class: the knobs' rules, snapped; where that breaks a constraint, the
    /// largest size among the rules (the buffer pool) is lowered until everything fits; where even its least value does not
    /// fit, the other knobs go back to the baseline, and at last every size to its least.
    ///
    /// # Errors
    /// Where nothing of that is permitted: the breach of the smallest guess.
    pub fn rule_of_thumb(&self) -> Result<Configuration, Breach> {
        let guess = self.snap(&self.assemble(|knob, _| {
            knob.rule
                .as_ref()
                .and_then(|rule| rule.eval(&self.ground).ok())
                .unwrap_or_else(|| knob.fallback())
        }));
        let Err(breach) = self.permits(&guess) else {
            return Ok(guess);
        };
        let largest = self
            .knobs
            .iter()
            .filter(|knob| knob.rule.is_some() && knob.fixed.is_none())
            .filter(|knob| matches!(knob.domain, Domain::Int { bytes: true, .. }))
            .filter_map(|knob| Some((knob, guess.get(&knob.name)?.as_f64()?)))
            .max_by(|a, b| a.1.total_cmp(&b.1));
        let Some((knob, start)) = largest else {
            return Err(breach);
        };
        let base = self.snap(&self.default_configuration());
        let mut last = breach;
        let mut frugal = base.clone();
        for other in &self.knobs {
            if let Domain::Int { min, bytes: true, .. } = other.domain
                && frugal.get(&other.name).is_some()
            {
                frugal.set(other.name.clone(), min);
            }
        }
        let frugal = self.snap(&frugal);
        for others in [&guess, &base, &frugal] {
            match self.lower(knob, start, others) {
                Ok(found) => return Ok(found),
                Err(breach) => last = breach,
            }
        }
        Err(last)
    }

    /// `others` with the greatest value of `knob`, at most `start`, that is permitted.
    fn lower(&self, knob: &Knob, start: f64, others: &Configuration) -> Result<Configuration, Breach> {
        let Domain::Int { min, unit, .. } = knob.domain else {
            return Ok(others.clone());
        };
        let with = |n: i64| {
            let mut changed = others.clone();
            changed.set(knob.name.clone(), n);
            self.snap(&changed)
        };
        self.permits(&with(min))?;
        // Permitted at `low`, not known to be at `high`; less memory never breaks what more keeps.
        let (mut low, mut high) = (min, start as i64);
        while high - low > unit {
            let middle = low + (high - low) / 2;
            if self.permits(&with(middle)).is_ok() {
                low = middle;
            } else {
                high = middle;
            }
        }
        let found = with(low);
        match self.permits(&found) {
            Ok(()) => Ok(found),
            // Snapping may have rounded up by one step.
            Err(_) => {
                let below = with(low - unit);
                self.permits(&below).map(|()| below)
            }
        }
    }
}

/// The value of `expression` for a knob at `value`.
fn written(knob: &Knob, value: &Value, expression: &Expr, scope: &Values<'_>) -> Result<Value, Breach> {
    let with_value = |name: &str| {
        if name == "value" {
            Some(value.clone())
        } else {
            scope.get(name)
        }
    };
    expression
        .eval(&with_value)
        .map_err(|error| Breach::new("writes", format!("{} writes {expression}: {error}", knob.name)))
}

/// The value of a knob where variables have these values; none where they do not tell.
pub(super) fn read_knob(knob: &Knob, variables: &BTreeMap<String, Value>) -> Option<Value> {
    let scope = |name: &str| variables.get(name).cloned();
    if let Some(reads) = &knob.reads {
        return typed(&knob.domain, reads.eval(&scope).ok()?);
    }
    match &knob.writes {
        Writes::Own => typed(&knob.domain, variables.get(&knob.name)?.clone()),
        Writes::ByValue(values) => values
            .iter()
            .find(|(_, written)| {
                written
                    .iter()
                    .all(|(name, value)| variables.get(name).is_some_and(|have| same(have, value)))
            })
            .map(|(name, _)| Value::Text(name.clone())),
        Writes::Expressions(_) => {
            let mut names = knob.variables().into_iter();
            let (first, more) = (names.next()?, names.next());
            if more.is_some() {
                return None;
            }
            typed(&knob.domain, variables.get(first)?.clone())
        }
    }
}

/// Whether two values are the same to a server: numbers by value, words without regard to case, switches as 0 and 1.
pub(super) fn same(a: &Value, b: &Value) -> bool {
    let word = |value: &Value| match value {
        Value::Bool(true) => "1".to_owned(),
        Value::Bool(false) => "0".to_owned(),
        Value::Text(text) if text.eq_ignore_ascii_case("on") => "1".to_owned(),
        Value::Text(text) if text.eq_ignore_ascii_case("off") => "0".to_owned(),
        other => other.to_string().to_ascii_lowercase(),
    };
    match (a.as_f64(), b.as_f64()) {
        (Some(x), Some(y)) => x == y,
        _ => word(a) == word(b),
    }
}

/// A value in the type of the domain, its exact size kept: numbers are not snapped; words take the domain's spelling where
/// they are among its words. None where it is no value of that type.
pub(super) fn typed(domain: &Domain, value: Value) -> Option<Value> {
    match domain {
        Domain::Int { .. } => match value {
            Value::Int(n) => Some(Value::Int(n)),
            Value::Bool(b) => Some(Value::Int(i64::from(b))),
            Value::Float(x) => Some(Value::Int(x.round() as i64)),
            Value::Text(text) => match variable_value(&text, Some(super::server_facts::VariableKind::Int)) {
                Value::Int(n) => Some(Value::Int(n)),
                _ => None,
            },
        },
        Domain::Float { .. } => match value {
            Value::Text(text) => text.trim().parse().ok().map(Value::Float),
            other => other.as_f64().map(Value::Float),
        },
        Domain::Bool => domain.snap(&value),
        Domain::Enum { .. } => Some(
            domain
                .snap(&value)
                .unwrap_or_else(|| Value::Text(value.to_string())),
        ),
    }
}
