//! Pure statistics: estimates with intervals, batch means, steady state, histograms, paired blocks.

mod batch_means;
mod estimate;
mod histogram;
mod steady;

pub use batch_means::batch_means;
pub use estimate::{Estimate, Interval};
pub use histogram::Histogram;
pub use steady::{Steadiness, steadiness};
