//! Pure statistics: estimates with intervals, batch means, steady state, paired blocks.

mod estimate;

pub use estimate::{Estimate, Interval};
