//! Several space files and the study's own tables as one list of knobs.

use std::collections::{BTreeMap, BTreeSet};

use super::super::Value;
use super::super::file::{EnumValues, KnobSpec, NamedFile, closest};
use super::run::Inputs;
use crate::error::{Error, Result};

/// A knob with where it comes from.
#[derive(Debug, Clone)]
pub(super) struct Merged {
    pub(super) name: String,
    pub(super) spec: KnobSpec,
    /// The file for messages: the study's where it touched the knob.
    pub(super) origin: String,
}

impl Merged {
    /// `FILE, knob NAME`.
    pub(super) fn place(&self) -> String {
        format!("{}, knob {}", self.origin, self.name)
    }

    /// Names of the variables it may write.
    pub(super) fn variables(&self) -> Vec<&str> {
        if let Some(writes) = &self.spec.writes {
            return writes.keys().map(String::as_str).collect();
        }
        if let Some(EnumValues::Table(values)) = &self.spec.values {
            let mut names: Vec<&str> = values
                .values()
                .flat_map(|v| v.writes.keys().map(String::as_str))
                .collect();
            names.sort_unstable();
            names.dedup();
            return names;
        }
        vec![self.name.as_str()]
    }

    /// Texts it may write, each with its variable.
    pub(super) fn texts(&self) -> Vec<(&str, String)> {
        let mut all = Vec::new();
        if let Some(writes) = &self.spec.writes {
            for (name, quantity) in writes {
                if let Some(Value::Text(text)) = quantity.0.as_literal() {
                    all.push((name.as_str(), text.clone()));
                }
            }
        }
        match &self.spec.values {
            Some(EnumValues::Table(values)) => {
                let writes = values.values().flat_map(|value| &value.writes);
                all.extend(writes.map(|(name, value)| (name.as_str(), value.to_string())));
            }
            Some(EnumValues::List(words)) => {
                let name = |variable| words.iter().map(move |word| (variable, word.clone()));
                all.extend(self.variables().into_iter().flat_map(name));
            }
            None => {}
        }
        if matches!(self.spec.values, Some(EnumValues::Table(_))) {
            // `fix` and `default` are words of the knob's own then.
            return all;
        }
        let single = self.spec.default.iter().chain(&self.spec.fix);
        for value in single.chain(self.spec.special.iter().flatten()) {
            all.push((self.name.as_str(), value.to_string()));
        }
        all
    }
}

/// The variables that the knobs of `files` and a study's own write.
pub fn variables_written(files: &[NamedFile], knobs: &BTreeMap<String, KnobSpec>) -> BTreeSet<String> {
    let mut all = BTreeMap::new();
    let of_files = files.iter().flat_map(|file| &file.file.knob);
    for (name, spec) in of_files.chain(knobs) {
        add(&mut all, name, spec, "");
    }
    all.values()
        .flat_map(Merged::variables)
        .map(str::to_owned)
        .collect()
}

/// All knobs, by name.
pub(super) fn merge(inputs: &Inputs<'_>) -> Result<Vec<Merged>> {
    let mut all: BTreeMap<String, Merged> = BTreeMap::new();
    for file in inputs.files {
        for (name, spec) in &file.file.knob {
            add(&mut all, name, spec, &file.name);
        }
    }
    for (name, spec) in inputs.knobs {
        let narrows_nothing = !all.contains_key(name)
            && spec.kind.is_none()
            && spec.values.is_none()
            && inputs.server.is_none_or(|s| !s.variables.contains_key(name));
        if narrows_nothing {
            let error = Error::input(format!("no family of this study has a knob {name}"))
                .at(spec.place.as_deref().unwrap_or(inputs.study_file));
            return Err(match closest(name, all.keys().map(String::as_str)) {
                Some(meant) => error.next(format!("did you mean {meant}? To add a knob, give it a type")),
                None => error.next(
                    "to add a knob, give it a type; to narrow one, name its family in [space] families",
                ),
            });
        }
        add(&mut all, name, spec, inputs.study_file);
    }
    Ok(all.into_values().collect())
}

fn add(all: &mut BTreeMap<String, Merged>, name: &str, spec: &KnobSpec, origin: &str) {
    let spec = match all.remove(name) {
        Some(before) => before.spec.overridden(spec),
        None => spec.clone(),
    };
    all.insert(
        name.to_owned(),
        Merged {
            name: name.to_owned(),
            origin: spec.place.clone().unwrap_or_else(|| origin.to_owned()),
            spec,
        },
    );
}
