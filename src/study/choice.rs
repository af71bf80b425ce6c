//! Settings that take a word or a table: when to stop searching, and how long to warm up.

use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::Time;
use super::time::parse;

/// When to stop searching although time is left: `{ gain = 0.01, over = "1h" }`, or false.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Patience {
    /// Never.
    Off,
    /// When the search has gained too little for too long.
    On(PatienceRule),
}

/// Stop when the last `over` of searching gained less than `gain`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PatienceRule {
    /// Gain, as a share.
    pub gain: f64,
    /// Time of searching.
    pub over: Time,
}

impl Default for PatienceRule {
    fn default() -> Self {
        Self {
            gain: 0.01,
            over: Time::seconds(3600),
        }
    }
}

impl Default for Patience {
    fn default() -> Self {
        Self::On(PatienceRule::default())
    }
}

impl Serialize for Patience {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Off => serializer.serialize_bool(false),
            Self::On(rule) => rule.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Patience {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = Patience;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("false, or a table as in { gain = 0.01, over = \"1h\" }")
            }

            fn visit_bool<E: de::Error>(self, on: bool) -> Result<Patience, E> {
                Ok(if on { Patience::default() } else { Patience::Off })
            }

            fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<Patience, A::Error> {
                PatienceRule::deserialize(MapAccessDeserializer::new(map)).map(Patience::On)
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

/// How long to warm up: `"auto"`, or a duration after which measuring begins at the latest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Warmup {
    /// Until the throughput is steady, at most a minute.
    Auto,
    /// Until the throughput is steady, at most this long.
    AtMost(Time),
}

impl Warmup {
    /// The longest warm-up.
    pub fn cap(self) -> Time {
        match self {
            Self::Auto => Time::seconds(60),
            Self::AtMost(time) => time,
        }
    }
}

impl Serialize for Warmup {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Auto => serializer.serialize_str("auto"),
            Self::AtMost(time) => time.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Warmup {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = Warmup;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("\"auto\", or a duration as in \"30s\"")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Warmup, E> {
                if text == "auto" {
                    return Ok(Warmup::Auto);
                }
                parse(text)
                    .map(|time| Warmup::AtMost(Time(time)))
                    .map_err(E::custom)
            }
        }
        deserializer.deserialize_str(Visitor)
    }
}
