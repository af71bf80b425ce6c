//! TOML read strictly: an unknown key is an error with its line and the key that was probably meant.

use serde::de::DeserializeOwned;

use crate::error::{Error, Result};

/// Reads `text`, the contents of `file`. `known` are all keys of the format, for the suggestion.
///
/// # Errors
/// No TOML, a value of the wrong type, or an unknown key; each with file and line.
pub fn read_strict<T: DeserializeOwned>(text: &str, file: &str, known: &[&str]) -> Result<T> {
    let wrong = |error: toml::de::Error| {
        let place = match error.span() {
            Some(span) => place(file, text, span.start),
            None => file.to_owned(),
        };
        Error::input(error.message().trim_end()).at(place)
    };
    let deserializer = toml::Deserializer::parse(text).map_err(wrong)?;
    let mut unknown: Option<Vec<String>> = None;
    let value = serde_ignored::deserialize(deserializer, |path| {
        if unknown.is_none() {
            unknown = Some(segments(&path));
        }
    })
    .map_err(wrong)?;
    let Some(path) = unknown else {
        return Ok(value);
    };
    let key = path.last().cloned().unwrap_or_default();
    let at = find(text, &path).map_or_else(|| file.to_owned(), |at| place(file, text, at));
    let error = Error::input(format!("unknown key \"{}\"", path.join("."))).at(at);
    Err(match closest(&key, known.iter().copied()) {
        Some(meant) => error.next(format!("did you mean \"{meant}\"?")),
        None => error.next("take it out, or see the list of keys in the documentation"),
    })
}

/// The candidate that `word` was probably meant to be.
pub fn closest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    candidates
        .into_iter()
        .map(|candidate| (strsim::jaro_winkler(word, candidate), candidate))
        .filter(|(similarity, _)| *similarity >= 0.8)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate)
}

/// `file:line:column` of byte `at`.
fn place(file: &str, text: &str, at: usize) -> String {
    let before = text.get(..at).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().map_or(0, |l| l.chars().count()) + 1;
    format!("{file}:{line}:{column}")
}

fn segments(path: &serde_ignored::Path<'_>) -> Vec<String> {
    use serde_ignored::Path;
    match path {
        Path::Root => Vec::new(),
        Path::Seq { parent, index } => {
            let mut all = segments(parent);
            all.push(index.to_string());
            all
        }
        Path::Map { parent, key } => {
            let mut all = segments(parent);
            all.push(key.clone());
            all
        }
        Path::Some { parent } | Path::NewtypeStruct { parent } | Path::NewtypeVariant { parent } => {
            segments(parent)
        }
    }
}

/// Byte position of the key that `path` leads to.
fn find(text: &str, path: &[String]) -> Option<usize> {
    use toml::de::{DeTable, DeValue};
    let table = DeTable::parse(text).ok()?;
    let (last, parents) = path.split_last()?;
    let mut here = DeValue::Table(table.into_inner());
    for segment in parents {
        here = match here {
            DeValue::Table(mut table) => table.remove(segment.as_str())?.into_inner(),
            DeValue::Array(array) => {
                let index = segment.parse::<usize>().ok()?;
                array.into_iter().nth(index)?.into_inner()
            }
            _ => return None,
        };
    }
    match here {
        DeValue::Table(table) => table
            .keys()
            .find(|key| key.get_ref().as_ref() == last)
            .map(|key| key.span().start),
        _ => None,
    }
}
