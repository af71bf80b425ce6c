//! From a study file to everything a night needs: server, facts, machine class, baseline, space, load.

mod arguments;
mod baseline;
mod busy;
mod candidate;
mod catalogue;
mod disk;
mod folder;
mod frozen;
mod host;
mod prepared;
mod space;
mod study;
mod users_data;
mod worker;

pub use baseline::{Baseline, DiskFiles, dialect, read_settings, run_settings};
pub use busy::{check_host, neighbours};
pub(crate) use candidate::knob_value;
pub(crate) use catalogue::strategy_named;
pub use disk::DiskNeed;
pub use folder::{FolderLock, StudyFolder, is_worked_in, write_atomically};
pub use frozen::Frozen;
pub use host::{probed_class, strategy, workload};
pub use prepared::{Prepared, Resolved, prepare, resolve_study};
pub use study::StudySource;
pub use worker::{is_gone, this_worker};
