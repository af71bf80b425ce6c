//! The sections of a study file with their defaults.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Patience, Time, Warmup};
use crate::space::Value;
use crate::strategy::Goal;

/// `[study]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct StudySection {
    /// Its name: the folder below the results folder.
    pub name: String,
    /// Seed of every random choice.
    pub seed: u64,
}

impl Default for StudySection {
    fn default() -> Self {
        Self {
            name: "study".to_owned(),
            seed: 1,
        }
    }
}

/// `[server]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Server {
    /// A path, or a name on PATH.
    pub binary: String,
    /// The my.cnf to beat, read as this server reads it; the server's defaults where none. Relative to the study file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub baseline: Option<String>,
    /// Extra start-up arguments.
    pub args: Vec<String>,
}

impl Default for Server {
    fn default() -> Self {
        Self {
            binary: "mariadbd".to_owned(),
            baseline: None,
            args: Vec::new(),
        }
    }
}

/// `[hardware]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Hardware {
    /// `probe` for this host, or the name of a machine class (a file of spaces/hardware/).
    pub class: String,
    /// Connections the memory arithmetic must bear, where more than the baseline's max_connections.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connections: Option<u64>,
}

impl Default for Hardware {
    fn default() -> Self {
        Self {
            class: "probe".to_owned(),
            connections: None,
        }
    }
}

/// `[space]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SpaceSection {
    /// Families of knobs.
    pub families: Vec<String>,
    /// Which durability classes may be tried.
    pub durability: Durability,
    /// What may be changed although it is pinned, e.g. `doublewrite-off`.
    pub allow: Vec<String>,
    /// Narrows, widens, fixes or adds knobs, in the words of space files.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub knob: BTreeMap<String, toml::Table>,
    /// Further constraints on configurations.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub constraint: Vec<SpaceConstraint>,
}

impl Default for SpaceSection {
    fn default() -> Self {
        let families = ["memory", "redo", "io", "session", "threads", "contention"];
        Self {
            families: families.map(str::to_owned).to_vec(),
            durability: Durability::Keep,
            allow: Vec::new(),
            knob: BTreeMap::new(),
            constraint: Vec::new(),
        }
    }
}

/// Which commits may be put at risk (classes: knobs, "Durability classes").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Durability {
    /// The baseline's class.
    Keep,
    /// Class `full`.
    Full,
    /// The data keep every commit; the binary log may lag.
    Data,
    /// Class `os-1s`.
    #[serde(rename = "os-1s")]
    Os1s,
    /// Class `crash-1s`.
    #[serde(rename = "crash-1s")]
    Crash1s,
    /// Every class is tried, and told apart in the result.
    Explore,
}

/// `[workload]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Workload {
    /// What drives the load.
    pub kind: WorkloadKind,
    /// For sysbench: a bundled name or a path to a Lua script.
    pub script: String,
    /// Client threads.
    pub threads: u32,
    /// Options of the script.
    pub options: BTreeMap<String, Value>,
}

impl Default for Workload {
    fn default() -> Self {
        let options = [
            ("tables", Value::from(8)),
            ("table-size", Value::from(250_000)),
            ("rand-type", Value::from("uniform")),
        ];
        Self {
            kind: WorkloadKind::Sysbench,
            script: "oltp_read_write".to_owned(),
            threads: 16,
            options: options
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect(),
        }
    }
}

/// What drives the load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WorkloadKind {
    /// sysbench with a Lua script.
    Sysbench,
}

/// `[trial]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TrialSection {
    /// How the data directory becomes the template again.
    pub reset: Reset,
    /// What of the caches is dropped before the server starts.
    pub caches: Caches,
    /// How long to warm up.
    pub warmup: Warmup,
    /// How long to measure.
    pub measure: Measure,
    /// Whether the recovery after a crash is timed.
    pub crash_recovery: bool,
}

impl Default for TrialSection {
    fn default() -> Self {
        Self {
            reset: Reset::Auto,
            caches: Caches::default(),
            warmup: Warmup::Auto,
            measure: Measure::default(),
            crash_recovery: false,
        }
    }
}

/// How the data directory becomes the template again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reset {
    /// The fastest that works here.
    Auto,
    /// Shared blocks (XFS, btrfs).
    Reflink,
    /// A full copy.
    Copy,
}

/// What of the caches is dropped before the server starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Caches {
    /// Which caches.
    pub drop: CachesDrop,
}

impl Default for Caches {
    fn default() -> Self {
        Self {
            drop: CachesDrop::Files,
        }
    }
}

/// Which caches are dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CachesDrop {
    /// The trial's own files; needs no root.
    Files,
    /// Everything the kernel caches; host-wide, needs root.
    All,
    /// Nothing.
    None,
}

/// How long to measure: `{ min = "20s", max = "120s" }`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Measure {
    /// At least.
    pub min: Time,
    /// At most.
    pub max: Time,
}

impl Default for Measure {
    fn default() -> Self {
        Self {
            min: Time::seconds(20),
            max: Time::seconds(120),
        }
    }
}

/// `[[objective]]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ObjectiveSpec {
    /// A metric, or an expression over metrics.
    pub metric: String,
    /// Which way is better.
    pub goal: Goal,
}

/// `[[constraint]]`: a condition on metrics.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ConstraintSpec {
    /// The condition over metrics and `baseline.` metrics.
    pub require: String,
}

/// `[[space.constraint]]`: a condition on configurations.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SpaceConstraint {
    /// Its name, for messages.
    pub name: String,
    /// The condition over knobs and machine facts.
    pub require: String,
}

/// `[strategy]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct StrategySection {
    /// The name of a preset, or a path to a preset file.
    pub preset: String,
    /// Whether the machine class's rule of thumb is measured first.
    pub rule_of_thumb: bool,
}

impl Default for StrategySection {
    fn default() -> Self {
        Self {
            preset: "bayes".to_owned(),
            rule_of_thumb: true,
        }
    }
}

/// `[[candidate]]`: a configuration of the user's own to be measured: variables and values, as a my.cnf has them.
pub type Candidate = BTreeMap<String, Value>;

/// `[template]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Template {
    /// A data directory of a server that was shut down cleanly, to be copied.
    pub from: String,
}

/// `[budget]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Budget {
    /// Time of all trials together.
    pub time: Time,
    /// Number of trials; no limit where none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trials: Option<u64>,
    /// When to stop searching although time is left.
    pub patience: Patience,
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            time: Time::seconds(8 * 3600),
            trials: None,
            patience: Patience::default(),
        }
    }
}

/// `[confirm]`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Confirm {
    /// Share of the budget kept for confirming.
    pub reserve: f64,
    /// The smallest gain worth reporting, as a share.
    pub min_gain: f64,
    /// Loss allowed for a shorter file, as a share.
    pub tolerance: f64,
    /// Measuring time of each confirmation run; as in the search where none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub length: Option<Time>,
}

impl Default for Confirm {
    fn default() -> Self {
        Self {
            reserve: 0.25,
            min_gain: 0.01,
            tolerance: 0.02,
            length: None,
        }
    }
}

/// `[finish]`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Finish {
    /// A command to run at the end; none where empty.
    pub run: String,
}
