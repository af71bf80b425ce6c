//! What the plan needs besides the facts.

use super::Length;
use crate::space::{Configuration, Space};
use crate::strategy::{Strategy, TrialNumber};
use crate::study::{Objective, Patience, PatienceRule, Study};

/// How a study is planned.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Time of all trials together, seconds.
    pub budget_seconds: f64,
    /// Largest number of trials; none without a limit.
    pub max_trials: Option<u64>,
    /// When to stop searching although time is left; none for never.
    pub patience: Option<PatienceRule>,
    /// Share of the budget kept for the confirmation, at least.
    pub reserve: f64,
    /// The smallest gain worth reporting, as a share.
    pub min_gain: f64,
    /// Length of baseline, start and search trials.
    pub length: Length,
    /// Length of confirmation runs.
    pub confirm_length: Length,
    /// What a trial is expected to take before any was measured, seconds.
    pub trial_seconds: f64,
    /// Seed of every random choice.
    pub seed: u64,
}

impl Settings {
    /// As the study file says.
    pub fn of(study: &Study) -> Self {
        let trial = &study.trial;
        let length = Length {
            warmup_cap: trial.warmup.cap().as_secs_f64(),
            measure_min: trial.measure.min.as_secs_f64(),
            measure_max: trial.measure.max.as_secs_f64(),
        };
        let confirm_length = study.confirm.length.map_or(length, |time| Length {
            measure_min: time.as_secs_f64(),
            measure_max: time.as_secs_f64(),
            ..length
        });
        Self {
            budget_seconds: study.budget.time.as_secs_f64(),
            max_trials: study.budget.trials,
            patience: match study.budget.patience {
                Patience::Off => None,
                Patience::On(rule) => Some(rule),
            },
            reserve: study.confirm.reserve,
            min_gain: study.confirm.min_gain,
            length,
            confirm_length,
            trial_seconds: study.expected_trial_seconds(),
            seed: study.study.seed,
        }
    }
}

/// What the plan needs besides the facts; the same inputs and facts give the same plan.
#[derive(Clone, Copy)]
pub struct Inputs<'a> {
    /// How the study is planned.
    pub settings: &'a Settings,
    /// What is to become better.
    pub objective: &'a Objective,
    /// What may be tuned.
    pub space: &'a Space,
    /// How to search.
    pub strategy: &'a dyn Strategy,
    /// The configuration to beat.
    pub baseline: &'a Configuration,
    /// The first guess of the machine class; none where the study wants none.
    pub rule_of_thumb: Option<&'a Configuration>,
    /// The user's own candidates.
    pub candidates: &'a [Configuration],
    /// Name of the host that asks: the runs of a confirmation block stay on one host.
    pub host: &'a str,
    /// Up to this trial, failures that ended the study (of the host, of the load's set-up, of the baseline, of every
    /// candidate alike) are forgiven: the number of the last trial when a study that had ended so is run again, else 0.
    /// Once such a study went on, its facts tell that by themselves.
    pub forgiven: TrialNumber,
}

impl std::fmt::Debug for Inputs<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inputs")
            .field("settings", self.settings)
            .field("objective", self.objective)
            .field("baseline", self.baseline)
            .field("rule_of_thumb", &self.rule_of_thumb)
            .field("candidates", &self.candidates)
            .field("host", &self.host)
            .field("forgiven", &self.forgiven)
            .finish_non_exhaustive()
    }
}
