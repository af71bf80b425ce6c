//! One private server: started on its own socket, known to be ours, ended without leaving anything.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::Signal;
use tokio::time::Instant;

use super::arguments::danger;
use super::client::{Client, ClientError};
use super::log_file::read_log;
use super::socket_dir::SocketDir;
use crate::error::{Error, IoContext, Result};
use crate::host::{Child, Exit, Guardian, Identity, Output, RunAs, Spawn};

/// Name of the settings file in the trial's folder.
pub const CNF_NAME: &str = "my.cnf";
/// Name of the server's log in the trial's folder.
pub const LOG_NAME: &str = "server.log";
/// Open files a private server may have where the host lets us raise the limit.
const OPEN_FILES: u64 = 65_535;
/// How long a killed group may take to be gone; a server in the middle of large writes needs seconds.
const KILL_DEADLINE: Duration = Duration::from_secs(60);

/// The limit of open files that a private server starts with here.
pub fn open_files_limit() -> u64 {
    crate::host::open_files_limit(OPEN_FILES)
}

/// What a private server is started from.
#[derive(Debug)]
pub struct InstanceSpec {
    /// The server binary.
    pub binary: PathBuf,
    /// Complete text of its my.cnf; sets the socket to [`SocketDir::socket`] of `socket`.
    pub cnf: String,
    /// The trial's folder: my.cnf and the server's log go there.
    pub folder: PathBuf,
    /// The folder of its socket; removed with the instance.
    pub socket: SocketDir,
    /// The user it runs as, as root only.
    pub run_as: Option<RunAs>,
    /// More start-up arguments of the user.
    pub args: Vec<String>,
    /// `cgroup.procs` files to join, opened for writing.
    pub cgroups: Vec<File>,
}

/// Why a private server did not get ready.
#[derive(Debug, thiserror::Error)]
pub enum StartFailure {
    /// It ended by itself or was killed.
    #[error("the server ended during its start ({exit})")]
    Ended {
        /// Its process id, to look for it in the kernel's log.
        pid: i32,
        /// How.
        exit: Exit,
        /// Its log.
        log: String,
    },
    /// No query was answered by the deadline; it was killed.
    #[error("the server did not answer within {seconds} s{}", last.as_ref().map(|e| format!(" (last: {e})")).unwrap_or_default())]
    TimedOut {
        /// The deadline, seconds.
        seconds: f64,
        /// What the last attempt to ask it reported.
        last: Option<String>,
        /// Its log.
        log: String,
    },
    /// Somebody else answers on the socket.
    #[error("process {pid} answers on the server's socket, which is not the server that was started")]
    Stranger {
        /// Who answers.
        pid: i32,
    },
    /// It could not even be started.
    #[error(transparent)]
    Host(#[from] Error),
}

/// A running private server. Dropping it kills its whole group.
#[derive(Debug)]
pub struct Instance {
    child: Child,
    socket: SocketDir,
    folder: PathBuf,
    guardian: Option<Guardian>,
}

impl Instance {
    /// Writes my.cnf (mode 0640), starts the server and waits until a query is answered by the very process that was
    /// started. On any failure the group is gone when this returns.
    ///
    /// # Errors
    /// [`StartFailure`]; what it means for the trial is told by [`super::classify_death`].
    pub async fn start(
        spec: InstanceSpec,
        guardian: Option<&Guardian>,
        deadline: Duration,
    ) -> Result<Self, StartFailure> {
        for argument in &spec.args {
            if let Some(why) = danger(argument) {
                return Err(
                    Error::input(format!("a private server is not started with {argument}: {why}")).into(),
                );
            }
        }
        let cnf = spec.folder.join(CNF_NAME);
        write_cnf(&cnf, &spec.cnf, spec.run_as.as_ref())?;
        let log_path = spec.folder.join(LOG_NAME);
        let log = File::create(&log_path).context("cannot write the server's log", &log_path)?;
        let log_again = log
            .try_clone()
            .context("cannot write the server's log", &log_path)?;
        let mut defaults = std::ffi::OsString::from("--defaults-file=");
        defaults.push(&cnf);
        if let Some(guardian) = guardian {
            guardian.will_remove(spec.socket.path())?;
        }
        let child = Spawn::new(&spec.binary)
            .arg(defaults)
            .args(spec.args)
            .folder(&spec.folder)
            .run_as(spec.run_as)
            .join(spec.cgroups)
            .umask(0o027)
            .open_files(OPEN_FILES)
            .first_victim()
            .stdout(Output::File(log))
            .stderr(Output::File(log_again))
            .start()
            .context("cannot start the server", &spec.binary)?;
        let mut instance = Self {
            child,
            socket: spec.socket,
            folder: spec.folder,
            guardian: guardian.cloned(),
        };
        if let Some(guardian) = guardian {
            guardian.watch(instance.identity())?;
        }
        match instance.wait_ready(deadline).await {
            Ok(()) => Ok(instance),
            Err(failure) => {
                instance.kill().await?;
                Err(failure)
            }
        }
    }

    /// Who it is.
    pub fn identity(&self) -> &Identity {
        self.child.identity()
    }

    /// Its process id.
    pub fn pid(&self) -> i32 {
        self.child.pid()
    }

    /// Its socket.
    pub fn socket(&self) -> PathBuf {
        self.socket.socket()
    }

    /// A connection to it.
    ///
    /// # Errors
    /// As [`Client::connect`].
    pub async fn client(&self, deadline: Duration) -> Result<Client, ClientError> {
        Client::connect(&self.socket(), deadline).await
    }

    /// How it ended; none while it runs.
    ///
    /// # Errors
    /// A host error when the system does not tell.
    pub fn try_exit(&mut self) -> Result<Option<Exit>> {
        self.child
            .try_exit()
            .context("cannot wait for the server", &self.folder)
    }

    /// Its log; of a long one the beginning and the end.
    pub fn log(&self) -> String {
        read_log(&self.folder.join(LOG_NAME))
    }

    /// Kills the group and waits until all of it is gone; how the server had ended. A stopped (SIGSTOP) server is
    /// killed, too. Its data directory is worth nothing afterwards.
    ///
    /// # Errors
    /// A host error when something of it still runs after a minute.
    pub async fn kill(&mut self) -> Result<Option<Exit>> {
        let gone = self
            .child
            .kill(KILL_DEADLINE)
            .await
            .context("cannot end the server", &self.folder)?;
        if !gone {
            return Err(Error::host(format!(
                "the server (process {}) still runs {} s after SIGKILL",
                self.pid(),
                KILL_DEADLINE.as_secs()
            ))
            .next("look at the kernel's log: its disk may hang"));
        }
        self.forget()?;
        self.try_exit()
    }

    /// Shuts it down so that its data directory needs no recovery (`innodb_fast_shutdown=0`: MariaDB and MySQL manuals),
    /// at most until the deadline; then kills it.
    ///
    /// # Errors
    /// A host error when it did not end cleanly in time; the data directory is no good then.
    pub async fn shut_down(mut self, deadline: Duration) -> Result<()> {
        let not_clean = |what: String| {
            Error::host(format!("the server did not shut down cleanly: {what}")).at(self
                .folder
                .join(LOG_NAME)
                .display()
                .to_string())
        };
        let asked = async {
            let mut client = self.client(deadline).await?;
            client.run("SET GLOBAL innodb_fast_shutdown = 0").await?;
            client.close().await;
            Ok::<_, ClientError>(())
        };
        if let Err(error) = asked.await {
            let error = not_clean(error.to_string());
            self.kill().await?;
            return Err(error);
        }
        self.identity().signal_group(Signal::TERM);
        let exit = self
            .child
            .wait(deadline)
            .await
            .context("cannot wait for the server", &self.folder)?;
        let verdict = match exit {
            Some(exit) if exit.success() => Ok(()),
            Some(exit) => Err(exit.to_string()),
            None => Err(format!("no end within {} s", deadline.as_secs_f64())),
        }
        .map_err(|what| {
            Error::host(format!("the server did not shut down cleanly: {what}")).at(self
                .folder
                .join(LOG_NAME)
                .display()
                .to_string())
        });
        self.kill().await?;
        verdict
    }

    async fn wait_ready(&mut self, deadline: Duration) -> Result<(), StartFailure> {
        let end = Instant::now() + deadline;
        let mut last = None;
        loop {
            if let Some(exit) = self.try_exit()? {
                return Err(StartFailure::Ended {
                    pid: self.pid(),
                    exit,
                    log: self.log(),
                });
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(StartFailure::TimedOut {
                    seconds: deadline.as_secs_f64(),
                    last,
                    log: self.log(),
                });
            }
            match tokio::time::timeout(left, self.ask(left)).await {
                Ok(Ok(())) => return Ok(()),
                Ok(Err(NotReady::Stranger(pid))) => return Err(StartFailure::Stranger { pid }),
                Ok(Err(NotReady::Not(why))) => last = why.or(last),
                Err(_) => {}
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// One attempt to get an answer, from our own server only.
    async fn ask(&self, left: Duration) -> Result<(), NotReady> {
        let socket = self.socket();
        let Ok(stream) = tokio::net::UnixStream::connect(&socket).await else {
            return Err(NotReady::Not(None));
        };
        // The kernel tells who listens, so an answer cannot come from a server that stole the path.
        if let Some(pid) = stream.peer_cred().ok().and_then(|peer| peer.pid())
            && pid != self.pid()
        {
            return Err(NotReady::Stranger(pid));
        }
        drop(stream);
        let attempt = async {
            let mut client = self.client(left.min(Duration::from_secs(10))).await?;
            client.ping().await?;
            client.close().await;
            Ok::<_, ClientError>(())
        };
        attempt
            .await
            .map_err(|error| NotReady::Not(Some(error.to_string())))
    }

    fn forget(&self) -> Result<()> {
        match &self.guardian {
            Some(guardian) => guardian.forget(self.identity()),
            None => Ok(()),
        }
    }
}

enum NotReady {
    Stranger(i32),
    Not(Option<String>),
}

/// Writes a settings file that its server can read and nobody else but us.
fn write_cnf(path: &Path, text: &str, run_as: Option<&RunAs>) -> Result<()> {
    let failed = "cannot write the server's my.cnf";
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o640)
        .open(path)
        .context(failed, path)?;
    file.set_permissions(std::fs::Permissions::from_mode(0o640))
        .context(failed, path)?;
    if let Some(user) = run_as {
        std::os::unix::fs::chown(path, None, Some(user.gid)).context(failed, path)?;
    }
    file.write_all(text.as_bytes()).context(failed, path)
}
