//! Phase *cool*: what one trial leaves in the page cache must not help the next.

use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::time::Duration;

use rustix::fs::{Advice, fadvise};

/// Writes all of a tree's files to the disk and takes them out of the page cache (posix_fadvise(2), DONTNEED). Needs no
/// root and leaves everybody else's cache alone. Blocking; ends early, before the next file, once `stopped` says so.
///
/// # Errors
/// What opening or fsync(2) reports, e.g. a disk error.
pub fn evict_tree(root: &Path, stopped: &dyn Fn() -> bool) -> io::Result<()> {
    for entry in fs::read_dir(root)? {
        if stopped() {
            return Ok(());
        }
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            evict_tree(&entry.path(), stopped)?;
        } else if kind.is_file() {
            let file = File::open(entry.path())?;
            file.sync_all()?;
            fadvise(&file, 0, None, Advice::DontNeed)?;
        }
    }
    Ok(())
}

/// Drops all clean caches of the host (`/proc/sys/vm/drop_caches`; proc(5)). Every process of the host feels it.
///
/// # Errors
/// Without root: permission denied.
pub fn drop_all() -> io::Result<()> {
    rustix::fs::sync();
    fs::write("/proc/sys/vm/drop_caches", "3")
}

/// Counters of one block device (`/proc/diskstats`; kernel documentation, "iostats").
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DiskCounters {
    /// Bytes read since boot.
    pub read_bytes: u64,
    /// Bytes written since boot.
    pub written_bytes: u64,
    /// Requests under way now.
    pub in_flight: u64,
    /// Milliseconds with requests under way since boot.
    pub busy_ms: u64,
}

impl DiskCounters {
    /// Of a device by its numbers, from a diskstats text; none where it is not listed.
    pub fn parse(text: &str, major: u32, minor: u32) -> Option<Self> {
        text.lines().find_map(|line| {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let number = |index: usize| fields.get(index)?.parse::<u64>().ok();
            if (number(0)?, number(1)?) != (u64::from(major), u64::from(minor)) {
                return None;
            }
            Some(Self {
                read_bytes: number(5)? * 512,
                written_bytes: number(9)? * 512,
                in_flight: number(11)?,
                busy_ms: number(12)?,
            })
        })
    }

    /// Of every whole disk in a diskstats text: partitions, loops, and what stands for other disks (dm, md) are left out.
    pub fn disks(text: &str, is_disk: impl Fn(&str) -> bool) -> Vec<Self> {
        text.lines()
            .filter_map(|line| {
                let mut fields = line.split_whitespace();
                let number = |field: Option<&str>| field?.parse::<u32>().ok();
                let (major, minor) = (number(fields.next())?, number(fields.next())?);
                is_disk(fields.next()?).then(|| Self::parse(line, major, minor))?
            })
            .collect()
    }

    /// Of the device a path lies on; none where the file system has no device of its own (tmpfs, overlay, btrfs).
    pub fn of(path: &Path) -> Option<Self> {
        let device = rustix::fs::stat(path).ok()?.st_dev;
        let text = fs::read_to_string("/proc/diskstats").ok()?;
        Self::parse(&text, rustix::fs::major(device), rustix::fs::minor(device))
    }
}

/// How long the disk must be quiet to count as idle.
const QUIET: Duration = Duration::from_millis(200);
/// Share of that time with requests under way that is still idle.
const QUIET_SHARE: f64 = 0.05;

/// Waits until the disk under `path` is idle, at most until the deadline. False when it was still busy then; true at once
/// where there is no device to look at.
pub async fn wait_disk_idle(path: &Path, deadline: Duration) -> bool {
    let end = tokio::time::Instant::now() + deadline;
    let Some(mut before) = DiskCounters::of(path) else {
        return true;
    };
    loop {
        let began = tokio::time::Instant::now();
        tokio::time::sleep(QUIET).await;
        let Some(now) = DiskCounters::of(path) else {
            return true;
        };
        let busy = now.busy_ms.saturating_sub(before.busy_ms) as f64 / 1000.0;
        if now.in_flight == 0 && busy <= QUIET_SHARE * began.elapsed().as_secs_f64() {
            return true;
        }
        if tokio::time::Instant::now() >= end {
            return false;
        }
        before = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_of_a_device_are_found_by_its_numbers() {
        let text = "   8       0 sda 100 0 800 10 50 0 400 20 0 30 30\n 254       0 vda 7 1 16 5 9 2 32 6 3 44 50 0 0 0 0\n";
        let disk = DiskCounters::parse(text, 254, 0).unwrap();
        assert_eq!(
            disk,
            DiskCounters {
                read_bytes: 8192,
                written_bytes: 16384,
                in_flight: 3,
                busy_ms: 44
            }
        );
        assert_eq!(DiskCounters::parse(text, 254, 1), None);
        let disks = DiskCounters::disks(text, |name| name == "vda");
        assert_eq!(disks, [disk]);
    }

    #[test]
    fn evicting_a_tree_changes_no_file() {
        let scratch = tempfile::tempdir().unwrap();
        fs::create_dir(scratch.path().join("db")).unwrap();
        fs::write(scratch.path().join("db/t.ibd"), vec![5_u8; 100_000]).unwrap();
        evict_tree(scratch.path(), &|| false).unwrap();
        assert_eq!(
            fs::read(scratch.path().join("db/t.ibd")).unwrap(),
            vec![5_u8; 100_000]
        );
    }
}
