//! A job: one trial with a purpose.

use serde::{Deserialize, Serialize};

use crate::space::Configuration;
use crate::strategy::TrialNumber;

/// What a trial is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "purpose", rename_all = "kebab-case")]
pub enum Purpose {
    /// The configuration to beat.
    Baseline,
    /// A first guess: the rule of thumb of the machine class, or a candidate of the user's.
    Start,
    /// A new proposal of the strategy.
    Explore,
    /// A known configuration once more.
    Repeat {
        /// The trial it repeats.
        of: TrialNumber,
    },
    /// One run of a confirmation block.
    Pair {
        /// The block, from 1.
        block: u32,
        /// Which configuration of the block.
        arm: Arm,
    },
    /// The start of the server with the final my.cnf.
    Final,
}

impl Purpose {
    /// The word for it in output and stores.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Baseline => "baseline",
            Self::Start => "start",
            Self::Explore => "explore",
            Self::Repeat { .. } => "repeat",
            Self::Pair { .. } => "pair",
            Self::Final => "final",
        }
    }
}

/// What is compared in a confirmation block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Arm {
    /// The baseline.
    Baseline,
    /// The rule of thumb of the machine class.
    RuleOfThumb,
    /// The best configuration of the search.
    Best,
}

impl Arm {
    /// The name in output, e.g. `rule of thumb`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Baseline => "baseline",
            Self::RuleOfThumb => "rule of thumb",
            Self::Best => "best",
        }
    }
}

/// How long a trial may warm up and measure.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Length {
    /// Warm-up: until steady, at most this many seconds.
    pub warmup_cap: f64,
    /// Measuring: at least this many seconds.
    pub measure_min: f64,
    /// Measuring: at most this many seconds.
    pub measure_max: f64,
}

/// One trial to run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// What it is for.
    #[serde(flatten)]
    pub purpose: Purpose,
    /// The configuration asked for.
    pub configuration: Configuration,
    /// How long.
    pub length: Length,
    /// Why, for people.
    pub why: String,
    /// What the strategy stored with its proposal.
    pub model: Option<serde_json::Value>,
    /// The host it has to run on; any where none. A pair block stays on one host.
    pub host: Option<String>,
    /// Up to this trial, failures that had ended the study are forgiven when this one is begun; 0 where there are none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub forgives: TrialNumber,
}

fn is_zero(number: &TrialNumber) -> bool {
    *number == 0
}
