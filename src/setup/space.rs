//! The space a study asks for: families, its own knobs and constraints, each with its place in the study file.

use std::collections::{BTreeMap, BTreeSet};

use super::{Baseline, StudySource, catalogue};
use crate::error::{Error, Result};
use crate::space::{
    DurabilityClass, DurabilityRule, MachineClass, Resolution, ResolveInputs, ServerFacts,
    expr::Expr,
    file::{ConstraintSpec, KnobSpec, NamedFile, SPACE_KEYS, closest},
    resolve, variables_written,
};
use crate::study::{Document, Durability};

/// What a study asks for, not yet resolved against a server.
pub(super) struct WantedSpace<'a> {
    source: &'a StudySource,
    files: Vec<NamedFile>,
    knobs: BTreeMap<String, KnobSpec>,
    constraints: Vec<ConstraintSpec>,
}

impl<'a> WantedSpace<'a> {
    /// Reads the `[space]` section.
    ///
    /// # Errors
    /// [`Error::Input`] for a knob or a constraint that cannot be understood, with file, line and column.
    pub(super) fn read(source: &'a StudySource) -> Result<Self> {
        let section = &source.study.space;
        let document = Document::new(&source.text, &source.name);
        let mut families: Vec<&str> = section.families.iter().map(String::as_str).collect();
        // A study that names a durability class, or explores, wants the knobs that make it.
        if section.durability != Durability::Keep && !families.contains(&"durability") {
            families.push("durability");
        }
        let files = catalogue::families(&families)?;
        let mut knobs = BTreeMap::new();
        for (name, table) in &section.knob {
            let place = document.place(&["space", "knob", name]);
            let mut unknown = None;
            let read = serde_ignored::deserialize(table.clone(), |path| {
                unknown.get_or_insert_with(|| path.to_string());
            });
            // First, since a key that is misspelt may also be one that is missing.
            if let Some(path) = unknown {
                return Err(unknown_key(&document, name, &path));
            }
            let mut spec: KnobSpec = read.map_err(|error: toml::de::Error| {
                Error::input(error.message().to_owned()).at(format!("{place}, [space.knob.{name}]"))
            })?;
            spec.place = Some(place);
            knobs.insert(name.clone(), spec);
        }
        let mut constraints = Vec::new();
        for (index, constraint) in section.constraint.iter().enumerate() {
            let place = document.place(&["space", "constraint", &index.to_string(), "require"]);
            let place = format!("{place}, [[space.constraint]] {}", constraint.name);
            let require = Expr::parse(&constraint.require)
                .map_err(|error| Error::input(error.to_string()).at(place.clone()))?;
            constraints.push(ConstraintSpec {
                name: Some(constraint.name.clone()),
                require,
                place: Some(place),
            });
        }
        Ok(Self {
            source,
            files,
            knobs,
            constraints,
        })
    }

    /// The variables that its knobs write, those that the server may lack included.
    pub(super) fn variables(&self) -> BTreeSet<String> {
        variables_written(&self.files, &self.knobs)
    }

    /// The space for a machine class, a server and a baseline.
    ///
    /// # Errors
    /// As [`resolve`].
    pub(super) fn resolve(
        &self,
        class: &MachineClass,
        facts: &ServerFacts,
        baseline: &Baseline,
    ) -> Result<Resolution> {
        let section = &self.source.study.space;
        resolve(ResolveInputs {
            files: &self.files,
            knobs: &self.knobs,
            constraints: &self.constraints,
            study_file: &self.source.name,
            class: Some(class),
            server: Some(facts),
            baseline: &baseline.effective,
            durability: match section.durability {
                Durability::Keep => DurabilityRule::Keep,
                Durability::Full => DurabilityRule::Class(DurabilityClass::Full),
                Durability::Data => DurabilityRule::Class(DurabilityClass::BinlogLag),
                Durability::Os1s => DurabilityRule::Class(DurabilityClass::Os1s),
                Durability::Crash1s => DurabilityRule::Class(DurabilityClass::Crash1s),
                Durability::Explore => DurabilityRule::Explore,
            },
            allow: &section.allow,
        })
    }
}

/// An unknown key of a knob, by its path in the knob's table.
fn unknown_key(document: &Document<'_>, knob: &str, path: &str) -> Error {
    let key = path.rsplit('.').next().unwrap_or(path);
    let place: Vec<&str> = ["space", "knob", knob]
        .into_iter()
        .chain(path.split('.'))
        .collect();
    let error =
        Error::input(format!("unknown key \"{key}\" in [space.knob.{knob}]")).at(document.place(&place));
    let of_knob = || {
        let of_files = ["format", "knob", "constraint", "name", "require"];
        SPACE_KEYS
            .iter()
            .copied()
            .filter(move |key| !of_files.contains(key))
    };
    match closest(key, of_knob()) {
        Some(meant) => error.next(format!("did you mean \"{meant}\"?")),
        None => error.next(format!("a knob has {}", of_knob().collect::<Vec<_>>().join(", "))),
    }
}
