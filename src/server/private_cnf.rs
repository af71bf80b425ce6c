//! The my.cnf of a private server: what shapes the load in the user's file, the candidate, our own lines. Pure.
//!
//! Nothing of production comes along: a setting of the user's reaches the private server only if it is on a reviewed
//! list; the rest is dropped and told.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use super::data_files::{DATA_FILE_PATH, own_data_files};
use super::load_settings::is_capacity_or_load;
use crate::error::{Error, Result};
use crate::mycnf::{Dialect, parse_text};
use crate::space::Flavor;
use crate::space::isolation::{canonical, is_plain_name, leads_out, reason_to_keep_out, reason_to_refuse};

/// One setting of the user's my.cnf.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// Its name as written.
    pub name: String,
    /// Its value; none for a bare name.
    pub value: Option<String>,
    /// `file:line`.
    pub place: String,
}

/// A line of the user's that does not reach the private server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dropped {
    /// The setting.
    pub setting: Setting,
    /// Why.
    pub reason: &'static str,
}

/// Where a private server keeps its things.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placement {
    /// Data directory.
    pub data: PathBuf,
    /// Folder for temporary files.
    pub tmp: PathBuf,
    /// Socket; the process id file lies beside it.
    pub socket: PathBuf,
    /// Loopback port, only where the load needs one.
    pub port: Option<u16>,
    /// `user=`, needed when the server is started as root.
    pub user: Option<String>,
    /// A server id that no other server has.
    pub server_id: u32,
}

/// A my.cnf for a private server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrivateCnf {
    /// The text.
    pub text: String,
    /// What of the user's file was left out.
    pub dropped: Vec<Dropped>,
}

/// Builds the my.cnf. `candidate` holds variables by name with values as a my.cnf takes them; it wins over the baseline.
/// `of_space` tells which variables of the baseline a knob of the space writes; they pass, too.
///
/// # Errors
/// [`Error::Input`] for a candidate that would reach out of the private server: the last line of defence, since spaces with
/// such knobs are refused before anything starts.
pub fn private_cnf(
    flavor: Flavor,
    placement: &Placement,
    baseline: &[Setting],
    candidate: &BTreeMap<String, String>,
    of_space: impl Fn(&str) -> bool,
) -> Result<PrivateCnf> {
    let candidate = checked(candidate)?;
    let mut text = String::from("# The candidate.\n");
    for (name, value) in candidate.iter().filter(|(name, _)| *name != "log_bin") {
        line(&mut text, name, Some(value));
    }
    let over = Over {
        text: &text,
        log_bin: candidate.get("log_bin").map(|value| value.as_str()),
        replaces: &|name| candidate.contains_key(name),
    };
    Ok(build(flavor, placement, baseline, &over, of_space))
}

/// Builds the my.cnf of a study's last trial: `section`, a `[mysqld]` section as it is handed over, stands in it byte for
/// byte behind the user's lines, as it will in production. The rest is as in [`private_cnf`].
///
/// # Errors
/// [`Error::Input`] for a line that would reach out of the private server, [`Error::Internal`] for a section that reads
/// otherwise than it was meant.
pub fn final_cnf(
    flavor: Flavor,
    placement: &Placement,
    baseline: &[Setting],
    section: &str,
    of_space: impl Fn(&str) -> bool,
) -> Result<PrivateCnf> {
    let read = parse_text(
        Path::new("the my.cnf to be handed over"),
        section.as_bytes(),
        DIALECT,
    );
    if let Some(finding) = read.findings.first() {
        return Err(Error::internal(finding.kind.to_string()).at(finding.place()));
    }
    let mut log_bin = None;
    for setting in &read.settings {
        let value = setting.value.as_deref().unwrap_or_default();
        allowed(&setting.name, value)?;
        if canonical(&setting.name) == "log_bin" {
            log_bin = Some(value);
        }
    }
    let mut text = section.to_owned();
    if log_bin.is_some() {
        // It may name a folder of production's.
        binlog_line(&mut text, flavor, Some(log_bin));
    }
    let over = Over {
        text: &text,
        log_bin,
        replaces: &|_| false,
    };
    Ok(build(flavor, placement, baseline, &over, of_space))
}

/// `[mysqld]` is read by every server.
const DIALECT: Dialect = Dialect::MariaDb { major: 10, minor: 11 };

/// What stands over the user's lines.
struct Over<'a> {
    /// Its own lines.
    text: &'a str,
    /// What it says of the binary log, where it does.
    log_bin: Option<&'a str>,
    /// Whether a line of the user's is left out for it.
    replaces: &'a dyn Fn(&str) -> bool,
}

/// The user's lines, what stands over them, and last, so that nothing before undoes them, our own.
fn build(
    flavor: Flavor,
    placement: &Placement,
    baseline: &[Setting],
    over: &Over<'_>,
    of_space: impl Fn(&str) -> bool,
) -> PrivateCnf {
    let mut text = String::from(
        "# Written by Noctune for one trial; the server it is for is private and temporary.\n[mysqld]\n",
    );
    let mut kept: BTreeMap<String, Option<String>> = BTreeMap::new();
    let mut dropped = Vec::new();
    for setting in baseline {
        let name = canonical(&setting.name);
        match taken_over(&name, setting.value.as_deref(), &of_space) {
            Ok(value) => {
                if name == DATA_FILE_PATH && value != setting.value {
                    dropped.push(Dropped {
                        setting: setting.clone(),
                        reason: "its files are made in the private data directory, with the same names and sizes",
                    });
                }
                kept.insert(name, value);
            }
            Err(reason) => dropped.push(Dropped {
                setting: setting.clone(),
                reason,
            }),
        }
    }
    let kept_binlog = kept.remove("log_bin");
    let binlog = over
        .log_bin
        .map(Some)
        .or_else(|| kept_binlog.as_ref().map(Option::as_deref));
    text.push_str("# What shapes the load in the user's my.cnf.\n");
    for (name, value) in &kept {
        if !(over.replaces)(name) {
            line(&mut text, name, value.as_deref());
        }
    }
    binlog_line(&mut text, flavor, binlog);
    text.push_str(over.text);
    text.push_str("# What keeps this server apart.\n[mysqld]\n");
    for (name, value) in own_lines(flavor, placement) {
        line(&mut text, name, value.as_deref());
    }
    PrivateCnf { text, dropped }
}

/// A candidate by canonical names.
fn checked(candidate: &BTreeMap<String, String>) -> Result<BTreeMap<String, &String>> {
    candidate
        .iter()
        .map(|(name, value)| allowed(name, value).map(|()| (canonical(name), value)))
        .collect()
}

/// Refuses what would reach out of a private server.
fn allowed(name: &str, value: &str) -> Result<()> {
    match reason_to_refuse(name, value) {
        None => Ok(()),
        Some(reason) => Err(Error::input(format!(
            "{name} = {value:?} is not given to a private server: {reason}"
        ))
        .next("take the knob out of the space")),
    }
}

/// The value with which a setting of the user's file reaches the private server, or why it does not.
fn taken_over(
    name: &str,
    value: Option<&str>,
    of_space: &impl Fn(&str) -> bool,
) -> Result<Option<String>, &'static str> {
    if let Some(reason) = reason_to_keep_out(name) {
        return Err(reason);
    }
    if !is_plain_name(name) {
        return Err("that is no name of a setting");
    }
    if !is_capacity_or_load(name) && !of_space(name) {
        return Err("not on the list of settings that shape the load");
    }
    if name == DATA_FILE_PATH {
        return own_data_files(value.unwrap_or_default())
            .map(Some)
            .map_err(|_| "it names no files that a private server could have");
    }
    if name != "log_bin" && value.is_some_and(leads_out) {
        return Err("it holds a path");
    }
    if value.is_some_and(|value| value.contains(|c: char| c.is_control())) {
        return Err("it holds a control character");
    }
    Ok(value.map(str::to_owned))
}

/// Production's binary log costs here what it costs there, but in the private data directory.
fn binlog_line(text: &mut String, flavor: Flavor, wanted: Option<Option<&str>>) {
    match wanted {
        Some(Some(value)) if ["0", "off", "false"].contains(&value.to_ascii_lowercase().as_str()) => {
            line(text, "skip_log_bin", None);
        }
        Some(_) => line(text, "log_bin", Some("noctune-bin")),
        // MySQL has one unless told otherwise, named after the host.
        None if flavor == Flavor::MySql => line(text, "log_bin", Some("noctune-bin")),
        None => {}
    }
}

fn own_lines(flavor: Flavor, placement: &Placement) -> Vec<(&'static str, Option<String>)> {
    let path = |path: &Path| Some(path.display().to_string());
    let mut lines = vec![
        ("datadir", path(&placement.data)),
        ("tmpdir", path(&placement.tmp)),
        ("socket", path(&placement.socket)),
        ("pid_file", path(&placement.socket.with_file_name("pid"))),
        ("server_id", Some(placement.server_id.to_string())),
        ("event_scheduler", Some("OFF".into())),
        ("skip_slave_start", None),
        ("skip_name_resolve", None),
        ("innodb_buffer_pool_load_at_startup", Some("OFF".into())),
        ("innodb_buffer_pool_dump_at_shutdown", Some("OFF".into())),
        ("general_log", Some("OFF".into())),
        ("slow_query_log", Some("OFF".into())),
    ];
    match placement.port {
        Some(port) => {
            lines.push(("bind_address", Some("127.0.0.1".into())));
            lines.push(("port", Some(port.to_string())));
        }
        None => lines.push(("skip_networking", None)),
    }
    if let Some(user) = &placement.user {
        lines.push(("user", Some(user.clone())));
    }
    match flavor {
        Flavor::MariaDb => lines.push(("loose_wsrep_on", Some("OFF".into()))),
        Flavor::MySql => {
            lines.push(("secure_file_priv", Some("NULL".into())));
            lines.push(("loose_mysqlx", Some("OFF".into())));
        }
    }
    lines
}

fn line(text: &mut String, name: &str, value: Option<&str>) {
    // Writing to a String cannot fail.
    let _ = match value {
        Some(value) if value.contains(['#', ';', ' ', '\'', '\\']) => {
            writeln!(
                text,
                "{name} = \"{}\"",
                value.replace('\\', "\\\\").replace('"', "\\\"")
            )
        }
        Some(value) => writeln!(text, "{name} = {value}"),
        None => writeln!(text, "{name}"),
    };
}

#[cfg(test)]
#[path = "private_cnf_tests.rs"]
mod tests;
