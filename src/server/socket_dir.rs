//! A short private folder for sockets.
//!
//! The path of a Unix socket takes at most 107 bytes (unix(7), `sun_path`), whatever the work folder is.

use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::error::{Error, IoContext, Result};
use crate::host::RunAs;

/// Longest path of a socket, bytes.
const LONGEST: usize = 107;

/// What the name of every such folder begins with; the supervisor removes nothing else.
const PREFIX: &str = "noctune-";

/// A private folder for the sockets of one server, removed when dropped.
#[derive(Debug)]
pub struct SocketDir(tempfile::TempDir);

impl SocketDir {
    /// Makes one in the first of `$XDG_RUNTIME_DIR` (own user only), `$TMPDIR`, `/tmp` and `/run` that is short enough and
    /// can be written; mode 0700, owned by the user the server runs as.
    ///
    /// # Errors
    /// A host error when none can be used.
    pub fn new(run_as: Option<&RunAs>) -> Result<Self> {
        let runtime = std::env::var_os("XDG_RUNTIME_DIR").filter(|_| run_as.is_none());
        let candidates = [runtime, std::env::var_os("TMPDIR")]
            .into_iter()
            .flatten()
            .map(PathBuf::from)
            .chain(["/tmp", "/run"].map(PathBuf::from))
            .filter(|folder| folder.is_absolute());
        for folder in candidates {
            if let Some(made) = Self::inside(&folder, run_as)? {
                return Ok(made);
            }
        }
        Err(Error::host("no folder short enough for a socket can be written").next("make /tmp writable"))
    }

    /// Makes one in `folder`; none where that is too long or cannot be used.
    fn inside(folder: &Path, run_as: Option<&RunAs>) -> Result<Option<Self>> {
        let private = std::fs::Permissions::from_mode(0o700);
        let Ok(made) = tempfile::Builder::new()
            .prefix(PREFIX)
            .rand_bytes(8)
            .permissions(private)
            .tempdir_in(folder)
        else {
            return Ok(None);
        };
        let made = Self(made);
        if made.socket().as_os_str().as_bytes().len() > LONGEST {
            return Ok(None);
        }
        if let Some(user) = run_as {
            if !matches!(user.barrier(folder), Ok(None)) {
                return Ok(None);
            }
            user.own(made.path())
                .context("cannot hand the socket folder to its user", made.path())?;
        }
        Ok(Some(made))
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Where the server's socket goes.
    pub fn socket(&self) -> PathBuf {
        self.path().join("s")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn a_socket_path_is_short_and_private() {
        let dir = SocketDir::new(None).unwrap();
        assert!(dir.socket().as_os_str().len() <= LONGEST);
        assert_eq!(dir.path().metadata().unwrap().mode() & 0o777, 0o700);
        let path = dir.path().to_owned();
        drop(dir);
        assert!(!path.exists());
    }

    #[test]
    fn a_folder_that_is_too_long_is_passed_over() {
        let scratch = tempfile::tempdir().unwrap();
        let long = scratch.path().join("x".repeat(100));
        std::fs::create_dir(&long).unwrap();
        assert!(SocketDir::inside(&long, None).unwrap().is_none());
        assert_eq!(
            std::fs::read_dir(&long).unwrap().count(),
            0,
            "nothing is left in it"
        );
    }
}
