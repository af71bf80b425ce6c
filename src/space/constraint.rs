//! Constraints on configurations, and how a breach is told.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::expr::Expr;

/// Something every configuration has to keep.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Constraint {
    /// Its name in messages.
    pub name: String,
    /// What has to hold, over knobs, variables and the machine class.
    pub require: Expr,
    /// It counts only where this knob is active; always where none.
    pub only_with: Option<String>,
}

/// Why a configuration is not permitted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Breach {
    /// What is broken: the name of a constraint, or `bounds`, `steps`, `condition`, `memory`, `disk`, `server limit`, `durability`.
    pub constraint: String,
    /// How, with the arithmetic shown.
    pub detail: String,
}

impl Breach {
    /// A breach of `constraint`.
    pub fn new(constraint: impl Into<String>, detail: impl Into<String>) -> Self {
        Self {
            constraint: constraint.into(),
            detail: detail.into(),
        }
    }
}

impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.constraint, self.detail)
    }
}

impl std::error::Error for Breach {}
