//! Opens a stored study for reading, by name or folder, the newest where none is named.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Global;
use crate::error::{Error, IoContext as _, Result};
use crate::plan::{Facts, Inputs, Settings};
use crate::setup::{Frozen, StudySource, strategy};
use crate::space::Configuration;
use crate::store::{self, DATABASE, Store, StudyRecord};
use crate::strategy::Strategy;
use crate::study::{Objective, Study};

/// How a study is found.
const HOW_TO_NAME: &str =
    "name a study, its folder, or the --store it was begun with; `noctune tune` begins one";

/// A stored study, opened for reading.
pub(super) struct OpenStudy {
    pub(super) folder: PathBuf,
    pub(super) store: Arc<dyn Store>,
    pub(super) record: StudyRecord,
    pub(super) frozen: Frozen,
    pub(super) facts: Facts,
    settings: Settings,
    objective: Objective,
    strategy: Box<dyn Strategy>,
    baseline: Configuration,
}

impl OpenStudy {
    /// Opens it.
    pub(super) async fn find(global: &Global, wanted: Option<&str>) -> Result<Self> {
        let Found {
            folder,
            store,
            record,
        } = if store::is_in_study_folder(&global.store) {
            Found::in_a_folder(global, wanted).await?
        } else {
            Found::in_a_store(global, wanted).await?
        };
        let frozen = Frozen::from_json(&record.frozen, &record.name)?;
        let study = Study::parse(&record.file, "the stored study file")?;
        let settings = Settings {
            seed: record.seed,
            ..Settings::of(&study)
        };
        let objective = study.objective()?;
        let source = StudySource {
            study,
            text: record.file.clone(),
            name: record.name.clone(),
            folder: folder.clone(),
        };
        let strategy = strategy(&source)?;
        let (facts, _) = store.facts(&record.name).await?;
        let baseline = frozen.space.default_configuration();
        Ok(Self {
            folder,
            store,
            record,
            frozen,
            facts,
            settings,
            objective,
            strategy,
            baseline,
        })
    }

    /// What the plan needs besides the facts.
    pub(super) fn inputs(&self) -> Inputs<'_> {
        Inputs {
            settings: &self.settings,
            objective: &self.objective,
            space: &self.frozen.space,
            strategy: self.strategy.as_ref(),
            baseline: &self.baseline,
            rule_of_thumb: self.frozen.rule_of_thumb.as_ref(),
            candidates: &self.frozen.candidates,
            host: &self.frozen.host,
            forgiven: 0,
        }
    }
}

/// A study, found.
struct Found {
    folder: PathBuf,
    store: Arc<dyn Store>,
    record: StudyRecord,
}

impl Found {
    /// In the database of its own folder.
    async fn in_a_folder(global: &Global, wanted: Option<&str>) -> Result<Self> {
        let folder = folder(&global.results, wanted)?;
        let store = store::open_read_only(&global.store, &folder).await?.store;
        let name = file_name(&folder);
        let record = match store.study(&name).await? {
            Some(record) => record,
            // A copied folder may have another name than the study in it.
            None => match store.studies().await?.as_slice() {
                [only] => store.study(only).await?.ok_or_else(|| no_study(&folder))?,
                _ => return Err(no_study(&folder)),
            },
        };
        Ok(Self {
            folder,
            store,
            record,
        })
    }

    /// In the store that `--store` names, which may hold several: by its name or folder, the newest where none is named.
    async fn in_a_store(global: &Global, wanted: Option<&str>) -> Result<Self> {
        let opened = store::open_read_only(&global.store, &global.results).await?;
        let store = opened.store;
        let names = store.studies().await?;
        let missing = || {
            let what = match wanted {
                Some(wanted) => format!("there is no study {wanted} in this store"),
                None => "there is no study in this store".to_owned(),
            };
            let next = if names.is_empty() {
                "`noctune tune` with the same --store begins one".to_owned()
            } else {
                format!("it holds: {}", names.join(", "))
            };
            Error::input(what).at(opened.place.clone()).next(next)
        };
        let record = match wanted {
            Some(wanted) => match store.study(wanted).await? {
                Some(record) => Some(record),
                None => store.study(&file_name(Path::new(wanted))).await?,
            },
            None => {
                let mut newest: Option<StudyRecord> = None;
                for name in &names {
                    if let Some(record) = store.study(name).await?
                        && newest
                            .as_ref()
                            .is_none_or(|newest| record.created > newest.created)
                    {
                        newest = Some(record);
                    }
                }
                newest
            }
        }
        .ok_or_else(missing)?;
        Ok(Self {
            folder: global.results.join(&record.name),
            store,
            record,
        })
    }
}

fn file_name(folder: &Path) -> String {
    folder
        .file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default()
}

fn no_study(folder: &Path) -> Error {
    Error::input("there is no study in this folder")
        .at(folder.join(DATABASE).display().to_string())
        .next(HOW_TO_NAME)
}

fn no_study_below(results: &Path) -> Error {
    Error::input("there is no study in the results folder")
        .at(format!("{}/*/{DATABASE}", results.display()))
        .next(HOW_TO_NAME)
}

/// The folder of the study.
fn folder(results: &Path, wanted: Option<&str>) -> Result<PathBuf> {
    if let Some(wanted) = wanted {
        let candidates = [results.join(wanted), PathBuf::from(wanted)];
        return candidates
            .iter()
            .find(|folder| folder.join(DATABASE).is_file())
            .cloned()
            .ok_or_else(|| no_study(&candidates[0]));
    }
    let entries = match std::fs::read_dir(results) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Err(no_study_below(results)),
        Err(error) => return Err(error).context("the results folder cannot be read", results),
    };
    entries
        .flatten()
        .map(|entry| entry.path())
        .filter_map(|folder| {
            let changed = folder
                .join(DATABASE)
                .metadata()
                .and_then(|meta| meta.modified())
                .ok()?;
            Some((changed, folder))
        })
        .max()
        .map(|(_, folder)| folder)
        .ok_or_else(|| no_study_below(results))
}
