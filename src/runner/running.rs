//! What runs during a trial and has to be ended whatever happens.

use std::time::Duration;

use super::death::{death, death_within, may_be_a_death};
use super::disk_work::DiskWork;
use super::journal::Failure;
use crate::host::{Cgroup, Guardian};
use crate::server::Instance;
use crate::trial::Outcome;
use crate::workload::RunningLoad;

/// What runs of a trial; dropped, the load ends first.
#[derive(Default)]
pub(super) struct Running {
    pub(super) load: Option<Box<dyn RunningLoad>>,
    pub(super) instance: Option<Instance>,
    pub(super) cgroup: Option<Cgroup>,
    pub(super) disk: DiskWork,
}

impl Running {
    /// The outcome when the server is dead now; none where none was started.
    pub(super) fn death(&mut self) -> Result<Option<Outcome>, Failure> {
        match &mut self.instance {
            Some(instance) => death(instance, self.cgroup.as_ref()),
            None => Ok(None),
        }
    }

    /// As [`Running::death`], waiting a little: connections break before the process is gone.
    pub(super) async fn death_within(&mut self, limit: Duration) -> Result<Option<Outcome>, Failure> {
        match &mut self.instance {
            Some(instance) => death_within(instance, self.cgroup.as_ref(), limit).await,
            None => Ok(None),
        }
    }

    /// What a trial that seems to have failed so really failed of: the death of the server, where it died. A fault that
    /// may be a broken connection waits `dying` for it.
    pub(super) async fn blame(&mut self, outcome: Outcome, dying: Duration) -> Result<Outcome, Failure> {
        if !may_be_a_death(&outcome) {
            return Ok(outcome);
        }
        let limit = if outcome.is_host_fault() {
            dying
        } else {
            Duration::ZERO
        };
        Ok(self.death_within(limit).await?.unwrap_or(outcome))
    }

    /// Ends the load at once.
    pub(super) fn end_load(&mut self, guardian: &Guardian) -> Result<(), Failure> {
        if let Some(mut load) = self.load.take() {
            load.kill();
            guardian.forget(load.identity())?;
        }
        Ok(())
    }

    /// Ends everything: the load's and the server's process groups are killed and gone, nothing copies any more.
    pub(super) async fn end(&mut self, guardian: &Guardian) -> Result<(), Failure> {
        self.end_load(guardian)?;
        if let Some(mut instance) = self.instance.take() {
            instance.kill().await?;
        }
        self.disk.end().await;
        self.cgroup = None;
        Ok(())
    }
}
