//! Results that could not be written to the store wait here, one file each, until they can.

use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::finite::finite;
use super::{Claim, Delivery, Store, StoreError, WorkerId};
use crate::error::{Error, IoContext, Result};
use crate::strategy::TrialNumber;
use crate::trial::TrialRecord;

/// Version of the files.
const FORMAT: u32 = 1;

/// A folder of results that wait to be written to the store.
#[derive(Debug, Clone)]
pub struct Spool {
    folder: PathBuf,
}

/// What came of [`Spool::flush`].
#[derive(Debug, Default)]
pub struct Flushed {
    /// Results now in the store as those of their trials (also those that had been there already).
    pub delivered: Vec<TrialNumber>,
    /// Results kept as late: somebody else held the job by now.
    pub late: Vec<TrialNumber>,
    /// Files that were set aside, each with the reason, for people.
    pub warnings: Vec<String>,
    /// Why flushing stopped before the end; the remaining files wait on.
    pub stopped: Option<StoreError>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Waiting {
    format: u32,
    study: String,
    number: TrialNumber,
    token: u64,
    worker: WorkerId,
    record: TrialRecord,
}

impl Spool {
    /// The spool in `folder`, which is created when the first result is kept.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
        }
    }

    /// Keeps a result; when this returns it survives a power loss. The same claim's result replaces itself.
    ///
    /// # Errors
    /// [`Error::Host`] where the folder cannot be written.
    pub fn keep(&self, claim: &Claim, worker: &WorkerId, record: &TrialRecord) -> Result<()> {
        let waiting = Waiting {
            format: FORMAT,
            study: claim.study.clone(),
            number: claim.number,
            token: claim.token,
            worker: worker.clone(),
            record: finite(record).into_owned(),
        };
        let text = serde_json::to_vec(&waiting)
            .map_err(|error| Error::internal(format!("cannot write a result as JSON: {error}")))?;
        std::fs::create_dir_all(&self.folder).context("cannot create the spool", &self.folder)?;
        let path = self.folder.join(file_name(claim));
        write_durably(&self.folder, &path, &text)
            .context("cannot keep a result in the spool", &path)
            .map_err(|error| {
                error.next(
                    "free space on that disk and run the same command again: all but this trial is kept",
                )
            })
    }

    /// Delivers every waiting result, oldest trial first; files that cannot be read are set aside with the ending
    /// `.unreadable`. A store that cannot be written stops it; what is left waits on.
    ///
    /// # Errors
    /// [`Error::Host`] where the folder cannot be read or changed.
    pub async fn flush(&self, store: &dyn Store) -> Result<Flushed> {
        let mut flushed = Flushed::default();
        for path in self.waiting()? {
            let waiting = match read(&path) {
                Ok(waiting) => waiting,
                Err(why) => {
                    set_aside(&path, &why, &mut flushed)?;
                    continue;
                }
            };
            let claim = Claim {
                study: waiting.study,
                number: waiting.number,
                token: waiting.token,
            };
            match store.deliver(&claim, &waiting.worker, &waiting.record).await {
                Ok(Delivery::Written | Delivery::AlreadyWritten) => flushed.delivered.push(claim.number),
                Ok(Delivery::Late) => flushed.late.push(claim.number),
                Err(error @ (StoreError::NoSuchStudy(_) | StoreError::Corrupt { .. })) => {
                    set_aside(&path, &error.to_string(), &mut flushed)?;
                    continue;
                }
                Err(error) => {
                    flushed.stopped = Some(error);
                    break;
                }
            }
            // The store has synced it, so a power loss before the file is really gone only delivers it again: a no-op.
            std::fs::remove_file(&path).context("cannot remove a delivered result", &path)?;
        }
        Ok(flushed)
    }

    /// Files of results, in the order of their trials.
    fn waiting(&self) -> Result<Vec<PathBuf>> {
        let entries = match std::fs::read_dir(&self.folder) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.context("cannot read the spool", &self.folder)?,
        };
        let mut paths = Vec::new();
        for entry in entries {
            let path = entry.context("cannot read the spool", &self.folder)?.path();
            if path.extension().is_some_and(|extension| extension == "json") {
                paths.push(path);
            }
        }
        paths.sort();
        Ok(paths)
    }
}

/// One name per claim; sorted by trial within a study.
fn file_name(claim: &Claim) -> String {
    let digest = Sha256::digest(claim.study.as_bytes());
    let study = u32::from_be_bytes([digest[0], digest[1], digest[2], digest[3]]);
    format!("{study:08x}-{:06}-{}.json", claim.number, claim.token)
}

fn read(path: &Path) -> std::result::Result<Waiting, String> {
    #[derive(Deserialize)]
    struct Format {
        format: u32,
    }
    let text = std::fs::read(path).map_err(|error| error.to_string())?;
    let Format { format } = serde_json::from_slice(&text).map_err(|error| error.to_string())?;
    if format != FORMAT {
        return Err(format!("it has format {format}, this version knows {FORMAT}"));
    }
    serde_json::from_slice(&text).map_err(|error| error.to_string())
}

fn set_aside(path: &Path, why: &str, flushed: &mut Flushed) -> Result<()> {
    let aside = path.with_extension("json.unreadable");
    std::fs::rename(path, &aside).context("cannot set an unreadable result aside", path)?;
    flushed.warnings.push(format!(
        "a result in the spool cannot be delivered ({why}): kept as {}",
        aside.display()
    ));
    Ok(())
}

/// Writes a file that is whole or not there, whatever happens, and there after a power loss once this returns.
fn write_durably(folder: &Path, path: &Path, content: &[u8]) -> std::io::Result<()> {
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(content)?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    std::fs::File::open(folder)?.sync_all()
}
