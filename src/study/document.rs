//! Where things stand in a TOML text, so that every message has a file, a line and a column.

use toml::de::{DeTable, DeValue};

use crate::error::{Error, Problem};

/// A TOML text with its file's name, able to tell where a key stands.
#[derive(Debug, Clone, Copy)]
pub struct Document<'a> {
    text: &'a str,
    file: &'a str,
}

impl<'a> Document<'a> {
    /// A text that came from `file` (a name for messages).
    pub fn new(text: &'a str, file: &'a str) -> Self {
        Self { text, file }
    }

    /// The place of the key at `path` as `file:line:column`: of the longest part of the path that is written in the
    /// text. Elements of arrays are named by their index.
    pub fn place(&self, path: &[&str]) -> String {
        match self.offset(path) {
            Some(at) => self.place_of(at),
            None => self.file.to_owned(),
        }
    }

    /// Byte offset of the key at `path`, or of the longest part of it that is there.
    pub fn offset(&self, path: &[&str]) -> Option<usize> {
        let root = DeTable::parse(self.text).ok()?;
        let mut at = None;
        let mut here: Option<&DeValue<'_>> = None;
        for (depth, part) in path.iter().enumerate() {
            let table = if depth == 0 {
                Some(root.get_ref())
            } else {
                here.and_then(DeValue::as_table)
            };
            let (offset, value) = if let Some(table) = table {
                let Some((key, value)) = table.iter().find(|(key, _)| key.get_ref().as_ref() == *part) else {
                    break;
                };
                (key.span().start, value)
            } else if let Some(array) = here.and_then(DeValue::as_array) {
                let Some(value) = part.parse::<usize>().ok().and_then(|index| array.get(index)) else {
                    break;
                };
                (value.span().start, value)
            } else {
                break;
            };
            at = Some(offset);
            here = Some(value.get_ref());
        }
        at
    }

    /// `file:line:column` of a byte offset; lines and columns (in characters) count from 1.
    pub fn place_of(&self, at: usize) -> String {
        let before = self.text.get(..at).unwrap_or(self.text);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        format!("{}:{line}:{column}", self.file)
    }

    /// An input error at the key of `path`.
    pub fn problem(&self, path: &[&str], what: impl Into<String>, next: impl Into<String>) -> Error {
        Error::Input(Problem::new(what).at(self.place(path)).next(next))
    }

    /// What the TOML reader says, as an input error; an unknown word gets the nearest one that is known.
    pub fn reader_error(&self, error: &toml::de::Error) -> Error {
        let message = error.message().trim_end().replace('\n', "; ");
        let place = error
            .span()
            .map_or_else(|| self.file.to_owned(), |span| self.place_of(span.start));
        let problem = Problem::new(message.clone()).at(place);
        let mut quoted = message.split('`').skip(1).step_by(2);
        let suggestion = if message.starts_with("unknown variant") {
            quoted.next().and_then(|word| nearest(word, quoted))
        } else {
            None
        };
        Error::Input(match suggestion {
            Some(known) => problem.next(format!("did you mean \"{known}\"?")),
            None => problem,
        })
    }
}

/// The word nearest to `word`, where one is near enough to be meant.
pub(super) fn nearest<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    known
        .into_iter()
        .map(|candidate| (strsim::jaro_winkler(word, candidate), candidate))
        .filter(|(likeness, _)| *likeness > 0.75)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "format = 1\n[a]\nx = 1\n  y = { z = 2 }\n[[b]]\nq = 1\n[[b]]\nq = 2\n";

    #[test]
    fn a_key_is_found_with_its_line_and_column() {
        let document = Document::new(TEXT, "f.toml");
        assert_eq!(document.place(&["a", "y", "z"]), "f.toml:4:9");
        assert_eq!(document.place(&["b", "1", "q"]), "f.toml:8:1");
    }

    #[test]
    fn a_key_that_is_not_written_has_the_place_of_its_table() {
        let document = Document::new(TEXT, "f.toml");
        assert_eq!(document.place(&["a", "nothing"]), "f.toml:2:2");
        assert_eq!(document.place(&["nothing"]), "f.toml");
    }

    #[test]
    fn only_a_near_word_is_suggested() {
        assert_eq!(nearest("thread", ["threads", "script"]), Some("threads"));
        assert_eq!(nearest("zzz", ["threads", "script"]), None);
    }
}
