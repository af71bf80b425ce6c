//! From a job to a running server: the first phases of a trial.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use super::disk_work::DiskWork;
use super::journal::Failure;
use super::{CacheDrop, TrialRunner};
use crate::host::{Cgroup, drop_all, evict_tree, killed_for_memory, wait_disk_idle};
use crate::night::TrialOrder;
use crate::plan::Purpose;
use crate::server::{
    Client, Death, Instance, InstanceSpec, Placement, PrivateCnf, SocketDir, StartFailure, classify_death,
    final_cnf, fresh_server_id, open_files_limit, private_cnf, reset_until, start_warnings, verify,
};
use crate::space::{Configuration, Value};
use crate::trial::{Cause, CauseKind, Outcome, Phase, Warning};

/// Where a trial's server puts temporary tables and files, in the trial's folder.
pub(super) const TMP: &str = "tmp";
/// How long the disk may take to become idle.
const DISK_IDLE: Duration = Duration::from_secs(20);

impl TrialRunner {
    /// Phase *check*: the variables the job writes, or the constraint it breaks. The baseline is what the user runs: it is
    /// never rejected.
    pub(super) fn check(&self, order: &TrialOrder) -> Result<Vec<(String, Value)>, Failure> {
        let rejected = |breach: crate::space::Breach| {
            Failure::Outcome(Outcome::Rejected {
                constraint: breach.to_string(),
            })
        };
        let configuration = &order.job.configuration;
        // Only what is proposed keeps to bounds and steps; the user's own candidates run as they are, and what is run again runs
        // as the server made it.
        let permitted = match order.job.purpose {
            _ if *configuration == self.space.default_configuration() => Ok(()),
            Purpose::Explore => self.space.permits(configuration),
            _ => self.space.can_run(configuration),
        };
        permitted.map_err(rejected)?;
        let mut variables = self.space.writes(configuration).map_err(rejected)?;
        self.room(&variables)?;
        if order.job.purpose == Purpose::Final {
            // The file that is handed over holds only what differs from the baseline; the same is read back.
            let baseline = &self.space.ground().variables;
            variables.retain(|(name, value)| baseline.get(name) != Some(value));
        }
        Ok(variables)
    }

    /// Phase *reset*.
    pub(super) async fn reset(&self, disk: &mut DiskWork) -> Result<String, Failure> {
        let (template, data) = (self.template.clone(), self.data.clone());
        let (wanted, run_as) = (self.reset, self.user.run_as.clone());
        let done = disk
            .run(move |stopped| reset_until(&template, &data, wanted, run_as.as_ref(), stopped))
            .await??;
        Ok(format!(
            "{} of {}, {} written",
            done.backend.name(),
            crate::units::Bytes(done.size).human(),
            crate::units::Bytes(done.written).human()
        ))
    }

    /// Phase *cool*: caches dropped, disk idle. All that could not be done is told.
    pub(super) async fn cool(&self, disk: &mut DiskWork) -> Result<Vec<Warning>, Failure> {
        let (data, drop) = (self.data.clone(), self.caches);
        let not_dropped = disk
            .run(move |stopped| -> std::io::Result<Option<Warning>> {
                if drop == CacheDrop::Nothing {
                    return Ok(None);
                }
                evict_tree(&data, stopped)?;
                if drop == CacheDrop::All
                    && let Err(error) = drop_all()
                {
                    return Ok(Some(Warning {
                        text: format!("only the trial's own files were dropped from the caches: {error}"),
                        next: Some(
                            "run as root, or write caches = { drop = \"files\" } in [trial]".to_owned(),
                        ),
                    }));
                }
                Ok(None)
            })
            .await?
            .map_err(|error| Failure::host(format!("the data cannot be taken out of the caches: {error}")))?;
        let idle = wait_disk_idle(&self.data, DISK_IDLE).await;
        let busy = (!idle).then(|| Warning {
            text: format!(
                "the disk was still busy {} s after the reset; the trial began nevertheless",
                DISK_IDLE.as_secs()
            ),
            next: Some("look for what else works on this disk, e.g. with iotop".to_owned()),
        });
        Ok(not_dropped.into_iter().chain(busy).collect())
    }

    /// The control group of the machine class; none where the class is this host. Where the host does not allow one, that
    /// is told and the trial goes on: the memory arithmetic still holds.
    pub(super) fn cgroup(&self, warnings: &mut Vec<Warning>) -> Result<Option<Cgroup>, Failure> {
        let Some(limits) = &self.limits else {
            return Ok(None);
        };
        match Cgroup::create(limits) {
            Ok(cgroup) => {
                for folder in cgroup.folders() {
                    self.guardian.will_remove(folder)?;
                }
                Ok(Some(cgroup))
            }
            Err(error) => {
                warnings.push(Warning {
                    text: format!("the server is not limited to its machine class: {error}"),
                    next: Some("run as root, or in a host of that size".to_owned()),
                });
                Ok(None)
            }
        }
    }

    /// Phase *start*: writes my.cnf and starts the server until it answers.
    pub(super) async fn start(
        &self,
        order: &TrialOrder,
        variables: &[(String, Value)],
        cgroup: Option<&Cgroup>,
        deadline: Duration,
    ) -> Result<Instance, Failure> {
        let run_as = self.user.run_as.as_ref();
        let socket = SocketDir::new(run_as)?;
        let tmp = order.folder.join(TMP);
        make_private(&tmp, self)?;
        let placement = Placement {
            data: self.data.clone(),
            tmp,
            socket: socket.socket(),
            port: None,
            user: self.user.line.clone(),
            server_id: fresh_server_id(),
        };
        let cnf = self.cnf(order, &placement, variables)?;
        let cgroups = match cgroup.map(Cgroup::join_files) {
            None => Vec::new(),
            Some(Ok(files)) => files,
            Some(Err(error)) => {
                return Err(Failure::host(format!(
                    "the control group cannot be joined: {error}"
                )));
            }
        };
        let spec = InstanceSpec {
            binary: self.binary.path.clone(),
            cnf: cnf.text,
            folder: order.folder.clone(),
            socket,
            run_as: run_as.cloned(),
            args: self.args.clone(),
            cgroups,
        };
        Instance::start(spec, Some(&self.guardian), deadline)
            .await
            .map_err(|failure| match failure {
                StartFailure::Ended { pid, exit, log } => {
                    let death = Death {
                        code: exit.code,
                        signal: exit.signal,
                        cgroup_kills: cgroup.and_then(Cgroup::memory_kills),
                        kernel_told: killed_for_memory(pid),
                        open_files: Some(open_files_limit()),
                    };
                    Failure::Outcome(start_outcome(classify_death(&log, &death)))
                }
                StartFailure::TimedOut { .. } => Failure::Outcome(Outcome::TimedOut { phase: Phase::Start }),
                StartFailure::Stranger { .. } => Failure::Outcome(Outcome::HostFault {
                    cause: Cause::new(CauseKind::Address, failure.to_string()),
                }),
                StartFailure::Host(error) => Failure::from(error),
            })
    }

    /// The my.cnf of a trial. The last one starts with the very text that is handed over: a text made anew could differ.
    fn cnf(
        &self,
        order: &TrialOrder,
        placement: &Placement,
        variables: &[(String, Value)],
    ) -> crate::error::Result<PrivateCnf> {
        let (flavor, tuned) = (self.binary.flavor, |name: &str| self.tuned.contains(name));
        if order.job.purpose == Purpose::Final {
            let section = (self.handed_over)(&order.job.configuration)?;
            return final_cnf(flavor, placement, &self.baseline, &section, tuned);
        }
        let candidate = Self::as_text(variables);
        private_cnf(flavor, placement, &self.baseline, &candidate, tuned)
    }

    /// Phase *verify*: reads every written variable back; the configuration that really runs.
    pub(super) async fn verify(
        &self,
        order: &TrialOrder,
        client: &mut Client,
        variables: &[(String, Value)],
        log: &str,
        warnings: &mut Vec<Warning>,
    ) -> Result<Configuration, Failure> {
        let read = client.global_variables().await.map_err(|error| {
            Failure::unanswered(Phase::Verify, "the server's variables cannot be read", &error)
        })?;
        let asked: BTreeMap<String, Value> = variables.iter().cloned().collect();
        let mut verified = verify(&asked, &read, |name| self.block(name));
        verified.accept_lowered(log);
        warnings.extend(start_warnings(log));
        for rounded in &verified.rounded {
            warnings.push(Warning {
                text: rounded.to_string(),
                next: None,
            });
        }
        if let Some(mismatch) = verified.not_applied.first() {
            let cause = Cause {
                kind: CauseKind::NotApplied,
                variable: Some(mismatch.name.clone()),
                value: Some(mismatch.asked.to_string()),
                text: mismatch.to_string(),
            };
            return Err(Failure::Outcome(Outcome::ServerRefused { cause }));
        }
        Ok(self.space.read(&read, &order.job.configuration))
    }
}

/// A server that ends during its start refused the candidate, unless something killed it.
fn start_outcome(outcome: Outcome) -> Outcome {
    match outcome {
        Outcome::Crashed { signal: None, cause } => Outcome::ServerRefused { cause },
        other => other,
    }
}

fn make_private(folder: &Path, runner: &TrialRunner) -> Result<(), Failure> {
    let made = std::fs::create_dir_all(folder).and_then(|()| {
        runner
            .user
            .run_as
            .as_ref()
            .map_or(Ok(()), |user| user.own(folder))
    });
    made.map_err(|error| Failure::host(format!("cannot make {}: {error}", folder.display())))
}
