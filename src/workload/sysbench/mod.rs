//! sysbench, with a wrapper that times every event itself.

mod classify;
mod load;
mod output;
mod prepare;
mod run;
mod script;
mod shared;
mod version;

pub use load::Sysbench;
pub use output::{Fatal, IntervalLine, Output, Summary};
