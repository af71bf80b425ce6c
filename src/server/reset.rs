//! Phase *reset*: a trial's data directory becomes the template again, by the fastest way this file system has.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::data_dir::{TEMPLATE_MARKER, TRIAL_MARKER, Tree, create, must_be_ours, remove, tree};
use crate::error::{Error, IoContext, Result};
use crate::host::RunAs;

/// A way to reset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Backend {
    /// Clones that share blocks until written (FICLONE, ioctl_ficlone(2): XFS, btrfs).
    Reflink,
    /// Only 16 KiB pages that differ are written; needs the data directory of an earlier trial.
    Pages,
    /// Everything is copied.
    Copy,
}

impl Backend {
    /// The name in files and output.
    pub fn name(self) -> &'static str {
        match self {
            Self::Reflink => "reflink",
            Self::Pages => "pages",
            Self::Copy => "copy",
        }
    }
}

/// What a reset did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResetDone {
    /// How.
    pub backend: Backend,
    /// Bytes written; zero for a clone.
    pub written: u64,
    /// Size of the data directory, bytes.
    pub size: u64,
}

impl std::fmt::Display for ResetDone {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let human = |bytes: u64| crate::units::Bytes(bytes).human();
        write!(
            f,
            "{}: {} of {} written",
            self.backend.name(),
            human(self.written),
            human(self.size)
        )
    }
}

/// The page size of InnoDB unless set otherwise, and a multiple or a part of every other.
const PAGE: usize = 16 * 1024;
/// Pages are compared in runs of this many.
const RUN: usize = 64 * PAGE;

/// Makes `data` equal to the template, and gives it to the server's user. `wanted` forces a back end; none takes the
/// fastest: reflink where the file system has it, pages where an earlier trial left its files, else a full copy.
/// Blocking; run it off the runtime's thread.
///
/// # Errors
/// Host errors: a template or data directory that is not ours, no reflink where it was forced, disk full.
pub fn reset(
    template: &Path,
    data: &Path,
    wanted: Option<Backend>,
    run_as: Option<&RunAs>,
) -> Result<ResetDone> {
    reset_until(template, data, wanted, run_as, &|| false)
}

/// As [`reset`], but ends early once `stopped` says so; it is asked before each file and each MiB. The data directory is
/// half made then, and the next reset completes it.
///
/// # Errors
/// As [`reset`]; [`Error::Interrupted`] when it was stopped.
pub fn reset_until(
    template: &Path,
    data: &Path,
    wanted: Option<Backend>,
    run_as: Option<&RunAs>,
    stopped: &dyn Fn() -> bool,
) -> Result<ResetDone> {
    if !template.join(TEMPLATE_MARKER).is_file() {
        return Err(
            Error::host("this folder is not a template made by Noctune").at(template.display().to_string())
        );
    }
    must_be_ours(data)?;
    let backend = match wanted {
        Some(Backend::Reflink) if !supports_reflink(template, data) => {
            return Err(Error::host("this file system cannot clone files (reflink)")
                .at(data.display().to_string())
                .next("write reset = \"auto\" or \"copy\" in [trial], or put --results on XFS (reflink=1) or btrfs"));
        }
        Some(backend) => backend,
        None if supports_reflink(template, data) => Backend::Reflink,
        None if data.join(TRIAL_MARKER).is_file() => Backend::Pages,
        None => Backend::Copy,
    };
    if backend != Backend::Pages {
        remove(data)?;
    }
    create(data)?;
    let marker = data.join(TRIAL_MARKER);
    fs::write(
        &marker,
        "A trial's data directory, made by Noctune; it may be removed.\n",
    )
    .context("cannot mark the data directory", &marker)?;
    let wanted_tree = tree(template).context("cannot read the template", template)?;
    if backend == Backend::Pages {
        remove_strangers(data, &wanted_tree)?;
    }
    for folder in &wanted_tree.folders {
        let folder = data.join(folder);
        create(&folder)?;
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o750))
            .context("cannot reset the data directory", &folder)?;
    }
    let mut done = ResetDone {
        backend,
        written: 0,
        size: 0,
    };
    for (file, size) in wanted_tree
        .files
        .iter()
        .filter(|(file, _)| file != Path::new(TEMPLATE_MARKER))
    {
        if stopped() {
            return Err(Error::Interrupted);
        }
        let (from, to) = (template.join(file), data.join(file));
        done.size += size;
        let written = match backend {
            Backend::Reflink => clone_file(&from, &to).map(|()| 0),
            Backend::Pages => copy_differing(&from, &to, stopped),
            Backend::Copy => copy_file(&from, &to, stopped),
        };
        if stopped() {
            return Err(Error::Interrupted);
        }
        done.written += written.context("cannot reset the data directory", &to)?;
    }
    if let Some(user) = run_as {
        user.own_tree(data)
            .context("cannot hand the data directory to the server's user", data)?;
    }
    Ok(done)
}

/// Whether files in `folder` can be cloned; false where it cannot be written.
pub fn supports_reflink_in(folder: &Path) -> bool {
    use std::io::Write as _;
    let Ok(mut file) = tempfile::Builder::new()
        .prefix(".noctune-reflink-")
        .tempfile_in(folder)
    else {
        return false;
    };
    if file.write_all(&[1; 4096]).is_err() {
        return false;
    }
    let copy = file.path().with_extension("copy");
    let works = clone_file(file.path(), &copy).is_ok();
    // It may never have been made.
    let _ = fs::remove_file(&copy);
    works
}

/// Whether a clone of the template's marker works in the folder of the data directory.
pub fn supports_reflink(template: &Path, data: &Path) -> bool {
    let Some(folder) = data.parent() else {
        return false;
    };
    let probe = folder.join(format!(".noctune-reflink-{}", std::process::id()));
    if fs::create_dir_all(folder).is_err() {
        return false;
    }
    let works = clone_file(&template.join(TEMPLATE_MARKER), &probe).is_ok();
    // It may never have been made.
    let _ = fs::remove_file(&probe);
    works
}

fn writable(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o640)
        .open(path)
}

fn clone_file(from: &Path, to: &Path) -> io::Result<()> {
    let source = File::open(from)?;
    let target = writable(to)?;
    rustix::fs::ioctl_ficlone(&target, &source)?;
    Ok(())
}

fn copy_file(from: &Path, to: &Path, stopped: &dyn Fn() -> bool) -> io::Result<u64> {
    let source = File::open(from)?;
    let mut target = writable(to)?;
    target.set_len(0)?;
    let mut written = 0;
    while !stopped() {
        // Copies inside the kernel where it can.
        let copied = io::copy(&mut (&source).take(RUN as u64), &mut target)?;
        if copied == 0 {
            break;
        }
        written += copied;
    }
    Ok(written)
}

/// Brings `to` to the contents of `from` and writes only pages that differ; bytes written.
fn copy_differing(from: &Path, to: &Path, stopped: &dyn Fn() -> bool) -> io::Result<u64> {
    let source = File::open(from)?;
    let size = source.metadata()?.len();
    let target = match writable(to) {
        Ok(target) => target,
        Err(error) if error.kind() == io::ErrorKind::IsADirectory => {
            fs::remove_dir_all(to)?;
            writable(to)?
        }
        Err(error) => return Err(error),
    };
    if target.metadata()?.len() != size {
        target.set_len(size)?;
    }
    let (mut want, mut have) = (vec![0; RUN], vec![0; RUN]);
    let mut written = 0;
    let mut at = 0;
    while at < size && !stopped() {
        let length = usize::try_from(size - at).unwrap_or(RUN).min(RUN);
        source.read_exact_at(&mut want[..length], at)?;
        target.read_exact_at(&mut have[..length], at)?;
        if want[..length] != have[..length] {
            for start in (0..length).step_by(PAGE) {
                let end = (start + PAGE).min(length);
                if want[start..end] != have[start..end] {
                    target.write_all_at(&want[start..end], at + start as u64)?;
                    written += (end - start) as u64;
                }
            }
        }
        at += length as u64;
    }
    Ok(written)
}

/// Removes what a trial made beside the template's files.
fn remove_strangers(data: &Path, wanted: &Tree) -> Result<()> {
    let failed = "cannot reset the data directory";
    let files: BTreeSet<&PathBuf> = wanted.files.iter().map(|(file, _)| file).collect();
    let folders: BTreeSet<&PathBuf> = wanted.folders.iter().collect();
    let mut todo = vec![PathBuf::new()];
    while let Some(folder) = todo.pop() {
        let inside = data.join(&folder);
        for entry in fs::read_dir(&inside).context(failed, &inside)? {
            let entry = entry.context(failed, &inside)?;
            let path = folder.join(entry.file_name());
            let full = entry.path();
            let kind = entry.file_type().context(failed, &full)?;
            if kind.is_dir() && folders.contains(&path) {
                todo.push(path);
            } else if kind.is_dir() {
                fs::remove_dir_all(&full).context(failed, &full)?;
            } else if !(kind.is_file() && files.contains(&path)) && path != Path::new(TRIAL_MARKER) {
                fs::remove_file(&full).context(failed, &full)?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn template(root: &Path) -> PathBuf {
        let template = root.join("template");
        fs::create_dir_all(template.join("sbtest")).unwrap();
        fs::write(template.join(TEMPLATE_MARKER), "{}").unwrap();
        fs::write(template.join("ibdata1"), vec![7_u8; 5 * PAGE + 100]).unwrap();
        fs::write(template.join("sbtest/t.ibd"), vec![3_u8; 2 * RUN]).unwrap();
        super::super::data_dir::make_read_only(&template).unwrap();
        template
    }

    fn contents(root: &Path) -> Vec<(PathBuf, Vec<u8>)> {
        tree(root)
            .unwrap()
            .files
            .into_iter()
            .filter(|(path, _)| !path.to_string_lossy().starts_with(".noctune"))
            .map(|(path, _)| (path.clone(), fs::read(root.join(&path)).unwrap()))
            .collect()
    }

    /// What a trial does to its data directory.
    fn spoil(data: &Path) {
        let file = OpenOptions::new()
            .write(true)
            .open(data.join("sbtest/t.ibd"))
            .unwrap();
        file.write_all_at(b"changed", (3 * PAGE + 5) as u64).unwrap();
        file.set_len((3 * RUN) as u64).unwrap();
        fs::write(data.join("ib_logfile0"), "redo").unwrap();
        fs::create_dir(data.join("test")).unwrap();
        fs::write(data.join("test/new.ibd"), "new").unwrap();
        fs::remove_file(data.join("ibdata1")).unwrap();
    }

    #[test]
    fn every_back_end_that_works_here_brings_the_template_back() {
        let scratch = tempfile::tempdir().unwrap();
        let template = template(scratch.path());
        let data = scratch.path().join("data");
        let mut backends = vec![Backend::Copy, Backend::Pages];
        if supports_reflink(&template, &data) {
            backends.push(Backend::Reflink);
        }
        for backend in backends {
            reset(&template, &data, Some(backend), None).unwrap();
            spoil(&data);
            let done = reset(&template, &data, Some(backend), None).unwrap();
            assert_eq!(done.backend, backend);
            assert_eq!(contents(&data), contents(&template), "{backend:?}");
            assert!(!data.join("test").exists(), "{backend:?}");
        }
    }

    #[test]
    fn a_clone_that_is_asked_for_where_there_is_none_is_refused_with_what_works() {
        let scratch = tempfile::tempdir().unwrap();
        let template = template(scratch.path());
        let data = scratch.path().join("data");
        if supports_reflink(&template, &data) {
            return;
        }
        let told = reset(&template, &data, Some(Backend::Reflink), None)
            .unwrap_err()
            .to_string();
        assert!(
            told.contains("reflink") && told.contains("reset = \"auto\""),
            "{told}"
        );
    }

    #[test]
    fn only_pages_that_differ_are_written() {
        let scratch = tempfile::tempdir().unwrap();
        let template = template(scratch.path());
        let data = scratch.path().join("data");
        reset(&template, &data, Some(Backend::Copy), None).unwrap();
        let file = OpenOptions::new()
            .write(true)
            .open(data.join("sbtest/t.ibd"))
            .unwrap();
        file.write_all_at(b"changed", (3 * PAGE + 5) as u64).unwrap();
        let done = reset(&template, &data, Some(Backend::Pages), None).unwrap();
        assert_eq!(done.written, PAGE as u64);
    }

    #[test]
    fn a_reset_stops_within_a_file_and_the_next_one_completes_it() {
        let scratch = tempfile::tempdir().unwrap();
        let template = template(scratch.path());
        for backend in [Backend::Copy, Backend::Pages] {
            let data = scratch.path().join(backend.name());
            let asked = std::cell::Cell::new(0);
            let stopped = || {
                asked.set(asked.get() + 1);
                asked.get() > 3
            };
            let ended = reset_until(&template, &data, Some(backend), None, &stopped);
            assert!(matches!(ended, Err(Error::Interrupted)), "{ended:?}");
            assert_ne!(contents(&data), contents(&template), "{backend:?}");
            reset(&template, &data, None, None).unwrap();
            assert_eq!(contents(&data), contents(&template), "{backend:?}");
        }
    }

    #[test]
    fn a_folder_that_is_no_template_is_not_copied_and_a_foreign_data_directory_not_overwritten() {
        let scratch = tempfile::tempdir().unwrap();
        let template = template(scratch.path());
        let foreign = scratch.path().join("mysql");
        fs::create_dir(&foreign).unwrap();
        fs::write(foreign.join("ibdata1"), "precious").unwrap();
        assert!(reset(&template, &foreign, None, None).is_err());
        assert_eq!(fs::read_to_string(foreign.join("ibdata1")).unwrap(), "precious");
        assert!(reset(&foreign, &scratch.path().join("data"), None, None).is_err());
    }
}
