//! One trial, phase by phase, on the real server under the real load.

mod collecting;
mod deadlines;
mod death;
mod disk_work;
mod drain;
mod journal;
mod measuring;
mod recovery;
mod room;
mod running;
mod scan;
mod series;
mod setting;
mod start;
mod swapping;
mod trial;
mod watch;

pub use deadlines::Deadlines;
pub use room::BESIDES;
pub use setting::{CacheDrop, HandedOver, TrialRunner};
pub(crate) use trial::DATABASE;
