//! Builds the runner of trials from what was prepared.

use crate::host::{Guardian, Limits};
use crate::plan::Inputs;
use crate::runner::{CacheDrop, TrialRunner};
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
}

/// The runner of a study's trials.
pub(super) fn trial_runner(parts: Parts<'_>) -> TrialRunner {
    let trial = &parts.source.study.trial;
    let class = &parts.frozen.class;
    let limits = (class.name != "probe").then_some(Limits {
        memory: Some(class.ram),
        cores: Some(class.cores),
    });
    TrialRunner {
        binary: parts.binary,
        facts: parts.frozen.facts.clone(),
        args: parts.source.study.server.args.clone(),
        space: parts.frozen.space.clone(),
        baseline: parts.frozen.baseline().settings,
        template: parts.template.data,
        data: parts.folder.data(),
        user: parts.user,
        guardian: parts.guardian,
        reset: match trial.reset {
            Reset::Auto => None,
            Reset::Reflink => Some(Backend::Reflink),
            Reset::Copy => Some(Backend::Copy),
        },
        caches: match trial.caches.drop {
            CachesDrop::Files => CacheDrop::Files,
            CachesDrop::All => CacheDrop::All,
            CachesDrop::None => CacheDrop::Nothing,
        },
        limits,
        workload: parts.workload,
        crash_recovery: trial.crash_recovery,
        told: std::cell::RefCell::default(),
        load_seed: parts.source.study.study.seed,
    }
}

/// Up to which trial failures that ended the study are forgiven: all of them when the study had ended so and is run again.
pub(super) fn forgiven(inputs: &Inputs<'_>, facts: &crate::plan::Facts) -> u64 {
    use crate::plan::{Next, VerdictKind, next};
    match next(inputs, facts) {
        Next::Done(verdict)
            if matches!(
                verdict.kind,
                VerdictKind::HostProblem
                    | VerdictKind::LoadSetup
                    | VerdictKind::BaselineFailed
                    | VerdictKind::EveryTrialFailed
            ) =>
        {
            facts.jobs.last().map_or(0, |fact| fact.number)
        }
        _ => 0,
    }
}
