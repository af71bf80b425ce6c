//! Data directories of ours, and only of ours: a marker file decides.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use crate::error::{Error, IoContext, Result};
use crate::units::Bytes;

/// Marker of a template.
pub(super) const TEMPLATE_MARKER: &str = ".noctune-template";
/// Marker of a trial's data directory.
pub(super) const TRIAL_MARKER: &str = ".noctune-data";

/// The files that prove a folder ours. Either is enough: a template in the making carries both for a moment.
const MARKERS: [&str; 2] = [TEMPLATE_MARKER, TRIAL_MARKER];

/// Makes sure that `folder` is missing, empty, or marked as ours.
///
/// # Errors
/// A host error for any other folder: it is never touched.
pub(super) fn must_be_ours(folder: &Path) -> Result<()> {
    let mut entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error).context("cannot read the data directory", folder),
    };
    if entries.next().is_none() || MARKERS.iter().any(|marker| folder.join(marker).is_file()) {
        return Ok(());
    }
    Err(
        Error::host("this data directory was not made by Noctune and is not touched")
            .at(folder.display().to_string())
            .next("choose another results folder, or empty this one yourself"),
    )
}

/// Removes all of a folder of ours (see [`must_be_ours`]), read-only parts too. Its markers go last: what a kill leaves
/// in between is still known as ours, and removed by the next start.
///
/// # Errors
/// Host errors: a folder that is not ours, and what the file system says.
pub fn remove(folder: &Path) -> Result<()> {
    let failed = "cannot remove the data directory";
    must_be_ours(folder)?;
    make_writable(folder).context(failed, folder)?;
    for entry in entries_markers_last(folder).context(failed, folder)? {
        remove_entry(&entry).context(failed, &entry)?;
    }
    unless_missing(fs::remove_dir(folder)).context(failed, folder)
}

/// What lies at the top of a folder, in the order in which it is removed; nothing where there is no such folder.
fn entries_markers_last(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut names = entries
        .map(|entry| Ok(entry?.file_name()))
        .collect::<io::Result<Vec<_>>>()?;
    names.sort_by_key(|name| MARKERS.iter().any(|marker| name == marker));
    Ok(names.into_iter().map(|name| folder.join(name)).collect())
}

fn remove_entry(path: &Path) -> io::Result<()> {
    let removed = match fs::symlink_metadata(path) {
        Ok(meta) if meta.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    unless_missing(removed)
}

fn unless_missing(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// Makes a folder with its parents, mode 0750.
pub(super) fn create(folder: &Path) -> Result<()> {
    if let Some(parent) = folder.parent() {
        fs::create_dir_all(parent).context("cannot make the folder", parent)?;
    }
    match fs::DirBuilder::new().mode(0o750).create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            Err(error).context("cannot make the folder", folder)
        }
        _ => Ok(()),
    }
}

/// Files and folders below `root`, relative to it, folders before what is in them; links and special files are left out:
/// a server makes none but tablespaces elsewhere, which a trial must not write to.
pub(super) fn tree(root: &Path) -> io::Result<Tree> {
    let mut tree = Tree::default();
    let mut todo = vec![PathBuf::new()];
    while let Some(folder) = todo.pop() {
        for entry in fs::read_dir(root.join(&folder))? {
            let entry = entry?;
            let path = folder.join(entry.file_name());
            let kind = entry.file_type()?;
            if kind.is_dir() {
                tree.folders.push(path.clone());
                todo.push(path);
            } else if kind.is_file() {
                tree.files.push((path, entry.metadata()?.len()));
            }
        }
    }
    tree.folders.sort();
    tree.files.sort();
    Ok(tree)
}

/// What tells the contents of a data directory apart from others: names, sizes and times of change of its files, as a hash.
///
/// # Errors
/// What the file system says.
pub fn contents_key(root: &Path) -> io::Result<String> {
    let mut hash = Sha256::new();
    for (file, size) in tree(root)?.files {
        let changed = fs::metadata(root.join(&file))?.modified()?;
        let since = changed
            .duration_since(std::time::UNIX_EPOCH)
            .unwrap_or_default()
            .as_nanos();
        hash.update(format!("{} {size} {since}\n", file.display()));
    }
    Ok(hash
        .finalize()
        .iter()
        .take(8)
        .map(|byte| format!("{byte:02x}"))
        .collect())
}

/// Size of all files below a folder; zero where there is none.
///
/// # Errors
/// What the file system says.
pub fn data_size(root: &Path) -> io::Result<Bytes> {
    match tree(root) {
        Ok(tree) => Ok(Bytes(tree.files.iter().map(|(_, size)| size).sum())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Bytes(0)),
        Err(error) => Err(error),
    }
}

/// What is below a folder.
#[derive(Debug, Default)]
pub(super) struct Tree {
    /// Folders, parents first.
    pub(super) folders: Vec<PathBuf>,
    /// Files with their sizes.
    pub(super) files: Vec<(PathBuf, u64)>,
}

/// Takes the write permission from all below a folder, and from it.
pub(super) fn make_read_only(root: &Path) -> io::Result<()> {
    let tree = tree(root)?;
    for (file, _) in &tree.files {
        fs::set_permissions(root.join(file), fs::Permissions::from_mode(0o440))?;
    }
    for folder in tree.folders.iter().rev() {
        fs::set_permissions(root.join(folder), fs::Permissions::from_mode(0o550))?;
    }
    fs::set_permissions(root, fs::Permissions::from_mode(0o550))
}

fn make_writable(root: &Path) -> io::Result<()> {
    if !root.is_dir() {
        return Ok(());
    }
    fs::set_permissions(root, fs::Permissions::from_mode(0o750))?;
    for folder in &tree(root)?.folders {
        fs::set_permissions(root.join(folder), fs::Permissions::from_mode(0o750))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;

    #[test]
    fn a_data_directory_without_our_marker_is_never_touched() {
        let scratch = tempfile::tempdir().unwrap();
        let foreign = scratch.path().join("mysql");
        fs::create_dir(&foreign).unwrap();
        assert!(must_be_ours(&foreign).is_ok(), "an empty folder may be used");
        fs::write(foreign.join("ibdata1"), "precious").unwrap();
        let error = remove(&foreign).unwrap_err();
        assert_eq!(error.exit_code(), 3);
        assert_eq!(fs::read_to_string(foreign.join("ibdata1")).unwrap(), "precious");
    }

    #[test]
    fn changed_data_have_another_key() {
        let scratch = tempfile::tempdir().unwrap();
        let file = scratch.path().join("ibdata1");
        fs::write(&file, "one").unwrap();
        let before = contents_key(scratch.path()).unwrap();
        assert_eq!(contents_key(scratch.path()).unwrap(), before);
        let later = std::time::SystemTime::now() + std::time::Duration::from_secs(5);
        fs::write(&file, "two").unwrap();
        File::options()
            .write(true)
            .open(&file)
            .unwrap()
            .set_modified(later)
            .unwrap();
        let after = contents_key(scratch.path()).unwrap();
        assert_ne!(after, before, "same size, other time");
        fs::write(scratch.path().join("undo001"), "").unwrap();
        assert_ne!(contents_key(scratch.path()).unwrap(), after);
    }

    #[test]
    fn a_read_only_folder_of_ours_can_be_removed() {
        let scratch = tempfile::tempdir().unwrap();
        let ours = scratch.path().join("data");
        fs::create_dir_all(ours.join("db")).unwrap();
        fs::write(ours.join(TEMPLATE_MARKER), "").unwrap();
        fs::write(ours.join("db/t.ibd"), "x").unwrap();
        make_read_only(&ours).unwrap();
        assert_eq!(
            ours.join("db/t.ibd").metadata().unwrap().permissions().mode() & 0o222,
            0
        );
        remove(&ours).unwrap();
        assert!(!ours.exists());
    }

    /// A data directory of ours in full.
    fn full(folder: &Path, markers: &[&str]) {
        fs::create_dir_all(folder.join("mysql")).unwrap();
        for file in ["ibdata1", "mysql/user.ibd", "zz"].iter().chain(markers) {
            fs::write(folder.join(file), "x").unwrap();
        }
        std::os::unix::fs::symlink("/nowhere", folder.join("link")).unwrap();
    }

    #[test]
    fn a_removal_killed_at_any_point_is_completed_by_the_next_start() {
        let scratch = tempfile::tempdir().unwrap();
        for markers in [&[TRIAL_MARKER][..], &[TEMPLATE_MARKER], &MARKERS] {
            for killed_after in 0..=4 + markers.len() {
                let data = scratch.path().join("data");
                full(&data, markers);
                let order = entries_markers_last(&data).unwrap();
                assert_eq!(order.len(), 4 + markers.len());
                for entry in &order[..killed_after] {
                    remove_entry(entry).unwrap();
                }
                remove(&data).unwrap();
                assert!(!data.exists(), "{markers:?} after {killed_after}");
            }
        }
        remove(&scratch.path().join("missing")).unwrap();
    }
}
