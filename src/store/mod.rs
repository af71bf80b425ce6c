//! Where studies are kept: append-only facts and mutable claims behind one contract.

mod blob;
mod contract;
mod failure;
mod filesystem;
mod finite;
mod memory;
mod open;
mod spool;
mod sqlite;

pub use contract::{Claim, Claimed, Delivery, OpenJob, Store, StoreError, StudyRecord, WorkerId};
pub use memory::MemoryStore;
pub use open::{DATABASE, Opened, is_in_study_folder, open, open_read_only};
pub use spool::{Flushed, Spool};
pub use sqlite::{Patience, SqliteStore};

use failure::{job_not_finite, no_such_job};
