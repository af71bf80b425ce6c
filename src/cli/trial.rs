//! `noctune trial`: one trial, verbosely; nothing is stored but its folder.

use std::path::Path;

use super::session::Session;
use super::wire::{Parts, trial_runner};
use super::{Global, output};
use crate::error::{Error, Result};
use crate::handover::sizes;
use crate::night::{Event, RunTrial as _, TrialOrder, now};
use crate::plan::{Fact, Job, Purpose, Settings, State};
use crate::report::{Explained, explain, explain_json};
use crate::setup::{Prepared, StudySource, check_host, knob_value, prepare, resolve_study};
use crate::space::{Configuration, LeftOut, Space, Value};

/// Runs one trial of the study's baseline with `set` over it.
pub(super) async fn run(
    global: &Global,
    file: Option<&Path>,
    set: &[String],
    shared_host: bool,
) -> Result<u8> {
    let source = StudySource::read(file)?;
    let session = Session::begin(global, &source.study.study.name)?;
    let looking = check_host(shared_host, &session.events);
    if let Some(seen) = session.unless_stopped(looking).await? {
        session.events.send(&Event::Warning {
            text: format!("{seen}; a single trial means little here"),
            next: None,
        });
    }
    let folder = session.folder.path();
    let resolving = Box::pin(resolve_study(
        source,
        None,
        folder,
        &session.guardian,
        None,
        &session.events,
    ));
    let resolved = session.unless_stopped(resolving).await?;
    let configuration = configuration(&resolved.space, &resolved.left_out, set)?;
    let frozen = resolved.frozen();
    let settings = Settings::of(&resolved.source.study);
    let preparing = Box::pin(prepare(
        resolved,
        &session.folder,
        &session.guardian,
        &session.events,
        &session.stop,
    ));
    let prepared = session.unless_stopped(preparing).await?;
    let Prepared {
        resolved,
        template,
        user,
    } = prepared;
    let stamp = now().to_string().replace(':', "-");
    let order = TrialOrder {
        number: 0,
        job: Job {
            purpose: Purpose::Explore,
            configuration,
            length: settings.length,
            why: "asked for by hand".to_owned(),
            model: None,
            host: None,
            forgives: 0,
        },
        folder: session.folder.trials().join(format!("by-hand-{stamp}")),
    };
    std::fs::create_dir_all(&order.folder)
        .map_err(|error| Error::host(format!("cannot make the trial's folder: {error}")))?;
    let mut runner = trial_runner(Parts {
        source: &resolved.source,
        frozen: &frozen,
        folder: &session.folder,
        binary: resolved.binary,
        workload: resolved.workload,
        template,
        user,
        guardian: session.guardian.clone(),
        shared_host,
        seed: settings.seed,
        events: &session.events,
    });
    let record = runner
        .run(&order, &session.events, &session.stop)
        .await
        .ok_or(Error::Interrupted)?;
    let measured = record.outcome.measurement().is_some();
    let fact = Fact {
        number: order.number,
        job: order.job,
        state: State::Ended {
            outcome: record.outcome.clone(),
            effective: record.effective.clone(),
            began: record.began,
            seconds: record.seconds,
            host: frozen.host.clone(),
            warnings: record.warnings.clone(),
        },
    };
    let explained = Explained {
        fact: &fact,
        record: Some(&record),
        baseline: Some(&frozen.space.default_configuration()),
        sizes: &sizes(&frozen.space),
    };
    let stop = session.end();
    let text = if global.json {
        output::as_line(&explain_json(&explained))?
    } else {
        let explained = explain(&explained);
        format!("{}\nfiles: {}", explained.trim_end(), order.folder.display())
    };
    output::print_until_stopped(text, &stop).await?;
    // One trial that failed is what "every trial failed" means here.
    Ok(if measured { 0 } else { 5 })
}

/// The baseline with the `KNOB=VALUE` pairs over it.
fn configuration(space: &Space, left_out: &[LeftOut], set: &[String]) -> Result<Configuration> {
    let mut configuration = space.default_configuration();
    let mut asked: Vec<String> = Vec::new();
    for pair in set {
        let (name, value) = pair.split_once('=').ok_or_else(|| {
            Error::input(format!("\"{pair}\" is no KNOB=VALUE")).next("write --set innodb_io_capacity=2000")
        })?;
        let name = name.trim().replace('-', "_");
        let Some(knob) = space.knob(&name) else {
            if let Some(left) = left_out.iter().find(|left| left.knob == name) {
                return Err(Error::input(format!(
                    "\"{name}\" is not part of this space: {}",
                    left.reason
                )));
            }
            let names: Vec<&str> = space.knobs().iter().map(|knob| knob.name.as_str()).collect();
            let meant = crate::space::file::closest(&name, names.iter().copied());
            return Err(
                Error::input(format!("\"{name}\" is not a knob of this space")).next(meant.map_or_else(
                    || format!("the knobs are {}", names.join(", ")),
                    |meant| format!("did you mean \"{meant}\"?"),
                )),
            );
        };
        asked.push(name.clone());
        configuration.set(name, knob_value(&Value::from(value.trim()), &knob.domain));
    }
    let snapped = space.snap(&configuration);
    let moved: Vec<String> = configuration
        .iter()
        .filter(|(name, value)| asked.iter().any(|asked| asked == name) && snapped.get(name) != Some(value))
        .map(|(name, value)| {
            let legal = snapped
                .get(name)
                .map_or_else(|| "inactive here".to_owned(), ToString::to_string);
            format!("{name}={value} ({legal})")
        })
        .collect();
    if !moved.is_empty() {
        return Err(
            Error::input(format!("no value the space permits: {}", moved.join(", ")))
                .next("take the value in brackets, or widen the knob with [space.knob] in the study file"),
        );
    }
    // Knobs that what was asked for makes active or inactive come and go with it.
    let follow: Vec<String> = configuration
        .iter()
        .map(|(name, _)| name.to_owned())
        .filter(|name| snapped.get(name).is_none())
        .collect();
    for name in follow {
        configuration.remove(&name);
    }
    for (name, value) in snapped.iter() {
        if configuration.get(name).is_none() {
            configuration.set(name.to_owned(), value.clone());
        }
    }
    Ok(configuration)
}
