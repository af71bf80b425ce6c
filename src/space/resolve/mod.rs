//! From space files to a space: for one machine class, one server and one baseline.

mod bounds;
mod feasible;
#[cfg(test)]
mod isolation_tests;
mod knob;
mod merge;
mod names;
mod numbers;
#[cfg(test)]
mod property_tests;
mod run;
#[cfg(test)]
mod tests;
mod words;

pub use merge::variables_written;
pub use run::{Inputs, LeftOut, Resolution, resolve};
