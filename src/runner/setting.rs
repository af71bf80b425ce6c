//! What a runner of trials works with; the same for all trials of a study.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use super::Deadlines;
use crate::error::Result;
use crate::host::{Guardian, Limits};
use crate::server::{Backend, ServerBinary, ServerUser, Setting};
use crate::space::{Configuration, ServerFacts, Space};
use crate::workload::Workload;

/// Which caches are dropped before a server starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CacheDrop {
    /// The trial's own files; needs no root.
    Files,
    /// All caches of the host; needs root.
    All,
    /// None.
    Nothing,
}

/// Gives the `[mysqld]` section that is handed over for a configuration, byte for byte.
pub type HandedOver = Box<dyn Fn(&Configuration) -> Result<String>>;

/// Runs trials, each on a private server, from the same template.
pub struct TrialRunner {
    /// The server.
    pub binary: ServerBinary,
    /// What the server says of its variables.
    pub facts: ServerFacts,
    /// Extra start-up arguments of the study.
    pub args: Vec<String>,
    /// What may be tuned.
    pub space: Space,
    /// Variables that pass from the user's my.cnf besides those that shape the load.
    pub tuned: BTreeSet<String>,
    /// The user's my.cnf; what of it reaches a private server is decided line by line.
    pub baseline: Vec<Setting>,
    /// What the last trial starts the server with. It is made by whoever hands it over, so that the two are one text.
    pub handed_over: HandedOver,
    /// The clean data directory.
    pub template: PathBuf,
    /// The data directory of the trial at hand.
    pub data: PathBuf,
    /// The user private servers run as.
    pub user: ServerUser,
    /// Ends what is left when Noctune dies.
    pub guardian: Guardian,
    /// How to reset; the fastest that works where none.
    pub reset: Option<Backend>,
    /// Which caches to drop.
    pub caches: CacheDrop,
    /// Limits of the machine class; none where it is this whole host.
    pub limits: Option<Limits>,
    /// Whether the recovery after a crash is timed.
    pub crash_recovery: bool,
    /// The load.
    pub workload: Box<dyn Workload>,
    /// Warnings that were told already: what is true of every trial is told once and kept with each.
    pub told: RefCell<BTreeSet<String>>,
    /// Seed of the load's keys: the same for all trials, so that all do the same work.
    pub load_seed: u64,
    /// How long each part of a trial may take.
    pub deadlines: Deadlines,
}

impl TrialRunner {
    /// The block of each variable that rounds, for reading values back.
    pub(super) fn block(&self, variable: &str) -> Option<u64> {
        self.facts.variables.get(variable).and_then(|facts| facts.block)
    }

    /// The variables a job writes, as a my.cnf takes them.
    pub(super) fn as_text(variables: &[(String, crate::space::Value)]) -> BTreeMap<String, String> {
        variables
            .iter()
            .map(|(name, value)| (name.clone(), value.to_string()))
            .collect()
    }
}
