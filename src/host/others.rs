//! What others do on this host: their servers, their CPU time, their disk work.

use std::path::Path;
use std::time::Duration;

use super::caches::DiskCounters;
use super::identity::{Stat, all_pids};
use super::probe::read;

/// Another database server on this host.
#[derive(Debug, Clone, PartialEq)]
pub struct OtherServer {
    /// Its process id.
    pub pid: i32,
    /// Its program's name.
    pub name: String,
    /// Cores it used during the sample.
    pub cores_used: f64,
}

/// What others do on this host during a short sample.
#[derive(Debug, Clone, PartialEq)]
pub struct OtherLoad {
    /// Database servers that are not ours.
    pub servers: Vec<OtherServer>,
    /// Share of all CPU time used by everybody but this process and `ours`, 0 to 1.
    pub cpu_share: f64,
    /// Share of the time in which the busiest disk worked for others, 0 to 1.
    pub disk_share: f64,
}

/// What the disks did, and what of it was ours.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct DiskUse {
    /// Every disk of the host.
    disks: Vec<DiskCounters>,
    /// Bytes read from and written to disks by this process and `ours`.
    by_us: u64,
}

impl DiskUse {
    fn now(ours: &[i32]) -> Self {
        let text = read("/proc/diskstats").unwrap_or_default();
        // A disk of its own has a device; loops, RAM disks and mapped ones stand for something else.
        let is_disk = |name: &str| Path::new("/sys/block").join(name).join("device").exists();
        Self {
            disks: DiskCounters::disks(&text, is_disk),
            by_us: ours
                .iter()
                .filter_map(|pid| read(&format!("/proc/{pid}/io")))
                .map(|text| disk_bytes(&text))
                .sum(),
        }
    }

    /// Share of `seconds` in which the busiest disk worked, less the part that moved our bytes.
    fn share_of_others(&self, before: &Self, seconds: f64) -> f64 {
        let by_us = self.by_us.saturating_sub(before.by_us) as f64;
        self.disks
            .iter()
            .zip(&before.disks)
            .map(|(now, then)| {
                let moved = |disk: &DiskCounters| disk.read_bytes + disk.written_bytes;
                let bytes = moved(now).saturating_sub(moved(then)) as f64;
                let busy = now.busy_ms.saturating_sub(then.busy_ms) as f64 / 1000.0;
                let others = if bytes > 0.0 {
                    (1.0 - by_us / bytes).max(0.0)
                } else {
                    1.0
                };
                (busy / seconds * others).clamp(0.0, 1.0)
            })
            .fold(0.0, f64::max)
    }
}

/// Bytes that a `/proc/PID/io` text says were read from and written to disks.
fn disk_bytes(text: &str) -> u64 {
    text.lines()
        .filter_map(|line| line.split_once(": "))
        .filter(|(name, _)| ["read_bytes", "write_bytes"].contains(name))
        .filter_map(|(_, bytes)| bytes.trim().parse::<u64>().ok())
        .sum()
}

/// Clock ticks per second of `/proc` (sysconf(3), `_SC_CLK_TCK`).
fn ticks_per_second() -> f64 {
    rustix::param::clock_ticks_per_second() as f64
}

/// Looks at the host for `length`. `ours` are process ids that do not count as others.
pub async fn other_load(ours: &[i32], length: Duration) -> OtherLoad {
    let own = i32::try_from(std::process::id()).unwrap_or_default();
    let is_ours = |pid: i32| pid == own || ours.contains(&pid);
    let mine = || -> u64 {
        all_pids()
            .into_iter()
            .filter(|pid| is_ours(*pid))
            .filter_map(cpu_ticks)
            .sum()
    };
    let total = || {
        read("/proc/stat")
            .and_then(|text| CpuTicks::parse(&text))
            .unwrap_or_default()
    };
    let servers: Vec<(i32, String, u64)> = all_pids()
        .into_iter()
        .filter(|pid| !is_ours(*pid))
        .filter_map(|pid| {
            let name = read(&format!("/proc/{pid}/comm"))?;
            ["mysqld", "mariadbd"].contains(&name.as_str()).then_some(())?;
            Some((pid, name, cpu_ticks(pid)?))
        })
        .collect();
    let all_ours: Vec<i32> = ours.iter().copied().chain([own]).collect();
    let disks_before = DiskUse::now(&all_ours);
    let (mine_before, before) = (mine(), total());
    let began = tokio::time::Instant::now();
    tokio::time::sleep(length).await;
    let seconds = began.elapsed().as_secs_f64();
    let (mine_after, after) = (mine(), total());
    let disk_share = DiskUse::now(&all_ours).share_of_others(&disks_before, seconds);
    let by_us = mine_after.saturating_sub(mine_before);
    let servers = servers
        .into_iter()
        .map(|(pid, name, ticks)| OtherServer {
            pid,
            name,
            cores_used: cpu_ticks(pid).unwrap_or(ticks).saturating_sub(ticks) as f64
                / ticks_per_second()
                / seconds,
        })
        .collect();
    OtherLoad {
        servers,
        cpu_share: after.share_of_others(before, by_us),
        disk_share,
    }
}

fn cpu_ticks(pid: i32) -> Option<u64> {
    Stat::of(pid).map(|stat| stat.cpu_ticks)
}

/// CPU time of the whole host since boot, clock ticks (`/proc/stat`, line `cpu`; proc(5)).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CpuTicks {
    /// User code, nice included.
    pub user: u64,
    /// Kernel, interrupts included.
    pub system: u64,
    /// Nothing to do.
    pub idle: u64,
    /// Nothing to do but waiting for a disk.
    pub iowait: u64,
    /// Taken by the hypervisor.
    pub steal: u64,
}

impl CpuTicks {
    /// Reads a `/proc/stat` text.
    pub fn parse(text: &str) -> Option<Self> {
        let line = text.lines().find_map(|line| line.strip_prefix("cpu "))?;
        let fields: Vec<u64> = line
            .split_whitespace()
            .filter_map(|field| field.parse().ok())
            .collect();
        let at = |index: usize| fields.get(index).copied().unwrap_or(0);
        (fields.len() >= 4).then(|| Self {
            user: at(0) + at(1),
            system: at(2) + at(5) + at(6),
            idle: at(3),
            iowait: at(4),
            steal: at(7),
        })
    }

    /// Share of all CPU time since `before` that was used by others, when `by_us` ticks of it were ours; 0 to 1.
    fn share_of_others(&self, before: Self, by_us: u64) -> f64 {
        let all = self.all().saturating_sub(before.all()).max(1) as f64;
        let used = self.used().saturating_sub(before.used());
        // Ours are read at slightly other moments than the host's: they may come out larger.
        (used.saturating_sub(by_us) as f64 / all).min(1.0)
    }

    /// All of it.
    pub fn all(&self) -> u64 {
        self.used() + self.idle + self.iowait + self.steal
    }

    /// Time that was used on this host.
    pub fn used(&self) -> u64 {
        self.user + self.system
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_that_works_for_others_is_busy_and_one_that_works_for_us_is_not() {
        let at = |busy_ms: u64, written_bytes: u64, by_us: u64| DiskUse {
            disks: vec![
                DiskCounters::default(),
                DiskCounters {
                    busy_ms,
                    written_bytes,
                    ..DiskCounters::default()
                },
            ],
            by_us,
        };
        let before = at(1000, 5 << 20, 1 << 20);
        let share = |now: DiskUse| now.share_of_others(&before, 2.0);
        assert!((share(at(2800, 105 << 20, 1 << 20)) - 0.9).abs() < 1e-9);
        assert!(share(at(2800, 105 << 20, 101 << 20)) < 1e-9);
        assert!(share(at(1000, 5 << 20, 1 << 20)) < 1e-9);
        assert_eq!(
            disk_bytes("rchar: 9\nread_bytes: 4096\nwrite_bytes: 8192\n"),
            12_288
        );
    }

    #[test]
    fn the_cpu_time_of_others_is_what_was_used_less_ours() {
        let at = |user: u64, idle: u64| CpuTicks {
            user,
            idle,
            ..CpuTicks::default()
        };
        let share = |by_us: u64| at(160, 1040).share_of_others(at(100, 1000), by_us);
        assert!((share(0) - 0.6).abs() < 1e-9);
        assert!((share(20) - 0.4).abs() < 1e-9);
        assert!(share(70) < 1e-9);
    }

    #[tokio::test]
    async fn a_busy_process_of_somebody_else_is_seen() {
        let mut busy = std::process::Command::new("sh")
            .args(["-c", "while :; do :; done"])
            .spawn()
            .unwrap();
        let seen = other_load(&[], Duration::from_millis(500)).await;
        busy.kill().unwrap();
        busy.wait().unwrap();
        let cores = read("/proc/stat")
            .unwrap()
            .lines()
            .filter(|line| line.starts_with("cpu"))
            .count()
            - 1;
        // One core, or a part of one where others are busy too.
        let busy_cores = seen.cpu_share * cores as f64;
        assert!(busy_cores > 0.2, "{seen:?}");
    }

    #[test]
    fn cpu_time_is_split_into_its_kinds() {
        let ticks = CpuTicks::parse("cpu  10 2 5 100 7 1 1 3 0 0\ncpu0 1 1 1 1\n").unwrap();
        assert_eq!(
            ticks,
            CpuTicks {
                user: 12,
                system: 7,
                idle: 100,
                iowait: 7,
                steal: 3
            }
        );
        assert_eq!(ticks.all(), 129);
    }
}
