//! What the night needs from outside: somebody who runs a trial.

use std::path::PathBuf;

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;

use super::Events;
use crate::plan::Job;
use crate::strategy::TrialNumber;
use crate::trial::TrialRecord;

/// One trial to be run.
#[derive(Debug, Clone, PartialEq)]
pub struct TrialOrder {
    /// Its number.
    pub number: TrialNumber,
    /// The job.
    pub job: Job,
    /// Folder of the trial (my.cnf, server log, workload output); exists.
    pub folder: PathBuf,
}

/// Runs one trial, phase by phase. Whatever happens, every process it started is gone when it returns.
#[async_trait(?Send)]
pub trait RunTrial {
    /// Runs the trial; none when `stop` was raised before it could end.
    async fn run(
        &mut self,
        order: &TrialOrder,
        events: &Events,
        stop: &CancellationToken,
    ) -> Option<TrialRecord>;
}
