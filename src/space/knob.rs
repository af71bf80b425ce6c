//! One dimension of the search and the variables it writes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::expr::Expr;
use super::{Domain, Value};

/// Which variables a knob writes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Writes {
    /// The variable of its name.
    #[default]
    Own,
    /// Each variable by an expression over `value`, other knobs and variables.
    Expressions(BTreeMap<String, Expr>),
    /// Each value of an enum its own variables with their values.
    ByValue(BTreeMap<String, BTreeMap<String, Value>>),
}

/// One dimension of the search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Knob {
    /// Its name; mostly that of the variable it writes.
    pub name: String,
    /// Its family (memory, redo, io, ...).
    pub family: String,
    /// Its legal values.
    pub domain: Domain,
    /// It is active only where this holds; always where none.
    pub when: Option<Expr>,
    /// What it writes.
    pub writes: Writes,
    /// How its value is read back from variables; none where [`Writes`] says it.
    pub reads: Option<Expr>,
    /// The baseline's value, exact: it may lie off the steps or out of the bounds.
    pub default: Option<Value>,
    /// The one value it has, where the study fixes it.
    pub fixed: Option<Value>,
    /// The expert's first guess for a machine class.
    pub rule: Option<Expr>,
    /// Where the bounds come from.
    pub source: String,
    /// What a person should know about it.
    pub note: Option<String>,
    /// Whether a running server takes it; none where unknown.
    pub dynamic: Option<bool>,
}

impl Knob {
    /// A knob that writes the variable of its name, whenever, and of which nothing else is known.
    pub fn new(name: impl Into<String>, domain: Domain) -> Self {
        Self {
            name: name.into(),
            family: String::new(),
            domain,
            when: None,
            writes: Writes::Own,
            reads: None,
            default: None,
            fixed: None,
            rule: None,
            source: String::new(),
            note: None,
            dynamic: None,
        }
    }

    /// Names of the variables it may write.
    pub fn variables(&self) -> Vec<&str> {
        match &self.writes {
            Writes::Own => vec![self.name.as_str()],
            Writes::Expressions(all) => all.keys().map(String::as_str).collect(),
            Writes::ByValue(values) => {
                let mut names: Vec<&str> = values
                    .values()
                    .flat_map(|w| w.keys().map(String::as_str))
                    .collect();
                names.sort_unstable();
                names.dedup();
                names
            }
        }
    }

    /// What it takes where nothing else says: the fixed value, the default, or the middle.
    pub fn fallback(&self) -> Value {
        self.fixed
            .clone()
            .or_else(|| self.default.clone())
            .unwrap_or_else(|| self.domain.middle())
    }

    /// The legal value nearest to `value`; the fixed value always, and the legal fallback for what is no value of it.
    pub fn snap(&self, value: &Value) -> Value {
        if let Some(fixed) = &self.fixed {
            return fixed.clone();
        }
        self.domain
            .snap(value)
            .or_else(|| self.default.as_ref().and_then(|d| self.domain.snap(d)))
            .unwrap_or_else(|| self.domain.middle())
    }
}
