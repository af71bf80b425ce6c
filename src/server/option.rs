//! Options that are no variables: whether a server takes them.

use std::fs::File;
use std::path::Path;
use std::time::Duration;

use super::detect::ServerBinary;
use crate::error::{IoContext, Result};
use crate::host::{Output, Spawn};
use crate::space::isolation::reason_to_refuse;

/// How long a server may take to read its options.
const READ: Duration = Duration::from_secs(20);

/// What a server makes of an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OptionFate {
    /// It takes it.
    Taken,
    /// It takes it and does nothing with it: a removed one, kept for old my.cnf files.
    Dead,
    /// It stops at it.
    Unknown,
}

/// Asks the server's option reader; no server starts (`--help --verbose`). `scratch` is an empty folder for it. An option that
/// would lead to production is not given to it, and counts as taken.
///
/// # Errors
/// Host errors of running the server.
pub async fn option_fate(
    server: &ServerBinary,
    name: &str,
    value: Option<&str>,
    scratch: &Path,
) -> Result<OptionFate> {
    if reason_to_refuse(name, value.unwrap_or_default()).is_some() {
        return Ok(OptionFate::Taken);
    }
    let failed = "cannot ask the server for an option";
    let told = scratch.join("told");
    let file = File::create(&told).context(failed, &told)?;
    let mut data = std::ffi::OsString::from("--datadir=");
    data.push(scratch);
    let option = match value {
        Some(value) => format!("--{name}={value}"),
        None => format!("--{name}"),
    };
    let mut child = Spawn::new(&server.path)
        .arg("--no-defaults")
        .arg(data)
        .arg(option)
        .args(["--help", "--verbose"])
        .folder(scratch)
        .stderr(Output::File(file))
        .start()
        .context(failed, &server.path)?;
    child.wait(READ).await.context(failed, &server.path)?;
    let told = std::fs::read(&told).context(failed, &told)?;
    Ok(fate(&String::from_utf8_lossy(&told)))
}

/// What the option reader told (MariaDB and MySQL, my_getopt).
fn fate(told: &str) -> OptionFate {
    let says = |parts: &[&str]| parts.iter().any(|part| told.contains(part));
    if says(&["unknown variable '", "unknown option '", "ambiguous option '"]) {
        OptionFate::Unknown
    } else if says(&["It does nothing now", "does nothing and "]) {
        OptionFate::Dead
    } else {
        OptionFate::Taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_removed_option_is_dead_and_one_of_another_server_unknown() {
        let removed = "[Warning] 'thread-concurrency' was removed. It does nothing now and exists only for compatibility";
        assert_eq!(fate(removed), OptionFate::Dead);
        let unknown = "[ERROR] mariadbd: unknown variable 'innodb_redo_log_capacity=1G'";
        assert_eq!(fate(unknown), OptionFate::Unknown);
        let prefix = "[Note] Using unique option prefix 'key_buffer' is error-prone";
        assert_eq!(fate(prefix), OptionFate::Taken);
    }
}
