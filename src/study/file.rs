//! A study file: read strictly, written back with every default explicit.

use serde::{Deserialize, Serialize};

use super::document::nearest;
use super::sections::{
    Budget, Candidate, Confirm, ConstraintSpec, Finish, Hardware, ObjectiveSpec, Server, SpaceSection,
    StrategySection, StudySection, Template, TrialSection, Workload,
};
use super::{Document, known};
use crate::error::{Error, Problem, Result};
use crate::strategy::Goal;

/// The newest format of study files this version reads.
pub(super) const FORMAT: u32 = 1;

/// A study file as resolved: every default explicit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Study {
    /// Number of the file format.
    pub format: u32,
    /// Name and seed.
    #[serde(default)]
    pub study: StudySection,
    /// The server and the configuration to beat.
    #[serde(default)]
    pub server: Server,
    /// The machine class.
    #[serde(default)]
    pub hardware: Hardware,
    /// What may be tuned.
    #[serde(default)]
    pub space: SpaceSection,
    /// The load.
    #[serde(default)]
    pub workload: Workload,
    /// How a trial goes.
    #[serde(default)]
    pub trial: TrialSection,
    /// What is to become better.
    #[serde(default = "throughput")]
    pub objective: Vec<ObjectiveSpec>,
    /// What must not become worse.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub constraint: Vec<ConstraintSpec>,
    /// How to search.
    #[serde(default)]
    pub strategy: StrategySection,
    /// The user's own candidates, measured before the search.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub candidate: Vec<Candidate>,
    /// Data to start from in place of the workload's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub template: Option<Template>,
    /// How long.
    #[serde(default)]
    pub budget: Budget,
    /// How the best is confirmed.
    #[serde(default)]
    pub confirm: Confirm,
    /// What happens at the end.
    #[serde(default)]
    pub finish: Finish,
}

fn throughput() -> Vec<ObjectiveSpec> {
    vec![ObjectiveSpec {
        metric: "tps".to_owned(),
        goal: Goal::Maximize,
    }]
}

impl Default for Study {
    fn default() -> Self {
        Self {
            format: FORMAT,
            study: StudySection::default(),
            server: Server::default(),
            hardware: Hardware::default(),
            space: SpaceSection::default(),
            workload: Workload::default(),
            trial: TrialSection::default(),
            objective: throughput(),
            constraint: Vec::new(),
            strategy: StrategySection::default(),
            candidate: Vec::new(),
            template: None,
            budget: Budget::default(),
            confirm: Confirm::default(),
            finish: Finish::default(),
        }
    }
}

impl Study {
    /// Reads a study file; `file_name` is for messages. Whether the names of families and presets exist is asked with
    /// [`Study::check_names`], whether the budget suffices with [`Study::check_budget`].
    ///
    /// # Errors
    /// What is wrong, with file, line and column: no TOML, an unknown key, a value of the wrong kind, or values that do
    /// not go together.
    pub fn parse(text: &str, file_name: &str) -> Result<Self> {
        let document = Document::new(text, file_name);
        let reader = toml::Deserializer::parse(text).map_err(|error| document.reader_error(&error))?;
        let mut unknown: Vec<Vec<String>> = Vec::new();
        let study: Self = serde_ignored::deserialize(reader, |path| unknown.push(parts(&path)))
            .map_err(|error| document.reader_error(&error))?;
        if let Some(error) = unknown_key(&document, &unknown) {
            return Err(error);
        }
        study.check(&document)?;
        Ok(study)
    }

    /// The file as resolved; reading it gives an equal study.
    ///
    /// # Errors
    /// An internal error where a value has no TOML form.
    pub fn to_toml(&self) -> Result<String> {
        toml::to_string(self)
            .map_err(|error| Error::internal(format!("the study cannot be written as TOML: {error}")))
    }
}

fn parts(path: &serde_ignored::Path<'_>) -> Vec<String> {
    use serde_ignored::Path;
    match path {
        Path::Root => Vec::new(),
        Path::Seq { parent, index } => with(parent, index.to_string()),
        Path::Map { parent, key } => with(parent, key.clone()),
        Path::Some { parent } | Path::NewtypeStruct { parent } | Path::NewtypeVariant { parent } => {
            parts(parent)
        }
    }
}

fn with(parent: &serde_ignored::Path<'_>, last: String) -> Vec<String> {
    let mut all = parts(parent);
    all.push(last);
    all
}

/// The error for the first unknown key in the text.
fn unknown_key(document: &Document<'_>, unknown: &[Vec<String>]) -> Option<Error> {
    let (at, path) = unknown
        .iter()
        .map(|path| {
            let path: Vec<&str> = path.iter().map(String::as_str).collect();
            (document.offset(&path), path)
        })
        .min()?;
    let (key, parents) = path.split_last()?;
    let table: Vec<&str> = parents
        .iter()
        .copied()
        .filter(|part| part.parse::<usize>().is_err())
        .collect();
    let table = table.join(".");
    let siblings = known::keys(&table);
    let inside = if table.is_empty() {
        String::new()
    } else {
        format!(" in [{table}]")
    };
    let next = match nearest(key, siblings.iter().copied()) {
        Some(meant) => format!("did you mean \"{meant}\"?"),
        None => format!("take it out; known there: {}", siblings.join(", ")),
    };
    let mut problem = Problem::new(format!("unknown key \"{key}\"{inside}")).next(next);
    if let Some(at) = at {
        problem = problem.at(document.place_of(at));
    }
    Some(Error::Input(problem))
}
