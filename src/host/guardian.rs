//! What makes sure that nothing Noctune started outlives it: a supervisor process for the moment of death, and a file
//! for the next start.

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::identity::Identity;
use super::supervisor::{Supervisor, remove_own};
use crate::error::{Error, IoContext, Result};

/// What runs now, as recorded in the study's folder.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Running {
    /// Groups that were started and not yet seen to end.
    groups: Vec<Identity>,
    /// Folders to be removed (sockets, cgroups).
    folders: Vec<PathBuf>,
}

/// Records what is started, for the supervisor and for the next start. Clones share one record.
#[derive(Debug, Clone)]
pub struct Guardian(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    supervisor: Supervisor,
    record: PathBuf,
    running: Running,
}

impl Guardian {
    /// Starts a supervisor and records into `record` (`running.json` of the study's folder). `command` is the program
    /// that calls [`super::supervise`] on its standard input: `noctune supervise`.
    ///
    /// # Errors
    /// A host error when the supervisor cannot be started or the record not be written.
    pub fn start(command: &[OsString], record: &Path) -> Result<Self> {
        let program = PathBuf::from(command.first().cloned().unwrap_or_default());
        let supervisor = Supervisor::start(command).context("cannot start the supervisor", &program)?;
        let state = State {
            supervisor,
            record: record.to_owned(),
            running: Running::default(),
        };
        state.write()?;
        Ok(Self(Arc::new(Mutex::new(state))))
    }

    /// From now on this group is ended when Noctune is gone.
    ///
    /// # Errors
    /// A host error when the supervisor is gone or the record cannot be written.
    pub fn watch(&self, identity: &Identity) -> Result<()> {
        self.change(|state| {
            state.running.groups.push(identity.clone());
            state.supervisor.watch(identity)
        })
    }

    /// This group is gone.
    ///
    /// # Errors
    /// As [`Guardian::watch`].
    pub fn forget(&self, identity: &Identity) -> Result<()> {
        self.change(|state| {
            state.running.groups.retain(|other| other != identity);
            // Folders made by now are gone with their owners; those that are not stay recorded.
            state.running.folders.retain(|folder| folder.exists());
            state.supervisor.forget(identity.pid)
        })
    }

    /// From now on this folder, whose name must begin with `noctune-`, is removed when Noctune is gone.
    ///
    /// # Errors
    /// As [`Guardian::watch`].
    pub fn will_remove(&self, folder: &Path) -> Result<()> {
        self.change(|state| {
            state.running.folders.push(folder.to_owned());
            state.supervisor.remove(folder)
        })
    }

    fn change(&self, change: impl FnOnce(&mut State) -> std::io::Result<()>) -> Result<()> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut state).map_err(|error| {
            Error::host(format!("the supervisor does not take orders: {error}"))
                .next("run the same command again")
        })?;
        state.write()
    }
}

impl State {
    fn write(&self) -> Result<()> {
        let failed = "cannot record what runs";
        let folder = self.record.parent().unwrap_or(Path::new("."));
        let mut file = tempfile::NamedTempFile::new_in(folder).context(failed, folder)?;
        serde_json::to_writer(&mut file, &self.running)
            .map_err(|error| Error::internal(error.to_string()))?;
        file.flush().context(failed, &self.record)?;
        file.persist(&self.record)
            .map_err(|error| error.error)
            .context(failed, &self.record)?;
        Ok(())
    }
}

/// Ends what an earlier Noctune left, by recorded identity, and removes its folders; how many groups still ran. To be
/// called before [`Guardian::start`] by who holds the study. A record that cannot be read (power loss) ends nothing:
/// nothing runs after a power loss.
///
/// # Errors
/// A host error when a group does not end within a minute.
pub fn end_leftovers(record: &Path) -> Result<usize> {
    let Ok(text) = std::fs::read_to_string(record) else {
        return Ok(0);
    };
    let running: Running = serde_json::from_str(&text).unwrap_or_default();
    let left: Vec<&Identity> = running
        .groups
        .iter()
        .filter(|identity| !identity.is_gone())
        .collect();
    for identity in &left {
        identity.kill_group();
        if !identity.wait_gone(Duration::from_secs(60)) {
            return Err(
                Error::host(format!("process {} of an earlier run does not end", identity.pid))
                    .at(record.display().to_string())
                    .next("look at the kernel's log: its disk may hang"),
            );
        }
    }
    for folder in &running.folders {
        remove_own(folder);
    }
    std::fs::remove_file(record).context("cannot remove the record of an earlier run", record)?;
    Ok(left.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::Spawn;

    #[test]
    fn what_an_earlier_run_left_is_ended_by_its_identity() {
        let scratch = tempfile::tempdir().unwrap();
        let record = scratch.path().join("running.json");
        let socket = scratch.path().join("noctune-s");
        std::fs::create_dir(&socket).unwrap();
        let child = Spawn::new("/bin/sleep").arg("60").start().unwrap();
        let mut stranger = Spawn::new("/bin/sleep").arg("60").start().unwrap();
        let mut reused = stranger.identity().clone();
        reused.start_ticks -= 1;
        let running = Running {
            groups: vec![child.identity().clone(), reused],
            folders: vec![socket.clone()],
        };
        std::fs::write(&record, serde_json::to_string(&running).unwrap()).unwrap();
        assert_eq!(end_leftovers(&record).unwrap(), 1);
        assert!(child.identity().is_gone());
        assert_eq!(
            stranger.try_exit().unwrap(),
            None,
            "another process with the same id lives on"
        );
        assert!(!socket.exists());
        assert!(!record.exists());
    }

    #[test]
    fn a_record_cut_by_a_power_loss_is_no_obstacle() {
        let scratch = tempfile::tempdir().unwrap();
        let record = scratch.path().join("running.json");
        std::fs::write(&record, "{\"groups\":[{\"pi").unwrap();
        assert_eq!(end_leftovers(&record).unwrap(), 0);
        assert_eq!(end_leftovers(&scratch.path().join("none.json")).unwrap(), 0);
    }

    #[test]
    fn the_record_holds_what_runs_and_nothing_else() {
        let scratch = tempfile::tempdir().unwrap();
        let record = scratch.path().join("running.json");
        let child = Spawn::new("/bin/sleep").arg("60").start().unwrap();
        let guardian = Guardian::start(&["/bin/cat".into()], &record).unwrap();
        let read =
            || -> Running { serde_json::from_str(&std::fs::read_to_string(&record).unwrap()).unwrap() };
        guardian.watch(child.identity()).unwrap();
        assert_eq!(read().groups, vec![child.identity().clone()]);
        guardian.forget(child.identity()).unwrap();
        assert_eq!(read(), Running::default());
    }
}
