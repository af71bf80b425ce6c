//! Where studies are kept: append-only facts and mutable claims behind one contract.

mod contract;

pub use contract::{Claim, Claimed, Delivery, OpenJob, Store, StoreError, StudyRecord, WorkerId};
