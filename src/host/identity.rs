//! Who a process is: its id alone is reused, its id with its start time and the boot is not.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};
use serde::{Deserialize, Serialize};

/// Environment variable that every process of a group started by Noctune carries; it tells members of a group whose
/// leader is gone from a stranger's group of the same number.
pub(super) const TOKEN_VARIABLE: &str = "NOCTUNE_GROUP";

/// A process group started by Noctune, by the identity of its leader.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// Process id of the leader, which is also the group's id.
    pub pid: i32,
    /// Start time of the leader in clock ticks since boot (`/proc/PID/stat`, field 22; proc(5)).
    pub start_ticks: u64,
    /// The boot it lived in (`/proc/sys/kernel/random/boot_id`).
    pub boot_id: String,
    /// Value of `NOCTUNE_GROUP` in the environment of the group's members.
    pub token: String,
}

/// What `/proc/PID/stat` says that matters here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stat {
    /// One letter, `Z` for a process that ended and was not waited for.
    pub(crate) state: char,
    /// Id of the parent.
    pub(crate) parent: i32,
    /// Id of the process group.
    pub(crate) group: i32,
    /// User and system time used, clock ticks.
    pub(crate) cpu_ticks: u64,
    /// Start time, clock ticks since boot.
    pub(crate) start_ticks: u64,
}

impl Stat {
    /// Reads one `/proc/PID/stat` text; the name in it may hold spaces and parentheses.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (_, rest) = text.rsplit_once(')')?;
        let fields: Vec<&str> = rest.split_whitespace().collect();
        let number = |index: usize| fields.get(index).and_then(|field| field.parse::<u64>().ok());
        Some(Self {
            state: fields.first()?.chars().next()?,
            parent: fields.get(1)?.parse().ok()?,
            group: fields.get(2)?.parse().ok()?,
            cpu_ticks: number(11)? + number(12)?,
            start_ticks: number(19)?,
        })
    }

    /// Of a process that is there now.
    pub(crate) fn of(pid: i32) -> Option<Self> {
        Self::parse(&std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
    }
}

/// The id of this boot; empty where the kernel does not tell.
pub fn boot_id() -> String {
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id")
        .map(|text| text.trim().to_owned())
        .unwrap_or_default()
}

/// Ids of all processes of this host that can be seen.
pub(crate) fn all_pids() -> Vec<i32> {
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect()
}

/// Processes whose working folder is this one; a server's is its data directory.
pub(crate) fn processes_in(folder: &Path) -> Vec<i32> {
    let Ok(folder) = std::fs::canonicalize(folder) else {
        return Vec::new();
    };
    all_pids()
        .into_iter()
        .filter(|pid| std::fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd == folder))
        .collect()
}

impl Identity {
    /// The identity of a process that is there now and leads its group; none where it is gone.
    pub fn of(pid: i32, token: impl Into<String>) -> Option<Self> {
        Some(Self {
            pid,
            start_ticks: Stat::of(pid)?.start_ticks,
            boot_id: boot_id(),
            token: token.into(),
        })
    }

    /// Whether the leader still runs (a process that ended but was not waited for does not).
    pub fn is_alive(&self) -> bool {
        self.leader().is_some_and(|stat| stat.state != 'Z')
    }

    /// Sends SIGKILL to the whole group, if it is still the recorded one. A process with the recorded id but another
    /// start time, another boot, or members without the group's token are never touched.
    pub fn kill_group(&self) {
        self.signal_group(Signal::KILL);
    }

    /// Sends a signal to the whole group under the rules of [`Identity::kill_group`].
    pub fn signal_group(&self, signal: Signal) {
        let Some(group) = Pid::from_raw(self.pid) else {
            return;
        };
        if self.leader().is_some() {
            // ESRCH: it ended in between, which is what was wanted.
            let _ = rustix::process::kill_process_group(group, signal);
            return;
        }
        for member in self.members() {
            if let Some(pid) = Pid::from_raw(member) {
                let _ = rustix::process::kill_process(pid, signal);
            }
        }
    }

    /// Waits until no member of the group runs, at most until the deadline. True when all are gone. It blocks; for
    /// cleaning up outside a runtime.
    pub fn wait_gone(&self, deadline: Duration) -> bool {
        let end = Instant::now() + deadline;
        while !self.is_gone() {
            if Instant::now() >= end {
                return false;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        true
    }

    /// Whether no member of the group runs any more.
    pub fn is_gone(&self) -> bool {
        !self.is_alive() && self.members().is_empty()
    }

    /// The leader, where it is still the recorded process.
    fn leader(&self) -> Option<Stat> {
        Stat::of(self.pid).filter(|stat| stat.start_ticks == self.start_ticks && self.boot_id == boot_id())
    }

    /// Running members of the group apart from a leader that ended.
    fn members(&self) -> Vec<i32> {
        // Another process with the leader's id: the group is gone, its number belongs to a stranger.
        let reused = Stat::of(self.pid).is_some_and(|stat| stat.start_ticks != self.start_ticks);
        if reused || self.boot_id != boot_id() {
            return Vec::new();
        }
        all_pids()
            .into_iter()
            .filter(|pid| *pid != self.pid)
            .filter(|pid| {
                Stat::of(*pid).is_some_and(|stat| stat.group == self.pid && stat.state != 'Z')
                    && has_token(*pid, &self.token)
            })
            .collect()
    }
}

/// Whether the environment a process was started with carries the token.
fn has_token(pid: i32, token: &str) -> bool {
    let wanted = format!("{TOKEN_VARIABLE}={token}");
    let path: PathBuf = Path::new("/proc").join(pid.to_string()).join("environ");
    std::fs::read(path).is_ok_and(|environment| {
        environment
            .split(|byte| *byte == 0)
            .any(|entry| entry == wanted.as_bytes())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_name_with_spaces_and_parentheses_does_not_shift_the_fields() {
        let text = "4242 (my (sql) d) S 1 4240 4240 0 -1 4194560 1 0 0 0 7 5 0 0 20 0 30 0 98765 1 2 3";
        let stat = Stat::parse(text).unwrap();
        assert_eq!(
            stat,
            Stat {
                state: 'S',
                parent: 1,
                group: 4240,
                cpu_ticks: 12,
                start_ticks: 98765
            }
        );
    }

    #[test]
    fn a_process_with_another_start_time_is_not_the_recorded_one() {
        let own = i32::try_from(std::process::id()).unwrap();
        let mut identity = Identity::of(own, "nobody-has-this").unwrap();
        assert!(identity.is_alive());
        identity.start_ticks += 1;
        assert!(!identity.is_alive());
        assert!(identity.is_gone());
        // This would end the test itself if the start time did not count.
        identity.kill_group();
    }

    #[test]
    fn a_process_of_another_boot_is_not_the_recorded_one() {
        let own = i32::try_from(std::process::id()).unwrap();
        let mut identity = Identity::of(own, "").unwrap();
        identity.boot_id = "00000000-0000-0000-0000-000000000000".to_owned();
        assert!(!identity.is_alive());
        identity.kill_group();
    }
}
