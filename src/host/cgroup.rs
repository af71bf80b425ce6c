//! Limits a private server to the machine class, by cgroups of version 1 or 2.
//!
//! Source: kernel documentation, "Control Group v2" and "cgroup-v1".

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use crate::units::Bytes;

const ROOT: &str = "/sys/fs/cgroup";

/// What a server may use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Limits {
    /// Memory, page cache included.
    pub memory: Option<Bytes>,
    /// Cores.
    pub cores: Option<u32>,
}

/// What the names of our groups begin with.
const PREFIX: &str = "noctune-";

/// A control group of ours: one folder per hierarchy. Dropping it ends what is in it, removes it, and takes back the
/// controllers that the host's root group did not hand out before (version 2). Only a kill of Noctune itself leaves those
/// handed out, which limits nothing.
#[derive(Debug)]
pub struct Cgroup {
    folders: Vec<PathBuf>,
    handed_out: Option<HandedOut>,
}

/// Controllers that a group hands out to the groups in it only because we asked.
#[derive(Debug)]
struct HandedOut {
    parent: PathBuf,
    controllers: Vec<&'static str>,
}

impl HandedOut {
    /// Makes `parent` hand out what is `wanted`; none where it did already.
    fn ask(parent: &Path, wanted: &[&'static str]) -> io::Result<Option<Self>> {
        let file = parent.join("cgroup.subtree_control");
        let controllers = missing(&fs::read_to_string(&file)?, wanted);
        if controllers.is_empty() {
            return Ok(None);
        }
        fs::write(file, signed('+', &controllers))?;
        Ok(Some(Self {
            parent: parent.to_owned(),
            controllers,
        }))
    }

    /// Leaves `parent` as it was found, unless another group of ours still needs it.
    fn take_back(&self) -> io::Result<()> {
        let in_use = fs::read_dir(&self.parent)?
            .flatten()
            .any(|entry| entry.file_name().to_string_lossy().starts_with(PREFIX));
        if in_use {
            return Ok(());
        }
        fs::write(
            self.parent.join("cgroup.subtree_control"),
            signed('-', &self.controllers),
        )
    }
}

/// What of `wanted` a `cgroup.subtree_control` text does not name.
fn missing(text: &str, wanted: &[&'static str]) -> Vec<&'static str> {
    let given: Vec<&str> = text.split_whitespace().collect();
    wanted
        .iter()
        .filter(|controller| !given.contains(controller))
        .copied()
        .collect()
}

/// As the kernel takes changes, e.g. `+memory +cpuset`.
fn signed(sign: char, controllers: &[&str]) -> String {
    let signed: Vec<String> = controllers
        .iter()
        .map(|controller| format!("{sign}{controller}"))
        .collect();
    signed.join(" ")
}

impl Cgroup {
    /// Makes one with these limits.
    ///
    /// # Errors
    /// What the kernel reports: without root, or where the hierarchy belongs to somebody else, permission denied. The
    /// server then runs without limits, which is to be told.
    pub fn create(limits: &Limits) -> io::Result<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!(
            "{PREFIX}{}-{}",
            std::process::id(),
            COUNT.fetch_add(1, Ordering::Relaxed)
        );
        let mut group = Self {
            folders: Vec::new(),
            handed_out: None,
        };
        if Path::new(ROOT).join("cgroup.controllers").exists() {
            group.add_v2(&name, limits)?;
        } else {
            group.add_v1(&name, limits)?;
        }
        Ok(group)
    }

    /// Files to join, opened for writing, for [`super::Spawn::join`].
    ///
    /// # Errors
    /// What opening reports.
    pub fn join_files(&self) -> io::Result<Vec<File>> {
        self.folders
            .iter()
            .map(|folder| OpenOptions::new().write(true).open(folder.join("cgroup.procs")))
            .collect()
    }

    /// Its folders, for [`super::Guardian::will_remove`].
    pub fn folders(&self) -> &[PathBuf] {
        &self.folders
    }

    /// Kills for memory in it so far; none where it does not limit memory.
    pub fn memory_kills(&self) -> Option<u64> {
        self.folders.iter().find_map(|folder| {
            ["memory.events", "memory.oom_control"]
                .iter()
                .find_map(|file| kills(&fs::read_to_string(folder.join(file)).ok()?))
        })
    }

    fn add_v2(&mut self, name: &str, limits: &Limits) -> io::Result<()> {
        // The root may hold processes and hand out controllers at once.
        let wanted = [limits.memory.map(|_| "memory"), limits.cores.map(|_| "cpuset")];
        let wanted: Vec<&'static str> = wanted.into_iter().flatten().collect();
        self.handed_out = HandedOut::ask(Path::new(ROOT), &wanted)?;
        let folder = self.make(Path::new(ROOT).join(name))?;
        if let Some(memory) = limits.memory {
            fs::write(folder.join("memory.max"), memory.0.to_string())?;
        }
        if let Some(cores) = limits.cores {
            fs::write(folder.join("cpuset.cpus"), cpu_list(cores)?)?;
        }
        Ok(())
    }

    fn add_v1(&mut self, name: &str, limits: &Limits) -> io::Result<()> {
        if let Some(memory) = limits.memory {
            let folder = self.make(Path::new(ROOT).join("memory").join(name))?;
            fs::write(folder.join("memory.limit_in_bytes"), memory.0.to_string())?;
        }
        if let Some(cores) = limits.cores {
            let parent = Path::new(ROOT).join("cpuset");
            let folder = self.make(parent.join(name))?;
            // Both must be set before a process may join.
            fs::write(
                folder.join("cpuset.mems"),
                fs::read_to_string(parent.join("cpuset.mems"))?,
            )?;
            fs::write(folder.join("cpuset.cpus"), cpu_list(cores)?)?;
        }
        Ok(())
    }

    fn make(&mut self, folder: PathBuf) -> io::Result<PathBuf> {
        fs::create_dir(&folder)?;
        self.folders.push(folder.clone());
        Ok(folder)
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        for folder in &self.folders {
            // Version 2 only; the server's group was killed before in any case.
            let _ = fs::write(folder.join("cgroup.kill"), "1");
            // The kernel needs a moment to see that the last process is gone.
            for _ in 0..200 {
                match fs::remove_dir(folder) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => {
                        std::thread::sleep(Duration::from_millis(5));
                    }
                    _ => break,
                }
            }
        }
        if let Some(handed_out) = &self.handed_out {
            // Somebody else may need it by now; then the kernel refuses, and it stays.
            let _ = handed_out.take_back();
        }
    }
}

/// The first cores this process may use, as a cpuset list.
fn cpu_list(cores: u32) -> io::Result<String> {
    let allowed = rustix::thread::sched_getaffinity(None)?;
    let list: Vec<String> = (0..rustix::thread::CpuSet::MAX_CPU)
        .filter(|cpu| allowed.is_set(*cpu))
        .take(usize::try_from(cores).unwrap_or(usize::MAX))
        .map(|cpu| cpu.to_string())
        .collect();
    Ok(list.join(","))
}

/// The count of kills in a `memory.events` or `memory.oom_control` text.
fn kills(text: &str) -> Option<u64> {
    text.lines()
        .find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::Spawn;

    #[test]
    fn kills_for_memory_are_counted_in_both_versions() {
        assert_eq!(kills("low 0\nhigh 0\nmax 12\noom 3\noom_kill 2\n"), Some(2));
        assert_eq!(kills("oom_kill_disable 0\nunder_oom 0\noom_kill 1\n"), Some(1));
        assert_eq!(kills("oom_kill_disable 0\n"), None);
    }

    #[test]
    fn controllers_are_handed_out_only_where_they_are_missing_and_taken_back_by_the_last_group() {
        let scratch = tempfile::tempdir().unwrap();
        let control = scratch.path().join("cgroup.subtree_control");
        fs::write(&control, "cpu memory pids\n").unwrap();
        let asked = HandedOut::ask(scratch.path(), &["memory"]).unwrap();
        assert!(asked.is_none(), "{asked:?}");
        assert_eq!(fs::read_to_string(&control).unwrap(), "cpu memory pids\n");

        let asked = HandedOut::ask(scratch.path(), &["memory", "cpuset"])
            .unwrap()
            .unwrap();
        assert_eq!(fs::read_to_string(&control).unwrap(), "+cpuset");
        let other = scratch.path().join("noctune-1-0");
        fs::create_dir(&other).unwrap();
        asked.take_back().unwrap();
        assert_eq!(fs::read_to_string(&control).unwrap(), "+cpuset");
        fs::remove_dir(other).unwrap();
        asked.take_back().unwrap();
        assert_eq!(fs::read_to_string(&control).unwrap(), "-cpuset");
    }

    #[test]
    fn a_child_is_limited_from_its_first_instruction_and_the_group_is_gone_afterwards() {
        let limits = Limits {
            memory: Some(Bytes::mib(64)),
            cores: Some(1),
        };
        let Ok(group) = Cgroup::create(&limits) else {
            // Standard error itself: what `eprintln!` writes is shown for failed tests only.
            let _ = std::io::Write::write_all(
                &mut std::io::stderr(),
                b"skipped: this host does not let us make cgroups\n",
            );
            return;
        };
        let child = Spawn::new("/bin/sleep")
            .arg("30")
            .join(group.join_files().unwrap())
            .start()
            .unwrap();
        let of_child = fs::read_to_string(format!("/proc/{}/cgroup", child.pid())).unwrap();
        assert!(of_child.contains("noctune-"), "{of_child}");
        assert_eq!(group.memory_kills(), Some(0));
        let folders = group.folders().to_vec();
        drop(child);
        drop(group);
        assert!(folders.iter().all(|folder| !folder.exists()));
    }
}
