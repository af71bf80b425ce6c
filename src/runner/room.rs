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
        Err(Failure::Outcome(too_large(
            text,
            redo,
            redo_size(|name| baseline.get(name).cloned()),
        )))
    }
}

/// What a trial without room is: refused for its redo log, where that is larger than the baseline's, else the host's fault.
fn too_large(text: String, redo: Bytes, of_baseline: Bytes) -> Outcome {
    if redo > of_baseline {
        Outcome::Rejected { constraint: text }
    } else {
        Outcome::HostFault {
            cause: Cause::new(CauseKind::DiskFull, text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_candidate_is_blamed_for_a_redo_log_larger_than_the_baselines_and_for_nothing_else() {
        let outcome = |redo| too_large("disk".to_owned(), Bytes::gib(redo), Bytes::gib(2));
        assert!(matches!(outcome(3), Outcome::Rejected { .. }));
        for redo in [1, 2] {
            let Outcome::HostFault { cause } = outcome(redo) else {
                panic!("{:?}", outcome(redo))
            };
            assert_eq!(cause.kind, CauseKind::DiskFull);
        }
    }
}
