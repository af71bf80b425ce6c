//! What a server says about its own variables. Pure data; the server module reads it from a live server.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::Value;
use crate::units::Bytes;

/// Which family of servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Flavor {
    /// MariaDB.
    #[default]
    MariaDb,
    /// MySQL and its close derivatives.
    MySql,
}

impl fmt::Display for Flavor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::MariaDb => "MariaDB",
            Self::MySql => "MySQL",
        })
    }
}

/// How a variable's text is to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum VariableKind {
    /// A whole number, or a size in bytes.
    Int,
    /// A number with a fraction.
    Float,
    /// `ON` or `OFF`.
    Bool,
    /// One word of [`VariableFacts::enum_values`].
    Enum,
    /// Several words.
    Set,
    /// Anything else.
    Text,
}

/// One variable as its server describes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct VariableFacts {
    /// The running value, as text.
    pub value: String,
    /// The default, where the server names one; a server may size the running value differently.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
    /// How the text is to be read.
    pub kind: VariableKind,
    /// Least legal value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min: Option<f64>,
    /// Greatest legal value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<f64>,
    /// The server rounds to multiples of this, where above 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block: Option<u64>,
    /// The words an enum or set takes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub enum_values: Vec<String>,
    /// Whether it can only be set at start.
    #[serde(default)]
    pub read_only: bool,
    /// Whether `SET GLOBAL` changes it in a running server.
    #[serde(default)]
    pub dynamic: bool,
}

/// A server and all its variables.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ServerFacts {
    /// MariaDB or MySQL.
    pub flavor: Flavor,
    /// Major, minor, patch.
    pub version: (u32, u32, u32),
    /// The version as the server writes it.
    pub version_text: String,
    /// Its variables by lower-case name, underscores only.
    pub variables: BTreeMap<String, VariableFacts>,
}

impl ServerFacts {
    /// Name and version for people, e.g. `MariaDB 10.11.19`.
    pub fn name(&self) -> String {
        let (major, minor, patch) = self.version;
        format!("{} {major}.{minor}.{patch}", self.flavor)
    }
}

/// Reads a variable's text: `ON`/`OFF` as switches where the kind says so, whole numbers and sizes as [`Value::Int`]
/// (above 2^63-1 clamped), the rest as it is. Without a kind, what looks like a number is one.
pub fn variable_value(text: &str, kind: Option<VariableKind>) -> Value {
    let trimmed = text.trim();
    let text_value = || Value::Text(trimmed.to_owned());
    match kind {
        Some(VariableKind::Enum | VariableKind::Set | VariableKind::Text) => text_value(),
        Some(VariableKind::Bool) => switch(trimmed).map_or_else(text_value, Value::Bool),
        Some(VariableKind::Float) => number(trimmed).map_or_else(text_value, Value::Float),
        Some(VariableKind::Int) => whole(trimmed).unwrap_or_else(text_value),
        None => whole(trimmed)
            .or_else(|| number(trimmed).map(Value::Float))
            .unwrap_or_else(text_value),
    }
}

/// A switch as servers write it.
pub(super) fn switch(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "on" | "1" | "true" | "yes" => Some(true),
        "off" | "0" | "false" | "no" => Some(false),
        _ => None,
    }
}

fn number(text: &str) -> Option<f64> {
    text.parse::<f64>().ok().filter(|x| x.is_finite())
}

fn whole(text: &str) -> Option<Value> {
    if let Ok(n) = text.parse::<i64>() {
        return Some(Value::Int(n));
    }
    text.parse::<Bytes>()
        .ok()
        .map(|Bytes(n)| Value::Int(i64::try_from(n).unwrap_or(i64::MAX)))
}
