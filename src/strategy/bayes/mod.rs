//! Bayesian optimisation: an exact Gaussian process, and the search of its acquisition.

pub mod acquire;
pub mod fit;
pub mod gp;
pub mod kernel;
pub mod warp;

#[cfg(test)]
mod gp_tests;
