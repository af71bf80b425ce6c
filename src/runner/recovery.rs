//! Kills the server under load and times how long it takes until it commits again.

use std::time::{Duration, Instant};

use super::TrialRunner;
use super::journal::Failure;
use super::measuring::state;
use super::running::Running;
use super::trial::DATABASE;
use super::watch::Watch;
use crate::host::evict_tree;
use crate::night::TrialOrder;
use crate::space::Value;
use crate::trial::{Phase, Warning};

/// The checkpoint age has reached its plateau when it grew by less than this share over the last samples.
const PLATEAU: f64 = 0.05;
/// Samples (5 s each) that are looked at for a plateau.
const SAMPLES: usize = 4;
/// How long the plateau is waited for.
const WAIT: f64 = 180.0;
/// The second start's folder, in the trial's.
pub(super) const RECOVERY: &str = "recovery";
/// How long one statement after the recovery may take.
const COMMIT: Duration = Duration::from_secs(60);

/// Keeps loading until the checkpoint age is flat: before that a recovery is shorter than production's would be.
/// True when it is.
pub(super) async fn wait_for_plateau(watch: &mut Watch<'_>) -> Result<bool, Failure> {
    let began = watch.samples.seconds.last().map_or(0.0, |second| second.at);
    loop {
        let second = watch.second(Phase::CrashRecovery).await?;
        let ages: Vec<f64> = watch
            .samples
            .status
            .iter()
            .filter_map(|sample| state(sample)?.checkpoint_age)
            .collect();
        if let [.., first, _, _, last] = ages.as_slice()
            && ages.len() >= 2 * SAMPLES
            && *last <= first * (1.0 + PLATEAU)
        {
            return Ok(true);
        }
        if second.at - began >= WAIT {
            return Ok(false);
        }
    }
}

impl TrialRunner {
    /// Kills the server, drops its files from the caches, starts it again, and waits for the first commit. Gives the
    /// seconds from its start to that commit.
    pub(super) async fn crash_and_recover(
        &self,
        order: &TrialOrder,
        variables: &[(String, Value)],
        running: &mut Running,
        deadline: Duration,
    ) -> Result<f64, Failure> {
        // It is ours to kill: its end says nothing about the candidate any more.
        if let Some(mut instance) = running.instance.take() {
            instance.kill().await?;
        }
        let data = self.data.clone();
        running
            .disk
            .run(move |stopped| evict_tree(&data, stopped))
            .await?
            .map_err(|error| Failure::host(format!("the data cannot be taken out of the caches: {error}")))?;
        // A folder of its own: the log of the first start is what tells of the trial.
        let folder = order.folder.join(RECOVERY);
        std::fs::create_dir_all(&folder)
            .map_err(|error| Failure::host(format!("cannot make {}: {error}", folder.display())))?;
        let order = TrialOrder {
            folder,
            ..order.clone()
        };
        let clock = Instant::now();
        let started = self
            .start(&order, variables, running.cgroup.as_ref(), deadline)
            .await?;
        let instance = running.instance.insert(started);
        let commit = async {
            let mut client = instance.client(COMMIT).await?;
            client
                .run(&format!(
                    "CREATE TABLE `{DATABASE}`.noctune_recovered (at INT) ENGINE = InnoDB"
                ))
                .await?;
            client
                .run(&format!("INSERT INTO `{DATABASE}`.noctune_recovered VALUES (1)"))
                .await
        };
        commit.await.map_err(|error| {
            Failure::unanswered(
                Phase::CrashRecovery,
                "the recovered server does not commit",
                &error,
            )
        })?;
        Ok(clock.elapsed().as_secs_f64())
    }
}

/// What is told of a recovery that was timed too early.
pub(super) fn lower_bound() -> Warning {
    Warning {
        text: format!(
            "recovery_s is a lower bound: the checkpoint age was still growing after {WAIT:.0} s of load"
        ),
        next: Some("measure longer, or compare configurations of equal redo size only".to_owned()),
    }
}
