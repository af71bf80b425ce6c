//! A running child and how it ended.

use std::io::{self, Write as _};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child as StdChild, ExitStatus};
use std::time::{Duration, Instant};

use super::identity::Identity;

/// How a child ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exit {
    /// Exit code, where it ended by itself.
    pub code: Option<i32>,
    /// The signal, where one ended it.
    pub signal: Option<i32>,
}

impl Exit {
    /// Whether it ended by itself with code 0.
    pub fn success(self) -> bool {
        self.code == Some(0)
    }
}

impl From<ExitStatus> for Exit {
    fn from(status: ExitStatus) -> Self {
        Self {
            code: status.code(),
            signal: status.signal(),
        }
    }
}

impl std::fmt::Display for Exit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.code, self.signal) {
            (Some(code), _) => write!(f, "exit code {code}"),
            (None, Some(signal)) => write!(f, "signal {signal}"),
            (None, None) => f.write_str("unknown end"),
        }
    }
}

/// A running child. Dropping it kills its whole group (the supervisor's handle and [`Child::release`] excepted) and waits some seconds for its
/// end: a process that the kernel holds must not hold Noctune, too.
#[derive(Debug)]
pub struct Child {
    child: StdChild,
    identity: Identity,
    exit: Option<Exit>,
    ends_with_handle: bool,
}

impl Child {
    /// A child just started; `ends_with_handle`: its group is killed when this is dropped.
    pub(super) fn new(child: StdChild, identity: Identity, ends_with_handle: bool) -> Self {
        Self {
            child,
            identity,
            exit: None,
            ends_with_handle,
        }
    }

    /// Who it is; to be recorded for the next start.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Its process id.
    pub fn pid(&self) -> i32 {
        self.identity.pid
    }

    /// Its input, once, where [`super::Spawn::piped_stdin`] asked for one.
    pub fn take_stdin(&mut self) -> Option<std::process::ChildStdin> {
        self.child.stdin.take()
    }

    /// Its output, once, where it is a pipe.
    pub fn take_stdout(&mut self) -> Option<std::process::ChildStdout> {
        self.child.stdout.take()
    }

    /// Its error output, once, where it is a pipe.
    pub fn take_stderr(&mut self) -> Option<std::process::ChildStderr> {
        self.child.stderr.take()
    }

    /// How it ended; none while it runs.
    ///
    /// # Errors
    /// What waitpid(2) reports.
    pub fn try_exit(&mut self) -> io::Result<Option<Exit>> {
        if self.exit.is_none() {
            self.exit = self.child.try_wait()?.map(Exit::from);
        }
        Ok(self.exit)
    }

    /// Waits for its end, at most until the deadline; none when that came first.
    ///
    /// # Errors
    /// What waitpid(2) reports.
    pub async fn wait(&mut self, deadline: Duration) -> io::Result<Option<Exit>> {
        let end = tokio::time::Instant::now() + deadline;
        loop {
            if let Some(exit) = self.try_exit()? {
                return Ok(Some(exit));
            }
            if tokio::time::Instant::now() >= end {
                return Ok(None);
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Lets what it started live on after its own end: for a command of the user's, who may have left something in the
    /// background with it.
    pub fn release(mut self) {
        self.ends_with_handle = false;
    }

    /// Kills the group and waits until no member runs, at most until the deadline. True when all are gone; the exit
    /// status of the child is then known to [`Child::try_exit`].
    ///
    /// # Errors
    /// What waitpid(2) reports.
    pub async fn kill(&mut self, deadline: Duration) -> io::Result<bool> {
        let end = tokio::time::Instant::now() + deadline;
        loop {
            // Again on each round: a member may have forked just before the signal.
            self.identity.kill_group();
            if self.try_exit()?.is_some() && self.identity.is_gone() {
                return Ok(true);
            }
            if tokio::time::Instant::now() >= end {
                return Ok(false);
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

/// How long dropping a [`Child`] may wait for its end.
const DROP_LIMIT: Duration = Duration::from_secs(10);

/// Asks `ended` until it says so, at most for `limit`; its last answer. Blocking.
fn within(limit: Duration, mut ended: impl FnMut() -> bool) -> bool {
    let end = Instant::now() + limit;
    loop {
        if ended() {
            return true;
        }
        if Instant::now() >= end {
            return false;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if self.ends_with_handle {
            self.identity.kill_group();
            // Waiting for the end leaves no zombie.
            let ended = within(DROP_LIMIT, || !matches!(self.try_exit(), Ok(None)));
            self.identity.kill_group();
            if !ended {
                // SIGKILL waits for the disk, too; whoever started it goes on without its end.
                let _ = writeln!(
                    io::stderr(),
                    "process {} was killed and does not end: it waits in the kernel, mostly for a disk",
                    self.pid()
                );
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_a_released_child_left_in_the_background_lives_on_and_what_another_left_does_not() {
        for release in [false, true] {
            let mut child = crate::host::Spawn::new("/bin/sh")
                .args(["-c", "sleep 60 &"])
                .start()
                .unwrap();
            let left = child.identity().clone();
            let exit = child.wait(Duration::from_secs(20)).await.unwrap().unwrap();
            assert!(exit.success() && !left.is_gone());
            if release {
                child.release();
                assert!(!left.wait_gone(Duration::from_millis(200)));
                left.kill_group();
            } else {
                drop(child);
            }
            assert!(left.wait_gone(Duration::from_secs(10)));
        }
    }

    #[test]
    fn a_child_writes_numbers_and_messages_of_the_c_locale() {
        use std::io::Read as _;
        let mut child = crate::host::Spawn::new("/bin/sh")
            .args(["-c", "printf %s \"$LC_ALL\""])
            .stdout(crate::host::Output::Pipe)
            .start()
            .unwrap();
        let mut told = String::new();
        child.take_stdout().unwrap().read_to_string(&mut told).unwrap();
        assert_eq!(told, "C");
    }

    #[test]
    fn the_end_of_a_process_that_the_kernel_holds_is_not_waited_for_without_limit() {
        let began = Instant::now();
        assert!(!within(Duration::from_millis(50), || false));
        assert!(began.elapsed() < Duration::from_secs(5));
        let mut asked = 0;
        assert!(within(Duration::from_secs(60), || {
            asked += 1;
            asked > 2
        }));
    }
}
