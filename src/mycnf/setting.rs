//! One setting of a my.cnf, and what it means to a server.

use std::path::PathBuf;

/// One option line of a my.cnf.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// The name with `_` between words, lower case: `-` and `_` are the same to servers.
    pub name: String,
    /// The name as written.
    pub written: String,
    /// The value without quotes and with escapes resolved; none where the line has no `=`.
    pub value: Option<String>,
    /// File it stands in.
    pub file: PathBuf,
    /// Line, from 1.
    pub line: usize,
    /// Group it stands in, as written.
    pub group: String,
    /// Whether the server reads that group.
    pub read: bool,
}

/// What a setting means to a server that has certain options.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Meaning {
    /// The option it sets.
    pub variable: String,
    /// The value it gives; none where the option stands alone (which switches a boolean on).
    pub value: Option<String>,
    /// Whether the server has that option.
    pub known: bool,
    /// Whether an unknown option is only warned about (`loose-`).
    pub loose: bool,
    /// Whether it limits the option instead of setting it (`maximum-`).
    pub maximum: bool,
}

impl Setting {
    /// What the setting means, given which options the server knows (names with `_`). A full name wins over a prefix:
    /// `skip_networking` is an option, `skip_innodb_doublewrite` switches one off.
    ///
    /// Source: MariaDB and MySQL manuals, "Program option modifiers"; an option with `skip-` or `disable-` is off and
    /// with `enable-` on, whatever value follows (seen on 10.11).
    pub fn meaning(&self, known: impl Fn(&str) -> bool) -> Meaning {
        let plain = |name: &str, known, loose| Meaning {
            variable: name.to_owned(),
            value: self.value.clone(),
            known,
            loose,
            maximum: false,
        };
        if known(&self.name) {
            return plain(&self.name, true, false);
        }
        let (name, loose) = match self.name.strip_prefix("loose_") {
            Some(rest) => (rest, true),
            None => (self.name.as_str(), false),
        };
        if loose && known(name) {
            return plain(name, true, true);
        }
        for (prefix, value) in [
            ("skip_", Some("OFF")),
            ("disable_", Some("OFF")),
            ("enable_", Some("ON")),
            ("maximum_", None),
        ] {
            if let Some(rest) = name.strip_prefix(prefix)
                && known(rest)
            {
                return Meaning {
                    variable: rest.to_owned(),
                    value: value.map(str::to_owned).or_else(|| self.value.clone()),
                    known: true,
                    loose,
                    maximum: value.is_none(),
                };
            }
        }
        plain(name, false, loose)
    }

    /// `file:line`.
    pub fn place(&self) -> String {
        format!("{}:{}", self.file.display(), self.line)
    }
}
