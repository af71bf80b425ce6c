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

/// A control group of ours: one folder per hierarchy. Dropping it ends what is in it and removes it.
#[derive(Debug)]
pub struct Cgroup {
    folders: Vec<PathBuf>,
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
            "noctune-{}-{}",
            std::process::id(),
            COUNT.fetch_add(1, Ordering::Relaxed)
        );
        let mut group = Self { folders: Vec::new() };
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
        fs::write(Path::new(ROOT).join("cgroup.subtree_control"), "+memory +cpuset")?;
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
    fn a_child_is_limited_from_its_first_instruction_and_the_group_is_gone_afterwards() {
        let limits = Limits {
            memory: Some(Bytes::mib(64)),
            cores: Some(1),
        };
        let Ok(group) = Cgroup::create(&limits) else {
            eprintln!("skipped: this host does not let us make cgroups");
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
