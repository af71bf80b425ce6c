//! What makes a study the study it is: named parts, each with its hash. Resuming with another part is refused.

use serde::Serialize;
use sha2::{Digest as _, Sha256};

use super::Study;
use crate::error::{Error, Result};
use crate::space::{Knob, Space};

/// Number of the way trials are measured; grows when results are no longer comparable with earlier ones.
const PROTOCOL: u32 = 1;

/// What a study meets outside its file, as far as it decides what is measured.
#[derive(Debug, Clone, Copy)]
pub struct Surroundings<'a> {
    /// The resolved space.
    pub space: &'a Space,
    /// The baseline's settings as the server reads them.
    pub baseline: &'a str,
    /// What the template holds: its source and size, or how its data were made.
    pub template: &'a str,
    /// The server's version and build.
    pub server: &'a str,
    /// The machine class with its figures.
    pub hardware: &'a str,
    /// What the load's own script says; none where it is a bundled one.
    pub script: Option<&'a str>,
}

impl Study {
    /// The parts of the study's identity with their hashes (SHA-256, hexadecimal): space, workload, objective,
    /// durability, baseline, template, server, hardware, protocol, and script where the load has one of the user's. Strategy, budget, finish and reporting are no part of it.
    ///
    /// # Errors
    /// An internal error where a part cannot be serialised.
    pub fn identity(&self, around: &Surroundings<'_>) -> Result<Vec<(String, String)>> {
        let knobs: Vec<_> = around.space.knobs().iter().map(meaning).collect();
        let mut parts = vec![
            ("space", hash(&(knobs, around.space.constraints()))?),
            ("workload", hash(&self.workload)?),
            ("objective", hash(&(&self.objective, &self.constraint))?),
            ("durability", hash(&(self.space.durability, &self.space.allow))?),
            ("baseline", hash(&around.baseline)?),
            ("template", hash(&(around.template, &self.template))?),
            ("server", hash(&(around.server, &self.server.args))?),
            ("hardware", hash(&around.hardware)?),
            ("protocol", hash(&(PROTOCOL, &self.trial))?),
        ];
        if let Some(script) = around.script {
            parts.push(("script", hash(&script)?));
        }
        Ok(parts
            .into_iter()
            .map(|(name, hash)| (name.to_owned(), hash))
            .collect())
    }
}

/// What a knob's values mean and which there are; not its documentation and its first guess.
pub(super) fn meaning(knob: &Knob) -> impl Serialize + PartialEq {
    (
        &knob.name,
        &knob.domain,
        &knob.when,
        &knob.writes,
        &knob.reads,
        &knob.fixed,
    )
}

fn hash(part: &impl Serialize) -> Result<String> {
    let text = serde_json::to_vec(part)
        .map_err(|error| Error::internal(format!("a part of the study cannot be hashed: {error}")))?;
    Ok(Sha256::digest(text)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect())
}
