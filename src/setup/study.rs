//! The study file: found, read, its names checked against what exists.

use std::path::{Path, PathBuf};

use super::catalogue::{Kind, own_names};
use crate::error::{Error, Result};
use crate::space::embedded;
use crate::strategy;
use crate::study::{Known, Study, names_a_file};
use crate::trial::METRICS;

/// A study with where it came from.
#[derive(Debug, Clone, PartialEq)]
pub struct StudySource {
    /// The study.
    pub study: Study,
    /// Its text, for messages that point into it.
    pub text: String,
    /// Its path for messages; `the default study` where there is no file.
    pub name: String,
    /// Relative paths in it start here.
    pub folder: PathBuf,
}

impl StudySource {
    /// Reads a study file, or gives the study of this host where there is none.
    ///
    /// # Errors
    /// [`Error::Input`] for a file that cannot be read or understood, with line and column.
    pub fn read(file: Option<&Path>) -> Result<Self> {
        let source = match file {
            Some(file) => {
                let name = file.display().to_string();
                let text = std::fs::read_to_string(file).map_err(|error| {
                    Error::input(format!("the study file cannot be read: {error}"))
                        .at(name.clone())
                        .next("write one with `noctune init`, or leave it out for a study of this host")
                })?;
                let study = Study::parse(&text, &name)?;
                let folder = file.parent().unwrap_or(Path::new("")).to_owned();
                let mut source = Self {
                    study,
                    text,
                    name,
                    folder,
                };
                source.make_paths_absolute();
                source
            }
            None => Self {
                study: Study::default(),
                text: String::new(),
                name: "the default study".to_owned(),
                folder: PathBuf::new(),
            },
        };
        source.check_names()?;
        Ok(source)
    }

    /// The study is stored in another folder than its file: its paths must not depend on where it lies.
    fn make_paths_absolute(&mut self) {
        let absolute = |text: &str| self.path(text).display().to_string();
        let is_path = |text: &str| text.contains('/') || Path::new(text).extension().is_some();
        let study = &self.study;
        let baseline = study.server.baseline.as_deref().map(absolute);
        let binary = Some(&study.server.binary)
            .filter(|text| text.contains('/'))
            .map(|text| absolute(text));
        let class = Some(&study.hardware.class)
            .filter(|text| is_path(text))
            .map(|text| absolute(text));
        let script = Some(&study.workload.script)
            .filter(|text| is_path(text))
            .map(|text| absolute(text));
        let preset = Some(&study.strategy.preset)
            .filter(|text| is_path(text))
            .map(|text| absolute(text));
        let from = study.template.as_ref().map(|template| absolute(&template.from));
        let own = |family: &String| names_a_file(family).then(|| absolute(family));
        let families: Vec<String> = study
            .space
            .families
            .iter()
            .map(|family| own(family).unwrap_or_else(|| family.clone()))
            .collect();
        let study = &mut self.study;
        study.server.baseline = baseline;
        study.space.families = families;
        for (place, path) in [
            (&mut study.server.binary, binary),
            (&mut study.hardware.class, class),
            (&mut study.workload.script, script),
            (&mut study.strategy.preset, preset),
        ] {
            if let Some(path) = path {
                *place = path;
            }
        }
        if let (Some(template), Some(from)) = (&mut study.template, from) {
            template.from = from;
        }
    }

    fn check_names(&self) -> Result<()> {
        let metrics: Vec<&str> = METRICS.iter().map(|metric| metric.name).collect();
        let (families, presets) = (own_names(Kind::Family), own_names(Kind::Strategy));
        let known = Known {
            families: &with(embedded::family_names(), &families),
            presets: &with(strategy::names(), &presets),
            metrics: &metrics,
        };
        self.study.check_names(&self.text, &self.name, &known)
    }

    /// A path of the study file, made absolute.
    pub fn path(&self, path: &str) -> PathBuf {
        let joined = self.folder.join(path);
        std::path::absolute(&joined).unwrap_or(joined)
    }
}

/// Names that come with the binary and the user's own.
fn with<'a>(mut names: Vec<&'a str>, own: &'a [String]) -> Vec<&'a str> {
    names.extend(own.iter().map(String::as_str));
    names.sort_unstable();
    names.dedup();
    names
}
