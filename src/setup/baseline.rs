//! The configuration to beat: the user's my.cnf as the server reads it, and what then really runs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use crate::error::{Error, Problem, Result};
use crate::host::{Guardian, Storage};
use crate::mycnf::{self, Dialect, Files, Unread};
use crate::server::{
    DATA_FILE_PATH, Death, Dropped, GEOMETRY, Instance, InstanceSpec, Placement, ServerBinary, ServerUser,
    Setting, SocketDir, Source, StartFailure, Template, TemplateSpec, classify_death, data_files_size,
    fresh_server_id, open_files_limit, own_data_files, private_cnf, reset, scratch,
};
use crate::space::isolation::reason_to_refuse;
use crate::space::{Flavor, ServerFacts, Value, redo_size};
use crate::units::Bytes;

/// Limit for each step of asking a server with the baseline's settings.
const DEADLINE: Duration = Duration::from_secs(180);
/// An empty data directory, its template, and what the server writes beside its redo log.
const EMPTY_DATA: Bytes = Bytes::mib(512);

/// The configuration to beat.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Baseline {
    /// What the user's my.cnf sets, in the order the server meets it; empty: the server's defaults.
    pub settings: Vec<Setting>,
    /// Every variable as it really runs with these settings, by lower-case name.
    pub effective: BTreeMap<String, String>,
    /// What of the file does not reach a private server, and why.
    pub dropped: Vec<Dropped>,
    /// What is surprising in the file, for people.
    pub findings: Vec<String>,
}

/// Files of this host, read as a server decides what to read.
pub struct DiskFiles;

impl Files for DiskFiles {
    fn read(&self, path: &Path) -> std::result::Result<Vec<u8>, Unread> {
        use std::os::unix::fs::PermissionsExt as _;
        let meta = std::fs::metadata(path).map_err(|error| unread(&error))?;
        // MariaDB and MySQL ignore a world-writable file that is a regular one (my_default.c's documented behaviour).
        if meta.is_file() && meta.permissions().mode() & 0o002 != 0 {
            return Err(Unread::WorldWritable);
        }
        std::fs::read(path).map_err(|error| unread(&error))
    }

    fn list(&self, folder: &Path) -> std::result::Result<Vec<String>, Unread> {
        let entries = std::fs::read_dir(folder).map_err(|error| unread(&error))?;
        let names = entries.map(|entry| entry.map(|entry| entry.file_name().to_string_lossy().into_owned()));
        names
            .collect::<std::io::Result<_>>()
            .map_err(|error| unread(&error))
    }
}

fn unread(error: &std::io::Error) -> Unread {
    match error.kind() {
        std::io::ErrorKind::NotFound => Unread::Missing,
        _ => Unread::Failed(error.to_string()),
    }
}

/// How files are read for this server.
pub fn dialect(facts: &ServerFacts) -> Dialect {
    let (major, minor, _) = facts.version;
    match facts.flavor {
        Flavor::MariaDb => Dialect::MariaDb { major, minor },
        Flavor::MySql => Dialect::MySql { major, minor },
    }
}

/// The settings of the user's my.cnf with what is surprising in it.
///
/// # Errors
/// [`Error::Input`] when the file is missing, ignored by servers, or stops a server.
pub fn read_settings(file: &Path, facts: &ServerFacts) -> Result<(Vec<Setting>, Vec<String>)> {
    let place = file.display().to_string();
    match DiskFiles.read(file) {
        Ok(_) => {}
        Err(Unread::Missing) => {
            return Err(Error::input("the baseline's my.cnf is not there")
                .at(place)
                .next("correct [server] baseline in the study file, or leave it out to compare with the server's defaults"));
        }
        Err(Unread::WorldWritable) => {
            return Err(Error::input(
                "servers ignore this my.cnf, since everybody may write it: it would not be the baseline",
            )
            .at(place.clone())
            .next(format!("chmod o-w {place}")));
        }
        Err(Unread::Failed(why)) => {
            return Err(Error::input(format!("the baseline's my.cnf cannot be read: {why}")).at(place));
        }
    }
    let parsed = mycnf::parse(&DiskFiles, file, dialect(facts));
    if parsed.stops_a_server() {
        let stops: Vec<String> = parsed
            .findings
            .iter()
            .filter(|finding| finding.severity == mycnf::Severity::Stops)
            .map(|finding| finding.problem().to_string())
            .collect();
        return Err(Error::Input(
            Problem::new(format!(
                "a server does not start with the baseline's my.cnf: {}",
                stops.join("; ")
            ))
            .at(place),
        ));
    }
    let known = |name: &str| facts.variables.contains_key(name);
    let settings: Vec<Setting> = parsed
        .settings
        .iter()
        .filter(|setting| setting.read)
        .map(|setting| {
            let meaning = setting.meaning(known);
            Setting {
                name: if meaning.known {
                    meaning.variable
                } else {
                    setting.name.clone()
                },
                value: meaning.value,
                place: format!("{}:{}", setting.file.display(), setting.line),
            }
        })
        .collect();
    check_geometry(&settings)?;
    Ok((
        settings,
        parsed
            .findings
            .iter()
            .map(|finding| finding.problem().to_string())
            .collect(),
    ))
}

impl Baseline {
    /// The server's defaults.
    pub fn defaults(facts: &ServerFacts) -> Self {
        let effective = facts
            .variables
            .iter()
            .map(|(name, facts)| (name.clone(), facts.value.clone()))
            .collect();
        Self {
            effective,
            ..Self::default()
        }
    }

    /// The baseline of `file` (the server's defaults where none): read, then started privately on an empty data directory to
    /// see what really runs. `tuned` are the variables that knobs of the study write: of the file reaches that server what
    /// reaches trials. That lies in `place`, a folder on the study's disk.
    ///
    /// # Errors
    /// As [`read_settings`]; [`Error::Input`] when the server refuses the settings, with its first error line.
    pub async fn read(
        file: Option<&Path>,
        args: &[String],
        tuned: &BTreeSet<String>,
        binary: &ServerBinary,
        facts: &ServerFacts,
        place: &Path,
        guardian: &Guardian,
    ) -> Result<Self> {
        let (settings, findings) = match file {
            Some(file) => read_settings(file, facts)?,
            None if args.is_empty() => return Ok(Self::defaults(facts)),
            None => (Vec::new(), Vec::new()),
        };
        let told = file.map_or_else(
            || "[server] args of the study".to_owned(),
            |file| file.display().to_string(),
        );
        let (effective, dropped) = run_settings(
            &settings,
            args,
            |name| tuned.contains(name),
            binary,
            place,
            guardian,
        )
        .await
        .map_err(|error| error.at(told))?;
        Ok(Self {
            settings,
            effective,
            dropped,
            findings,
        })
    }
}

/// Starts a private server with the settings and reads every variable; what of the settings did not reach it. `tuned`
/// tells which variables pass besides those that shape the load, as knobs' variables pass to trials. Its data lie
/// in `place`, a folder on the disk that matters, or where that cannot be written in the system's temporary folder.
///
/// # Errors
/// [`Error::Input`] when the server refuses the settings, with its first error line; host errors.
pub async fn run_settings(
    settings: &[Setting],
    args: &[String],
    tuned: impl Fn(&str) -> bool,
    binary: &ServerBinary,
    place: &Path,
    guardian: &Guardian,
) -> Result<(BTreeMap<String, String>, Vec<Dropped>)> {
    let scratch = scratch(place, "noctune-baseline-")?;
    enough_space(settings, scratch.path())?;
    guardian.will_remove(scratch.path())?;
    let user = ServerUser::choose(scratch.path());
    let geometry = geometry(settings);
    let template = Template::open_or_make(
        &TemplateSpec {
            server: binary,
            folder: &scratch.path().join("template"),
            key: "baseline",
            source: Source::Empty,
            settings: &geometry,
            user: &user,
            deadline: DEADLINE,
        },
        Some(guardian),
        async |_: &Path| Ok(()),
    )
    .await?;
    let data = scratch.path().join("data");
    reset(&template.data, &data, None, user.run_as.as_ref())?;
    let tmp = scratch.path().join("tmp");
    std::fs::create_dir(&tmp)
        .and_then(|()| user.run_as.as_ref().map_or(Ok(()), |user| user.own(&tmp)))
        .map_err(|error| Error::host(format!("cannot make a scratch folder: {error}")))?;
    let socket = SocketDir::new(user.run_as.as_ref())?;
    let placement = Placement {
        data,
        tmp,
        socket: socket.socket(),
        port: None,
        user: user.line.clone(),
        server_id: fresh_server_id(),
    };
    let cnf = private_cnf(binary.flavor, &placement, settings, &BTreeMap::new(), tuned)?;
    let spec = InstanceSpec {
        binary: binary.path.clone(),
        cnf: cnf.text,
        folder: scratch.path().to_owned(),
        socket,
        run_as: user.run_as.clone(),
        args: args.to_vec(),
        cgroups: Vec::new(),
    };
    let mut instance = Instance::start(spec, Some(guardian), DEADLINE)
        .await
        .map_err(refused)?;
    let read = async {
        let mut client = instance.client(DEADLINE).await?;
        let variables = client.global_variables().await?;
        client.close().await;
        Ok::<_, crate::server::ClientError>(variables)
    }
    .await;
    instance.kill().await?;
    let effective =
        read.map_err(|error| Error::host(format!("the server does not tell its variables: {error}")))?;
    Ok((effective, cnf.dropped))
}

/// A redo log that fills the disk would harm more than this study.
fn enough_space(settings: &[Setting], folder: &Path) -> Result<()> {
    let redo = redo_size(|name| {
        let setting = settings.iter().rev().find(|setting| setting.name == name)?;
        let bytes: Bytes = setting.value.as_deref()?.parse().ok()?;
        i64::try_from(bytes.0).ok().map(Value::Int)
    });
    let storage = Storage::of(folder).map_err(|error| {
        Error::host(format!(
            "cannot look at the disk of {}: {error}",
            folder.display()
        ))
    })?;
    let files = settings
        .iter()
        .rfind(|setting| setting.name == DATA_FILE_PATH)
        .and_then(|setting| setting.value.as_deref())
        .map_or(Bytes(0), data_files_size);
    // The template and a copy of it.
    let data = EMPTY_DATA.0.saturating_add(files.0.saturating_mul(2));
    if redo.0.saturating_add(data) <= storage.free.0 {
        return Ok(());
    }
    let kind = if files > redo { "data files" } else { "redo log" };
    Err(Error::host(format!(
        "the baseline's {kind} of {} do not fit: {} are free on {} ({})",
        redo.max(files).human(),
        storage.free.human(),
        storage.mount_point,
        storage.file_system
    ))
    .next("free space there, choose another disk with --results, or make innodb_log_file_size or innodb_data_file_path smaller"))
}

/// Refuses a geometry that no private server can have, with its line.
fn check_geometry(settings: &[Setting]) -> Result<()> {
    for setting in settings {
        let value = setting.value.as_deref().unwrap_or_default();
        let why = match setting.name.as_str() {
            DATA_FILE_PATH => own_data_files(value).err(),
            name if GEOMETRY.contains(&name) => reason_to_refuse(name, value).map(str::to_owned),
            _ => None,
        };
        if let Some(why) = why {
            return Err(
                Error::input(format!("{} = {value} cannot be tried: {why}", setting.name))
                    .at(setting.place.clone())
                    .next("give a copy of the my.cnf as [server] baseline in which this line is changed or left out"),
            );
        }
    }
    Ok(())
}

/// Settings of the baseline that are fixed when a data directory is made.
pub(super) fn geometry(settings: &[Setting]) -> BTreeMap<String, String> {
    settings
        .iter()
        .filter(|setting| GEOMETRY.contains(&setting.name.as_str()))
        .filter_map(|setting| {
            let value = setting.value.as_deref()?;
            let own = if setting.name == DATA_FILE_PATH {
                own_data_files(value).ok()?
            } else {
                value.to_owned()
            };
            Some((setting.name.clone(), own))
        })
        .collect()
}

fn refused(failure: StartFailure) -> Error {
    match failure {
        StartFailure::Ended { pid, exit, log } => {
            let death = Death {
                code: exit.code,
                signal: exit.signal,
                cgroup_kills: None,
                kernel_told: crate::host::killed_for_memory(pid),
                open_files: Some(open_files_limit()),
            };
            let why = classify_death(&log, &death)
                .reason()
                .unwrap_or_else(|| exit.to_string());
            Error::input(format!("the server does not start with the baseline: {why}"))
                .next("correct the baseline, or leave it out to compare with the server's defaults")
        }
        StartFailure::Host(error) => error,
        other => Error::host(format!("the server does not start with the baseline: {other}")),
    }
}
