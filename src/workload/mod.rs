//! The loads a trial is measured under.

mod contract;
mod failure;
pub mod sysbench;

pub use contract::{Endpoint, LoadSummary, RunningLoad, Workload};
pub use failure::LoadFailure;
