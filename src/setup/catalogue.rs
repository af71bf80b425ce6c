//! What a study names — families of knobs, machine classes, strategies: looked up as a path, then in the user's configuration
//! folder, then among those that come with the binary.

use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::space::file::{NamedFile, parse_hardware};
use crate::space::{MachineClass, embedded};
use crate::strategy::{self, Strategy};
use crate::study::names_a_file;

/// What is looked up; the configuration folder has the same folders as the repository.
#[derive(Debug, Clone, Copy)]
pub(super) enum Kind {
    /// A family of knobs.
    Family,
    /// A machine class.
    MachineClass,
    /// A strategy.
    Strategy,
}

impl Kind {
    fn folder(self) -> &'static str {
        match self {
            Self::Family => "spaces",
            Self::MachineClass => "spaces/hardware",
            Self::Strategy => "strategies",
        }
    }
}

/// A file of the user's.
struct Own {
    text: String,
    place: String,
}

/// The user's configuration folder, by the XDG Base Directory Specification; none where the environment names no home.
fn configuration() -> Option<PathBuf> {
    let absolute = |name: &str| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    absolute("XDG_CONFIG_HOME")
        .or_else(|| Some(absolute("HOME")?.join(".config")))
        .map(|folder| folder.join("noctune"))
}

/// The user's file behind a name: a path as it is, a plain name in the configuration folder; none where there is none.
fn own(kind: Kind, name: &str) -> Result<Option<Own>> {
    let path = if names_a_file(name) {
        PathBuf::from(name)
    } else {
        let file = configuration().map(|folder| folder.join(kind.folder()).join(format!("{name}.toml")));
        match file.filter(|file| file.is_file()) {
            Some(file) => file,
            None => return Ok(None),
        }
    };
    let place = path.display().to_string();
    match std::fs::read_to_string(&path) {
        Ok(text) => Ok(Some(Own { text, place })),
        Err(error) => Err(Error::input(format!("cannot be read: {error}")).at(place)),
    }
}

/// Names of the user's configuration folder, sorted.
pub(super) fn own_names(kind: Kind) -> Vec<String> {
    let entries = configuration().and_then(|folder| std::fs::read_dir(folder.join(kind.folder())).ok());
    let name = |path: &Path| {
        let is_one = path.is_file() && path.extension().is_some_and(|extension| extension == "toml");
        is_one.then(|| Some(path.file_stem()?.to_str()?.to_owned()))?
    };
    let mut names: Vec<String> = entries
        .into_iter()
        .flatten()
        .filter_map(|entry| name(&entry.ok()?.path()))
        .collect();
    names.sort_unstable();
    names
}

/// The families of these names or paths, in that order.
///
/// # Errors
/// [`Error::Input`] for one that does not exist or cannot be understood.
pub(super) fn families(wanted: &[&str]) -> Result<Vec<NamedFile>> {
    wanted
        .iter()
        .map(|name| match own(Kind::Family, name)? {
            Some(own) => NamedFile::parse(&own.text, &own.place),
            None => embedded::family(name),
        })
        .collect()
}

/// The machine class of this name or path.
///
/// # Errors
/// As [`families`].
pub(super) fn machine_class(name: &str) -> Result<MachineClass> {
    match own(Kind::MachineClass, name)? {
        Some(own) => parse_hardware(&own.text, &own.place),
        None => embedded::machine_class(name),
    }
}

/// The strategy of this name or path.
///
/// # Errors
/// As [`families`].
pub(crate) fn strategy_named(name: &str) -> Result<Box<dyn Strategy>> {
    match own(Kind::Strategy, name)? {
        Some(own) => strategy::load(&own.text).map_err(|error| error.at(own.place)),
        None => strategy::load(strategy::embedded(name)?),
    }
}
