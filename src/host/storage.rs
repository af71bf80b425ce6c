//! What a folder lies on.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::units::Bytes;

/// What a folder lies on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Storage {
    /// Space that can still be written.
    pub free: Bytes,
    /// File system type, e.g. `ext4`.
    pub file_system: String,
    /// Mount options.
    pub mount_options: String,
    /// Where it is mounted.
    pub mount_point: String,
    /// Whether it is a spinning disk; none where the kernel does not tell, and for paravirtual disks, which report what the
    /// hypervisor left at its default (virtio says "spinning" on any storage).
    pub rotational: Option<bool>,
}

/// The folder, or the nearest parent that is there.
pub fn existing(folder: &Path) -> PathBuf {
    let absolute = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    absolute
        .ancestors()
        .find(|path| path.is_dir())
        .unwrap_or(Path::new("/"))
        .to_owned()
}

impl Storage {
    /// Of an existing folder.
    ///
    /// # Errors
    /// What looking at the folder or the list of mounts reports.
    pub fn of(folder: &Path) -> std::io::Result<Self> {
        let stat = rustix::fs::statvfs(folder)?;
        let device = rustix::fs::stat(folder)?.st_dev;
        let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
        let mounts = fs::read_to_string("/proc/self/mountinfo")?;
        let mount = Mount::find(&mounts, major, minor, &fs::canonicalize(folder)?).unwrap_or_default();
        Ok(Self {
            free: Bytes(stat.f_bavail.saturating_mul(stat.f_frsize)),
            file_system: mount.file_system,
            mount_options: mount.options,
            mount_point: mount.point,
            rotational: rotational(major, minor),
        })
    }
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Mount {
    file_system: String,
    options: String,
    point: String,
}

impl Mount {
    /// The mount of a device (proc(5), mountinfo) whose mount point is the longest above `folder`.
    fn find(mounts: &str, major: u32, minor: u32, folder: &Path) -> Option<Self> {
        let device = format!("{major}:{minor}");
        mounts
            .lines()
            .filter_map(|line| {
                let (left, right) = line.split_once(" - ")?;
                let left: Vec<&str> = left.split(' ').collect();
                let right: Vec<&str> = right.split(' ').collect();
                (*left.get(2)? == device).then_some(())?;
                let point = left.get(4)?.replace("\\040", " ");
                folder.starts_with(&point).then_some(())?;
                Some(Self {
                    file_system: (*right.first()?).to_owned(),
                    options: format!("{},{}", left.get(5)?, right.get(2)?),
                    point,
                })
            })
            .max_by_key(|mount| mount.point.len())
    }
}

/// Whether a block device, or the disk it is a part of, spins.
fn rotational(major: u32, minor: u32) -> Option<bool> {
    let device = fs::canonicalize(format!("/sys/dev/block/{major}:{minor}")).ok()?;
    if is_paravirtual(&device) {
        return None;
    }
    device
        .ancestors()
        .take(2)
        .find_map(|folder| fs::read_to_string(folder.join("queue/rotational")).ok())
        .map(|text| text.trim() == "1")
}

/// Whether a device's path below /sys is that of a virtio or Xen disk.
fn is_paravirtual(device: &Path) -> bool {
    device
        .components()
        .filter_map(|part| part.as_os_str().to_str())
        .any(|part| {
            ["vd", "xvd"].iter().any(|prefix| {
                part.strip_prefix(prefix)
                    .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_lowercase()))
            })
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_paravirtual_disk_is_of_unknown_kind() {
        assert!(is_paravirtual(Path::new(
            "/sys/devices/pci0000:00/0000:00:05.0/virtio2/block/vda/vda1"
        )));
        assert!(is_paravirtual(Path::new("/sys/devices/vbd-51712/block/xvda")));
        assert!(!is_paravirtual(Path::new(
            "/sys/devices/pci0000:00/0000:00:1f.2/ata1/host0/block/sda/sda1"
        )));
        assert!(!is_paravirtual(Path::new("/sys/devices/virtual/block/loop0")));
    }

    #[test]
    fn the_nearest_mount_of_the_device_is_the_one() {
        let mounts = "22 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n30 22 254:0 /x /srv/my\\040data rw,noatime shared:1 - ext4 /dev/vda rw,data=ordered\n31 22 0:9 / /srv/tmp rw - tmpfs tmpfs rw\n";
        let mount = Mount::find(mounts, 254, 0, Path::new("/srv/my data/study")).unwrap();
        assert_eq!(mount.options, "rw,noatime,rw,data=ordered");
        assert_eq!(
            Mount::find(mounts, 254, 0, Path::new("/home")).unwrap().point,
            "/"
        );
        assert_eq!(Mount::find(mounts, 8, 0, Path::new("/home")), None);
    }

    #[test]
    fn a_real_folder_has_a_file_system_and_free_space() {
        let scratch = tempfile::tempdir().unwrap();
        let storage = Storage::of(scratch.path()).unwrap();
        assert!(storage.free.0 > 0);
        assert!(!storage.file_system.is_empty());
    }
}
