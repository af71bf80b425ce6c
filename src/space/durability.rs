//! Durability classes: which acknowledged commits survive which failure, from a server's effective settings.
//!
//! Source: the manuals of MariaDB and MySQL on `innodb_flush_log_at_trx_commit`, `sync_binlog`, `innodb_doublewrite` and
//! `innodb_flush_method`. Classes speak of InnoDB tables only.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Value;
use super::server_facts::switch;

/// What an acknowledged commit survives; ordered best first, so that `a <= b` says a is at least as safe as b.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DurabilityClass {
    /// Server crash, crash of the system, power cut; torn pages are repaired; binlog and data agree.
    Full,
    /// A server crash; at a power cut the last commits may be lost from data and binlog, which may disagree.
    BinlogLag,
    /// A server crash; about a second is lost when the system or power fails.
    #[serde(rename = "os-1s")]
    Os1s,
    /// About a second is lost when the server crashes.
    #[serde(rename = "crash-1s")]
    Crash1s,
    /// Pages or the whole database may be lost.
    Unsafe,
}

impl DurabilityClass {
    /// All classes, best first.
    pub const ALL: [Self; 5] = [
        Self::Full,
        Self::BinlogLag,
        Self::Os1s,
        Self::Crash1s,
        Self::Unsafe,
    ];

    /// Its name in files and output.
    pub fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::BinlogLag => "binlog-lag",
            Self::Os1s => "os-1s",
            Self::Crash1s => "crash-1s",
            Self::Unsafe => "unsafe",
        }
    }

    /// What it promises, one sentence without a full stop.
    pub fn promise(self) -> &'static str {
        match self {
            Self::Full => "an acknowledged commit survives a server crash, a system crash and a power cut",
            Self::BinlogLag => {
                "an acknowledged commit survives a server crash; at a power cut the last ones may be lost, and data, binlog and replicas may disagree"
            }
            Self::Os1s => {
                "an acknowledged commit survives a server crash; about a second is lost when the system or power fails"
            }
            Self::Crash1s => "about a second of acknowledged commits is lost when the server crashes",
            Self::Unsafe => "pages or the whole database may be lost",
        }
    }
}

impl fmt::Display for DurabilityClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Which classes a study may visit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DurabilityRule {
    /// Nothing less safe than the baseline.
    #[default]
    Keep,
    /// Nothing less safe than this class.
    Class(DurabilityClass),
    /// Every class, but unsafe only with explicit permission.
    Explore,
}

/// A text that names no durability rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is no durability: write keep, full, data, os-1s, crash-1s or explore")]
pub struct NoDurability(String);

impl FromStr for DurabilityRule {
    type Err = NoDurability;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(match text {
            "keep" => Self::Keep,
            "explore" => Self::Explore,
            "full" => Self::Class(DurabilityClass::Full),
            "data" | "binlog-lag" => Self::Class(DurabilityClass::BinlogLag),
            "os-1s" => Self::Class(DurabilityClass::Os1s),
            "crash-1s" => Self::Class(DurabilityClass::Crash1s),
            _ => return Err(NoDurability(text.to_owned())),
        })
    }
}

impl fmt::Display for DurabilityRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Keep => "keep",
            Self::Class(DurabilityClass::BinlogLag) => "data",
            Self::Class(class) => class.name(),
            Self::Explore => "explore",
        })
    }
}

impl Serialize for DurabilityRule {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for DurabilityRule {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(serde::de::Error::custom)
    }
}

/// Words of `innodb_flush_method` that skip what makes writes durable.
pub const UNSAFE_FLUSH_METHODS: [&str; 3] = ["O_DIRECT_NO_FSYNC", "nosync", "littlesync"];

/// Words of `innodb_doublewrite` that repair torn pages; everything else does not.
pub const SAFE_DOUBLEWRITE: [&str; 2] = ["ON", "DETECT_AND_RECOVER"];

/// The class of effective settings. A setting that the server does not have counts as safe; atomic storage is not known
/// about, so a doublewrite that is off is unsafe.
pub fn classify(variable: impl Fn(&str) -> Option<Value>) -> DurabilityClass {
    let text = |name: &str| variable(name).map(|value| value.to_string());
    let on = |name: &str| text(name).is_some_and(|t| switch(&t) == Some(true));
    if let Some(doublewrite) = text("innodb_doublewrite") {
        let safe = SAFE_DOUBLEWRITE
            .iter()
            .any(|word| word.eq_ignore_ascii_case(&doublewrite))
            || switch(&doublewrite) == Some(true);
        if !safe {
            return DurabilityClass::Unsafe;
        }
    }
    if text("innodb_flush_method").is_some_and(|method| {
        UNSAFE_FLUSH_METHODS
            .iter()
            .any(|word| word.eq_ignore_ascii_case(&method))
    }) {
        return DurabilityClass::Unsafe;
    }
    match text("innodb_flush_log_at_trx_commit").as_deref() {
        Some("0") => DurabilityClass::Crash1s,
        Some("2") => DurabilityClass::Os1s,
        _ if on("log_bin") && text("sync_binlog").is_some_and(|n| n != "1") => DurabilityClass::BinlogLag,
        _ => DurabilityClass::Full,
    }
}
