//! What every command that starts servers needs: the folder, somebody who cleans up, events, and the user's stop.

use std::ffi::OsString;
use std::io::IsTerminal as _;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::{Color, Global};
use crate::error::{Error, IoContext as _, Result};
use crate::host::{Guardian, end_leftovers};
use crate::night::{Event, Events, Listener};
use crate::setup::{FolderLock, StudyFolder};
use crate::ui::{Behind, ColorChoice, Lines, Plain, Ui};

/// A command at work in a study folder.
pub(super) struct Session {
    pub(super) folder: StudyFolder,
    pub(super) guardian: Guardian,
    pub(super) events: Events,
    pub(super) stop: CancellationToken,
    _lock: FolderLock,
}

impl Session {
    /// Takes the study folder, ends what a dead run left in it, and listens to the user's stop.
    pub(super) fn begin(global: &Global, study: &str) -> Result<Self> {
        let folder = StudyFolder::new(&global.results, study)?;
        folder.create()?;
        let lock = folder.lock()?;
        let left = end_leftovers(&folder.running())?;
        let guardian = Guardian::start(&supervisor()?, &folder.running())?;
        let log = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(folder.log())
            .context("cannot write the study's log", &folder.log())?;
        let view = Behind::new(listener(global))
            .map_err(|error| Error::host(format!("cannot start a thread for the progress: {error}")))?;
        let events = Events::new(vec![Arc::new(view), Arc::new(Plain::log(Lines::new(log)))]);
        if left > 0 {
            events.send(&Event::Warning {
                text: format!("ended {left} process group(s) that an earlier run had left"),
                next: None,
            });
        }
        Ok(Self {
            folder,
            guardian,
            events,
            stop: stop_on_signals()?,
            _lock: lock,
        })
    }

    /// Ends the session, with everything shown that can be shown; the user's stop stays.
    pub(super) fn end(self) -> CancellationToken {
        self.stop
    }

    /// Does `work` unless the user stops it; what it started is then ended with it.
    ///
    /// # Errors
    /// Those of `work`; [`Error::Interrupted`].
    pub(super) async fn unless_stopped<T>(&self, work: impl Future<Output = Result<T>>) -> Result<T> {
        tokio::select! {
            done = work => done,
            () = self.stop.cancelled() => Err(Error::Interrupted),
        }
    }
}

/// The command that supervises: this program itself.
pub(super) fn supervisor() -> Result<[OsString; 2]> {
    let program = std::env::current_exe()
        .map_err(|error| Error::host(format!("this program cannot find its own file: {error}")))?;
    Ok([program.into_os_string(), OsString::from("supervise")])
}

/// The view the user asked for.
pub(super) fn listener(global: &Global) -> Arc<dyn Listener> {
    let is_terminal = std::io::stderr().is_terminal();
    let choice = match global.color {
        Color::Auto => ColorChoice::Auto,
        Color::Always => ColorChoice::Always,
        Color::Never => ColorChoice::Never,
    };
    let no_color = std::env::var("NO_COLOR").ok();
    let color = choice.decide(no_color.as_deref(), is_terminal);
    let term = std::env::var("TERM").ok();
    Ui::choose(global.json, global.quiet, is_terminal, term.as_deref()).listener(color, global.verbose)
}

/// A token raised by SIGINT, SIGTERM or SIGHUP. A second one ends the process at once; the supervisor then cleans up.
fn stop_on_signals() -> Result<CancellationToken> {
    use tokio::signal::unix::{SignalKind, signal};
    let listen =
        |kind| signal(kind).map_err(|error| Error::host(format!("cannot listen to signals: {error}")));
    let mut interrupt = listen(SignalKind::interrupt())?;
    let mut terminate = listen(SignalKind::terminate())?;
    let mut hang_up = listen(SignalKind::hangup())?;
    let stop = CancellationToken::new();
    let raised = stop.clone();
    tokio::spawn(async move {
        loop {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
                _ = hang_up.recv() => {}
            }
            if raised.is_cancelled() {
                std::process::exit(i32::from(Error::Interrupted.exit_code()));
            }
            raised.cancel();
        }
    });
    Ok(stop)
}
