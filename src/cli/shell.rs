//! `noctune completions` and `noctune man`.

use clap::CommandFactory as _;

use super::{Cli, output};
use crate::error::{Error, Result};

/// Prints a completion script.
pub(super) fn completions(shell: clap_complete::Shell) -> Result<u8> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "noctune", &mut script);
    output::print(&String::from_utf8_lossy(&script))?;
    Ok(0)
}

/// Prints the manual page, all commands in it.
pub(super) fn man() -> Result<u8> {
    let mut page = Vec::new();
    let mut command = Cli::command();
    command.build();
    let render = |command: clap::Command, page: &mut Vec<u8>| {
        clap_mangen::Man::new(command)
            .render(page)
            .map_err(|error| Error::internal(format!("the manual page cannot be rendered: {error}")))
    };
    render(command.clone(), &mut page)?;
    for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
        render(sub.clone(), &mut page)?;
    }
    output::print(&String::from_utf8_lossy(&page))?;
    Ok(0)
}
