//! What a study needs on its disk, against what is free there.

use std::fmt;

use super::prepared::FILLING_REDO;
use super::{Resolved, StudyFolder};
use crate::error::{Error, IoContext as _, Result};
use crate::host::{Storage, existing};
use crate::runner::BESIDES;
use crate::server::{DATA_FILE_PATH, Template, data_files_size, data_size, supports_reflink_in};
use crate::space::{Domain, Flavor, Space, Value, redo_size};
use crate::study::Reset;
use crate::units::Bytes;

/// A data directory of MariaDB without the load's tables: system tables, undo, a small redo log. Measured: 34 MB with 10.11;
/// later versions have three undo tablespaces of 10 MiB.
const BARE: Bytes = Bytes::mib(80);
/// The same of MySQL, whose redo log is 100 MiB.
const BARE_OF_MYSQL: Bytes = Bytes::mib(256);

/// What a study needs on its disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiskNeed {
    /// The template; zero where it is made already.
    pub template: Bytes,
    /// The redo log with which the template is filled, before there are trials; zero where it is made already.
    pub filling: Bytes,
    /// A trial's copy of it; zero where the file system shares the blocks.
    pub copy: Bytes,
    /// The redo log of the baseline.
    pub redo: Bytes,
    /// The redo log at its largest in the space.
    pub largest_redo: Bytes,
    /// What is free, a last trial's data included, which the next one replaces.
    pub free: Bytes,
    /// The disk, for messages.
    pub disk: String,
}

impl DiskNeed {
    /// Looks at the disk of a study's folder, which need not exist yet.
    ///
    /// # Errors
    /// What the system says of the disk or of the data.
    pub fn of(study: &Resolved, folder: &StudyFolder) -> Result<Self> {
        let failed = "cannot look at the disk";
        let path = folder.path();
        let there = existing(path);
        let storage = Storage::of(&there).context(failed, &there)?;
        let made = Template::open(&folder.template(), &study.binary, &study.template_key());
        let size = match (&made, &study.source.study.template) {
            (Some(template), _) => Bytes(template.marker.size),
            (None, Some(template)) => {
                let source = study.source.path(&template.from);
                data_size(&source).context("cannot look at the data directory", &source)?
            }
            (None, None) => {
                let files = study
                    .baseline
                    .settings
                    .iter()
                    .rfind(|setting| setting.name == DATA_FILE_PATH)
                    .and_then(|setting| setting.value.as_deref())
                    .map_or(Bytes(0), data_files_size);
                let load = study.workload.expected_size().unwrap_or_default();
                let bare = match study.binary.flavor {
                    Flavor::MariaDb => BARE,
                    Flavor::MySql => BARE_OF_MYSQL,
                };
                Bytes(bare.0.saturating_add(files.0).saturating_add(load.0))
            }
        };
        let shared = match study.source.study.trial.reset {
            Reset::Copy => false,
            Reset::Reflink => true,
            Reset::Auto => supports_reflink_in(&there),
        };
        let left = data_size(&folder.data()).context(failed, path)?;
        Ok(Self {
            template: if made.is_some() { Bytes(0) } else { size },
            filling: if made.is_some() { Bytes(0) } else { FILLING_REDO },
            copy: if shared { Bytes(0) } else { size },
            redo: baseline_redo(&study.space),
            largest_redo: largest_redo(&study.space),
            free: Bytes(storage.free.0.saturating_add(left.0)),
            disk: format!("{} ({})", storage.mount_point, storage.file_system),
        })
    }

    /// With the baseline's redo log.
    pub fn least(&self) -> Bytes {
        self.with(self.redo)
    }

    /// With the largest redo log of the space.
    pub fn most(&self) -> Bytes {
        self.with(self.redo.max(self.largest_redo))
    }

    /// What the template takes, with what comes beside it: first it is filled, then trials run.
    fn with(&self, redo: Bytes) -> Bytes {
        let of_trials = [self.copy, redo, BESIDES]
            .iter()
            .fold(Bytes(0), |sum, part| Bytes(sum.0.saturating_add(part.0)));
        Bytes(self.template.0.saturating_add(of_trials.max(self.filling).0))
    }

    /// Whether the baseline can be run at all. What candidates need beyond is checked trial by trial.
    ///
    /// # Errors
    /// [`Error::Host`] with the sum, where it cannot.
    pub fn check(&self) -> Result<()> {
        if self.least() <= self.free {
            return Ok(());
        }
        Err(Error::host(format!(
            "the study does not fit on the disk: {} are needed at least, {} are free\n{self}",
            self.least().human(),
            self.free.human()
        ))
        .at(self.disk.clone())
        .next("free space there, choose another disk with --results, or make the load or the baseline's redo log smaller"))
    }
}

impl fmt::Display for DiskNeed {
    /// One line an item, with the sum and what is free.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let template = if self.template.0 == 0 {
            "the template (made already)"
        } else {
            "the template"
        };
        let copy = if self.copy.0 == 0 {
            "a trial's copy of it (blocks are shared)"
        } else {
            "a trial's copy of it"
        };
        for (what, bytes) in [
            (template, self.template),
            ("redo log while it is filled, before trials", self.filling),
            (copy, self.copy),
            ("redo log of the baseline", self.redo),
            ("redo log at its largest", self.largest_redo),
            ("beside it", BESIDES),
            ("together, at most", self.most()),
        ] {
            writeln!(f, "{what:<42}  {:>12}", bytes.human())?;
        }
        write!(
            f,
            "{:<42}  {:>12}",
            format!("free on {}", self.disk),
            self.free.human()
        )
    }
}

fn baseline_redo(space: &Space) -> Bytes {
    redo_size(|name| space.ground().variables.get(name).cloned())
}

/// The redo log at the upper bounds of its knobs; no candidate may have more than the class's free disk space.
fn largest_redo(space: &Space) -> Bytes {
    let redo = redo_size(|name| {
        let of_knob = space
            .knob(name)
            .and_then(|knob| match (&knob.fixed, &knob.domain) {
                (Some(fixed), _) => Some(fixed.clone()),
                (None, Domain::Int { max, .. }) => Some(Value::Int(*max)),
                _ => None,
            });
        of_knob.or_else(|| space.ground().variables.get(name).cloned())
    });
    let free = space
        .ground()
        .class
        .as_ref()
        .map_or(redo, |class| class.disk_free);
    redo.min(free)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn need() -> DiskNeed {
        DiskNeed {
            template: Bytes::gib(2),
            filling: Bytes::mib(256),
            copy: Bytes::gib(2),
            redo: Bytes::mib(96),
            largest_redo: Bytes::gib(4),
            free: Bytes::gib(9),
            disk: "/srv (xfs)".to_owned(),
        }
    }

    #[test]
    fn template_copy_redo_log_and_the_rest_add_up() {
        assert_eq!(need().least(), Bytes((4 << 30) + (160 << 20)));
        assert_eq!(need().most(), Bytes((8 << 30) + (64 << 20)));
        assert_eq!(need().check(), Ok(()));
    }

    #[test]
    fn a_small_template_needs_the_redo_log_it_is_filled_with_and_no_more() {
        let small = DiskNeed {
            template: Bytes::mib(100),
            copy: Bytes::mib(100),
            redo: Bytes::mib(48),
            largest_redo: Bytes::mib(48),
            ..need()
        };
        assert_eq!(small.least(), Bytes::mib(100 + 256));
        let made = DiskNeed {
            template: Bytes(0),
            filling: Bytes(0),
            ..small
        };
        assert_eq!(made.least(), Bytes::mib(100 + 48 + 64));
    }

    #[test]
    fn a_study_that_cannot_fit_is_refused_with_the_sum_and_the_disk() {
        let small = DiskNeed {
            free: Bytes::gib(4),
            ..need()
        };
        let error = small.check().unwrap_err();
        assert_eq!(error.exit_code(), 3);
        for word in ["4.16 GiB", "4.00 GiB", "/srv (xfs)", "--results"] {
            assert!(error.to_string().contains(word), "{error}");
        }
    }
}
