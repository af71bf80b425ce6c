//! The user a private server runs as when Noctune is root.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// A user to run a child as.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunAs {
    /// Its name.
    pub name: String,
    /// Its id.
    pub uid: u32,
    /// Its group.
    pub gid: u32,
}

impl RunAs {
    /// The user private servers run as: `mysql`, else `nobody`, when Noctune is root; none where it is not root or the
    /// host has neither.
    pub fn choose() -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            return None;
        }
        let passwd = std::fs::read_to_string("/etc/passwd").ok()?;
        Self::find(&passwd, "mysql").or_else(|| Self::find(&passwd, "nobody"))
    }

    /// A user of a passwd(5) text.
    pub fn find(passwd: &str, name: &str) -> Option<Self> {
        passwd.lines().find_map(|line| {
            let fields: Vec<&str> = line.split(':').collect();
            let user = Self {
                name: (*fields.first()?).to_owned(),
                uid: fields.get(2)?.parse().ok()?,
                gid: fields.get(3)?.parse().ok()?,
            };
            (user.name == name && user.uid != 0).then_some(user)
        })
    }

    /// Whether this user can go into a folder, by the mode of it and of all above it; else the first that stops it.
    ///
    /// # Errors
    /// Where a folder cannot be looked at.
    pub fn barrier<'a>(&self, folder: &'a Path) -> io::Result<Option<&'a Path>> {
        for ancestor in folder.ancestors().filter(|path| !path.as_os_str().is_empty()) {
            let meta = ancestor.metadata()?;
            let shift = if meta.uid() == self.uid {
                6
            } else if meta.gid() == self.gid {
                3
            } else {
                0
            };
            if meta.mode() >> shift & 1 == 0 {
                return Ok(Some(ancestor));
            }
        }
        Ok(None)
    }

    /// Gives a file or folder to this user.
    ///
    /// # Errors
    /// What chown(2) reports.
    pub fn own(&self, path: &Path) -> io::Result<()> {
        std::os::unix::fs::lchown(path, Some(self.uid), Some(self.gid))
    }

    /// Gives a folder and all below it to this user; links are given, not followed.
    ///
    /// # Errors
    /// What chown(2) or reading a folder reports.
    pub fn own_tree(&self, path: &Path) -> io::Result<()> {
        self.own(path)?;
        if path.symlink_metadata()?.is_dir() {
            for entry in std::fs::read_dir(path)? {
                self.own_tree(&entry?.path())?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn root_under_another_name_is_never_chosen() {
        let passwd =
            "root:x:0:0::/root:/bin/sh\nmysql:x:0:0::/:/bin/false\nnobody:x:65534:65533::/:/bin/false\n";
        assert_eq!(RunAs::find(passwd, "mysql"), None);
        let nobody = RunAs::find(passwd, "nobody").unwrap();
        assert_eq!((nobody.uid, nobody.gid), (65534, 65533));
    }

    #[test]
    fn a_closed_folder_above_is_named_as_the_barrier() {
        let scratch = tempfile::tempdir().unwrap();
        let closed = scratch.path().join("closed");
        let inner = closed.join("inner");
        std::fs::create_dir_all(&inner).unwrap();
        std::fs::set_permissions(scratch.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o700)).unwrap();
        let stranger = RunAs {
            name: "stranger".into(),
            uid: 54_321,
            gid: 54_321,
        };
        assert_eq!(stranger.barrier(&inner).unwrap(), Some(closed.as_path()));
        std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o711)).unwrap();
        assert_eq!(stranger.barrier(&inner).unwrap(), None);
    }
}
