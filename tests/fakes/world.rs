//! The world file: how the fakes beside it answer. Everything has a default, so an empty file is a healthy world.
//!
//! ```toml
//! holds = ["start"]                   # start | prepare | finish: wait there until the file `held` is taken away
//! [server]
//! version = "10.11.19-MariaDB-0+deb12u1"
//! start_seconds = 0.0
//! scan_hangs = false                  # whether reading a whole index lasts until it is killed
//! debt = 0                            # bytes of redo and dirty pages that a transaction leaves for later
//! [[server.fault]]                    # the first whose condition holds happens; names: variables, `start` (1, 2, ...)
//! when = "innodb_buffer_pool_size > 1G"
//! happens = "refuse"                  # refuse | hang-at-start | crash | kill | freeze | deaf | not-applied
//! reads = "pool_size = 1G"             # only with a my.cnf that holds this
//! after = 1.5                         # seconds under load, for crash, kill and freeze
//! on = "SHOW GLOBAL VARIABLES"         # instead: at the first statement that holds this
//! [load]
//! tps = "100 * log2(innodb_buffer_pool_size / 1M)"   # names: variables, `run` (1, 2, ...), `second` of this run
//! noise = 0.02                        # between runs, as a coefficient of variation
//! [[load.fault]]
//! when = "max_connections < 20"
//! happens = "fatal"                   # fatal | hang | silent | wrong-totals | decimal-commas | says
//! ```

use std::io::Write;
use std::path::PathBuf;

use serde::Deserialize;

use crate::Fallible;

/// Which fake this is, and the world it is in.
pub(crate) struct World {
    /// File name of the program.
    pub(crate) program: String,
    /// The world file.
    pub(crate) file: WorldFile,
    folder: PathBuf,
}

/// The world file.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct WorldFile {
    /// Moments at which a fake waits for the test.
    pub(crate) holds: Vec<Moment>,
    /// The server.
    pub(crate) server: ServerWorld,
    /// The load generator.
    pub(crate) load: LoadWorld,
}

/// A moment at which a fake waits, where the world holds it: whoever looks cannot miss it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Moment {
    /// A server starts, and answers nobody yet.
    Start,
    /// The load is about to fill its tables.
    Prepare,
    /// The user's command at the end of a study (a fake named `finish`) has begun.
    Finish,
}

/// How the fake server behaves.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ServerWorld {
    /// Its version.
    pub(crate) version: String,
    /// How long it takes from the start to the first answer.
    pub(crate) start_seconds: f64,
    /// Bytes of redo and dirty pages that a transaction leaves for later.
    pub(crate) debt: u64,
    /// Whether reading a whole index lasts until it is killed.
    pub(crate) scan_hangs: bool,
    /// What goes wrong.
    pub(crate) fault: Vec<ServerFault>,
}

impl Default for ServerWorld {
    fn default() -> Self {
        Self {
            version: "10.11.19-MariaDB-0+deb12u1".to_owned(),
            start_seconds: 0.0,
            debt: 0,
            scan_hangs: false,
            fault: Vec::new(),
        }
    }
}

/// Something that goes wrong with the server.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ServerFault {
    /// When.
    #[serde(default = "always")]
    pub(crate) when: String,
    /// What.
    pub(crate) happens: ServerMishap,
    /// A part of the my.cnf without which it does not happen.
    #[serde(default)]
    pub(crate) reads: Option<String>,
    /// Seconds under load before it happens.
    #[serde(default)]
    pub(crate) after: f64,
    /// A part of the statement at which it happens, whatever the load.
    #[serde(default)]
    pub(crate) on: Option<String>,
    /// Lines of the error log: errors, or the warnings with which a variable is not applied.
    #[serde(default)]
    pub(crate) log: Vec<String>,
    /// Exit code of a refusal.
    #[serde(default = "one")]
    pub(crate) exit: u8,
    /// The variable that is not applied.
    #[serde(default)]
    pub(crate) variable: String,
    /// The value it has instead.
    #[serde(default)]
    pub(crate) value: String,
}

/// Kinds of server faults.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ServerMishap {
    /// It does not start: the log lines, and the exit code.
    Refuse,
    /// It never answers.
    HangAtStart,
    /// It aborts under load (signal 6).
    Crash,
    /// It is killed under load, without a word (signal 9).
    Kill,
    /// It stops answering under load (SIGSTOP).
    Freeze,
    /// It takes neither SHUTDOWN nor SIGTERM.
    Deaf,
    /// A variable silently keeps another value.
    NotApplied,
}

/// How the fake load generator behaves.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct LoadWorld {
    /// Transactions a second.
    pub(crate) tps: String,
    /// Latency of a transaction, milliseconds.
    pub(crate) latency_ms: String,
    /// Coefficient of variation between runs.
    pub(crate) noise: f64,
    /// Seed of the noise.
    pub(crate) seed: u64,
    /// What goes wrong.
    pub(crate) fault: Vec<LoadFault>,
}

impl Default for LoadWorld {
    fn default() -> Self {
        Self {
            tps: "400".to_owned(),
            latency_ms: "8".to_owned(),
            noise: 0.0,
            seed: 1,
            fault: Vec::new(),
        }
    }
}

/// Something that goes wrong with the load.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LoadFault {
    /// When.
    #[serde(default = "always")]
    pub(crate) when: String,
    /// What.
    pub(crate) happens: LoadMishap,
    /// Seconds of load before it happens.
    #[serde(default)]
    pub(crate) after: f64,
    /// What is printed.
    #[serde(default)]
    pub(crate) lines: Vec<String>,
    /// The exit code.
    #[serde(default = "one")]
    pub(crate) exit: u8,
}

/// Kinds of load faults.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum LoadMishap {
    /// The lines are printed and it exits.
    Fatal,
    /// It neither works nor ends.
    Hang,
    /// It ends well without a transaction.
    Silent,
    /// Its summary says another number of transactions than were run.
    WrongTotals,
    /// Its numbers have decimal commas.
    DecimalCommas,
    /// It prints the lines and goes on.
    Says,
}

fn always() -> String {
    "1".to_owned()
}

fn one() -> u8 {
    1
}

impl World {
    /// The world beside the running program.
    ///
    /// # Errors
    ///
    /// When the world file does not read.
    pub(crate) fn load() -> Fallible<Self> {
        let path = std::env::current_exe()?;
        let program = path
            .file_name()
            .ok_or("no file name")?
            .to_string_lossy()
            .into_owned();
        let folder = path.parent().ok_or("no folder")?.to_owned();
        let file = match std::fs::read_to_string(folder.join("world.toml")) {
            Ok(text) => toml::from_str(&text)?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => WorldFile::default(),
            Err(error) => return Err(error.into()),
        };
        Ok(Self {
            program,
            file,
            folder,
        })
    }

    /// Waits at a moment that the world holds: writes the command line to the file `held`, and goes on when that is gone.
    ///
    /// # Errors
    ///
    /// When the file cannot be written.
    pub(crate) fn hold(&self, at: Moment) -> Fallible<()> {
        if !self.file.holds.contains(&at) {
            return Ok(());
        }
        let (held, new) = (self.folder.join("held"), self.folder.join("held.new"));
        let arguments: Vec<String> = std::env::args().collect();
        std::fs::write(&new, arguments.join(" "))?;
        std::fs::rename(&new, &held)?;
        while held.exists() {
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        Ok(())
    }

    /// Counts one more of something (`starts`, `runs`) in the world's folder, and says how many there have been.
    ///
    /// # Errors
    ///
    /// When the count cannot be written.
    pub(crate) fn count(&self, what: &str) -> Fallible<f64> {
        let path = self.folder.join(what);
        let mut file = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(&path)?;
        file.write_all(b"|")?;
        // A count fits a double.
        #[expect(clippy::cast_precision_loss, reason = "small")]
        Ok(file.metadata()?.len() as f64)
    }
}
