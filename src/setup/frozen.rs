//! What is probed once and kept with a study, so that a resumed night goes on under the same facts.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::Baseline;
use crate::error::{Error, Result};
use crate::host::Fingerprint;
use crate::server::Setting;
use crate::space::{Configuration, Knob, MachineClass, ServerFacts, Space};

/// What is frozen in a study when it begins.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Frozen {
    /// Version of this form.
    pub format: u32,
    /// The machine class.
    pub class: MachineClass,
    /// The machine class as declared, before the host's free disk space narrowed it.
    #[serde(default)]
    pub declared: Option<MachineClass>,
    /// Variables that knobs of the study write: they pass from the user's my.cnf to private servers.
    #[serde(default)]
    pub tuned: BTreeSet<String>,
    /// What tells the contents of the user's data directory apart from others'; none without one.
    #[serde(default)]
    pub data_key: Option<String>,
    /// The server's build.
    pub build: String,
    /// The server's variables.
    pub facts: ServerFacts,
    /// The environment, for comparison on resume and between workers.
    pub environment: Fingerprint,
    /// Settings of the user's my.cnf: name, value, place.
    pub baseline_settings: Vec<(String, Option<String>, String)>,
    /// Variables that really run with them.
    pub baseline_effective: BTreeMap<String, String>,
    /// The resolved space.
    pub space: Space,
    /// Knobs of earlier spaces of the study that this one does not have, as they were then: trials ran with them.
    #[serde(default)]
    pub gone: Vec<Knob>,
    /// The first guess of the machine class; none where it is switched off or impossible.
    pub rule_of_thumb: Option<Configuration>,
    /// The user's own candidates.
    pub candidates: Vec<Configuration>,
    /// The load in one line.
    pub workload: String,
    /// The host the study was begun on.
    pub host: String,
}

/// The version of [`Frozen`] this program writes and reads.
pub(super) const FORMAT: u32 = 1;

impl Frozen {
    /// As stored with a study.
    ///
    /// # Errors
    /// An internal error where it has no JSON form.
    pub fn to_json(&self) -> Result<serde_json::Value> {
        serde_json::to_value(self)
            .map_err(|error| Error::internal(format!("the study's facts cannot be written as JSON: {error}")))
    }

    /// Back from the store.
    ///
    /// # Errors
    /// [`Error::Input`] for a study of a newer version.
    pub fn from_json(value: &serde_json::Value, study: &str) -> Result<Self> {
        let newer = || {
            Error::input("the facts stored with this study cannot be read by this version of noctune")
                .at(format!("study {study}"))
                .next("use the version that began the study, or begin a new one under another name")
        };
        let frozen: Self = serde_json::from_value(value.clone()).map_err(|_| newer())?;
        if frozen.format == FORMAT {
            Ok(frozen)
        } else {
            Err(newer())
        }
    }

    /// What is frozen of a study that goes on: as `self` is now, with what is known of `old`, when it ran last. What the host
    /// was when the study began stays known, however often it is resumed.
    pub fn going_on_from(self, old: Self) -> Self {
        let gone = old
            .gone
            .into_iter()
            .filter(|knob| old.space.knob(&knob.name).is_none())
            .chain(old.space.knobs().iter().cloned())
            .filter(|knob| self.space.knob(&knob.name).is_none())
            .collect();
        Self {
            environment: old.environment,
            gone,
            ..self
        }
    }

    /// The baseline; what was dropped of it is not kept.
    pub fn baseline(&self) -> Baseline {
        Baseline {
            settings: self
                .baseline_settings
                .iter()
                .map(|(name, value, place)| Setting {
                    name: name.clone(),
                    value: value.clone(),
                    place: place.clone(),
                })
                .collect(),
            effective: self.baseline_effective.clone(),
            ..Baseline::default()
        }
    }
}
