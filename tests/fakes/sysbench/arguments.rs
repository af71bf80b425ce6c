//! sysbench's command line: options, a script, a command.

use std::collections::BTreeMap;
use std::path::Path;

use crate::Fallible;

/// What was asked for.
pub(super) struct Arguments {
    /// `prepare`, `run`, `cleanup` or nothing.
    pub(super) command: String,
    options: BTreeMap<String, String>,
}

impl Arguments {
    /// Reads the command line.
    ///
    /// # Errors
    ///
    /// When it holds nothing to do.
    pub(super) fn read(arguments: &[String]) -> Fallible<Self> {
        let mut options = BTreeMap::new();
        let mut words = Vec::new();
        for argument in arguments {
            match argument.strip_prefix("--") {
                Some(option) => {
                    let (name, value) = option.split_once('=').unwrap_or((option, "on"));
                    options.insert(name.replace('_', "-"), value.to_owned());
                }
                None => words.push(argument.clone()),
            }
        }
        let command = words.pop().ok_or("nothing to do")?;
        Ok(Self { command, options })
    }

    /// An option's text.
    pub(super) fn text<'a>(&'a self, name: &str, default: &'a str) -> &'a str {
        self.options.get(name).map_or(default, String::as_str)
    }

    /// An option's number.
    ///
    /// # Errors
    ///
    /// When it is none.
    pub(super) fn number(&self, name: &str, default: u64) -> Fallible<u64> {
        self.options.get(name).map_or(Ok(default), |text| {
            text.parse()
                .map_err(|_| format!("--{name}={text} is no number").into())
        })
    }

    /// The server's socket.
    ///
    /// # Errors
    ///
    /// When none was given.
    pub(super) fn socket(&self) -> Fallible<&Path> {
        self.options
            .get("mysql-socket")
            .map(Path::new)
            .ok_or_else(|| "no --mysql-socket".into())
    }
}
