//! `noctune check`: resolves a study and runs nothing of it.

use std::path::Path;

use serde_json::json;

use super::session::{listener, supervisor};
use super::{Global, check_cnf, output};
use crate::error::{Error, Result};
use crate::host::{Guardian, existing};
use crate::night::{Event, Events};
use crate::plan::{Facts, Inputs, Settings, reserve_seconds};
use crate::setup::{DiskNeed, Resolved, StudyFolder, StudySource, resolve_study};
use crate::space::{Configuration, Domain, Knob, MemoryBill, Scale, Value};
use crate::strategy::Search;
use crate::study::MIN_BLOCKS;
use crate::units::Bytes;

/// Candidates of the strategy that are shown.
const SHOWN: usize = 3;

/// Checks a study file, or a my.cnf.
pub(super) async fn run(global: &Global, file: Option<&Path>, server: Option<&str>) -> Result<u8> {
    let events = Events::new(vec![listener(global)]);
    let scratch = tempfile::Builder::new()
        .prefix("noctune-check-")
        .tempdir()
        .map_err(|error| Error::host(format!("cannot make a scratch folder: {error}")))?;
    let guardian = Guardian::start(&supervisor()?, &scratch.path().join("running.json"))?;
    if let Some(file) = file.filter(|file| file.extension().is_none_or(|extension| extension != "toml")) {
        return check_cnf::run(global, file, server, &guardian, &events).await;
    }
    let source = StudySource::read(file)?;
    source.study.check_budget(&source.text, &source.name)?;
    let folder = existing(&global.results);
    let resolved = resolve_study(source, server, &folder, &guardian, None, &events).await?;
    let disk = DiskNeed::of(
        &resolved,
        &StudyFolder::new(&global.results, &resolved.source.study.study.name)?,
    )?;
    if global.json {
        output::print_json(&as_json(&resolved, &disk)?)?;
    } else {
        output::print(&text(&resolved, &disk)?)?;
    }
    if let Some((text, next)) = resolved.source.study.budget_warning() {
        events.send(&Event::Warning {
            text,
            next: Some(next),
        });
    }
    for dropped in &resolved.baseline.dropped {
        events.send(&Event::Warning {
            text: format!(
                "{}: {} does not reach a private server: {}",
                dropped.setting.place, dropped.setting.name, dropped.reason
            ),
            next: None,
        });
    }
    disk.check()?;
    if disk.most() > disk.free {
        events.send(&Event::Warning {
            text: format!(
                "candidates with the largest redo log do not fit on the disk ({} needed, {} free) and will be rejected",
                disk.most().human(),
                disk.free.human()
            ),
            next: Some("free space there, or choose another disk with --results".to_owned()),
        });
    }
    Ok(0)
}

fn breach(breach: &crate::space::Breach) -> Error {
    Error::input(breach.to_string())
}

/// What a study will do, for people.
fn text(study: &Resolved, disk: &DiskNeed) -> Result<String> {
    let space = &study.space;
    let baseline = space.default_configuration();
    let mut out = Vec::new();
    out.push(format!(
        "study       {} ({})",
        study.source.study.study.name, study.source.name
    ));
    out.push(format!(
        "server      {} ({})",
        study.binary.banner,
        study.binary.path.display()
    ));
    out.push(format!(
        "class       {}: {} cores, {} RAM, {} disk free, {} ({})",
        study.class.name,
        study.class.cores,
        study.class.ram.human(),
        study.class.disk_free.human(),
        study.class.storage.name(),
        study.class.source
    ));
    out.push(format!("load        {}", study.workload.describe()));
    out.push(
        format!(
            "objective   {} ({:?})",
            study.objective.name(),
            study.objective.goal()
        )
        .to_lowercase(),
    );
    for constraint in study.objective.constraints() {
        out.push(format!("            require {constraint}"));
    }
    let durability = space.durability(&baseline).map_err(|error| breach(&error))?;
    out.push(format!(
        "durability  {}: {}",
        durability.name(),
        durability.promise()
    ));
    let log_bin = study
        .baseline
        .effective
        .get("log_bin")
        .is_some_and(|value| value.eq_ignore_ascii_case("off"));
    if log_bin {
        out.push(
            "            no binary log in the baseline: a production server with one will gain less"
                .to_owned(),
        );
    }
    out.push(String::new());
    out.push(format!("{} knobs:", space.knobs().len()));
    for knob in space.knobs() {
        out.push(format!("  {}", knob_line(knob, &baseline)));
    }
    for left_out in &study.left_out {
        out.push(format!("  {:<34} left out: {}", left_out.knob, left_out.reason));
    }
    for note in &study.notes {
        out.push(format!("  note: {note}"));
    }
    for (name, configuration) in std::iter::once(("the baseline", &baseline))
        .chain(study.rule_of_thumb.iter().map(|rule| ("the rule of thumb", rule)))
    {
        if let Some(bill) = space.memory(configuration).map_err(|error| breach(&error))? {
            out.push(String::new());
            out.push(format!("memory of {name}:"));
            out.extend(bill.to_string().lines().map(|line| format!("  {line}")));
        }
    }
    out.push(String::new());
    out.push("disk:".to_owned());
    out.extend(disk.to_string().lines().map(|line| format!("  {line}")));
    out.push(String::new());
    out.push("first candidates:".to_owned());
    for (why, configuration) in candidates(study) {
        out.push(format!("  {why}"));
        for (name, value) in configuration
            .iter()
            .filter(|(name, value)| baseline.get(name) != Some(value))
        {
            out.push(format!("    {name} = {}", shown(study, name, value)));
        }
    }
    out.push(String::new());
    out.push(duration(study));
    Ok(out.join("\n"))
}

fn knob_line(knob: &Knob, baseline: &Configuration) -> String {
    let size = |bytes: bool, n: i64| match u64::try_from(n) {
        Ok(n) if bytes => Bytes(n).to_string(),
        _ => n.to_string(),
    };
    let domain = match &knob.domain {
        Domain::Int {
            min,
            max,
            unit,
            scale,
            special,
            bytes,
        } => {
            let special: String = special.iter().map(|value| format!("{value} or ")).collect();
            let step = if *unit > 1 {
                format!(", steps of {}", size(*bytes, *unit))
            } else {
                String::new()
            };
            let log = if *scale == Scale::Log { ", log" } else { "" };
            format!(
                "{special}{} .. {}{step}{log}",
                size(*bytes, *min),
                size(*bytes, *max)
            )
        }
        Domain::Float {
            min,
            max,
            scale,
            special,
            ..
        } => {
            let special: String = special.iter().map(|value| format!("{value} or ")).collect();
            let log = if *scale == Scale::Log { ", log" } else { "" };
            format!("{special}{min} .. {max}{log}")
        }
        Domain::Enum { values } => values.join(" | "),
        Domain::Bool => "OFF | ON".to_owned(),
    };
    let bytes = matches!(knob.domain, Domain::Int { bytes: true, .. });
    let now = match baseline.get(&knob.name) {
        Some(Value::Int(n)) => size(bytes, *n),
        Some(value) => value.to_string(),
        None => "inactive".to_owned(),
    };
    let when = knob
        .when
        .as_ref()
        .map_or_else(String::new, |when| format!("  when {}", when.text()));
    format!("{:<34} {domain}  (baseline {now}){when}", knob.name)
}

fn shown(study: &Resolved, name: &str, value: &Value) -> String {
    let is_size = study
        .space
        .knob(name)
        .is_some_and(|knob| matches!(knob.domain, Domain::Int { bytes: true, .. }));
    crate::mycnf::written(value, is_size)
}

/// The rule of thumb, the user's candidates, and what the strategy proposes before anything is measured.
fn candidates(study: &Resolved) -> Vec<(String, Configuration)> {
    let mut all: Vec<(String, Configuration)> = Vec::new();
    all.extend(
        study
            .rule_of_thumb
            .iter()
            .map(|rule| ("the rule of thumb of the machine class".to_owned(), rule.clone())),
    );
    all.extend(
        study
            .candidates
            .iter()
            .map(|candidate| ("your own candidate".to_owned(), candidate.clone())),
    );
    let pending: Vec<Configuration> = std::iter::once(study.space.default_configuration())
        .chain(all.iter().map(|(_, configuration)| configuration.clone()))
        .collect();
    let search = Search {
        space: &study.space,
        goal: study.objective.goal(),
        observations: &[],
        pending: &pending,
        seed: study.source.study.study.seed,
    };
    let proposals = study.strategy.propose(&search, SHOWN);
    all.extend(
        proposals
            .into_iter()
            .map(|proposal| (proposal.why, proposal.configuration)),
    );
    all
}

/// How long it takes, with the arithmetic.
fn duration(study: &Resolved) -> String {
    let settings = Settings::of(&study.source.study);
    let baseline = study.space.default_configuration();
    let inputs = Inputs {
        settings: &settings,
        objective: &study.objective,
        space: &study.space,
        strategy: study.strategy.as_ref(),
        baseline: &baseline,
        rule_of_thumb: study.rule_of_thumb.as_ref(),
        candidates: &study.candidates,
        host: "",
        forgiven: 0,
    };
    let reserve = reserve_seconds(&inputs, &Facts::default());
    let trial = settings.trial_seconds;
    let search = ((settings.budget_seconds - reserve) / trial).floor().max(0.0);
    let arms = if study.rule_of_thumb.is_some() { 3 } else { 2 };
    let confirmation = u64::from(MIN_BLOCKS * arms);
    if let Some(most) = settings.max_trials
        && (most.saturating_sub(confirmation) as f64) < search
    {
        return format!(
            "duration    at most {most} trials (about {trial:.0} s each, {:.0} min together): {} for baseline and search, \
             {confirmation} kept for the confirmation",
            most as f64 * trial / 60.0,
            most.saturating_sub(confirmation)
        );
    }
    format!(
        "duration    {:.0} min of trials (about {trial:.0} s each): {search:.0} for baseline and search, {:.0} min kept for the confirmation",
        settings.budget_seconds / 60.0,
        reserve / 60.0
    )
}

/// The memory arithmetic as JSON.
pub(super) fn bill_json(bill: &MemoryBill) -> serde_json::Value {
    json!({
        "total": bill.total, "limit": bill.limit, "fits": bill.fits(),
        "items": bill.items.iter().map(|item| json!({
            "what": item.label, "arithmetic": item.arithmetic, "bytes": item.bytes,
        })).collect::<Vec<_>>(),
    })
}

/// What a study will do, as JSON.
fn as_json(study: &Resolved, disk: &DiskNeed) -> Result<serde_json::Value> {
    let space = &study.space;
    let baseline = space.default_configuration();
    let bill = |configuration: &Configuration| -> Result<serde_json::Value> {
        let bill = space.memory(configuration).map_err(|error| breach(&error))?;
        Ok(bill.map_or(serde_json::Value::Null, |bill| bill_json(&bill)))
    };
    let knobs: Vec<_> = space
        .knobs()
        .iter()
        .map(|knob| {
            json!({
                "name": knob.name, "family": knob.family, "domain": knob.domain,
                "baseline": baseline.get(&knob.name), "source": knob.source,
            })
        })
        .collect();
    let rule = match &study.rule_of_thumb {
        Some(rule) => bill(rule)?,
        None => serde_json::Value::Null,
    };
    Ok(json!({
        "format": 1,
        "study": study.source.study.study.name,
        "server": study.binary.banner,
        "class": study.class,
        "workload": study.workload.describe(),
        "durability": space.durability(&baseline).map_err(|error| breach(&error))?.name(),
        "knobs": knobs,
        "left_out": study.left_out.iter().map(|l| json!({ "knob": l.knob, "reason": l.reason })).collect::<Vec<_>>(),
        "dropped": study.baseline.dropped.iter().map(|d| json!({
            "name": d.setting.name, "place": d.setting.place, "reason": d.reason,
        })).collect::<Vec<_>>(),
        "memory": { "baseline": bill(&baseline)?, "rule_of_thumb": rule },
        "disk": {
            "template": disk.template, "filling": disk.filling, "copy": disk.copy, "redo": disk.redo, "largest_redo": disk.largest_redo,
            "least": disk.least(), "most": disk.most(), "free": disk.free,
        },
        "candidates": candidates(study).into_iter().map(|(why, configuration)| json!({
            "why": why, "configuration": configuration,
        })).collect::<Vec<_>>(),
        "budget_seconds": Settings::of(&study.source.study).budget_seconds,
        "trial_seconds": Settings::of(&study.source.study).trial_seconds,
    }))
}
