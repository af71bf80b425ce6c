//! Bayesian optimisation: an exact Gaussian process, and the search of its acquisition.

pub mod acquire;
pub mod fit;
pub mod gp;
pub mod kernel;
mod model;
mod search;
mod strategy;
pub mod warp;

pub use fit::Prior;
pub use model::Settings;
pub use strategy::Bayes;

#[cfg(test)]
mod gp_tests;
