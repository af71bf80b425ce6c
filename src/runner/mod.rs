//! One trial, phase by phase, on the real server under the real load.

mod drain;
mod journal;
mod measuring;
mod recovery;
mod room;
mod scan;
mod series;
mod setting;
mod start;
mod trial;
mod watch;

pub use setting::{CacheDrop, TrialRunner};
pub(crate) use trial::DATABASE;
