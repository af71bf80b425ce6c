//! Whether a folder lies on a file system on which SQLite's locks cannot be trusted.
//!
//! Source: SQLite, "How To Corrupt An SQLite Database File" (2.1) and "Write-Ahead Logging" (all processes must share the
//! memory of one host); magic numbers from statfs(2) and linux/magic.h.

use std::path::Path;

/// Magic numbers of network, cluster and user-space file systems, with the name people know.
const UNSAFE: [(u32, &str); 15] = [
    (0x6969, "NFS"),
    (0xFF53_4D42, "CIFS"),
    (0xFE53_4D42, "SMB"),
    (0x517B, "SMB"),
    (0x6573_5546, "FUSE"),
    (0x0102_1997, "9P"),
    (0x00C3_6400, "Ceph"),
    (0x5346_414F, "AFS"),
    (0x6B41_4653, "AFS"),
    (0x7375_7245, "Coda"),
    (0x0BD0_0BD0, "Lustre"),
    (0x4750_4653, "GPFS"),
    (0x7461_636F, "OCFS2"),
    (0x0116_1970, "GFS2"),
    (0x786F_4256, "VirtualBox shared folder"),
];

/// A warning when `folder` lies on a file system that several hosts or programs may share without working locks.
pub(super) fn warning(folder: &Path) -> Option<String> {
    let statistics = rustix::fs::statfs(folder).ok()?;
    // The magic is a 32-bit number in a field whose width and sign differ between architectures.
    let name = name_of(statistics.f_type as u32)?;
    Some(format!(
        "{} lies on a {name} file system, where SQLite's locks cannot be trusted: keep the study on a local disk \
         (--results), and never open it from two hosts",
        folder.display()
    ))
}

fn name_of(magic: u32) -> Option<&'static str> {
    UNSAFE
        .iter()
        .find(|(known, _)| *known == magic)
        .map(|(_, name)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn network_file_systems_are_known_by_their_magic_and_local_ones_are_not() {
        assert_eq!(name_of(0x6969), Some("NFS"));
        assert_eq!(name_of(0xFF53_4D42), Some("CIFS"));
        let (ext4, xfs, btrfs, overlay, tmpfs) = (0xEF53, 0x5846_5342, 0x9123_683E, 0x794C_7630, 0x0102_1994);
        for local in [ext4, xfs, btrfs, overlay, tmpfs] {
            assert_eq!(name_of(local), None, "{local:#x}");
        }
    }

    #[test]
    fn a_folder_that_cannot_be_asked_gives_no_warning() {
        assert_eq!(warning(Path::new("/nonexistent")), None);
    }
}
