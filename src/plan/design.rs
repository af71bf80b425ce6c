//! How a confirmation is made: arms, number of blocks, orders; fixed before its first run.

use serde::{Deserialize, Serialize};

use super::budget;
use super::confirm::{LEVEL, same_effect};
use super::noise::{RunNoise, run_noise};
use super::{Arm, Facts, Inputs, Job, Length, Purpose};
use crate::space::Configuration;
use crate::stats::{block_order, expected_half_width};
use crate::strategy::{Recommendation, TrialNumber};
use crate::study::MIN_BLOCKS;

/// Most blocks of a confirmation: beyond them the interval hardly shrinks.
const MAX_BLOCKS: u32 = 40;
/// Blocks that must fit into the time left for a confirmation to begin; it then has [`MIN_BLOCKS`], a little overtime.
const FITTING_BLOCKS: u32 = 3;

/// How a confirmation is made; fixed before its first run and stored with each of its jobs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Design {
    /// Number of the first block.
    pub first_block: u32,
    /// Number of blocks.
    pub blocks: u32,
    /// The arms with their configurations.
    pub arms: Vec<(Arm, Configuration)>,
    /// The trial that found the best.
    pub trial: TrialNumber,
    /// Run noise that the number of blocks was planned with, a share.
    pub noise: f64,
    /// The budget it was planned under, seconds: only a larger one opens the search again.
    pub budget_seconds: f64,
    /// The number of trials it was planned under.
    pub max_trials: Option<u64>,
    /// How long its runs are: the same for all of them, whatever the study file says meanwhile. None in designs that were
    /// begun before this was kept.
    #[serde(default)]
    pub length: Option<Length>,
}

impl Design {
    /// A confirmation of `best`; none where the time left does not allow one. The rule of thumb is left out where it is
    /// absent, failed, is the baseline or the best itself, or where only two arms fit.
    pub(super) fn plan(inputs: &Inputs<'_>, facts: &Facts, best: &Recommendation) -> Option<Self> {
        let mut arms = vec![
            (Arm::Best, best.configuration.clone()),
            (Arm::Baseline, inputs.baseline.clone()),
        ];
        if budget::likely_arms(inputs, facts) == 3
            && let Some(rule) = inputs.rule_of_thumb
            && !same_effect(facts, rule, &best.configuration)
        {
            arms.push((Arm::RuleOfThumb, rule.clone()));
        }
        let fitting = |arms: usize| {
            let run = budget::expected_pair_seconds(inputs, facts, &inputs.settings.confirm_length);
            let by_time = (budget::left(inputs, facts) / (run * arms as f64))
                .floor()
                .max(0.0);
            let by_trials = inputs.settings.max_trials.map_or(f64::INFINITY, |most| {
                (most.saturating_sub(budget::counted(facts)) / arms as u64) as f64
            });
            by_time.min(by_trials).min(f64::from(MAX_BLOCKS)) as u32
        };
        if arms.len() == 3 && fitting(3) < FITTING_BLOCKS {
            arms.pop();
        }
        let fits = fitting(arms.len());
        if fits < FITTING_BLOCKS {
            return None;
        }
        let noise = RunNoise::for_planning(run_noise(inputs, facts));
        let gain = expected_log_gain(inputs, facts, best);
        let blocks = blocks_needed(noise, gain, inputs.settings.min_gain)
            .min(fits)
            .max(MIN_BLOCKS);
        let first_block = facts
            .jobs
            .iter()
            .filter_map(|fact| match fact.job.purpose {
                Purpose::Pair { block, .. } => Some(block + 1),
                _ => None,
            })
            .max()
            .unwrap_or(1);
        Some(Self {
            first_block,
            blocks,
            arms,
            trial: best.trial,
            noise,
            budget_seconds: inputs.settings.budget_seconds,
            max_trials: inputs.settings.max_trials,
            length: Some(inputs.settings.confirm_length),
        })
    }

    /// The order of the arms in a block.
    pub(super) fn order(&self, block: u32, seed: u64) -> impl Iterator<Item = &(Arm, Configuration)> {
        let seed = seed ^ u64::from(self.first_block).rotate_left(32);
        block_order(self.arms.len(), block - self.first_block, seed)
            .into_iter()
            .map(|index| &self.arms[index])
    }

    pub(super) fn numbers(&self) -> std::ops::Range<u32> {
        self.first_block..self.first_block + self.blocks
    }

    /// How long its runs are.
    pub(super) fn length(&self, inputs: &Inputs<'_>) -> Length {
        self.length.unwrap_or(inputs.settings.confirm_length)
    }

    /// The smallest gain these blocks are expected to tell from none, as a share.
    pub(super) fn resolution(&self) -> Option<f64> {
        expected_half_width(self.noise, self.blocks, LEVEL).map(f64::exp_m1)
    }

    /// The job of one run.
    pub(super) fn job(
        &self,
        inputs: &Inputs<'_>,
        block: u32,
        arm: Arm,
        configuration: &Configuration,
    ) -> Job {
        Job {
            purpose: Purpose::Pair { block, arm },
            configuration: configuration.clone(),
            length: self.length(inputs),
            why: format!(
                "confirmation, block {} of {}: {}",
                block - self.first_block + 1,
                self.blocks,
                budget::arm_words(arm)
            ),
            model: serde_json::to_value(self).ok(),
            host: Some(inputs.host.to_owned()),
            forgives: 0,
        }
    }
}

/// Blocks after which half of the expected gain would stand clear of the threshold: half, since the best of many noisy
/// results looks better than it is.
fn blocks_needed(noise: f64, log_gain: f64, min_gain: f64) -> u32 {
    let threshold = min_gain.ln_1p();
    let target = ((log_gain - threshold) / 2.0).max(threshold / 2.0);
    (MIN_BLOCKS..MAX_BLOCKS)
        .find(|blocks| expected_half_width(noise, *blocks, LEVEL).is_some_and(|half| half <= target))
        .unwrap_or(MAX_BLOCKS)
}

fn expected_log_gain(inputs: &Inputs<'_>, facts: &Facts, best: &Recommendation) -> f64 {
    let baseline = inputs
        .objective
        .value_of(&super::observe::baseline_metrics(facts));
    match baseline {
        Some(baseline) if baseline > 0.0 && best.mean > 0.0 => {
            inputs.objective.goal().oriented((best.mean / baseline).ln())
        }
        _ => 0.0,
    }
}
