//! A configuration: one value for each active knob of a space.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use super::Value;

/// One value for each active knob of a space, by knob name. Inactive knobs are absent, so equal configurations compare equal.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Configuration(BTreeMap<String, Value>);

impl Configuration {
    /// A configuration without any knob.
    pub fn new() -> Self {
        Self::default()
    }

    /// The value of `knob`; none where the knob is inactive or not of the space.
    pub fn get(&self, knob: &str) -> Option<&Value> {
        self.0.get(knob)
    }

    /// Gives `knob` a value.
    pub fn set(&mut self, knob: impl Into<String>, value: impl Into<Value>) {
        self.0.insert(knob.into(), value.into());
    }

    /// Takes `knob` out.
    pub fn remove(&mut self, knob: &str) -> Option<Value> {
        self.0.remove(knob)
    }

    /// Knobs and values, ordered by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// Number of knobs with a value.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether no knob has a value.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A text that is equal exactly for equal configurations; for deduplication and as a map key.
    pub fn key(&self) -> String {
        let mut key = String::new();
        for (name, value) in &self.0 {
            // Writing to a String cannot fail.
            let _ = write!(key, "{name}={value};");
        }
        key
    }
}

impl FromIterator<(String, Value)> for Configuration {
    fn from_iter<T: IntoIterator<Item = (String, Value)>>(iter: T) -> Self {
        Self(iter.into_iter().collect())
    }
}
