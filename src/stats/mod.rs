//! Pure statistics: estimates with intervals, batch means, steady state, histograms, paired blocks.

mod batch_means;
mod blocks;
mod estimate;
mod histogram;
mod steady;
mod student;

pub use batch_means::{batch_interval, batch_means};
pub use blocks::{block_order, expected_half_width, ratio_interval};
pub use estimate::{Estimate, Interval};
pub use histogram::Histogram;
pub use steady::{Steadiness, steadiness};
pub use student::t_critical;
