//! `noctune check MY.CNF`: every setting as a server takes it.

use std::path::Path;

use serde::Serialize;

use super::check::bill_json;
use super::{Global, output};
use crate::error::{Error, IoContext as _, Result};
use crate::host::{Fingerprint, Guardian};
use crate::mycnf::{self, same_value};
use crate::night::{Event, Events};
use crate::server::{OptionFate, ServerBinary, option_fate, server_facts};
use crate::setup::{DiskFiles, dialect, probed_class, read_settings, run_settings};
use crate::space::{MemoryBill, VariableFacts, variable_value};
use crate::units::Bytes;

/// What a server makes of a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Verdict {
    /// It runs as written.
    Ok,
    /// The nearest legal value runs, below or above a limit.
    Clamped,
    /// The nearest step runs.
    Rounded,
    /// Another value runs.
    Changed,
    /// The server has no such setting, and stops at it.
    Unknown,
    /// The server takes it and does nothing with it.
    Dead,
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
    let facts = server_facts(&binary, &std::env::temp_dir(), Some(guardian)).await?;
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
    let place = file.display().to_string();
    let settings = read_settings(file, &facts)?.0;
    // A server stops at a name it does not know; what the others come to is seen without them.
    let (settings, _) = settings
        .into_iter()
        .partition::<Vec<_>, _>(|setting| known(&setting.name));
    let (effective_values, dropped) =
        run_settings(&settings, &[], known, &binary, &std::env::temp_dir(), guardian)
            .await
            .map_err(|error| error.at(place.clone()))?;
    let winners = parsed.effective(known);
    let mut rows: Vec<Row> = parsed
        .settings
        .iter()
        .map(|setting| {
            let meaning = setting.meaning(known);
            let effective = effective_values.get(&meaning.variable).cloned();
            let written = meaning
                .value
                .clone()
                .or_else(|| meaning.known.then(|| "ON".to_owned()));
            let wins = winners
                .get(&meaning.variable)
                .is_some_and(|(_, winner)| *winner == setting);
            let dropped = dropped.iter().any(|d| d.setting.name == meaning.variable);
            let limits = facts.variables.get(&meaning.variable);
            let verdict = match (&effective, &written) {
                _ if !setting.read => Verdict::Ignored,
                _ if !meaning.known && meaning.loose => Verdict::Dead,
                _ if !meaning.known => Verdict::Unknown,
                _ if !wins => Verdict::Overridden,
                // A path in place of a switch: the private server has its own.
                _ if dropped || meaning.variable == "log_bin" => Verdict::Ok,
                (Some(effective), Some(written)) => judge(written, effective, limits),
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
    without_variable(&mut rows, &binary).await?;
    let class = probed_class(&Fingerprint::read(&std::env::temp_dir()))?;
    let variable = |name: &str| {
        let kind = facts.variables.get(name).map(|facts| facts.kind);
        effective_values.get(name).map(|text| variable_value(text, kind))
    };
    let bill = MemoryBill::of(variable, None, &class);
    if global.json {
        output::print_json(&serde_json::json!({
            "format": 1, "server": facts.name(), "settings": rows, "memory": bill_json(&bill),
        }))?;
    } else {
        output::print(&text(&rows, &facts.name()))?;
        output::print(&format!("\nmemory on this host:\n{}", indented(&bill)))?;
    }
    if !bill.fits() {
        events.send(&Event::Warning {
            text: bill.too_much("a server with this my.cnf"),
            next: Some("lower its buffers or max_connections, unless it is for a larger host".to_owned()),
        });
    }
    if rows.is_empty() {
        return Err(Error::input("no setting was found in this file").at(file.display().to_string()));
    }
    let stops = rows.iter().find(|row| row.verdict == Verdict::Unknown);
    if let Some(row) = stops {
        events.send(&Event::Warning {
            text: format!(
                "{} does not start with this my.cnf: {}:{}: it has no {}",
                facts.name(),
                row.file,
                row.line,
                row.name
            ),
            next: Some("correct that name, or take it out".to_owned()),
        });
    }
    Ok(u8::from(stops.is_some()))
}

/// Asks the server about names that are no variables: they may be options without one.
async fn without_variable(rows: &mut [Row], binary: &ServerBinary) -> Result<()> {
    let failed = "cannot make a folder to ask the server in";
    let scratch = tempfile::Builder::new()
        .prefix("noctune-")
        .tempdir()
        .context(failed, &std::env::temp_dir())?;
    for row in rows.iter_mut().filter(|row| row.verdict == Verdict::Unknown) {
        row.verdict = match option_fate(binary, &row.name, row.written.as_deref(), scratch.path()).await? {
            OptionFate::Taken => Verdict::Ok,
            OptionFate::Dead => Verdict::Dead,
            OptionFate::Unknown => Verdict::Unknown,
        };
    }
    Ok(())
}

fn indented(bill: &MemoryBill) -> String {
    let lines: Vec<String> = bill.to_string().lines().map(|line| format!("  {line}")).collect();
    lines.join("\n")
}

/// What became of a value that runs.
fn judge(written: &str, effective: &str, facts: Option<&VariableFacts>) -> Verdict {
    if same_value(effective, written) {
        return Verdict::Ok;
    }
    let number = |text: &str| {
        text.parse::<Bytes>()
            .map(|bytes| bytes.0 as f64)
            .ok()
            .or_else(|| text.parse::<f64>().ok())
    };
    let (Some(asked), Some(runs)) = (number(written), number(effective)) else {
        return Verdict::Changed;
    };
    let limit = |limit: Option<f64>, beyond: fn(&f64, &f64) -> bool| {
        limit.is_some_and(|limit| beyond(&asked, &limit))
    };
    let block = facts.and_then(|facts| facts.block).unwrap_or(1) as f64;
    if limit(facts.and_then(|facts| facts.min), f64::lt) || limit(facts.and_then(|facts| facts.max), f64::gt)
    {
        Verdict::Clamped
    } else if (asked - runs).abs() < block {
        Verdict::Rounded
    } else {
        Verdict::Changed
    }
}

fn text(rows: &[Row], server: &str) -> String {
    let mut lines = vec![format!("as {server} takes it:")];
    for row in rows {
        let value = |value: &Option<String>| value.clone().unwrap_or_else(|| "-".to_owned());
        let verdict = match row.verdict {
            Verdict::Ok => "ok".to_owned(),
            Verdict::Clamped => format!("beyond the server's limit, runs with {}", value(&row.effective)),
            Verdict::Rounded => format!("rounded to {}", value(&row.effective)),
            Verdict::Changed => format!("runs with {}", value(&row.effective)),
            Verdict::Unknown => "unknown to this server: it stops there".to_owned(),
            Verdict::Dead => "does nothing on this server".to_owned(),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::space::VariableKind;

    fn facts(min: f64, max: f64, block: u64) -> VariableFacts {
        VariableFacts {
            value: String::new(),
            default: None,
            kind: VariableKind::Int,
            min: Some(min),
            max: Some(max),
            block: Some(block),
            enum_values: Vec::new(),
            read_only: false,
            dynamic: true,
        }
    }

    #[test]
    fn a_value_runs_as_written_rounded_clamped_or_as_something_else() {
        let io = facts(100.0, 4_294_967_295.0, 1);
        assert_eq!(judge("50", "100", Some(&io)), Verdict::Clamped);
        let pool = facts(2e6, 9e18, 1 << 20);
        assert_eq!(judge("1000000000", "999292928", Some(&pool)), Verdict::Rounded);
        assert_eq!(judge("1G", "1073741824", Some(&pool)), Verdict::Ok);
        assert_eq!(
            judge("20000", "431", Some(&facts(10.0, 1e6, 1))),
            Verdict::Changed
        );
    }
}
