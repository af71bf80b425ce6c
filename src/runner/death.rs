//! Whether the server is dead, and what that means. Asked before anything else is blamed.

use std::time::Duration;

use super::journal::Failure;
use crate::host::{Cgroup, killed_for_memory};
use crate::server::{Death, Instance, classify_death, open_files_limit};
use crate::trial::{CauseKind, Outcome};

/// Between two looks at a server that may be dying.
const LOOK: Duration = Duration::from_millis(20);

/// The outcome when the server is dead now.
pub(super) fn death(instance: &mut Instance, cgroup: Option<&Cgroup>) -> Result<Option<Outcome>, Failure> {
    let Some(exit) = instance.try_exit()? else {
        return Ok(None);
    };
    let death = Death {
        code: exit.code,
        signal: exit.signal,
        cgroup_kills: cgroup.and_then(Cgroup::memory_kills),
        kernel_told: killed_for_memory(instance.pid()),
        open_files: Some(open_files_limit()),
    };
    Ok(Some(classify_death(&instance.log(), &death)))
}

/// As [`death`], waiting a little: connections break before the process is gone.
pub(super) async fn death_within(
    instance: &mut Instance,
    cgroup: Option<&Cgroup>,
    limit: Duration,
) -> Result<Option<Outcome>, Failure> {
    let end = tokio::time::Instant::now() + limit;
    loop {
        let dead = death(instance, cgroup)?;
        if dead.is_some() || tokio::time::Instant::now() >= end {
            return Ok(dead);
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// Whether a server that died is what an outcome is really about. A candidate that was refused, or a death that is known,
/// has its cause.
pub(super) fn may_be_a_death(outcome: &Outcome) -> bool {
    match outcome {
        Outcome::TimedOut { .. } | Outcome::LoadFailed { .. } => true,
        Outcome::HostFault { cause } => cause.kind == CauseKind::Other,
        Outcome::Measured(_)
        | Outcome::Rejected { .. }
        | Outcome::ServerRefused { .. }
        | Outcome::Crashed { .. }
        | Outcome::OutOfMemory { .. } => false,
    }
}
