//! What was observed, gathered by configuration, and what may still be proposed.

use std::collections::{BTreeMap, HashSet};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::{Goal, Observation, Recommendation, Search, Seen, TrialNumber};
use crate::space::{Configuration, Point, Space};

/// The key under which a proposal's model holds the fingerprint of the configuration asked for. The server may round
/// what was asked, so the configuration observed can differ from it.
const ASKED: &str = "asked";

/// A short text that is equal for equal configurations.
pub(super) fn fingerprint(configuration: &Configuration) -> String {
    let digest = Sha256::digest(configuration.key().as_bytes());
    digest[..8].iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A proposal's model that remembers what was asked, with what else the strategy wants to see again under `name`.
pub(super) fn remember(configuration: &Configuration, own: Option<(&str, Value)>) -> Option<Value> {
    let mut model = json!({ ASKED: fingerprint(configuration) });
    if let Some((name, value)) = own {
        model[name] = value;
    }
    Some(model)
}

/// The fingerprint of the configuration a trial was asked to run, where a strategy proposed it.
pub(super) fn asked(observation: &Observation) -> Option<&str> {
    observation.model.as_ref()?.get(ASKED)?.as_str()
}

/// The configurations that may not be proposed again: observed, asked for, or being measured.
#[derive(Debug, Clone)]
pub(super) struct Known(HashSet<String>);

impl Known {
    /// Of a search.
    pub(super) fn of(search: &Search<'_>) -> Self {
        let mut known = HashSet::new();
        for observation in search.observations {
            known.insert(fingerprint(&observation.configuration));
            known.extend(asked(observation).map(str::to_owned));
        }
        known.extend(search.pending.iter().map(fingerprint));
        Self(known)
    }

    /// Takes note that `configuration` was proposed.
    pub(super) fn add(&mut self, configuration: &Configuration) {
        self.0.insert(fingerprint(configuration));
    }

    /// Whether `configuration` is none of the known.
    pub(super) fn is_new(&self, configuration: &Configuration) -> bool {
        !self.0.contains(&fingerprint(configuration))
    }

    /// The configuration at `point`, where it keeps every constraint and is none of the known.
    pub(super) fn legal(&self, space: &Space, point: &Point) -> Option<Configuration> {
        let configuration = space.decode(point);
        (self.is_new(&configuration) && space.permits(&configuration).is_ok()).then_some(configuration)
    }
}

/// All runs of one configuration.
#[derive(Debug, Clone)]
pub(super) struct Arm {
    /// The configuration that ran.
    pub(super) configuration: Configuration,
    /// Measured runs: trial, value, variance within the run.
    pub(super) runs: Vec<Run>,
    /// Runs that failed or broke a constraint on metrics.
    pub(super) bad: usize,
    /// Measured runs that kept every constraint on metrics.
    pub(super) good: usize,
}

/// One measured run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Run {
    /// The trial.
    pub(super) trial: TrialNumber,
    /// The objective.
    pub(super) value: f64,
    /// Variance within the run, finite and not negative; zero where unknown.
    pub(super) variance: f64,
}

impl Arm {
    /// Whether it may be recommended: measured, and mostly good.
    pub(super) fn is_feasible(&self) -> bool {
        self.good > self.bad
    }
}

/// The observations by configuration, in the order of their first trials.
pub(super) fn arms(observations: &[Observation]) -> Vec<Arm> {
    let mut arms: Vec<Arm> = Vec::new();
    let mut index: BTreeMap<String, usize> = BTreeMap::new();
    for observation in observations {
        let place = *index.entry(observation.configuration.key()).or_insert(arms.len());
        if place == arms.len() {
            arms.push(Arm {
                configuration: observation.configuration.clone(),
                runs: Vec::new(),
                bad: 0,
                good: 0,
            });
        }
        let arm = &mut arms[place];
        match observation.seen {
            Seen::Measured {
                value,
                variance,
                feasible,
            } if value.is_finite() => {
                arm.runs.push(Run {
                    trial: observation.trial,
                    value,
                    variance: variance.filter(|v| v.is_finite() && *v >= 0.0).unwrap_or(0.0),
                });
                if feasible {
                    arm.good += 1;
                } else {
                    arm.bad += 1;
                }
            }
            Seen::Measured { .. } | Seen::Failed => arm.bad += 1,
        }
    }
    arms
}

/// The mean of values: geometric where all of them are positive. `None` of nothing.
pub(super) fn mean(values: impl Iterator<Item = f64> + Clone) -> Option<f64> {
    let count = values.clone().count();
    if count == 0 {
        return None;
    }
    let share = 1.0 / count as f64;
    let mean = if values.clone().all(|v| v > 0.0) {
        values.map(|v| v.ln() * share).sum::<f64>().exp()
    } else {
        values.map(|v| v * share).sum()
    };
    Some(mean)
}

/// The feasible configuration with the best mean over its runs; the earliest of equals.
pub(super) fn best_by_mean(search: &Search<'_>) -> Option<Recommendation> {
    let mut best: Option<Recommendation> = None;
    for arm in arms(search.observations) {
        if !arm.is_feasible() {
            continue;
        }
        let Some((first, mean)) = arm.runs.first().zip(mean(arm.runs.iter().map(|run| run.value))) else {
            continue;
        };
        if best
            .as_ref()
            .is_none_or(|best| better(search.goal, mean, best.mean))
        {
            best = Some(Recommendation {
                trial: first.trial,
                configuration: arm.configuration,
                mean,
                sd: None,
            });
        }
    }
    best
}

/// Whether `a` is better than `b`.
pub(super) fn better(goal: Goal, a: f64, b: f64) -> bool {
    goal.oriented(a) > goal.oriented(b)
}
