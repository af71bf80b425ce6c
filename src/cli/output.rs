//! Results go to standard output; a reader that went away (`| head`) is no error.

use std::io::{ErrorKind, Write as _};

use tokio_util::sync::CancellationToken;

use crate::error::{Error, Result};

/// Writes `text` to standard output, with a line end if it has none.
///
/// # Errors
/// Anything but a closed pipe.
pub(super) fn print(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    let end: &[u8] = if text.ends_with('\n') { b"" } else { b"\n" };
    let written = out
        .write_all(text.as_bytes())
        .and_then(|()| out.write_all(end))
        .and_then(|()| out.flush());
    match written {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Error::host(format!("cannot write to standard output: {error}")))
        }
        _ => Ok(()),
    }
}

/// As [`print`], off the runtime's thread: a reader that does not read is waited for, but not longer than the user wants.
///
/// # Errors
/// As [`print`]; [`Error::Interrupted`].
pub(super) async fn print_until_stopped(text: String, stop: &CancellationToken) -> Result<()> {
    let printing = tokio::task::spawn_blocking(move || print(&text));
    tokio::select! {
        printed = printing => {
            printed.map_err(|error| Error::internal(format!("printing ended abnormally: {error}")))?
        }
        () = stop.cancelled() => Err(Error::Interrupted),
    }
}

/// Writes `value` to standard output as one line of JSON.
///
/// # Errors
/// As [`print`].
pub(super) fn print_json(value: &impl serde::Serialize) -> Result<()> {
    print(&as_line(value)?)
}

/// `value` as one line of JSON.
///
/// # Errors
/// An internal one: the value has no JSON.
pub(super) fn as_line(value: &impl serde::Serialize) -> Result<String> {
    serde_json::to_string(value)
        .map_err(|error| Error::internal(format!("the result cannot be written as JSON: {error}")))
}
