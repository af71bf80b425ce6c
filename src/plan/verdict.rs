//! What a study ends with. Its claims come from the confirmation alone.

use std::fmt;

use serde::Serialize;

use super::confirm::Stand;
use super::failure::{FailureGroup, failure_table, failures};
use super::kept::{TRIED_ANEW, since};
use super::no_difference::{NoDifference, no_difference};
use super::noise::{RunNoise, run_noise};
use super::{Arm, Burst, Facts, Inputs};
use crate::space::Configuration;
use crate::stats::Interval;
use crate::strategy::TrialNumber;

/// What the level of two intervals means. The claim is the first alone, which the study was planned for.
pub const EACH_BY_ITSELF: &str = "the two intervals hold each by itself, not both at once; what is claimed is the one against the baseline";

/// How a study ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum VerdictKind {
    /// The confirmed interval of the gain lies above the threshold.
    Confirmed,
    /// It does not.
    NotConfirmed,
    /// Nothing measured was better than the baseline.
    BaselineIsBest,
    /// No time was left for a confirmation, or not even for a candidate.
    NoTime,
    /// The best failed in its confirmation, and no other was left to confirm.
    BestFailed,
    /// The best broke a constraint on metrics in its confirmation.
    BreaksConstraint,
    /// The server does not start with the final my.cnf.
    FinalRefused,
    /// The baseline itself does not run.
    BaselineFailed,
    /// No candidate could be measured.
    EveryTrialFailed,
    /// The host does not allow trials.
    HostProblem,
    /// The load's own command line, script or tool is wrong: no candidate could do better.
    LoadSetup,
}

/// The best configuration of a study.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Best {
    /// The trial that found it.
    pub trial: TrialNumber,
    /// The configuration.
    pub configuration: Configuration,
}

/// What a study ends with.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Verdict {
    /// How it ended.
    pub kind: VerdictKind,
    /// The configuration to hand over, confirmed or not; none where the baseline is to be kept.
    pub best: Option<Best>,
    /// The trial whose configuration was compared with the baseline in blocks, handed over or not.
    pub compared: Option<TrialNumber>,
    /// How little the knobs did, where no difference was seen.
    pub no_difference: Option<Box<NoDifference>>,
    /// Ratio of the best to the baseline, improvement above 1, from confirmation blocks alone.
    pub gain: Option<Interval>,
    /// Ratio of the best to the rule of thumb, likewise.
    pub gain_over_rule: Option<Interval>,
    /// Why there is no ratio to the rule of thumb, where there is none.
    pub rule_note: Option<String>,
    /// The write debt its runs left unpaid, where they did.
    pub burst: Option<Burst>,
    /// Complete confirmation blocks.
    pub blocks: u32,
    /// The smallest gain worth reporting, a share.
    pub min_gain: f64,
    /// Run noise seen in the search.
    pub run_noise: Option<RunNoise>,
    /// The smallest gain the confirmation was expected to tell, a share.
    pub resolution: Option<f64>,
    /// The objective's words.
    pub metric: String,
    /// Failures grouped by cause.
    pub failures: Vec<FailureGroup>,
    /// What else is to be said, e.g. why the host cannot run trials.
    pub detail: Option<String>,
    /// What was confirmed before the search went on: it stays the claim where this end confirms nothing.
    pub kept: Option<Box<Verdict>>,
}

impl Verdict {
    pub(super) fn new(inputs: &Inputs<'_>, facts: &Facts, kind: VerdictKind, detail: Option<String>) -> Self {
        Self {
            kind,
            best: None,
            compared: None,
            no_difference: (kind == VerdictKind::BaselineIsBest)
                .then(|| no_difference(inputs, facts))
                .flatten(),
            gain: None,
            gain_over_rule: None,
            rule_note: None,
            burst: None,
            blocks: 0,
            min_gain: inputs.settings.min_gain,
            run_noise: run_noise(inputs, facts),
            resolution: None,
            metric: inputs.objective.name().to_owned(),
            failures: failures(facts),
            detail,
            kept: None,
        }
    }

    /// This end, with what was confirmed before.
    pub(super) fn keeping(self, confirmed: Self) -> Self {
        Self {
            kept: Some(Box::new(confirmed)),
            ..self
        }
    }

    /// What is handed over and claimed: what was confirmed before, where this end confirms nothing, else this.
    pub fn claim(&self) -> &Self {
        self.kept.as_deref().unwrap_or(self)
    }

    /// Whether the study could not go on.
    pub fn is_failure(&self) -> bool {
        matches!(
            self.kind,
            VerdictKind::BaselineFailed
                | VerdictKind::EveryTrialFailed
                | VerdictKind::HostProblem
                | VerdictKind::LoadSetup
        )
    }

    /// The verdict of a confirmation as far as it went.
    pub(super) fn of_confirmation(inputs: &Inputs<'_>, facts: &Facts, stand: &Stand<'_>) -> Self {
        let gain = stand.gain(inputs, Arm::Baseline);
        let broken = inputs
            .objective
            .broken(&stand.metrics(Arm::Best), &stand.metrics(Arm::Baseline))
            .filter(|_| stand.blocks() > 0)
            .map(|constraint| format!("in the confirmation it broke the constraint {constraint}"));
        let clears = gain.is_some_and(|gain| gain.low > 1.0 + inputs.settings.min_gain);
        let kind = match (&broken, clears) {
            (Some(_), _) => VerdictKind::BreaksConstraint,
            (None, true) => VerdictKind::Confirmed,
            (None, false) => VerdictKind::NotConfirmed,
        };
        let rule_note = if stand.rule_failed() {
            Some("the rule of thumb failed in the confirmation".to_owned())
        } else if stand.has_rule() {
            None
        } else if inputs.rule_of_thumb.is_none() {
            Some("the rule of thumb was switched off".to_owned())
        } else {
            Some("not compared: the rule of thumb is the best itself or the baseline, failed, or there was no time".to_owned())
        };
        // What the confirmation could not tell from the baseline is nothing to hand over.
        let seen_better = gain.is_some_and(|gain| gain.low > 1.0);
        let mut verdict = Self::new(inputs, facts, kind, broken);
        if kind != VerdictKind::BreaksConstraint && seen_better {
            verdict.best = stand.best().map(|configuration| Best {
                trial: stand.design.trial,
                configuration: configuration.clone(),
            });
        }
        verdict.compared = Some(stand.design.trial);
        if kind == VerdictKind::NotConfirmed && verdict.best.is_none() {
            verdict.no_difference = no_difference(inputs, facts);
        }
        verdict.gain = gain;
        if rule_note.is_none() {
            verdict.gain_over_rule = stand.gain(inputs, Arm::RuleOfThumb);
        }
        verdict.rule_note = rule_note;
        verdict.blocks = stand.blocks();
        verdict.burst = stand.burst();
        verdict.resolution = stand.design.resolution();
        verdict
    }

    /// Whether a gain is claimed: the low end of its interval lies above the threshold.
    pub fn confirmed(&self) -> bool {
        self.claim().kind == VerdictKind::Confirmed
    }

    /// What is to be said of a result that was confirmed before the search went on; none where this end made its own claim.
    pub fn since(&self) -> Option<&'static str> {
        let kept = self.kept.as_ref()?;
        let is_same = self.kind == VerdictKind::NotConfirmed && self.compared == kept.compared;
        Some(if is_same { TRIED_ANEW } else { since(self.kind) })
    }

    /// The process's exit code (interface: "Exit codes").
    pub fn exit_code(&self) -> u8 {
        match self.kind {
            _ if self.confirmed() && !self.is_failure() => 0,
            VerdictKind::Confirmed => 0,
            VerdictKind::NotConfirmed
            | VerdictKind::BaselineIsBest
            | VerdictKind::NoTime
            | VerdictKind::BestFailed
            | VerdictKind::BreaksConstraint => 4,
            VerdictKind::FinalRefused => 1,
            VerdictKind::BaselineFailed | VerdictKind::EveryTrialFailed => 5,
            VerdictKind::HostProblem => 3,
            VerdictKind::LoadSetup => 2,
        }
    }

    /// The verdict in one line.
    pub fn line(&self) -> String {
        match (&self.kept, self.is_failure()) {
            (None, _) => self.own_line(),
            (Some(kept), false) => format!("{}; {}", kept.own_line(), self.since().unwrap_or_default()),
            (Some(kept), true) => format!(
                "{}; what was confirmed before is kept: {}",
                self.own_line(),
                kept.own_line()
            ),
        }
    }

    /// This end by itself.
    fn own_line(&self) -> String {
        let gain = || {
            self.gain
                .map_or_else(|| "no interval".to_owned(), |gain| ratio_words(&gain))
        };
        let metric = &self.metric;
        let burst = self.burst.map_or_else(String::new, |burst| format!("; {burst}"));
        match self.kind {
            VerdictKind::Confirmed => {
                format!(
                    "{metric} improved over the baseline: {} in {} blocks{burst}",
                    gain(),
                    self.blocks
                )
            }
            VerdictKind::NotConfirmed => format!(
                "no gain of more than {:.1} % over the baseline was confirmed: {} in {} blocks{burst}{}",
                100.0 * self.min_gain,
                gain(),
                self.blocks,
                if self.best.is_some() {
                    ""
                } else {
                    ": keep the baseline"
                }
            ),
            VerdictKind::BaselineIsBest => {
                "nothing measured was better than the baseline: keep it".to_owned()
            }
            VerdictKind::NoTime if self.best.is_none() => {
                "no time was left to measure a candidate: no gain is claimed".to_owned()
            }
            VerdictKind::NoTime => "no time was left to confirm anything: no gain is claimed".to_owned(),
            VerdictKind::BestFailed => {
                "the best configuration failed in its confirmation: keep the baseline".to_owned()
            }
            VerdictKind::BreaksConstraint => {
                format!(
                    "the best configuration broke a constraint in its confirmation ({}): keep the baseline",
                    gain()
                )
            }
            VerdictKind::FinalRefused => {
                "the server does not start with the final my.cnf, so none is handed over: keep the baseline"
                    .to_owned()
            }
            VerdictKind::BaselineFailed => "the baseline itself does not run".to_owned(),
            VerdictKind::EveryTrialFailed => "every candidate failed: nothing to compare".to_owned(),
            VerdictKind::HostProblem => "this host cannot run the trials".to_owned(),
            VerdictKind::LoadSetup => "the load is set up wrongly, so no trial can be measured".to_owned(),
        }
    }
}

impl Verdict {
    /// What else is to be said, of this end and of what was confirmed before; one line each. Where this end has a
    /// confirmation of its own that confirmed nothing, what it saw.
    pub fn details(&self) -> Vec<String> {
        let Some(kept) = &self.kept else {
            let compared = self.compared.filter(|_| self.best.is_none()).map(|trial| {
                format!("compared was trial {trial}: `noctune explain {trial}` tells what it changes")
            });
            let no_difference = self.no_difference.iter().flat_map(|seen| seen.lines());
            let own = self.detail.clone().into_iter();
            return own.chain(compared).chain(no_difference).collect();
        };
        let seen = self.gain.map(|gain| {
            format!(
                "the last confirmation saw {} in {} blocks",
                ratio_words(&gain),
                self.blocks
            )
        });
        seen.into_iter()
            .chain(self.detail.clone())
            .chain(kept.detail.clone())
            .collect()
    }
}

/// A ratio with its interval; says so where it shows no difference.
fn ratio_words(ratio: &Interval) -> String {
    let null = if ratio.low <= 1.0 && ratio.high >= 1.0 {
        ", no difference shown"
    } else {
        ""
    };
    format!(
        "x {:.3} ({:.0} % interval {:.3} to {:.3}{null})",
        ratio.point,
        100.0 * ratio.level,
        ratio.low,
        ratio.high
    )
}

impl fmt::Display for Verdict {
    /// The verdict in several lines, for people.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.line())?;
        for detail in self.details() {
            write!(f, "\n  {detail}")?;
        }
        let claim = self.claim();
        match (&claim.gain_over_rule, &claim.rule_note) {
            (Some(ratio), _) => write!(f, "\n  against the rule of thumb: {}", ratio_words(ratio))?,
            (None, Some(note)) => write!(f, "\n  against the rule of thumb: {note}")?,
            (None, None) => {}
        }
        if let Some(ratio) = &claim.gain_over_rule
            && ratio.high < 1.0
        {
            write!(f, " - the rule of thumb did better")?;
        }
        if claim.gain.is_some() && claim.gain_over_rule.is_some() {
            write!(f, "\n  {EACH_BY_ITSELF}")?;
        }
        if let Some(noise) = &self.run_noise {
            write!(
                f,
                "\n  run noise {:.1} % ({:.0} degrees of freedom)",
                100.0 * noise.cv,
                noise.df
            )?;
            if let Some(resolution) = claim.resolution {
                write!(
                    f,
                    "; these blocks were expected to tell a gain of {:.1} %",
                    100.0 * resolution
                )?;
            }
        }
        if !self.failures.is_empty() {
            write!(f, "\n  failures by cause:\n{}", failure_table(&self.failures))?;
        }
        Ok(())
    }
}
