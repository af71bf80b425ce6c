//! Builds the runner of trials from what was prepared.

use crate::handover::section;
use crate::host::{Guardian, Limits};
use crate::night::{Event, Events};
use crate::plan::Inputs;
use crate::runner::{CacheDrop, Deadlines, TrialRunner};
use crate::server::{Backend, ServerBinary, ServerUser, Template};
use crate::setup::{Frozen, StudyFolder, StudySource};
use crate::study::{CachesDrop, Reset};
use crate::workload::Workload;

/// Everything a runner is built from.
pub(super) struct Parts<'a> {
    pub(super) source: &'a StudySource,
    pub(super) frozen: &'a Frozen,
    pub(super) folder: &'a StudyFolder,
    pub(super) binary: ServerBinary,
    pub(super) workload: Box<dyn Workload>,
    pub(super) template: Template,
    pub(super) user: ServerUser,
    pub(super) guardian: Guardian,
    /// Whether others work on this host, too (`--shared-host`).
    pub(super) shared_host: bool,
    /// Seed of the load's random choices.
    pub(super) seed: u64,
    pub(super) events: &'a Events,
}

/// The runner of a study's trials.
pub(super) fn trial_runner(parts: Parts<'_>) -> TrialRunner {
    let trial = &parts.source.study.trial;
    let class = &parts.frozen.class;
    let limits = (class.name != "probe").then_some(Limits {
        memory: Some(class.ram),
        cores: Some(class.cores),
    });
    let caches = cache_drop(trial.caches.drop, parts.shared_host);
    if trial.caches.drop == CachesDrop::All && caches != CacheDrop::All {
        parts.events.send(&Event::Warning {
            text: "caches = \"all\" would slow down everything on this shared host: only the trial's own files are dropped"
                .to_owned(),
            next: Some("write caches = { drop = \"files\" }, or measure on a host of its own".to_owned()),
        });
    }
    let frozen = parts.frozen.clone();
    TrialRunner {
        binary: parts.binary,
        facts: parts.frozen.facts.clone(),
        args: parts.source.study.server.args.clone(),
        space: parts.frozen.space.clone(),
        tuned: parts.frozen.tuned.clone(),
        baseline: parts.frozen.baseline().settings,
        handed_over: Box::new(move |configuration| section(configuration, &frozen)),
        template: parts.template.data,
        data: parts.folder.data(),
        user: parts.user,
        guardian: parts.guardian,
        reset: match trial.reset {
            Reset::Auto => None,
            Reset::Reflink => Some(Backend::Reflink),
            Reset::Copy => Some(Backend::Copy),
        },
        caches,
        limits,
        workload: parts.workload,
        crash_recovery: trial.crash_recovery,
        told: std::cell::RefCell::default(),
        load_seed: parts.seed,
        deadlines: Deadlines::default(),
    }
}

/// Which caches are dropped. Those of a whole host are left alone where others work on it.
fn cache_drop(wanted: CachesDrop, shared_host: bool) -> CacheDrop {
    match wanted {
        CachesDrop::All if !shared_host => CacheDrop::All,
        CachesDrop::All | CachesDrop::Files => CacheDrop::Files,
        CachesDrop::None => CacheDrop::Nothing,
    }
}

/// Up to which trial failures that ended the study are forgiven: all of them when the study had ended so and is run again.
pub(super) fn forgiven(inputs: &Inputs<'_>, facts: &crate::plan::Facts) -> u64 {
    use crate::plan::{Next, next};
    match next(inputs, facts) {
        Next::Done(verdict) if verdict.is_failure() => facts.jobs.last().map_or(0, |fact| fact.number),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_caches_of_a_shared_host_are_left_alone() {
        assert_eq!(cache_drop(CachesDrop::All, true), CacheDrop::Files);
        assert_eq!(cache_drop(CachesDrop::All, false), CacheDrop::All);
        for shared in [true, false] {
            assert_eq!(cache_drop(CachesDrop::Files, shared), CacheDrop::Files);
            assert_eq!(cache_drop(CachesDrop::None, shared), CacheDrop::Nothing);
        }
    }
}
