//! Children: started in their own process group, ended with all they started, never outliving Noctune.
//!
//! The only module with unsafe code: what happens between fork and exec cannot be said otherwise.
#![expect(
    unsafe_code,
    reason = "between fork and exec only raw system calls are allowed"
)]

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError, mpsc};

use super::child::Child;
use super::identity::{Identity, TOKEN_VARIABLE};
use super::run_as::RunAs;

/// Where a child's output goes.
#[derive(Debug)]
pub enum Output {
    /// Nowhere.
    Null,
    /// To a file, from its present end.
    File(File),
    /// To a pipe that [`Child::take_stdout`] or [`Child::take_stderr`] hands out.
    Pipe,
}

/// Whether a child outlives Noctune's death.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bond {
    /// Own process group; killed by the kernel when Noctune dies.
    Group,
    /// Own session; lives on.
    Session,
}

/// A child to be started.
#[derive(Debug)]
pub struct Spawn {
    program: PathBuf,
    args: Vec<OsString>,
    environment: Vec<(OsString, OsString)>,
    folder: Option<PathBuf>,
    run_as: Option<RunAs>,
    join: Vec<File>,
    umask: Option<u32>,
    open_files: Option<u64>,
    first_victim: bool,
    bond: Bond,
    stdin: bool,
    stdout: Output,
    stderr: Output,
}

impl Spawn {
    /// A child of Noctune's user with no input and no output, `LC_ALL=C`, in its own process group, killed by the
    /// kernel when Noctune dies.
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            args: Vec::new(),
            environment: Vec::new(),
            folder: None,
            run_as: None,
            join: Vec::new(),
            umask: None,
            open_files: None,
            first_victim: false,
            bond: Bond::Group,
            stdin: false,
            stdout: Output::Null,
            stderr: Output::Null,
        }
    }

    /// Adds an argument.
    #[must_use]
    pub fn arg(mut self, arg: impl Into<OsString>) -> Self {
        self.args.push(arg.into());
        self
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<A: Into<OsString>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Sets an environment variable.
    #[must_use]
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.environment.push((name.into(), value.into()));
        self
    }

    /// Working folder.
    #[must_use]
    pub fn folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = Some(folder.into());
        self
    }

    /// User to become before the program starts; as root only.
    #[must_use]
    pub fn run_as(mut self, user: Option<RunAs>) -> Self {
        self.run_as = user;
        self
    }

    /// `cgroup.procs` (or `tasks`) files, opened for writing; the child joins each before it becomes another user.
    #[must_use]
    pub fn join(mut self, cgroups: Vec<File>) -> Self {
        self.join = cgroups;
        self
    }

    /// File mode creation mask.
    #[must_use]
    pub fn umask(mut self, mask: u32) -> Self {
        self.umask = Some(mask);
        self
    }

    /// Raises the limit of open files to this, or to the hard limit where that is lower (the hard limit, too, as root).
    #[must_use]
    pub fn open_files(mut self, limit: u64) -> Self {
        self.open_files = Some(limit);
        self
    }

    /// Makes it the first victim when memory runs out (`oom_score_adj` 1000), so that the host's own work survives.
    #[must_use]
    pub fn first_victim(mut self) -> Self {
        self.first_victim = true;
        self
    }

    /// Gives it a session of its own and lets it outlive Noctune; for the supervisor.
    #[must_use]
    pub(super) fn own_session(mut self) -> Self {
        self.bond = Bond::Session;
        self
    }

    /// Gives it an input that [`Child::take_stdin`] hands out.
    #[must_use]
    pub fn piped_stdin(mut self) -> Self {
        self.stdin = true;
        self
    }

    /// Where its standard output goes.
    #[must_use]
    pub fn stdout(mut self, output: Output) -> Self {
        self.stdout = output;
        self
    }

    /// Where its error output goes.
    #[must_use]
    pub fn stderr(mut self, output: Output) -> Self {
        self.stderr = output;
        self
    }

    /// Starts it, from a thread that lives as long as the process: PR_SET_PDEATHSIG (prctl(2)) fires when the *thread*
    /// that forked ends.
    ///
    /// # Errors
    /// What fork, exec or one of the steps between them reports.
    pub fn start(self) -> io::Result<Child> {
        let (reply, answer) = mpsc::channel();
        let gone = || io::Error::other("the thread that starts children is gone");
        spawner()
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .send((self, reply))
            .map_err(|_| gone())?;
        answer.recv().map_err(|_| gone())?
    }

    fn start_here(self) -> io::Result<Child> {
        let token = new_token();
        let mut command = Command::new(&self.program);
        command
            .args(&self.args)
            .env("LC_ALL", "C")
            .env(TOKEN_VARIABLE, &token)
            .envs(self.environment)
            .stdin(if self.stdin { Stdio::piped() } else { Stdio::null() })
            .stdout(stdio(self.stdout))
            .stderr(stdio(self.stderr));
        if let Some(folder) = &self.folder {
            command.current_dir(folder);
        }
        let steps = Steps {
            parent: std::process::id(),
            bond: self.bond,
            join: self.join,
            umask: self.umask,
            open_files: self.open_files,
            first_victim: self.first_victim,
            user: self.run_as.map(|user| (user.uid, user.gid)),
        };
        // SAFETY: `Steps::take` runs in the forked child before exec, where only async-signal-safe calls are allowed: it
        // makes plain system calls on values and descriptors prepared before the fork, and allocates nothing.
        unsafe {
            command.pre_exec(move || steps.take());
        }
        let child = command.spawn()?;
        let pid = i32::try_from(child.id()).map_err(io::Error::other)?;
        // The child is ours and not waited for, so its /proc entry is there even if it ended already.
        let identity =
            Identity::of(pid, token).ok_or_else(|| io::Error::other("the child has no /proc entry"))?;
        Ok(Child::new(child, identity, self.bond == Bond::Group))
    }
}

type Order = (Spawn, mpsc::Sender<io::Result<Child>>);

/// The thread that starts all children.
fn spawner() -> &'static Mutex<mpsc::Sender<Order>> {
    static SPAWNER: OnceLock<Mutex<mpsc::Sender<Order>>> = OnceLock::new();
    SPAWNER.get_or_init(|| {
        let (orders, inbox) = mpsc::channel::<Order>();
        std::thread::spawn(move || {
            for (spawn, reply) in inbox {
                // Whoever asked may have given up; then the child ends with its handle.
                let _ = reply.send(spawn.start_here());
            }
        });
        Mutex::new(orders)
    })
}

/// A token no other group of this host carries.
fn new_token() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let own = i32::try_from(std::process::id()).unwrap_or_default();
    let ticks = super::identity::Stat::of(own).map_or(0, |stat| stat.start_ticks);
    format!("{own}-{ticks}-{}", COUNT.fetch_add(1, Ordering::Relaxed))
}

fn stdio(output: Output) -> Stdio {
    match output {
        Output::Null => Stdio::null(),
        Output::File(file) => Stdio::from(file),
        Output::Pipe => Stdio::piped(),
    }
}

/// What the child does to itself between fork and exec.
struct Steps {
    parent: u32,
    bond: Bond,
    join: Vec<File>,
    umask: Option<u32>,
    open_files: Option<u64>,
    first_victim: bool,
    user: Option<(u32, u32)>,
}

impl Steps {
    fn take(&self) -> io::Result<()> {
        // SAFETY: each call is async-signal-safe (signal-safety(7)) or a bare system call on memory of this frame; path
        // texts are constants ending in NUL; `rlimit` is fully written before it is read.
        unsafe {
            match self.bond {
                Bond::Group => check(libc::setpgid(0, 0))?,
                Bond::Session => check(libc::setsid())?,
            };
            for cgroup in &self.join {
                let written = libc::write(cgroup.as_raw_fd(), c"0".as_ptr().cast(), 1);
                if written != 1 {
                    return Err(io::Error::last_os_error());
                }
            }
            if self.first_victim {
                // Before the change of user, after which /proc/self belongs to root. Not worth failing for.
                let file = libc::open(
                    c"/proc/self/oom_score_adj".as_ptr(),
                    libc::O_WRONLY | libc::O_CLOEXEC,
                );
                if file >= 0 {
                    libc::write(file, c"1000".as_ptr().cast(), 4);
                    libc::close(file);
                }
            }
            if let Some(wanted) = self.open_files {
                raise_open_files(wanted)?;
            }
            if let Some(mask) = self.umask {
                libc::umask(mask);
            }
            if let Some((uid, gid)) = self.user {
                check(libc::setgroups(0, std::ptr::null()))?;
                check(libc::setgid(gid))?;
                check(libc::setuid(uid))?;
            }
            if self.bond == Bond::Group {
                // After the change of user, which clears it.
                check(libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL))?;
                if u32::try_from(libc::getppid()) != Ok(self.parent) {
                    return Err(io::Error::from_raw_os_error(libc::ESRCH));
                }
            }
        }
        Ok(())
    }
}

/// The limit of open files of a child for which `wanted` was asked with [`Spawn::open_files`]: what is there already is never
/// lowered, and without root nothing goes above the hard limit.
pub fn open_files_limit(wanted: u64) -> u64 {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    let (soft, hard) = (
        limit.current.unwrap_or(u64::MAX),
        limit.maximum.unwrap_or(u64::MAX),
    );
    let reachable = if rustix::process::geteuid().is_root() {
        wanted
    } else {
        wanted.min(hard)
    };
    reachable.max(soft)
}

/// # Safety
/// Makes system calls on memory of its own frame only.
unsafe fn raise_open_files(wanted: u64) -> io::Result<()> {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: `limit` is a valid place for the result and outlives the calls.
    unsafe {
        check(libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit))?;
        let raised = libc::rlimit {
            rlim_cur: wanted.max(limit.rlim_cur),
            rlim_max: wanted.max(limit.rlim_max),
        };
        if libc::setrlimit(libc::RLIMIT_NOFILE, &raw const raised) != 0 {
            let within = libc::rlimit {
                rlim_cur: wanted.clamp(limit.rlim_cur, limit.rlim_max),
                rlim_max: limit.rlim_max,
            };
            check(libc::setrlimit(libc::RLIMIT_NOFILE, &raw const within))?;
        }
    }
    Ok(())
}

fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
    }
}
