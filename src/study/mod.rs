//! The study file: what is tuned, under which load, for which objective, and how long. Pure: text in, a study out.

mod budget;
mod change;
mod check;
mod choice;
mod document;
mod file;
mod identity;

mod known;
mod objective;
mod sections;
mod time;

pub use budget::{BASELINES, MIN_BLOCKS, least_budget, whole_minutes};
pub use change::{Change, Changes, Version, changes};
pub use check::{Known, names_a_file};
pub use choice::{Patience, PatienceRule, Warmup};
pub use document::Document;
pub use file::Study;

pub use identity::Surroundings;
pub use objective::{Metrics, Objective};
pub use sections::{
    Budget, Caches, CachesDrop, Candidate, Confirm, ConstraintSpec, Durability, Finish, Hardware, Measure,
    ObjectiveSpec, Reset, Server, SpaceConstraint, SpaceSection, StrategySection, StudySection, Template,
    TrialSection, Workload, WorkloadKind,
};
pub use time::Time;

#[cfg(test)]
mod change_tests;
#[cfg(test)]
mod tests;
