//! The `noctune` program: parse, run a command, map an error to an exit code.

use std::process::ExitCode;

use clap::Parser as _;
use noctune::cli::{self, Cli};

fn main() -> ExitCode {
    let cli = Cli::parse();
    // One thread runs everything: children carry a death signal that fires when the thread that made them ends,
    // and this one lives as long as the process.
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            return fail(&noctune::error::Error::internal(format!(
                "cannot start the runtime: {error}"
            )));
        }
    };
    let ended = runtime.block_on(cli::run(cli));
    // A copy that still runs on a thread of its own must not keep an interrupted user waiting; it is made anew next time.
    runtime.shutdown_background();
    match ended {
        Ok(code) => ExitCode::from(code),
        Err(error) => fail(&error),
    }
}

fn fail(error: &noctune::error::Error) -> ExitCode {
    cli::last_words(&format!("error: {error}"));
    ExitCode::from(error.exit_code())
}
