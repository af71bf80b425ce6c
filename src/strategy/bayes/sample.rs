//! Draws from the posterior of the hyper-parameters by Hamiltonian Monte Carlo: one fit says nothing of how sure it is.
//!
//! Source: Neal, "MCMC using Hamiltonian dynamics", 2011. Why not one fit: Eriksson and Jankowiak, 2021 (see
//! [`Prior::Sparse`](super::Prior)), section 4.

use rand::Rng;

use super::fit::Likelihood;
use super::kernel::Hyper;
use crate::strategy::rng::normal;

/// Trajectories before the first draw; the step size is adapted meanwhile.
const WARM_UP: usize = 10;
/// Trajectories from one draw to the next.
const THIN: usize = 4;
/// Steps of a trajectory.
const LEAPS: usize = 8;
/// The first step size, in logits of the bounded logarithms.
const STEP: f64 = 0.15;

/// A place of the chain: free coordinates, their potential and its slope.
#[derive(Debug, Clone)]
struct State {
    at: Vec<f64>,
    potential: f64,
    slope: Vec<f64>,
}

/// `draws` hyper-parameters from the posterior, by a chain that begins at `start`; fewer where the posterior cannot be
/// evaluated there.
pub fn sample(likelihood: &Likelihood<'_>, start: &Hyper, draws: usize, rng: &mut impl Rng) -> Vec<Hyper> {
    let mut drawn = Vec::with_capacity(draws);
    let Some(mut state) = state(likelihood, likelihood.to_free(&start.flat())) else {
        return drawn;
    };
    let mut step = STEP;
    for trajectory in 1..=WARM_UP + draws * THIN {
        let (next, accepted) = leap(likelihood, state, step, rng);
        state = next;
        if trajectory <= WARM_UP {
            step *= if accepted { 1.2 } else { 0.5 };
        } else if (trajectory - WARM_UP).is_multiple_of(THIN) {
            drawn.extend(Hyper::from_flat(&likelihood.bounded_from(&state.at).0));
        }
    }
    drawn
}

/// One trajectory with a fresh momentum, and whether its end was accepted.
fn leap(likelihood: &Likelihood<'_>, from: State, step: f64, rng: &mut impl Rng) -> (State, bool) {
    // Steps of varied length keep the chain off closed orbits.
    let step = step * rng.random_range(0.7..1.3);
    let mut momentum: Vec<f64> = from.at.iter().map(|_| normal(rng)).collect();
    let kinetic = |momentum: &[f64]| 0.5 * momentum.iter().map(|p| p * p).sum::<f64>();
    let before = from.potential + kinetic(&momentum);
    let threshold = rng.random::<f64>().ln();
    let mut to = from.clone();
    for _ in 0..LEAPS {
        for (p, slope) in momentum.iter_mut().zip(&to.slope) {
            *p -= 0.5 * step * slope;
        }
        let at = to.at.iter().zip(&momentum).map(|(z, p)| z + step * p).collect();
        let Some(next) = state(likelihood, at) else {
            return (from, false);
        };
        to = next;
        for (p, slope) in momentum.iter_mut().zip(&to.slope) {
            *p -= 0.5 * step * slope;
        }
    }
    if before - (to.potential + kinetic(&momentum)) > threshold {
        (to, true)
    } else {
        (from, false)
    }
}

/// The potential in free coordinates: the cost there, less the logarithm of how much a free step stretches.
fn state(likelihood: &Likelihood<'_>, at: Vec<f64>) -> Option<State> {
    let (flat, stretch) = likelihood.bounded_from(&at);
    let (mut potential, mut slope) = likelihood.evaluate(&flat)?;
    for (k, slope) in slope.iter_mut().enumerate() {
        // The logistic share of the range; its stretch is proportional to share (1 - share).
        let share = 1.0 / (1.0 + (-at[k]).exp());
        potential -= stretch[k].max(f64::MIN_POSITIVE).ln();
        *slope = *slope * stretch[k] - (1.0 - 2.0 * share);
    }
    (potential.is_finite() && slope.iter().all(|s| s.is_finite())).then_some(State { at, potential, slope })
}
