//! A small process that outlives Noctune by a moment: when Noctune is gone, however it ended, it ends what Noctune had
//! started.
//!
//! PR_SET_PDEATHSIG alone is no guarantee: it ends the leader of a group, not what the leader started.

use std::ffi::OsString;
use std::io::{self, BufRead, Write};
use std::path::{Path, PathBuf};
use std::process::ChildStdin;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::child::Child;
use super::identity::Identity;
use super::process::Spawn;

/// One line from Noctune to its supervisor.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "order", rename_all = "kebab-case")]
enum Order {
    /// End this group when Noctune is gone.
    Watch { identity: Identity },
    /// It is gone already.
    Forget { pid: i32 },
    /// Remove this folder when Noctune is gone.
    Remove { path: PathBuf },
}

/// The name that every folder the supervisor removes begins with.
const REMOVABLE: &str = "noctune-";

/// Noctune's end of the pipe to its supervisor.
#[derive(Debug)]
pub(super) struct Supervisor {
    pipe: Option<ChildStdin>,
    child: Child,
}

impl Supervisor {
    /// Starts `command` (program and arguments), which must call [`supervise`] on its standard input.
    pub(super) fn start(command: &[OsString]) -> io::Result<Self> {
        let (program, args) = command
            .split_first()
            .ok_or_else(|| io::Error::other("no command for the supervisor"))?;
        let mut child = Spawn::new(program)
            .args(args.to_vec())
            .own_session()
            .piped_stdin()
            .start()?;
        let pipe = child.take_stdin();
        Ok(Self { pipe, child })
    }

    pub(super) fn watch(&mut self, identity: &Identity) -> io::Result<()> {
        self.send(&Order::Watch {
            identity: identity.clone(),
        })
    }

    pub(super) fn forget(&mut self, pid: i32) -> io::Result<()> {
        self.send(&Order::Forget { pid })
    }

    pub(super) fn remove(&mut self, path: &Path) -> io::Result<()> {
        self.send(&Order::Remove {
            path: path.to_owned(),
        })
    }

    fn send(&mut self, order: &Order) -> io::Result<()> {
        let pipe = self
            .pipe
            .as_mut()
            .ok_or_else(|| io::Error::other("the supervisor has no input"))?;
        let mut line = serde_json::to_string(order)?;
        line.push('\n');
        pipe.write_all(line.as_bytes())
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        // The end of its input ends it; what it still watches is ended with it.
        self.pipe = None;
        for _ in 0..400 {
            if !matches!(self.child.try_exit(), Ok(None)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// The supervisor's whole life: reads orders until Noctune is gone, then kills what is still watched and removes what
/// was named. Lines that are no orders are passed over.
pub fn supervise(input: impl BufRead) {
    let mut watched: Vec<Identity> = Vec::new();
    let mut folders: Vec<PathBuf> = Vec::new();
    for line in input.lines() {
        // An unreadable pipe means the same as its end.
        let Ok(line) = line else { break };
        match serde_json::from_str(&line) {
            Ok(Order::Watch { identity }) => watched.push(identity),
            Ok(Order::Forget { pid }) => watched.retain(|identity| identity.pid != pid),
            Ok(Order::Remove { path }) => folders.push(path),
            Err(_) => {}
        }
    }
    for identity in &watched {
        identity.kill_group();
    }
    for identity in &watched {
        // A minute: a server in the middle of large writes needs seconds to end.
        for _ in 0..60 {
            if identity.wait_gone(Duration::from_secs(1)) {
                break;
            }
            identity.kill_group();
        }
    }
    for folder in &folders {
        remove_own(folder);
    }
}

/// Removes a folder of ours: of our naming, and a cgroup by rmdir.
pub(super) fn remove_own(folder: &Path) {
    let ours = folder
        .file_name()
        .and_then(|name| name.to_str())
        .is_some_and(|name| name.starts_with(REMOVABLE));
    if !ours {
        return;
    }
    // Gone already, or in use by what could not be ended: nothing more can be done here.
    if std::fs::remove_dir(folder).is_err() && !folder.starts_with("/sys/fs/cgroup") {
        let _ = std::fs::remove_dir_all(folder);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(orders: &[Order]) -> Vec<u8> {
        let mut text = String::new();
        for order in orders {
            text.push_str(&serde_json::to_string(order).unwrap());
            text.push('\n');
        }
        text.into_bytes()
    }

    fn sleeper() -> Child {
        Spawn::new("/bin/sh")
            .arg("-c")
            .arg("sleep 60 & sleep 60; true")
            .start()
            .unwrap()
    }

    #[test]
    fn at_the_end_of_its_input_it_kills_whole_groups_it_still_watches_and_no_others() {
        let mut watched = sleeper();
        let mut forgotten = sleeper();
        let orders = lines(&[
            Order::Watch {
                identity: watched.identity().clone(),
            },
            Order::Watch {
                identity: forgotten.identity().clone(),
            },
            Order::Forget { pid: forgotten.pid() },
        ]);
        supervise(orders.as_slice());
        assert!(watched.identity().is_gone());
        assert_eq!(watched.try_exit().unwrap().unwrap().signal, Some(9));
        assert_eq!(forgotten.try_exit().unwrap(), None);
    }

    #[test]
    fn it_removes_folders_of_our_naming_only() {
        let scratch = tempfile::tempdir().unwrap();
        let ours = scratch.path().join("noctune-abc");
        let other = scratch.path().join("mysql");
        std::fs::create_dir_all(ours.join("inner")).unwrap();
        std::fs::create_dir(&other).unwrap();
        supervise(
            lines(&[
                Order::Remove { path: ours.clone() },
                Order::Remove { path: other.clone() },
            ])
            .as_slice(),
        );
        assert!(!ours.exists());
        assert!(other.exists());
    }

    #[test]
    fn a_line_that_is_no_order_is_passed_over() {
        supervise(&b"what\n{\"order\":\"unknown\"}\n"[..]);
    }
}
