//! Bayesian optimisation: an exact Gaussian process, and the search of its acquisition.

pub mod acquire;
mod effects;
mod feasibility;
pub mod fit;
pub mod gp;
mod joint;
pub mod kernel;
mod model;
mod prior;
pub mod sample;
mod search;
mod strategy;
mod surrogate;
pub mod warp;

pub use model::Settings;
pub use prior::Prior;
pub use strategy::Bayes;
pub use surrogate::Ensemble;

#[cfg(test)]
mod gp_tests;
