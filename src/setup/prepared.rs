//! Everything a study means on this host and server.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::arguments::{arguments, refuse_arguments_of_knobs};
use super::candidate::candidate;
use super::host::Classes;
use super::space::WantedSpace;
use super::users_data::{data_key, refuse_untried};
use super::{Baseline, DiskNeed, Frozen, StudyFolder, StudySource, frozen, host};
use crate::error::{Error, Result};
use crate::host::{Fingerprint, Guardian};
use crate::night::{Event, Events};
use crate::server::{ServerBinary, ServerUser, Source, Template, TemplateSpec, server_facts};
use crate::space::{Configuration, LeftOut, MachineClass, Resolution, ServerFacts, Space};
use crate::strategy::Strategy;
use crate::study::{Objective, Surroundings};
use crate::units::Bytes;
use crate::workload::{Endpoint, Workload};

/// Limit for each of installing, starting and shutting down while a template is made.
const TEMPLATE_DEADLINE: Duration = Duration::from_secs(600);

/// The redo log with which a template is filled: large enough that filling hardly waits for the disk.
pub(super) const FILLING_REDO: Bytes = Bytes::mib(256);

/// A study resolved against a host and a server; nothing of it runs yet.
pub struct Resolved {
    /// The study.
    pub source: StudySource,
    /// The server.
    pub binary: ServerBinary,
    /// Its variables.
    pub facts: ServerFacts,
    /// The environment.
    pub environment: Fingerprint,
    /// The machine class.
    pub class: MachineClass,
    /// The machine class as declared, before this host's free disk space narrowed it.
    pub declared: MachineClass,
    /// Variables that knobs of the study write: they pass from the user's my.cnf to private servers.
    pub tuned: BTreeSet<String>,
    /// What tells the contents of the user's data directory apart from others'; none without one.
    pub data_key: Option<String>,
    /// The configuration to beat.
    pub baseline: Baseline,
    /// What may be tuned.
    pub space: Space,
    /// Knobs that are not part of it, and why.
    pub left_out: Vec<LeftOut>,
    /// Notes on what is.
    pub notes: Vec<String>,
    /// What is to become better.
    pub objective: Objective,
    /// The first guess; none where it is switched off.
    pub rule_of_thumb: Option<Configuration>,
    /// The user's candidates.
    pub candidates: Vec<Configuration>,
    /// The load.
    pub workload: Box<dyn Workload>,
    /// How to search.
    pub strategy: Box<dyn Strategy>,
}

impl Resolved {
    /// What is to be stored with the study.
    pub fn frozen(&self) -> Frozen {
        Frozen {
            format: frozen::FORMAT,
            class: self.class.clone(),
            declared: Some(self.declared.clone()),
            tuned: self.tuned.clone(),
            data_key: self.data_key.clone(),
            build: self.binary.build_id.clone(),
            facts: self.facts.clone(),
            environment: self.environment.clone(),
            baseline_settings: self
                .baseline
                .settings
                .iter()
                .map(|setting| (setting.name.clone(), setting.value.clone(), setting.place.clone()))
                .collect(),
            baseline_effective: self.baseline.effective.clone(),
            space: self.space.clone(),
            gone: Vec::new(),
            rule_of_thumb: self.rule_of_thumb.clone(),
            candidates: self.candidates.clone(),
            workload: self.workload.describe(),
            host: self.environment.hostname.clone(),
        }
    }

    /// What stands for the template's contents.
    pub fn template_key(&self) -> String {
        let mut key = format!("{} on {}", self.workload.describe(), self.facts.name());
        for (name, value) in super::baseline::geometry(&self.baseline.settings) {
            // Writing to a String cannot fail.
            let _ = write!(key, " {name}={value}");
        }
        if let Some(template) = &self.source.study.template {
            let _ = write!(
                key,
                " from {} ({})",
                template.from,
                self.data_key.as_deref().unwrap_or("not there")
            );
        }
        key
    }

    /// The parts that identify the study, each with its hash.
    ///
    /// # Errors
    /// As [`crate::study::Study::identity`]; [`Error::Input`] where the load's script cannot be read.
    pub fn identity(&self) -> Result<Vec<(String, String)>> {
        let mut baseline = String::new();
        for setting in &self.baseline.settings {
            let _ = writeln!(
                baseline,
                "{}={}",
                setting.name,
                setting.value.as_deref().unwrap_or("")
            );
        }
        let server = format!("{} {}", self.binary.banner, self.binary.build_id);
        let script = host::own_script(&self.source)?;
        let class = &self.declared;
        let hardware = format!(
            "{} {} {} {} {} {:?}",
            class.name,
            class.cores,
            class.ram.0,
            class.disk_free.0,
            class.storage.name(),
            class.connections
        );
        self.source.study.identity(&Surroundings {
            space: &self.space,
            baseline: &baseline,
            template: &self.template_key(),
            server: &server,
            hardware: &hardware,
            script: script.as_deref(),
        })
    }
}

/// Resolves a study: finds the server, asks it, reads the baseline, and builds the space. `server` overrides the study's
/// server, `frozen` gives what was probed when the study began. `folder` must exist; the study will live in it or below.
///
/// # Errors
/// Everything that is wrong with the study, the host or the baseline, before anything of the study starts.
pub async fn resolve_study(
    mut source: StudySource,
    server: Option<&str>,
    folder: &Path,
    guardian: &Guardian,
    frozen: Option<&Frozen>,
    events: &Events,
) -> Result<Resolved> {
    if let Some(server) = server {
        server.clone_into(&mut source.study.server.binary);
    }
    let objective = source.study.objective()?;
    let strategy = host::strategy(&source)?;
    let workload = host::workload(&source)?;
    workload.preflight().await.map_err(|error| match error {
        error @ Error::Input(_) => error.at(format!("{}, [workload]", source.name)),
        error => error,
    })?;
    let binary = ServerBinary::find(&source.study.server.binary).await?;
    refuse_untried(&source, binary.flavor)?;
    let environment = Fingerprint::read(folder);
    let Classes { class, declared } = host::classes(&source, &environment, frozen)?;
    let data_key = data_key(&source, frozen)?;
    let facts = match frozen {
        Some(frozen) if frozen.build == binary.build_id => frozen.facts.clone(),
        _ => {
            events.send(&Event::Preparing {
                what: format!("asking {} for its variables", binary.path.display()),
            });
            server_facts(&binary, folder, Some(guardian)).await?
        }
    };
    source.study.server.args = arguments(&source, &facts)?;
    let study = &source.study;
    let wanted = WantedSpace::read(&source)?;
    let tuned = wanted.variables();
    let asked = Asked {
        source: &source,
        binary: &binary,
        facts: &facts,
        place: folder,
        tuned: &tuned,
    };
    let baseline = baseline(&asked, guardian, frozen, events).await?;
    let Resolution {
        space,
        left_out,
        notes,
    } = wanted.resolve(&class, &facts, &baseline)?;
    refuse_arguments_of_knobs(&source, space.knobs())?;
    if let Ok(Some(bill)) = space.memory(&space.default_configuration())
        && !bill.fits()
    {
        events.send(&Event::Warning {
            text: bill.too_much("the baseline"),
            next: Some(
                "lower its buffers or max_connections, or run the study for a larger machine class"
                    .to_owned(),
            ),
        });
    }
    let rule_of_thumb = if study.strategy.rule_of_thumb {
        let rule = space.rule_of_thumb().map_err(|breach| {
            Error::input(format!(
                "the rule of thumb of the machine class fits no constraint: {breach}"
            ))
            .at(source.name.clone())
            .next("loosen the constraint, or write rule_of_thumb = false in [strategy]")
        })?;
        Some(rule)
    } else {
        None
    };
    let candidates = study
        .candidate
        .iter()
        .map(|wanted| candidate(wanted, &space, &baseline, &source))
        .collect::<Result<_>>()?;
    Ok(Resolved {
        binary,
        facts,
        environment,
        class,
        declared,
        tuned,
        data_key,
        baseline,
        space,
        left_out,
        notes,
        objective,
        rule_of_thumb,
        candidates,
        workload,
        strategy,
        source,
    })
}

/// What a baseline is read with.
struct Asked<'a> {
    source: &'a StudySource,
    binary: &'a ServerBinary,
    facts: &'a ServerFacts,
    place: &'a Path,
    tuned: &'a BTreeSet<String>,
}

async fn baseline(
    asked: &Asked<'_>,
    guardian: &Guardian,
    frozen: Option<&Frozen>,
    events: &Events,
) -> Result<Baseline> {
    let Asked {
        source,
        binary,
        facts,
        place,
        tuned,
    } = *asked;
    let args = &source.study.server.args;
    let file = source.study.server.baseline.as_deref();
    let file = file.map(|file| source.path(file));
    let file = file.as_deref();
    if let Some(frozen) = frozen.filter(|frozen| frozen.build == binary.build_id && frozen.tuned == *tuned) {
        let stored = frozen.baseline();
        let now = match file {
            Some(file) => super::read_settings(file, facts)?.0,
            None => Vec::new(),
        };
        let same =
            |a: &crate::server::Setting, b: &crate::server::Setting| a.name == b.name && a.value == b.value;
        if now.len() == stored.settings.len() && now.iter().zip(&stored.settings).all(|(a, b)| same(a, b)) {
            return Ok(stored);
        }
    }
    if let Some(file) = file {
        events.send(&Event::Preparing {
            what: format!("starting a private server with {}", file.display()),
        });
    }
    Baseline::read(file, args, tuned, binary, facts, place, guardian).await
}

/// A resolved study with its template: ready for the night.
pub struct Prepared {
    /// The study.
    pub resolved: Resolved,
    /// The clean data directory.
    pub template: Template,
    /// The user of private servers.
    pub user: ServerUser,
}

/// Makes the template where it is missing.
///
/// # Errors
/// Host errors of the server and the load's tool; [`Error::Interrupted`].
pub async fn prepare(
    resolved: Resolved,
    folder: &StudyFolder,
    guardian: &Guardian,
    events: &Events,
    stop: &CancellationToken,
) -> Result<Prepared> {
    DiskNeed::of(&resolved, folder)?.check()?;
    let user = ServerUser::choose(folder.path());
    if let Some(note) = &user.note {
        events.send(&Event::Warning {
            text: note.text.clone(),
            next: note.next.clone(),
        });
    }
    let key = resolved.template_key();
    let settings = filling_settings(&resolved);
    let data_source = match &resolved.source.study.template {
        Some(template) => Source::UsersData(resolved.source.path(&template.from)),
        None => Source::Empty,
    };
    let spec = TemplateSpec {
        server: &resolved.binary,
        folder: &folder.template(),
        key: &key,
        source: data_source,
        settings: &settings,
        user: &user,
        deadline: TEMPLATE_DEADLINE,
    };
    if Template::open(spec.folder, spec.server, spec.key).is_none() {
        events.send(&Event::Preparing {
            what: format!("making the template: {}", resolved.workload.describe()),
        });
    }
    let workload = &resolved.workload;
    let fill_folder = folder.path().to_owned();
    let template = Template::open_or_make(&spec, Some(guardian), async |socket: &Path| {
        let endpoint = Endpoint {
            socket: socket.to_owned(),
            port: None,
            user: "root".to_owned(),
            password: None,
            database: crate::runner::DATABASE.to_owned(),
        };
        workload.prepare(&endpoint, &fill_folder, stop).await
    })
    .await?;
    Ok(Prepared {
        resolved,
        template,
        user,
    })
}

/// Settings that make filling quick and the template's geometry the baseline's.
fn filling_settings(resolved: &Resolved) -> BTreeMap<String, String> {
    let mut settings = super::baseline::geometry(&resolved.baseline.settings);
    // A quarter of the class's memory is enough to sort an index and never too much.
    let pool = (resolved.class.ram.0 / 4).clamp(128 << 20, 2 << 30);
    settings.insert("innodb_buffer_pool_size".to_owned(), pool.to_string());
    settings.insert("innodb_flush_log_at_trx_commit".to_owned(), "0".to_owned());
    if resolved.facts.variables.contains_key("innodb_log_file_size") {
        settings.insert("innodb_log_file_size".to_owned(), FILLING_REDO.0.to_string());
    }
    settings
}
