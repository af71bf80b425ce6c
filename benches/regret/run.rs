//! One search on one task.

use std::time::Instant;

use noctune::strategy::{Goal, Observation, Search, Seen, Strategy};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use crate::task::Task;

/// What came of a search.
#[derive(Debug, Clone)]
pub(crate) struct Run {
    /// After each trial, regret of the recommended configuration in percent of the optimum.
    pub(crate) recommended: Vec<f64>,
    /// Trials that failed.
    pub(crate) failed: usize,
    /// Seconds a proposal took on average.
    pub(crate) seconds: f64,
}

/// Searches `task` for `trials` trials, the default first.
pub(crate) fn run(task: &Task, strategy: &dyn Strategy, seed: u64, trials: usize) -> Run {
    let mut noise = ChaCha8Rng::seed_from_u64(seed ^ 0x6e6f_6973);
    let mut observations: Vec<Observation> = Vec::new();
    let default = task.space.default_configuration();
    let worst = task.regret(&default);
    let mut recommended = Vec::new();
    let (mut failed, mut seconds) = (0, 0.0);
    for trial in 1.. {
        let search = search(task, &observations, seed);
        let began = Instant::now();
        let (configuration, model) = if trial == 1 {
            (default.clone(), None)
        } else {
            match strategy.propose(&search, 1).into_iter().next() {
                Some(proposal) => (proposal.configuration, proposal.model),
                None => break,
            }
        };
        seconds += began.elapsed().as_secs_f64();
        let seen = match task.measure(&configuration, &mut noise) {
            Some(value) => Seen::Measured {
                value,
                variance: None,
                feasible: true,
            },
            None => {
                failed += 1;
                Seen::Failed
            }
        };
        observations.push(Observation {
            trial,
            configuration,
            seen,
            model,
        });
        let best = strategy.recommend(&self::search(task, &observations, seed));
        recommended.push(best.map_or(worst, |best| {
            task.regret(&best.configuration).min(worst.max(100.0))
        }));
        if observations.len() == trials {
            break;
        }
    }
    Run {
        recommended,
        failed,
        seconds: seconds / trials as f64,
    }
}

fn search<'a>(task: &'a Task, observations: &'a [Observation], seed: u64) -> Search<'a> {
    Search {
        space: &task.space,
        goal: Goal::Maximize,
        observations,
        pending: &[],
        seed,
    }
}
