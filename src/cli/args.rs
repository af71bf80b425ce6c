//! The command line, as the user types it.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// Exit codes, printed by `--help`.
const EXIT_CODES: &str = "\
Exit codes:
  0    done, and the confirmed interval of the gain lies above the threshold
  4    done, and it does not
  1    a check failed, or an internal error
  2    usage or bad input
  3    the host cannot run trials (server, workload, permissions)
  5    every trial failed
  130  interrupted; run the same command again to go on";

/// Searches, unattended and with proof, for the best my.cnf of a MariaDB or MySQL server on a machine class.
#[derive(Debug, Parser)]
#[command(name = "noctune", version, after_help = EXIT_CODES, propagate_version = true)]
pub struct Cli {
    /// Flags shared by all commands.
    #[command(flatten)]
    pub global: Global,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// Flags shared by all commands. Flags win over the environment (NOCTUNE_*), that over the defaults.
#[derive(Debug, Clone, Args)]
pub struct Global {
    /// Folder where studies land.
    #[arg(
        long,
        global = true,
        env = "NOCTUNE_RESULTS",
        value_name = "DIR",
        default_value = "results"
    )]
    pub results: PathBuf,
    /// Where results are stored; the default is an SQLite file in the study folder.
    #[arg(
        long,
        global = true,
        env = "NOCTUNE_STORE",
        value_name = "URL",
        default_value = "sqlite:"
    )]
    pub store: String,
    /// JSON lines instead of bars and text.
    #[arg(long, global = true)]
    pub json: bool,
    /// Say nothing but the result and errors.
    #[arg(long, short, global = true)]
    pub quiet: bool,
    /// Also tell each phase of a trial as it ends, with what was done in it.
    #[arg(long, short, global = true, conflicts_with = "quiet")]
    pub verbose: bool,
    /// When to use colour; NO_COLOR is honoured.
    #[arg(
        long,
        global = true,
        env = "NOCTUNE_COLOR",
        value_name = "WHEN",
        default_value = "auto"
    )]
    pub color: Color,
}

/// When to use colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// What this host can do for trials, each shortcoming with its fix.
    Doctor {
        /// Server program: a path, or a name on PATH.
        #[arg(long, value_name = "BIN")]
        server: Option<String>,
    },
    /// Write a commented study.toml for this host and server.
    Init {
        /// Folder to write into.
        #[arg(default_value = ".")]
        dir: PathBuf,
        /// Server program: a path, or a name on PATH.
        #[arg(long, value_name = "BIN")]
        server: Option<String>,
        /// Replace a study.toml that is there.
        #[arg(long)]
        force: bool,
    },
    /// Resolve a study (or read a my.cnf) as this server does, and run nothing.
    Check {
        /// A study file, or a my.cnf; none: the study `tune` would run.
        file: Option<PathBuf>,
        /// Server program: a path, or a name on PATH.
        #[arg(long, value_name = "BIN")]
        server: Option<String>,
    },
    /// Run or resume a study.
    Tune {
        /// The study file; none: a sensible study of this host.
        study: Option<PathBuf>,
        /// Run although another database server or load is busy on this host.
        #[arg(long)]
        shared_host: bool,
    },
    /// Run one trial, verbosely.
    Trial {
        /// The study file; none: a sensible study of this host.
        study: Option<PathBuf>,
        /// A knob and its value; knobs not named keep the baseline's value.
        #[arg(long = "set", value_name = "KNOB=VALUE")]
        set: Vec<String>,
        /// Run although another database server or load is busy on this host.
        #[arg(long)]
        shared_host: bool,
    },
    /// Where a study stands, also while it runs.
    Status {
        /// Name or folder of the study; none: the newest.
        study: Option<String>,
    },
    /// What a study found, and how sure it is.
    Report {
        /// Name or folder of the study; none: the newest.
        study: Option<String>,
    },
    /// Why a candidate was tried and what it did.
    Explain {
        /// Number of the trial; none: the recommended one.
        trial: Option<u64>,
        /// Name or folder of the study; none: the newest.
        #[arg(long)]
        study: Option<String>,
    },
    /// The search engine alone, for other programs: JSON lines on standard input and output.
    Engine(EngineArgs),
    /// Print a completion script for a shell.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Print the manual page (troff).
    Man,
    /// Ends what a dead noctune left running; started by noctune itself.
    #[command(hide = true)]
    Supervise,
}

/// What `noctune engine` searches, and how.
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("goal").required(true))]
pub struct EngineArgs {
    /// The space file: what may be tuned.
    #[arg(long, value_name = "FILE")]
    pub space: PathBuf,
    /// A preset by its name, or a preset file (*.toml).
    #[arg(long, value_name = "PRESET", default_value = "bayes")]
    pub strategy: String,
    /// Decides every random choice: same seed and same tells, same proposals.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// More of the value told is better.
    #[arg(long, group = "goal")]
    pub maximize: bool,
    /// Less of the value told is better.
    #[arg(long, group = "goal")]
    pub minimize: bool,
    /// The metric among the values told that counts, and its direction.
    #[arg(long, value_name = "NAME:max|min", group = "goal")]
    pub objective: Option<String>,
    /// A condition on the metrics told, such as "p95_ms <= 50"; repeatable.
    #[arg(long, value_name = "CONDITION")]
    pub constraint: Vec<String>,
}
