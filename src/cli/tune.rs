//! `noctune tune`: runs or resumes a study.

use std::cell::Cell;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::Global;
use super::conclude::{self, Concluded};
use super::session::Session;
use super::wire::{Parts, forgiven, trial_runner};
use crate::error::{Error, Result};
use crate::handover::{Recommendation, hand_over, hand_over_nothing};
use crate::night::{Event, Night, now};
use crate::plan::{Facts, Inputs, Next, Settings, Verdict, left_out, next, no_longer_held};
use crate::setup::{
    Frozen, Prepared, Resolved, StudyFolder, StudySource, check_host, is_gone, prepare, resolve_study,
    this_worker, write_atomically,
};
use crate::store::{self, DATABASE, Spool, Store, StudyRecord, WorkerId};
use crate::study::{Study, Version, changes};

/// How long closing the store may take.
const CLOSING: Duration = Duration::from_secs(5);

/// Runs or resumes the study of `file`, or the default study of this host.
pub(super) async fn run(global: &Global, file: Option<&Path>, shared_host: bool) -> Result<u8> {
    let source = StudySource::read(file)?;
    source.study.check_budget(&source.text, &source.name)?;
    let session = Session::begin(global, &source.study.study.name)?;
    if let Some((text, next)) = source.study.budget_warning() {
        session.events.send(&Event::Warning {
            text,
            next: Some(next),
        });
    }
    let stored = stored(global, &session.folder, &source.study.study.name).await?;
    let looking = check_host(shared_host, &session.events);
    let shared = session.unless_stopped(looking).await?;
    if let Some(seen) = shared {
        session.events.send(&Event::Warning {
            text: format!("{seen}; single figures mean little here, pairs are what counts"),
            next: None,
        });
    }
    let frozen = stored.as_ref().map(|(_, frozen)| frozen);
    let folder = session.folder.path();
    let resolving = Box::pin(resolve_study(
        source,
        None,
        folder,
        &session.guardian,
        frozen,
        &session.events,
    ));
    let resolved = session.unless_stopped(resolving).await?;
    let opened = store::open(&global.store, folder).await?;
    for text in opened.warnings {
        session.events.send(&Event::Warning { text, next: None });
    }
    let store = opened.store;
    let (record, frozen) = enter(store.as_ref(), &session, &resolved, stored).await?;
    let preparing = Box::pin(prepare(
        resolved,
        &session.folder,
        &session.guardian,
        &session.events,
        &session.stop,
    ));
    let prepared = session.unless_stopped(preparing).await?;
    let ended = night(&session, store.clone(), &record, &frozen, prepared, shared_host).await;
    // A copy of the database's file alone is then a copy of the study. Another program's lock is not waited for.
    let _ = tokio::time::timeout(CLOSING, store.close()).await;
    let (verdict, failure) = ended?;
    conclude::tell(global, &verdict, failure, &session.end()).await
}

/// The study as the store knows it; none where it is new.
async fn stored(global: &Global, folder: &StudyFolder, name: &str) -> Result<Option<(StudyRecord, Frozen)>> {
    if store::is_in_study_folder(&global.store) && !folder.path().join(DATABASE).is_file() {
        return Ok(None);
    }
    let opened = store::open(&global.store, folder.path()).await?;
    let Some(record) = opened.store.study(name).await? else {
        return Ok(None);
    };
    let frozen = Frozen::from_json(&record.frozen, name)?;
    Ok(Some((record, frozen)))
}

/// Creates the study in the store, or compares it with the one that is there.
async fn enter(
    store: &dyn Store,
    session: &Session,
    resolved: &Resolved,
    stored: Option<(StudyRecord, Frozen)>,
) -> Result<(StudyRecord, Frozen)> {
    let study = &resolved.source.study;
    let identity = resolved.identity()?;
    let frozen = resolved.frozen();
    let (record, frozen) = match stored {
        None => {
            let record = StudyRecord {
                name: study.study.name.clone(),
                created: now(),
                seed: study.study.seed,
                file: study.to_toml()?,
                identity,
                frozen: frozen.to_json()?,
            };
            store.create(&record).await?;
            (record, frozen)
        }
        Some((old, old_frozen)) => {
            let old_study = Study::parse(&old.file, "the stored study file")?;
            let before = Version {
                study: &old_study,
                identity: &old.identity,
                space: &old_frozen.space,
                gone: &old_frozen.gone,
            };
            let now = Version {
                study,
                identity: &identity,
                space: &frozen.space,
                gone: &[],
            };
            let changes = changes(&before, &now);
            if !changes.0.is_empty() {
                session.events.send(&Event::Warning {
                    text: format!("the study changed since it was begun:\n{changes}"),
                    next: None,
                });
            }
            changes.check()?;
            warn_of_changed_host(session, &old_frozen, &frozen);
            // The seed is the stored one, in the file, too: another seed would be another study.
            let mut goes_on = study.clone();
            goes_on.study.seed = old.seed;
            let frozen = frozen.going_on_from(old_frozen);
            let record = StudyRecord {
                file: goes_on.to_toml()?,
                frozen: frozen.to_json()?,
                ..old
            };
            store.update(&record).await?;
            (record, frozen)
        }
    };
    write_atomically(&session.folder.study_file(), &record.file)?;
    Ok((record, frozen))
}

fn warn_of_changed_host(session: &Session, old: &Frozen, new: &Frozen) {
    let (was, is) = (&old.environment, &new.environment);
    let mut changed = Vec::new();
    let mut compare = |what: &str, was: String, is: String| {
        if was != is {
            changed.push(format!("{what} {was} → {is}"));
        }
    };
    compare("host", was.hostname.clone(), is.hostname.clone());
    compare("kernel", was.kernel.clone(), is.kernel.clone());
    compare("CPU", was.cpu.clone(), is.cpu.clone());
    compare("cores", was.cores.to_string(), is.cores.to_string());
    compare("memory", memory(&was.memory), memory(&is.memory));
    compare(
        "NUMA nodes",
        was.numa_nodes.to_string(),
        is.numa_nodes.to_string(),
    );
    compare(
        "governor",
        format!("{:?}", was.governor),
        format!("{:?}", is.governor),
    );
    compare(
        "huge pages",
        format!("{:?}", was.huge_pages),
        format!("{:?}", is.huge_pages),
    );
    compare(
        "swappiness",
        format!("{:?}", was.swappiness),
        format!("{:?}", is.swappiness),
    );
    let file_system = |storage: &Option<crate::host::Storage>| {
        storage.as_ref().map_or_else(String::new, |s| {
            format!("{} ({})", s.file_system, s.mount_options)
        })
    };
    compare("file system", file_system(&was.storage), file_system(&is.storage));
    if !changed.is_empty() {
        session.events.send(&Event::Warning {
            text: format!(
                "this host is not as it was when the study began: {}",
                changed.join(", ")
            ),
            next: Some(
                "trials before and after may not be comparable; the confirmation is, since it is paired"
                    .into(),
            ),
        });
    }
}

/// The memory that stays the same from hour to hour.
fn memory(probe: &Option<crate::host::MemoryProbe>) -> String {
    probe.as_ref().map_or_else(String::new, |memory| {
        let limit = memory
            .cgroup_limit
            .map_or_else(String::new, |limit| format!(", limited to {}", limit.human()));
        format!("{}{limit}, swap {}", memory.total.human(), memory.swap.human())
    })
}

/// Runs trials to the end of the study; its verdict, and why what it recommends could not be handed over.
async fn night(
    session: &Session,
    store: Arc<dyn Store>,
    record: &StudyRecord,
    frozen: &Frozen,
    prepared: Prepared,
    shared_host: bool,
) -> Result<(Verdict, Option<Error>)> {
    let Prepared {
        resolved,
        template,
        user,
    } = prepared;
    let Resolved {
        source,
        binary,
        environment,
        objective,
        workload,
        strategy,
        ..
    } = resolved;
    let settings = Settings {
        seed: record.seed,
        ..Settings::of(&source.study)
    };
    let baseline = frozen.space.default_configuration();
    let inputs = Inputs {
        settings: &settings,
        objective: &objective,
        space: &frozen.space,
        strategy: strategy.as_ref(),
        baseline: &baseline,
        rule_of_thumb: frozen.rule_of_thumb.as_ref(),
        candidates: &frozen.candidates,
        host: &environment.hostname,
        forgiven: 0,
    };
    let (facts, _) = store.facts(&record.name).await?;
    let inputs = Inputs {
        forgiven: forgiven(&inputs, &facts),
        ..inputs
    };
    session.events.send(&Event::StudyStarted {
        study: record.name.clone(),
        resumed: !facts.jobs.is_empty(),
        ended: ended(&facts),
        spent_seconds: facts.seconds(),
        budget_seconds: settings.budget_seconds,
        max_trials: settings.max_trials,
        metric: objective.name().to_owned(),
    });
    let belief = Belief::default();
    go_on(session, frozen, &inputs, &facts, &belief);
    let mut runner = trial_runner(Parts {
        source: &source,
        frozen,
        folder: &session.folder,
        binary,
        workload,
        template,
        user,
        guardian: session.guardian.clone(),
        shared_host,
        seed: record.seed,
        events: &session.events,
    });
    let spool = Spool::new(session.folder.spool());
    let gone = |worker: &WorkerId| is_gone(worker, &environment.hostname);
    let after = |facts: &Facts| believe(session, frozen, &inputs, facts, &belief);
    let night = Night {
        study: &record.name,
        folder: session.folder.path().to_owned(),
        store: store.as_ref(),
        spool: &spool,
        worker: this_worker(&environment),
        is_gone: &gone,
        inputs: &inputs,
        events: &session.events,
        stop: session.stop.clone(),
        after: &after,
    };
    let verdict = night.run(&mut runner).await?;
    let study = Concluded {
        session,
        store: store.as_ref(),
        source: &source,
        frozen,
        metric: objective.name(),
    };
    let failure = study.conclude(&verdict).await;
    Ok((verdict, failure))
}

/// Trials that ended.
pub(super) fn ended(facts: &Facts) -> u64 {
    facts.jobs.iter().filter(|fact| fact.outcome().is_some()).count() as u64
}

/// What a study that goes on makes of its earlier trials, since its file may ask for more than that of the last run did:
/// told, and the recommendation brought up to date.
fn go_on(session: &Session, frozen: &Frozen, inputs: &Inputs<'_>, facts: &Facts, belief: &Belief) {
    let warn = |text: String, next: &str| {
        session.events.send(&Event::Warning {
            text,
            next: Some(next.to_owned()),
        });
    };
    for left_out in left_out(inputs, facts) {
        warn(left_out.to_string(), "change [space] back to use them again");
    }
    if let Some(trial) = no_longer_held(inputs, facts) {
        warn(
            format!(
                "what was confirmed before, the configuration of trial {trial}, is no claim any more: the space does not \
                 hold it"
            ),
            "change [space] back to keep it",
        );
    }
    if !facts.jobs.is_empty() && !matches!(next(inputs, facts), Next::Done(_)) {
        believe(session, frozen, inputs, facts, belief);
    }
}

/// Whether what is believed can be written.
#[derive(Debug, Default)]
struct Belief {
    cannot_be_written: Cell<bool>,
}

/// Rewrites the recommendation by what is confirmed, or believed, now. A failure is told once, and again where it was
/// written in between; the night goes on.
fn believe(session: &Session, frozen: &Frozen, inputs: &Inputs<'_>, facts: &Facts, belief: &Belief) {
    let metric = inputs.objective.name();
    let written = match Recommendation::so_far(inputs, facts) {
        Some(best) => hand_over(&best, frozen, metric, ended(facts), &session.folder),
        None => Ok(false),
    };
    let current = written.and_then(|written| {
        if written {
            Ok(())
        } else {
            hand_over_nothing(&session.folder)
        }
    });
    let was_told = belief.cannot_be_written.replace(current.is_err());
    if let Err(error) = current
        && !was_told
    {
        session.events.send(&Event::Warning {
            text: error.to_string(),
            next: Some("mend that place: after each trial it is tried again".to_owned()),
        });
    }
}
