//! The value of a knob or a server variable.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The value of a knob or a server variable. Sizes are [`Value::Int`] in bytes; enum values are [`Value::Text`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// A switch; servers write it `ON` and `OFF`.
    Bool(bool),
    /// A whole number, or a size in bytes.
    Int(i64),
    /// A number with a fraction.
    Float(f64),
    /// One of the words of an enum, or any text.
    Text(String),
}

impl Value {
    /// As a number; switches count as 0 and 1, texts are none.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Self::Bool(b) => Some(f64::from(u8::from(*b))),
            Self::Int(n) => Some(*n as f64),
            Self::Float(x) => Some(*x),
            Self::Text(_) => None,
        }
    }
}

impl fmt::Display for Value {
    /// As a my.cnf takes it: `ON`/`OFF`, plain digits, the shortest decimal that reads back equal.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool(true) => f.write_str("ON"),
            Self::Bool(false) => f.write_str("OFF"),
            Self::Int(n) => write!(f, "{n}"),
            Self::Float(x) => write!(f, "{x}"),
            Self::Text(text) => f.write_str(text),
        }
    }
}

impl From<i64> for Value {
    fn from(n: i64) -> Self {
        Self::Int(n)
    }
}

impl From<f64> for Value {
    fn from(x: f64) -> Self {
        Self::Float(x)
    }
}

impl From<bool> for Value {
    fn from(b: bool) -> Self {
        Self::Bool(b)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}
