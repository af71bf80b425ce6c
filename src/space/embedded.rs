//! The space families and machine classes that come with the binary.

use include_dir::{Dir, include_dir};

use super::MachineClass;
use super::file::{NamedFile, closest, parse_hardware};
use crate::error::{Error, Result};

static SPACES: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/spaces");

fn names(folder: &'static Dir<'static>) -> Vec<&'static str> {
    let mut names: Vec<&str> = folder
        .files()
        .filter(|file| file.path().extension().is_some_and(|e| e == "toml"))
        .filter_map(|file| file.path().file_stem()?.to_str())
        .collect();
    names.sort_unstable();
    names
}

/// Names of the families.
pub fn family_names() -> Vec<&'static str> {
    names(&SPACES)
}

/// The text of a family's file.
pub fn family_text(name: &str) -> Option<&'static str> {
    SPACES.get_file(format!("{name}.toml"))?.contents_utf8()
}

/// The families of these names, in that order.
///
/// # Errors
/// A name that is none, with the one probably meant.
pub fn families<S: AsRef<str>>(wanted: &[S]) -> Result<Vec<NamedFile>> {
    wanted.iter().map(|name| family(name.as_ref())).collect()
}

/// The family of this name.
///
/// # Errors
/// As [`families`].
pub fn family(name: &str) -> Result<NamedFile> {
    let text = family_text(name).ok_or_else(|| missing("family", name, &family_names()))?;
    NamedFile::parse(text, &format!("spaces/{name}.toml"))
}

/// Names of the machine classes.
pub fn machine_class_names() -> Vec<&'static str> {
    SPACES.get_dir("hardware").map(names).unwrap_or_default()
}

/// The machine class of this name.
///
/// # Errors
/// A name that is none, with the one probably meant.
pub fn machine_class(name: &str) -> Result<MachineClass> {
    let file = SPACES.get_file(format!("hardware/{name}.toml"));
    let text = file
        .and_then(include_dir::File::contents_utf8)
        .ok_or_else(|| missing("machine class", name, &machine_class_names()))?;
    parse_hardware(text, &format!("spaces/hardware/{name}.toml"))
}

fn missing(what: &str, name: &str, known: &[&str]) -> Error {
    let error = Error::input(format!("there is no {what} \"{name}\""));
    match closest(name, known.iter().copied()) {
        Some(meant) => error.next(format!("did you mean \"{meant}\"?")),
        None => error.next(format!("there are {}", known.join(", "))),
    }
}
