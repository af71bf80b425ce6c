//! Whether the disk holds a trial, before anything of it starts: a full disk would harm more than the trial.

use std::path::Path;

use super::TrialRunner;
use super::journal::Failure;
use crate::host::Storage;
use crate::server::data_size;
use crate::space::{Value, redo_size};
use crate::trial::{Cause, CauseKind, Outcome};
use crate::units::Bytes;

/// What a server writes beside data and redo log while it is measured, at least: temporary tables, undo, logs.
pub const BESIDES: Bytes = Bytes::mib(64);

impl TrialRunner {
    /// Refuses a trial whose data and redo log do not fit on the disk: a redo log of the candidate's own is its own fault,
    /// the baseline's is the host's.
    pub(super) fn room(&self, variables: &[(String, Value)]) -> Result<(), Failure> {
        let look = |folder: &Path| {
            data_size(folder).map_err(|error| Failure::host(format!("cannot look at the data: {error}")))
        };
        let folder = self.data.parent().unwrap_or(&self.data);
        let storage = Storage::of(folder).map_err(|error| {
            Failure::host(format!(
                "cannot look at the disk of {}: {error}",
                folder.display()
            ))
        })?;
        let baseline = &self.space.ground().variables;
        let redo = redo_size(|name| {
            let written = variables.iter().find(|(written, _)| written == name);
            written
                .map(|(_, value)| value)
                .or_else(|| baseline.get(name))
                .cloned()
        });
        // What the last trial left is replaced.
        let free = storage.free.0.saturating_add(look(&self.data)?.0);
        let data = look(&self.template)?;
        let needed = data.0.saturating_add(redo.0).saturating_add(BESIDES.0);
        if needed <= free {
            return Ok(());
        }
        let text = format!(
            "disk: {} of data, {} of redo log and {} besides need {}, {} are free on {} ({})",
            data.human(),
            redo.human(),
            BESIDES.human(),
            Bytes(needed).human(),
            Bytes(free).human(),
            storage.mount_point,
            storage.file_system
        );
        let own = redo > redo_size(|name| baseline.get(name).cloned());
        Err(Failure::Outcome(if own {
            Outcome::Rejected { constraint: text }
        } else {
            Outcome::HostFault {
                cause: Cause::new(CauseKind::DiskFull, text),
            }
        }))
    }
}
