//! Which job comes next, from stored facts alone.

mod facts;
mod job;

pub use facts::{Fact, Facts, State};
pub use job::{Arm, Job, Length, Purpose};
