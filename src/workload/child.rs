//! A child in its own process group, which is killed as a whole.

use std::fs::File;
use std::io;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::{Child, Command};
use tokio::time::Instant;

/// Sends everything a command prints to a new file.
pub(super) fn output_to(command: &mut Command, path: &Path) -> io::Result<()> {
    let file = File::create(path)?;
    // Both share one position in it.
    command.stdout(file.try_clone()?).stderr(file);
    Ok(())
}

/// A child that leads its own process group. Dropping it kills the group.
#[derive(Debug)]
pub(super) struct GroupChild {
    child: Child,
    /// The group; none once its leader was waited for, when the number may belong to somebody else.
    group: Option<Pid>,
}

impl GroupChild {
    /// Starts a command in a new process group, in the C locale, without standard input.
    pub(super) fn spawn(command: &mut Command) -> io::Result<Self> {
        let child = command
            .env("LC_ALL", "C")
            .stdin(Stdio::null())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()?;
        let group = child
            .id()
            .and_then(|id| i32::try_from(id).ok())
            .and_then(Pid::from_raw);
        Ok(Self { child, group })
    }

    /// Waits for the leader's end; none when it did not come within `limit`.
    pub(super) async fn wait(&mut self, limit: Duration) -> io::Result<Option<ExitStatus>> {
        let until = Instant::now() + limit;
        match tokio::time::timeout_at(until, self.child.wait()).await {
            Ok(status) => {
                self.group = None;
                status.map(Some)
            }
            Err(_) => Ok(None),
        }
    }

    /// Kills the whole group.
    pub(super) fn kill(&mut self) {
        if let Some(group) = self.group {
            // It may have ended by itself meanwhile; then there is nothing left to kill.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

impl Drop for GroupChild {
    fn drop(&mut self) {
        self.kill();
    }
}
