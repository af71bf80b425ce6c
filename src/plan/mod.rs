//! Which job comes next, from stored facts alone.

mod blame;
mod budget;
mod burst;
mod confirm;
mod design;
mod ending;
mod facts;
mod failure;
mod importance;
mod inputs;
mod job;
mod kept;
mod limits;
mod next;
mod no_difference;
mod no_time;
mod noise;
mod observe;
mod patience;
mod present;
mod standing;
mod verdict;

pub use blame::settled;
pub use budget::{expected_left, expected_seconds, reserve_seconds};
pub use burst::Burst;
pub use design::Design;
pub use facts::{Fact, Facts, Past, State};
pub use failure::{FailureGroup, failure_table, failures};
pub use importance::importance;
pub use inputs::{Inputs, Settings};
pub use job::{Arm, Job, Length, Purpose};
pub use kept::{last_confirmed, no_longer_held};
pub use next::{Next, next};
pub use no_difference::NoDifference;
pub use noise::{RunNoise, run_noise};
pub use observe::{baseline_metrics, observations};
pub use present::{LeftOut, left_out, taken_over};
pub use standing::{Standing, standing};
pub use verdict::{Best, EACH_BY_ITSELF, Verdict, VerdictKind};

#[cfg(test)]
mod tests;
