//! Kills the server under load and times how long it takes until it commits again. The load is one of its own: the one that
//! was measured has ended, and its figures were checked, before anything is killed.

use std::time::{Duration, Instant};

use super::TrialRunner;
use super::journal::Failure;
use super::measuring::state;
use super::running::Running;
use super::trial::DATABASE;
use super::watch::{Samples, Watch};
use crate::host::evict_tree;
use crate::night::{Events, TrialOrder};
use crate::server::Client;
use crate::space::Value;
use crate::trial::{Phase, Warning};

/// The checkpoint age has reached its plateau when it grew by less than this share over the last samples.
const PLATEAU: f64 = 0.05;
/// Samples (5 s each) that are looked at for a plateau.
const SAMPLES: usize = 4;
/// Folder of the second load and the second start, in the trial's.
pub(super) const RECOVERY: &str = "recovery";
/// How long one statement after the recovery may take.
const COMMIT: Duration = Duration::from_secs(60);

/// Keeps loading until the checkpoint age is flat: before that a recovery is shorter than production's would be.
/// True when it is.
async fn wait_for_plateau(watch: &mut Watch<'_>) -> Result<bool, Failure> {
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
        if second.at >= watch.limits.plateau.as_secs_f64() {
            return Ok(false);
        }
    }
}

impl TrialRunner {
    /// Phase *crash recovery*: seconds until the first commit, and whether the checkpoint age had reached its plateau.
    pub(super) async fn recover(
        &self,
        order: &TrialOrder,
        events: &Events,
        variables: &[(String, Value)],
        running: &mut Running,
        client: &mut Client,
    ) -> Result<((f64, bool), Option<String>), Failure> {
        // A folder of its own: the logs of the first load and start are what tells of the trial.
        let folder = order.folder.join(RECOVERY);
        std::fs::create_dir_all(&folder)
            .map_err(|error| Failure::host(format!("cannot make {}: {error}", folder.display())))?;
        let order = TrialOrder {
            folder,
            ..order.clone()
        };
        let load = self
            .start_load(&order, running, client, Phase::CrashRecovery)
            .await?;
        running.load = Some(load);
        // What this load does is no part of what was measured.
        let mut samples = Samples::default();
        let mut watch = self.watch(&order, events, running, &mut samples, client)?;
        let plateau = wait_for_plateau(&mut watch).await?;
        let deadline = self.deadlines.of(Phase::CrashRecovery, &order.job.length);
        let crashed = self.crash_and_recover(&order, variables, running, deadline).await;
        // The load lost its server; it has nothing more to say.
        running.end_load(&self.guardian)?;
        let seconds = crashed?;
        let bound = if plateau { "" } else { " at least" };
        Ok((
            (seconds, plateau),
            Some(format!("first commit after{bound} {seconds:.1} s")),
        ))
    }

    /// Kills the server, drops its files from the caches, starts it again, and waits for the first commit. Gives the
    /// seconds from its start to that commit.
    async fn crash_and_recover(
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
        let clock = Instant::now();
        let started = self
            .start(order, variables, running.cgroup.as_ref(), deadline)
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
pub(super) fn lower_bound(waited: Duration) -> Warning {
    Warning {
        text: format!(
            "recovery_s is a lower bound: the checkpoint age was still growing after {} s of load",
            waited.as_secs()
        ),
        next: Some("measure longer, or compare configurations of equal redo size only".to_owned()),
    }
}
