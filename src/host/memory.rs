//! How much memory there is: the kernel's own figures, never those of `free`.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::units::Bytes;

/// Memory of this host, as seen by this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryProbe {
    /// All of the host's (`MemTotal`).
    pub total: Bytes,
    /// What could be taken without swapping (`MemAvailable`).
    pub available: Bytes,
    /// The smallest limit of the cgroups this process is in; none without one.
    pub cgroup_limit: Option<Bytes>,
    /// Swap space.
    pub swap: Bytes,
}

impl MemoryProbe {
    /// What a machine class `probe` has: the smallest of cgroup limit, `MemTotal`, and `MemAvailable` less 10 %.
    pub fn class_ram(&self) -> Bytes {
        let available = Bytes(self.available.0 - self.available.0 / 10);
        self.cgroup_limit
            .unwrap_or(self.total)
            .min(self.total)
            .min(available)
    }

    /// Reads a `/proc/meminfo` text (kB; proc(5)). None where a figure is missing or they cannot be true together.
    pub fn parse(meminfo: &str, cgroup_limit: Option<Bytes>) -> Option<Self> {
        let field = |name: &str| {
            meminfo.lines().find_map(|line| {
                let (key, rest) = line.split_once(':')?;
                let mut words = rest.split_whitespace();
                let number: u64 = (key == name).then(|| words.next())??.parse().ok()?;
                (words.next() == Some("kB")).then(|| Bytes::kib(number))
            })
        };
        let total = field("MemTotal")?;
        let available = field("MemAvailable").or_else(|| field("MemFree"))?;
        (available <= total).then(|| Self {
            total,
            available,
            cgroup_limit: cgroup_limit.filter(|limit| *limit < total),
            swap: field("SwapTotal").unwrap_or_default(),
        })
    }

    /// Of this host; none where the kernel does not tell.
    pub fn read() -> Option<Self> {
        Self::parse(&fs::read_to_string("/proc/meminfo").ok()?, cgroup_limit())
    }
}

/// The smallest memory limit of the cgroups above this process, of either version.
fn cgroup_limit() -> Option<Bytes> {
    let own = fs::read_to_string("/proc/self/cgroup").ok()?;
    own.lines()
        .filter_map(|line| {
            let mut parts = line.splitn(3, ':');
            let (_, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
            let (root, file) = if controllers.is_empty() {
                ("/sys/fs/cgroup", "memory.max")
            } else if controllers.split(',').any(|name| name == "memory") {
                ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")
            } else {
                return None;
            };
            smallest_limit(Path::new(root), path, file)
        })
        .min()
}

/// The smallest limit on the way from a cgroup up to the root.
fn smallest_limit(root: &Path, path: &str, file: &str) -> Option<Bytes> {
    let relative = Path::new(path.trim_start_matches('/'));
    relative
        .ancestors()
        .filter_map(|folder| parse_limit(&fs::read_to_string(root.join(folder).join(file)).ok()?))
        .min()
}

/// A limit as cgroups write it; `max` and version 1's "no limit" (near 2^63) are none.
fn parse_limit(text: &str) -> Option<Bytes> {
    text.trim()
        .parse::<u64>()
        .ok()
        .filter(|limit| *limit < 1 << 60)
        .map(Bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEMINFO: &str = "MemTotal:       65843276 kB\nMemFree:          291112 kB\nMemAvailable:   45100200 kB\nSwapTotal:       2097148 kB\n";

    #[test]
    fn the_class_has_what_is_available_less_a_tenth() {
        let memory = MemoryProbe::parse(MEMINFO, None).unwrap();
        assert_eq!(memory.total, Bytes::kib(65_843_276));
        assert_eq!(
            memory.class_ram(),
            Bytes(45_100_200 * 1024 - 45_100_200 * 1024 / 10)
        );
        assert_eq!(memory.swap, Bytes::kib(2_097_148));
    }

    #[test]
    fn a_cgroup_limit_below_the_ram_counts_and_one_above_does_not() {
        let limited = MemoryProbe::parse(MEMINFO, Some(Bytes::gib(8))).unwrap();
        assert_eq!(limited.class_ram(), Bytes::gib(8));
        assert_eq!(
            MemoryProbe::parse(MEMINFO, Some(Bytes::gib(500)))
                .unwrap()
                .cgroup_limit,
            None
        );
        assert_eq!(parse_limit("9223372036854771712\n"), None);
        assert_eq!(parse_limit("max\n"), None);
        assert_eq!(parse_limit("1048576\n"), Some(Bytes::mib(1)));
    }

    #[test]
    fn figures_that_cannot_be_true_are_refused() {
        assert_eq!(
            MemoryProbe::parse("MemTotal: 1000 kB\nMemAvailable: 2000 kB\n", None),
            None
        );
        assert_eq!(MemoryProbe::parse("Mem:    6742351462 6712542003\n", None), None);
        assert_eq!(
            MemoryProbe::parse("MemTotal: 1000\nMemAvailable: 20\n", None),
            None
        );
    }
}
