//! The fake server's options: those of the defaults file's groups, then those of the command line.

use crate::Fallible;

/// Groups that a MariaDB 10.11 server reads.
const GROUPS: [&str; 6] = [
    "mysqld",
    "server",
    "mariadb",
    "mariadbd",
    "mysqld-10.11",
    "mariadb-10.11",
];

/// Options that are no variables and change nothing here.
pub(super) const IGNORED: [&str; 14] = [
    "user",
    "bootstrap",
    "console",
    "skip_slave_start",
    "skip_replica_start",
    "skip_log_bin",
    "skip_stack_trace",
    "skip_grant_tables",
    "skip_host_cache",
    "symbolic_links",
    "gdb",
    "silent_startup",
    "help",
    "verbose",
];

/// One option: its name with `_` between words, and its value where it has one.
pub(super) type Setting = (String, Option<String>);

/// Options in the order in which they count.
///
/// # Errors
///
/// When the defaults file cannot be read.
pub(super) fn gather(arguments: &[String]) -> Fallible<Vec<Setting>> {
    let mut settings = of_file(&defaults(arguments)?);
    for argument in arguments {
        let Some(option) = argument.strip_prefix("--") else {
            return Err(format!("Too many arguments (first extra is '{argument}').").into());
        };
        if !option.starts_with("defaults-file=") && option != "no-defaults" {
            settings.push(setting(option));
        }
    }
    Ok(settings)
}

/// The text of the defaults file; empty without one.
///
/// # Errors
///
/// When it cannot be read.
pub(super) fn defaults(arguments: &[String]) -> Fallible<String> {
    let file = arguments
        .iter()
        .find_map(|argument| argument.strip_prefix("--defaults-file="));
    let Some(path) = file else {
        return Ok(String::new());
    };
    std::fs::read_to_string(path)
        .map_err(|error| format!("Could not open required defaults file: {path}: {error}").into())
}

fn of_file(text: &str) -> Vec<Setting> {
    let mut settings = Vec::new();
    let mut ours = false;
    for line in text.lines().map(str::trim) {
        if line.is_empty() || line.starts_with(['#', ';', '!']) {
            continue;
        }
        if let Some(group) = line.strip_prefix('[') {
            ours = GROUPS.contains(&group.trim_end_matches(']'));
        } else if ours {
            settings.push(setting(line));
        }
    }
    settings
}

fn setting(text: &str) -> Setting {
    let (name, value) = match text.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (text, None),
    };
    let value = value.map(|value| {
        let bare = value.split(" #").next().unwrap_or(value).trim();
        bare.trim_matches(['"', '\'']).to_owned()
    });
    (name.trim().replace('-', "_"), value)
}
