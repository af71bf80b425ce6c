//! `noctune check MY.CNF`: every setting as a server takes it.

use std::path::Path;

use serde::Serialize;

use super::{Global, output};
use crate::error::{Error, Result};
use crate::host::Guardian;
use crate::mycnf::{self, same_value};
use crate::night::{Event, Events};
use crate::server::{ServerBinary, server_facts};
use crate::setup::{Baseline, DiskFiles, dialect};

/// What a server makes of a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Verdict {
    /// It runs as written.
    Ok,
    /// Another value runs.
    Changed,
    /// The server has no such setting.
    Unknown,
    /// It stands in a group the server does not read.
    Ignored,
    /// A later line sets it again.
    Overridden,
}

/// One setting.
#[derive(Debug, Serialize)]
struct Row {
    name: String,
    written: Option<String>,
    effective: Option<String>,
    file: String,
    line: usize,
    verdict: Verdict,
}

/// Reads the file as the server does, starts a private server with it, and tells of each setting what runs.
pub(super) async fn run(
    global: &Global,
    file: &Path,
    server: Option<&str>,
    guardian: &Guardian,
    events: &Events,
) -> Result<u8> {
    let binary = ServerBinary::find(server.unwrap_or("mariadbd")).await?;
    let facts = server_facts(&binary, Some(guardian)).await?;
    let known = |name: &str| facts.variables.contains_key(name);
    let parsed = mycnf::parse(&DiskFiles, file, dialect(&facts));
    for finding in &parsed.findings {
        let problem = finding.problem();
        let place = problem
            .place
            .map_or_else(String::new, |place| format!("{place}: "));
        events.send(&Event::Warning {
            text: format!("{place}{}", problem.what),
            next: problem.next,
        });
    }
    let unknown: Vec<String> = parsed
        .settings
        .iter()
        .filter(|setting| setting.read)
        .map(|setting| (setting, setting.meaning(known)))
        .filter(|(_, meaning)| !meaning.known && !meaning.loose)
        .map(|(setting, _)| format!("{}:{} {}", setting.file.display(), setting.line, setting.written))
        .collect();
    // Unknown names may be options without a variable; the server decides.
    let baseline = Baseline::read(Some(file), &[], &binary, &facts, guardian)
        .await
        .map_err(|error| {
            if unknown.is_empty() {
                error
            } else {
                error.next(format!("no variable of this server: {}", unknown.join(", ")))
            }
        })?;
    let winners = parsed.effective(known);
    let rows: Vec<Row> = parsed
        .settings
        .iter()
        .map(|setting| {
            let meaning = setting.meaning(known);
            let effective = baseline.effective.get(&meaning.variable).cloned();
            let written = meaning
                .value
                .clone()
                .or_else(|| meaning.known.then(|| "ON".to_owned()));
            let wins = winners
                .get(&meaning.variable)
                .is_some_and(|(_, winner)| *winner == setting);
            let dropped = baseline
                .dropped
                .iter()
                .any(|d| d.setting.name == meaning.variable);
            let verdict = match (&effective, &written) {
                _ if !setting.read => Verdict::Ignored,
                _ if !meaning.known => Verdict::Unknown,
                _ if !wins => Verdict::Overridden,
                (Some(effective), Some(written)) if !dropped && !same_value(effective, written) => {
                    Verdict::Changed
                }
                _ => Verdict::Ok,
            };
            Row {
                name: setting.written.clone(),
                written: setting.value.clone(),
                effective: effective.filter(|_| !dropped && setting.read),
                file: setting.file.display().to_string(),
                line: setting.line,
                verdict,
            }
        })
        .collect();
    if global.json {
        output::print_json(&serde_json::json!({ "format": 1, "server": facts.name(), "settings": rows }))?;
    } else {
        output::print(&text(&rows, &facts.name()))?;
    }
    if rows.is_empty() {
        return Err(Error::input("no setting was found in this file").at(file.display().to_string()));
    }
    Ok(0)
}

fn text(rows: &[Row], server: &str) -> String {
    let mut lines = vec![format!("as {server} takes it:")];
    for row in rows {
        let value = |value: &Option<String>| value.clone().unwrap_or_else(|| "-".to_owned());
        let verdict = match row.verdict {
            Verdict::Ok => "ok".to_owned(),
            Verdict::Changed => format!("runs with {}", value(&row.effective)),
            Verdict::Unknown => "no variable of this server".to_owned(),
            Verdict::Ignored => "in a group the server does not read".to_owned(),
            Verdict::Overridden => "a later line sets it again".to_owned(),
        };
        lines.push(format!(
            "  {}:{:<5} {} = {}: {verdict}",
            row.file,
            row.line,
            row.name,
            value(&row.written)
        ));
    }
    lines.join("\n")
}
