//! Which user a private server runs as, given where its folders lie.

use std::path::Path;

use crate::host::RunAs;
use crate::trial::Warning;

/// The user of a private server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServerUser {
    /// The user to become before the server starts; none keeps Noctune's own.
    pub run_as: Option<RunAs>,
    /// The `user=` line that a server started as root needs.
    pub line: Option<String>,
    /// What a person should know about the choice.
    pub note: Option<Warning>,
}

impl ServerUser {
    /// As root: `mysql`, else `nobody`, if that user can reach `folder` (which must exist); else root itself, with a note.
    /// Otherwise Noctune's own user.
    pub fn choose(folder: &Path) -> Self {
        if !rustix::process::geteuid().is_root() {
            return Self::default();
        }
        let as_root = |text: String, next: Option<String>| Self {
            run_as: None,
            line: Some("root".to_owned()),
            note: Some(Warning { text, next }),
        };
        let Some(user) = RunAs::choose() else {
            return as_root(
                "private servers run as root: there is neither a user mysql nor nobody".into(),
                None,
            );
        };
        match user.barrier(folder) {
            Ok(None) => Self {
                run_as: Some(user),
                line: None,
                note: None,
            },
            Ok(Some(barrier)) => as_root(
                format!(
                    "private servers run as root: {} may not go into {}",
                    user.name,
                    barrier.display()
                ),
                Some("use a results folder outside of root's home, e.g. --results /var/tmp/noctune".into()),
            ),
            Err(error) => as_root(
                format!(
                    "private servers run as root: {} cannot be looked at: {error}",
                    folder.display()
                ),
                None,
            ),
        }
    }
}
