//! What can be known of this host.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::identity::boot_id;
use super::memory::MemoryProbe;
use super::storage::Storage;

/// What a result depends on beside the configuration; stored with every study, compared on resume and between workers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Fingerprint {
    /// Name of the host.
    pub hostname: String,
    /// Kernel release.
    pub kernel: String,
    /// Id of the boot.
    pub boot_id: String,
    /// CPU model.
    pub cpu: String,
    /// Cores this process may use (affinity and cgroup quota); a quota may be a fraction.
    pub cores: f64,
    /// Memory.
    pub memory: Option<MemoryProbe>,
    /// CPU frequency governor; none where there is none (most virtual machines).
    pub governor: Option<String>,
    /// Transparent huge pages: `always`, `madvise` or `never`.
    pub huge_pages: Option<String>,
    /// `vm.swappiness`.
    pub swappiness: Option<u32>,
    /// NUMA nodes.
    pub numa_nodes: usize,
    /// What the study's folder lies on.
    pub storage: Option<Storage>,
    /// Soft and hard limit of open files.
    pub open_files: (Option<u64>, Option<u64>),
    /// Asynchronous I/O slots in use and allowed (`fs.aio-nr`, `fs.aio-max-nr`).
    pub aio: (u64, u64),
}

impl Fingerprint {
    /// Of this host, for a study in `folder`, which must exist.
    pub fn read(folder: &Path) -> Self {
        let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
        let sys = |name: &str| read(&format!("/proc/sys/{name}"));
        let number = |name: &str| sys(name).and_then(|text| text.parse().ok()).unwrap_or_default();
        Self {
            hostname: sys("kernel/hostname").unwrap_or_default(),
            kernel: sys("kernel/osrelease").unwrap_or_default(),
            boot_id: boot_id(),
            cpu: read("/proc/cpuinfo")
                .and_then(|text| cpu_model(&text))
                .unwrap_or_default(),
            cores: cores(),
            memory: MemoryProbe::read(),
            governor: read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
            huge_pages: read("/sys/kernel/mm/transparent_hugepage/enabled").and_then(|text| chosen(&text)),
            swappiness: sys("vm/swappiness").and_then(|text| text.parse().ok()),
            numa_nodes: numa_nodes(),
            storage: Storage::of(folder).ok(),
            open_files: (limit.current, limit.maximum),
            aio: (number("fs/aio-nr"), number("fs/aio-max-nr")),
        }
    }
}

/// The text of a file of `/proc` or `/sys`, trimmed; none where it cannot be read.
pub(super) fn read(path: &str) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}

/// The `model name` of a `/proc/cpuinfo` text.
fn cpu_model(text: &str) -> Option<String> {
    text.lines()
        .find_map(|line| line.split_once(':').filter(|(key, _)| key.trim() == "model name"))
        .map(|(_, value)| value.trim().to_owned())
}

/// The word in brackets, as in `always [madvise] never`.
fn chosen(text: &str) -> Option<String> {
    text.split_once('[')?
        .1
        .split_once(']')
        .map(|(word, _)| word.to_owned())
}

fn numa_nodes() -> usize {
    let nodes = fs::read_dir("/sys/devices/system/node").map_or(0, |entries| {
        entries
            .flatten()
            .filter(|entry| {
                entry
                    .file_name()
                    .to_str()
                    .and_then(|name| name.strip_prefix("node"))
                    .is_some_and(|number| number.parse::<u32>().is_ok())
            })
            .count()
    });
    nodes.max(1)
}

/// Cores this process may use: its affinity, or the quota of its cgroup where that is less.
pub fn cores() -> f64 {
    let affinity = rustix::thread::sched_getaffinity(None).map_or(1, |set| set.count());
    let quota = [
        read("/sys/fs/cgroup/cpu.max").and_then(|text| quota_v2(&text)),
        read("/sys/fs/cgroup/cpu/cpu.cfs_quota_us")
            .zip(read("/sys/fs/cgroup/cpu/cpu.cfs_period_us"))
            .and_then(|(quota, period)| quota_v2(&format!("{quota} {period}"))),
    ];
    quota.into_iter().flatten().fold(f64::from(affinity), f64::min)
}

/// Cores of a `cpu.max` text (`max 100000`, `150000 100000`); version 1 writes -1 for no quota.
fn quota_v2(text: &str) -> Option<f64> {
    let (quota, period) = text.split_once(' ')?;
    let (quota, period): (f64, f64) = (quota.parse().ok()?, period.trim().parse().ok()?);
    (quota > 0.0 && period > 0.0).then_some(quota / period)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotas_of_both_cgroup_versions_are_cores() {
        assert_eq!(quota_v2("150000 100000"), Some(1.5));
        assert_eq!(quota_v2("max 100000"), None);
        assert_eq!(quota_v2("-1 100000"), None);
    }

    #[test]
    fn the_chosen_huge_page_mode_is_the_one_in_brackets() {
        assert_eq!(chosen("always [madvise] never").as_deref(), Some("madvise"));
    }

    #[test]
    fn this_host_can_be_fingerprinted_and_the_print_survives_storing() {
        let scratch = tempfile::tempdir().unwrap();
        let print = Fingerprint::read(scratch.path());
        assert!(print.cores > 0.0);
        assert!(!print.kernel.is_empty() && !print.boot_id.is_empty());
        let text = serde_json::to_string(&print).unwrap();
        assert_eq!(serde_json::from_str::<Fingerprint>(&text).unwrap(), print);
    }
}
