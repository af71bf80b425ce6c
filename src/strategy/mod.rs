//! How to search: strategies behind one contract. Pure functions of what was observed.

pub mod bayes;
mod contract;
mod coordinate;
mod history;
pub mod importance;
mod nelder_mead;
mod preset;
mod random;
mod replay;
mod rng;
mod snap;
mod sobol;
mod unit;

pub use contract::{
    Goal, Observation, Proposal, ProposalPurpose, Recommendation, Search, Seen, Strategy, TrialNumber,
};
pub use coordinate::Coordinates;
pub use importance::Importance;
pub use nelder_mead::NelderMead;
pub use preset::{Preset, embedded, load, names};
pub use random::Random;
pub use sobol::Sobol;

#[cfg(test)]
mod own_tests;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
