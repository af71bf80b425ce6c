//! How to search: strategies behind one contract. Pure functions of what was observed.

pub mod bayes;
mod contract;

pub use contract::{
    Goal, Observation, Proposal, ProposalPurpose, Recommendation, Search, Seen, Strategy, TrialNumber,
};
