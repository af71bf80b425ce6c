//! Knobs that made no difference: how little they made, and what seems to limit the load instead.

use std::collections::BTreeMap;

use serde::Serialize;

use super::limits::limits;
use super::noise::run_noise;
use super::observe::searched;
use super::{Facts, Inputs, Purpose};
use crate::trial::Outcome;

/// Fewer configurations tell nothing about the knobs.
const FEWEST: usize = 3;
/// Configurations that spread at most this many times as much as runs of one configuration do: single runs and few
/// repeats leave either spread uncertain.
const ALIKE: f64 = 2.5;

/// What is to be said where no configuration could be told from the baseline.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NoDifference {
    /// Configurations that were measured in the search, the baseline included.
    pub configurations: usize,
    /// Standard deviation of the log of the objective between them, a share for small values.
    pub spread: f64,
    /// The same between runs of one configuration.
    pub run_noise: f64,
    /// What seems to limit the load, in words with the figures the trials recorded; none where they recorded nothing that
    /// tells.
    pub limits: Vec<String>,
}

/// What is to be said where the configurations of the search differ no more than runs of one do; none where they differ,
/// or where too few were measured.
pub(super) fn no_difference(inputs: &Inputs<'_>, facts: &Facts) -> Option<Box<NoDifference>> {
    let mut logs: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for (fact, outcome) in searched(facts) {
        let value = outcome.measurement().and_then(|m| inputs.objective.value(m));
        if let Some(value) = value.map(|value| value.value).filter(|value| *value > 0.0) {
            // What is asked for as the baseline is one configuration, however the server rounds it.
            let key = match fact.job.purpose {
                Purpose::Baseline => inputs.baseline.key(),
                _ => fact.configuration().key(),
            };
            logs.entry(key).or_default().push(value.ln());
        }
    }
    if logs.len() <= FEWEST {
        return None;
    }
    let means: Vec<f64> = logs.values().map(|logs| mean(logs)).collect();
    let middle = mean(&means);
    let squares: f64 = means.iter().map(|value| (value - middle).powi(2)).sum();
    let spread = (squares / (means.len() - 1) as f64).sqrt();
    let noise = run_noise(inputs, facts)?.cv;
    let alike = spread <= (ALIKE * noise).max(inputs.settings.min_gain.ln_1p());
    let found = || NoDifference {
        configurations: means.len(),
        spread,
        run_noise: noise,
        limits: limits(
            searched(facts).filter_map(|(_, outcome)| Outcome::measurement(outcome)),
            inputs.space.ground().class.as_ref().map(|class| class.cores),
        ),
    };
    alike.then(|| Box::new(found()))
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

impl NoDifference {
    /// In words, one line each.
    pub fn lines(&self) -> impl Iterator<Item = String> {
        let first = format!(
            "the knobs made no difference that can be told from run noise: {} configurations vary by {:.1} %, runs of \
             one configuration by {:.1} %",
            self.configurations,
            100.0 * self.spread,
            100.0 * self.run_noise
        );
        let limits = (!self.limits.is_empty()).then(|| {
            format!(
                "what seems to limit this load instead: {}",
                self.limits.join("; ")
            )
        });
        [first].into_iter().chain(limits)
    }
}
