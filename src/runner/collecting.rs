//! Ends the load, checks its figures, and times the drain.

use super::TrialRunner;
use super::drain::{Flushing, drain_rate};
use super::journal::{Failure, noted};
use super::measuring::Window;
use super::running::Running;
use super::watch::is_idle;
use crate::server::Client;
use crate::trial::{Phase, Warning};
use crate::workload::LoadFailure;

impl TrialRunner {
    /// Phase *collect*: the load ends and its figures are checked; then the server shows how fast it pays its write debt.
    /// Gives that rate in bytes per second, and everything the load's figures warn of.
    pub(super) async fn collect(
        &self,
        window: &Window,
        running: &mut Running,
        client: &mut Client,
    ) -> Result<((Option<f64>, Vec<Warning>), Option<String>), Failure> {
        let Some(load) = running.load.take() else {
            return Ok(((None, Vec::new()), None));
        };
        let identity = load.identity().clone();
        let stopped = load.stop(self.deadlines.load_end).await;
        self.guardian.forget(&identity)?;
        let summary = match stopped {
            Ok(summary) => summary,
            Err(failure) => return Err(hung_or_failed(&failure, client, Phase::Collect).await),
        };
        let warnings = summary.notes.into_iter().map(|text| Warning { text, next: None });
        let (warnings, note) = noted(warnings.collect());
        let grew = window.debt_growth().is_some_and(|bytes| bytes > 0.0);
        if !self.workload.writes() || !grew {
            return Ok(((None, warnings), note));
        }
        let Some(instance) = running.instance.as_ref() else {
            return Ok(((None, warnings), note));
        };
        // Who goes on with the server wants it to flush as it was configured to.
        let configured = if self.crash_recovery {
            Some(Flushing::read(client).await?)
        } else {
            None
        };
        let rate = drain_rate(client, instance, &self.data).await?;
        if let Some(configured) = configured {
            configured.restore(client).await?;
        }
        Ok(((rate, warnings), note))
    }
}

/// A load that hung while the server was idle and answered is the host's fault, not the candidate's.
pub(super) async fn hung_or_failed(failure: &LoadFailure, client: &mut Client, phase: Phase) -> Failure {
    match failure {
        LoadFailure::Hung { .. } if is_idle(client).await => {
            Failure::host(format!("{failure}, while the server was idle and answered"))
        }
        failure => Failure::Outcome(failure.outcome(phase)),
    }
}
