//! Recorded results for strategies that replay themselves: a search is run from its beginning on what was observed, and
//! the first result it misses is what it proposes. Nothing needs to be stored but the outcomes.

use std::collections::HashMap;

use super::history::{asked, better, fingerprint, mean};
use super::{Goal, Observation, ProposalPurpose, Search, Seen, TrialNumber};
use crate::space::Configuration;

/// What is known of a configuration.
#[derive(Debug, Clone, Default)]
pub(super) struct Results {
    /// Measured values of runs that kept every constraint on metrics, in trial order.
    pub(super) values: Vec<f64>,
    /// Runs that failed or broke a constraint on metrics.
    pub(super) bad: usize,
    /// Runs being measured, or proposed in this call.
    pub(super) open: usize,
    /// The first trial, where there is one.
    pub(super) first: Option<TrialNumber>,
}

impl Results {
    /// Mean of the values; none where it mostly failed.
    pub(super) fn mean(&self) -> Option<f64> {
        if self.values.len() > self.bad {
            mean(self.values.iter().copied())
        } else {
            None
        }
    }

    /// How many results there are, good and bad.
    pub(super) fn runs(&self) -> usize {
        self.values.len() + self.bad
    }
}

/// All results by the configuration asked for and by the one that really ran.
#[derive(Debug, Clone)]
pub(super) struct Ledger {
    results: HashMap<String, Results>,
    /// Relative standard deviation between runs of one configuration.
    pub(super) noise: f64,
    /// Degrees of freedom behind it.
    pub(super) freedom: f64,
}

/// Assumed where no configuration ran twice; engine noise is 3 to 8 % in practice.
const USUAL_NOISE: f64 = 0.04;

impl Ledger {
    /// Of a search; the pending configurations count as open.
    pub(super) fn of(search: &Search<'_>) -> Self {
        let mut results: HashMap<String, Results> = HashMap::new();
        for observation in search.observations {
            let ran = fingerprint(&observation.configuration);
            let other = asked(observation)
                .filter(|asked| *asked != ran)
                .map(str::to_owned);
            for key in std::iter::once(ran).chain(other) {
                let entry = results.entry(key).or_default();
                entry.first.get_or_insert(observation.trial);
                match observation.seen {
                    Seen::Measured {
                        value,
                        feasible: true,
                        ..
                    } if value.is_finite() => entry.values.push(value),
                    Seen::Measured { .. } | Seen::Failed => entry.bad += 1,
                }
            }
        }
        let (noise, freedom) = noise(results.values());
        let mut ledger = Self {
            results,
            noise,
            freedom,
        };
        for configuration in search.pending {
            ledger.open(configuration);
        }
        ledger
    }

    /// What is known of `configuration`.
    pub(super) fn get(&self, configuration: &Configuration) -> Results {
        self.results
            .get(&fingerprint(configuration))
            .cloned()
            .unwrap_or_default()
    }

    /// Takes note that one more run of `configuration` was asked for.
    pub(super) fn open(&mut self, configuration: &Configuration) {
        self.results.entry(fingerprint(configuration)).or_default().open += 1;
    }
}

/// Pooled relative standard deviation over the configurations that ran more than once, with its degrees of freedom.
fn noise<'a>(all: impl Iterator<Item = &'a Results>) -> (f64, f64) {
    let (mut squares, mut freedom) = (0.0, 0usize);
    // Sums of floats depend on their order, and that of a hash map is random.
    let mut parts: Vec<(f64, usize)> = all
        .filter(|results| results.values.len() > 1)
        .filter_map(|results| {
            let mean = mean(results.values.iter().copied())?;
            let square: f64 = results.values.iter().map(|v| (v / mean - 1.0).powi(2)).sum();
            square.is_finite().then_some((square, results.values.len() - 1))
        })
        .collect();
    parts.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    for (square, free) in parts {
        squares += square;
        freedom += free;
    }
    // A few repeats that agree by chance do not make a host free of noise: the usual noise weighs as two of them.
    let freedom = (freedom + 2) as f64;
    (
        ((squares + 2.0 * USUAL_NOISE * USUAL_NOISE) / freedom).sqrt(),
        freedom,
    )
}

/// Where a replayed search begins: the best configuration among the observations before the strategy's own proposals
/// (those whose model has `tag`).
pub(super) fn beginning(search: &Search<'_>, tag: &str) -> Option<Configuration> {
    let own = |observation: &Observation| {
        observation
            .model
            .as_ref()
            .is_some_and(|model| model.get(tag).is_some())
    };
    let count = search
        .observations
        .iter()
        .position(own)
        .unwrap_or(search.observations.len());
    let before = Search {
        observations: &search.observations[..count],
        ..*search
    };
    super::history::best_by_mean(&before).map(|best| best.configuration)
}

/// Whether `a` beats `b` in the direction of `goal`; anything beats what failed.
pub(super) fn beats(goal: Goal, a: Option<f64>, b: Option<f64>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => better(goal, a, b),
        (Some(_), None) => true,
        (None, _) => false,
    }
}

/// New where nothing is known of a configuration, else a repeat.
pub(super) fn purpose(results: &Results) -> ProposalPurpose {
    results
        .first
        .map_or(ProposalPurpose::Explore, |of| ProposalPurpose::Repeat { of })
}
