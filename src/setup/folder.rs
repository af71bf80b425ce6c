//! The folder of a study: where each file lies, and that only one process works in it.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};

use crate::error::{Error, IoContext as _, Problem, Result};

/// The folder of a study, `results/<study>/`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StudyFolder {
    path: PathBuf,
}

/// How often somebody who only looks whether the folder is taken is waited for.
const LOOKERS: u32 = 20;
/// How long each time.
const LOOKER: Duration = Duration::from_millis(25);

/// Keeps a study folder for one process; given back when dropped or when the process ends, however it ends.
#[derive(Debug)]
pub struct FolderLock {
    _file: File,
}

impl StudyFolder {
    /// The folder of the study `name` below `results`. Made absolute, since servers change their working directory.
    ///
    /// # Errors
    /// A name that is no plain file name; a working directory that is gone.
    pub fn new(results: &Path, name: &str) -> Result<Self> {
        let plain = !name.is_empty()
            && !name.starts_with('.')
            && name
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'));
        if !plain {
            return Err(Error::input(format!("\"{name}\" cannot be the name of a study"))
                .next("use letters, digits, - and _ in [study] name: it becomes a folder"));
        }
        let path =
            std::path::absolute(results.join(name)).context("cannot find the results folder", results)?;
        Ok(Self { path })
    }

    /// The folder itself.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The study file as resolved.
    pub fn study_file(&self) -> PathBuf {
        self.path.join("study.toml")
    }

    /// The clean data directory each trial starts from.
    pub fn template(&self) -> PathBuf {
        self.path.join("template")
    }

    /// The data directory of the trial at hand.
    pub fn data(&self) -> PathBuf {
        self.path.join("data")
    }

    /// Folders of the trials.
    pub fn trials(&self) -> PathBuf {
        self.path.join("trials")
    }

    /// Results that wait for the store.
    pub fn spool(&self) -> PathBuf {
        self.path.join("spool")
    }

    /// The log of the whole study.
    pub fn log(&self) -> PathBuf {
        self.path.join("noctune.log")
    }

    /// What runs now, for the next start.
    pub fn running(&self) -> PathBuf {
        self.path.join("running.json")
    }

    /// The recommendation.
    pub fn my_cnf(&self) -> PathBuf {
        self.path.join("my.cnf")
    }

    /// The recommendation under the name of a drop-in: it sorts behind every other file of an include folder.
    pub fn drop_in(&self) -> PathBuf {
        self.path.join("zz-noctune.cnf")
    }

    /// What takes the recommendation back.
    pub fn rollback(&self) -> PathBuf {
        self.path.join("my.cnf.rollback")
    }

    fn lock_file(&self) -> PathBuf {
        self.path.join(".lock")
    }

    /// Makes the folder and checks that it can be written.
    ///
    /// # Errors
    /// A host problem when the folder cannot be made or written.
    pub fn create(&self) -> Result<()> {
        let hint = "choose a folder that can be written with --results";
        std::fs::create_dir_all(&self.path)
            .context("the study folder cannot be made", &self.path)
            .map_err(|error| error.next(hint))?;
        tempfile::Builder::new()
            .prefix(".writable-")
            .tempfile_in(&self.path)
            .and_then(|mut file| file.write_all(b"noctune"))
            .context("the study folder cannot be written", &self.path)
            .map_err(|error| error.next(hint))
    }

    /// Keeps the folder for this process.
    ///
    /// # Errors
    /// Another process works in it.
    pub fn lock(&self) -> Result<FolderLock> {
        let path = self.lock_file();
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .context("cannot open the study's lock file", &path)?;
        let take = || flock(&file, FlockOperation::NonBlockingLockExclusive);
        let mut taken = take();
        for _ in 0..LOOKERS {
            if taken != Err(rustix::io::Errno::WOULDBLOCK) {
                break;
            }
            std::thread::sleep(LOOKER);
            taken = take();
        }
        match taken {
            Ok(()) => Ok(FolderLock { _file: file }),
            Err(rustix::io::Errno::WOULDBLOCK) => Err(Error::Host(
                Problem::new("another noctune works on this study right now")
                    .at(self.path.display().to_string())
                    .next("watch it with `noctune status`, or wait until it ends"),
            )),
            Err(error) => Err(
                Error::host(format!("the study's lock file cannot be locked: {error}"))
                    .at(path.display().to_string()),
            ),
        }
    }
}

/// Whether a process works in the study folder `path` right now, as far as that can be told: it keeps the folder.
pub fn is_worked_in(path: &Path) -> bool {
    let lock = StudyFolder {
        path: path.to_owned(),
    }
    .lock_file();
    File::open(lock).is_ok_and(|file| {
        flock(&file, FlockOperation::NonBlockingLockShared) == Err(rustix::io::Errno::WOULDBLOCK)
    })
}

/// Writes `text` so that a reader sees the old file or the new one, never half of it, also after a power cut.
///
/// # Errors
/// What the file system says, with the path.
pub fn write_atomically(path: &Path, text: &str) -> Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let write = || -> std::io::Result<()> {
        let mut file = tempfile::Builder::new().prefix(".new-").tempfile_in(folder)?;
        file.write_all(text.as_bytes())?;
        file.as_file().sync_all()?;
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o644);
        file.as_file().set_permissions(mode)?;
        file.persist(path)?;
        File::open(folder)?.sync_all()
    };
    write().context("cannot write the file", path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_study_name_never_leaves_the_results_folder() {
        for name in ["", "..", "../x", "a/b", ".hidden", "a b"] {
            assert!(StudyFolder::new(Path::new("results"), name).is_err(), "{name}");
        }
        let folder = StudyFolder::new(Path::new("/r"), "oltp-1.a").unwrap();
        assert_eq!(folder.path(), Path::new("/r/oltp-1.a"));
    }

    #[test]
    fn a_folder_is_kept_by_one_process_at_a_time() {
        let dir = tempfile::tempdir().unwrap();
        let folder = StudyFolder::new(dir.path(), "s").unwrap();
        folder.create().unwrap();
        assert!(!is_worked_in(folder.path()));
        let lock = folder.lock().unwrap();
        assert!(is_worked_in(folder.path()));
        assert!(folder.lock().unwrap_err().to_string().contains("another noctune"));
        drop(lock);
        assert!(!is_worked_in(folder.path()));
        folder.lock().unwrap();
    }

    #[test]
    fn who_only_looks_whether_a_folder_is_taken_keeps_nobody_out() {
        let dir = tempfile::tempdir().unwrap();
        let folder = StudyFolder::new(dir.path(), "s").unwrap();
        folder.create().unwrap();
        drop(folder.lock().unwrap());
        let looking = File::open(folder.lock_file()).unwrap();
        flock(&looking, FlockOperation::NonBlockingLockShared).unwrap();
        let end = std::thread::spawn(move || {
            std::thread::sleep(LOOKER);
            drop(looking);
        });
        folder.lock().unwrap();
        end.join().unwrap();
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_a_host_problem_with_a_way_out() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("file"), "").unwrap();
        let error = StudyFolder::new(&dir.path().join("file"), "s")
            .unwrap()
            .create()
            .unwrap_err();
        assert_eq!(error.exit_code(), 3);
        assert!(error.to_string().contains("--results"), "{error}");
    }

    #[test]
    fn a_file_is_replaced_as_a_whole() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("my.cnf");
        write_atomically(&path, "a").unwrap();
        write_atomically(&path, "b").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "b");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}
