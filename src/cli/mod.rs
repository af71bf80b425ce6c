//! The commands: one file each.

mod args;
mod check;
mod check_cnf;
mod conclude;
mod doctor;
mod engine;
mod explain;
mod init;
mod open;
mod output;
mod report;
mod session;
mod shell;
mod status;
mod supervise;
mod trial;
mod tune;
mod wire;

pub use args::{Cli, Color, Command, Global};

pub use crate::ui::last_words;

use crate::error::Result;

/// Runs the command; the exit code of one that ended as it should.
///
/// # Errors
/// Whatever ends a command early; [`crate::error::Error::exit_code`] says how the process ends.
pub async fn run(cli: Cli) -> Result<u8> {
    let global = cli.global;
    match cli.command {
        Command::Tune { study, shared_host } => {
            Box::pin(tune::run(&global, study.as_deref(), shared_host)).await
        }
        Command::Status { study } => status::run(&global, study.as_deref()).await,
        Command::Report { study } => report::run(&global, study.as_deref()).await,
        Command::Explain { trial, study } => explain::run(&global, trial, study.as_deref()).await,
        Command::Completions { shell } => shell::completions(shell),
        Command::Man => shell::man(),
        Command::Doctor { server } => doctor::run(&global, server.as_deref()).await,
        Command::Init { dir, server, force } => init::run(&global, &dir, server.as_deref(), force).await,
        Command::Check { file, server } => check::run(&global, file.as_deref(), server.as_deref()).await,
        Command::Trial {
            study,
            set,
            shared_host,
        } => Box::pin(trial::run(&global, study.as_deref(), &set, shared_host)).await,
        Command::Engine(arguments) => engine::run(&arguments),
        Command::Supervise => supervise::run(),
    }
}
