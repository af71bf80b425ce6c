//! Nelder-Mead over the numeric knobs, around the best configuration so far: a finisher for the last percents.
//!
//! Source: Nelder and Mead, "A simplex method for function minimization", 1965; the steps are argmin's.

use std::cell::RefCell;

use argmin::core::{CostFunction, Error, Executor};
use argmin::solver::neldermead::NelderMead as Simplex;
use ndarray::Array1;
use serde_json::json;

use super::history::{self, Known};
use super::replay::{Ledger, beginning};
use super::{Proposal, ProposalPurpose, Recommendation, Search, Strategy};
use crate::space::{Configuration, Coordinate, Point, Space};

/// Where a proposal's model holds this strategy's mark.
const TAG: &str = "nelder-mead";
/// Cost of what failed or breaks a constraint: worse than anything measured, whose cost is at most about 710.
const WORSE_THAN_WORST: f64 = 1e9;

/// Nelder-Mead, replayed on the recorded outcomes: the first point without one is the proposal. Categories stay as they
/// are in the configuration it begins with.
#[derive(Debug, Clone, Copy)]
pub struct NelderMead {
    /// First step along each number, as a share of its (logarithmic) range.
    pub step: f64,
    /// Steps of the simplex at most.
    pub iterations: u64,
}

impl Strategy for NelderMead {
    fn propose(&self, search: &Search<'_>, n: usize) -> Vec<Proposal> {
        let mut ledger = Ledger::of(search);
        let mut known = Known::of(search);
        let mut proposals: Vec<Proposal> = Vec::new();
        let Some(start) = beginning(search, TAG) else {
            return first(search, &known).into_iter().take(n).collect();
        };
        while proposals.len() < n {
            let Some((configuration, count)) = self.missing(search, &start, &ledger) else {
                break;
            };
            ledger.open(&configuration);
            known.add(&configuration);
            proposals.push(Proposal {
                model: history::remember(&configuration, Some((TAG, json!(count)))),
                configuration,
                purpose: ProposalPurpose::Explore,
                why: format!("step {count} of a simplex around the best configuration before it"),
            });
        }
        proposals
    }

    fn recommend(&self, search: &Search<'_>) -> Option<Recommendation> {
        history::best_by_mean(search)
    }
}

/// The default configuration, for a search that has nothing yet.
pub(super) fn first(search: &Search<'_>, known: &Known) -> Option<Proposal> {
    let space = search.space;
    let configuration = known
        .legal(space, &space.encode(&space.default_configuration()))
        .or_else(|| {
            super::sobol::next(search, &mut known.clone()).map(|(_, proposal)| proposal.configuration)
        })?;
    Some(Proposal {
        model: history::remember(&configuration, None),
        configuration,
        purpose: ProposalPurpose::Explore,
        why: "a place to begin: nothing was measured yet".to_owned(),
    })
}

impl NelderMead {
    /// The first configuration the replayed search has no result for, and how many evaluations came before it.
    fn missing(
        &self,
        search: &Search<'_>,
        start: &Configuration,
        ledger: &Ledger,
    ) -> Option<(Configuration, usize)> {
        let base = search.space.encode(start);
        let free: Vec<usize> = (0..base.0.len())
            .filter(|&k| matches!(base.0[k], Coordinate::Number(_)))
            .collect();
        if free.is_empty() {
            return None;
        }
        let wanted = RefCell::new(None);
        let count = RefCell::new(0);
        let surface = Surface {
            search,
            base: &base,
            start,
            free: &free,
            ledger,
            wanted: &wanted,
            count: &count,
        };
        let simplex = Simplex::new(self.vertices(search.space, &base, &free));
        // It runs on after the missing result, without effect; argmin has no error for the first simplex.
        let _ = Executor::new(surface, simplex)
            .configure(|state| state.max_iters(self.iterations))
            .timer(false)
            .run();
        Some((wanted.into_inner()?, count.into_inner() + 1))
    }

    /// The base and one point a step away along each free number, far enough for another legal value, inwards.
    fn vertices(&self, space: &Space, base: &Point, free: &[usize]) -> Vec<Array1<f64>> {
        let centre: Array1<f64> = free.iter().map(|&k| number(base, k).clamp(0.0, 1.0)).collect();
        let mut vertices = vec![centre.clone()];
        for (place, &k) in free.iter().enumerate() {
            let mut vertex = centre.clone();
            let inwards = if centre[place] + self.step <= 1.0 {
                1.0
            } else {
                -1.0
            };
            let mut length = self.step;
            loop {
                vertex[place] = (centre[place] + inwards * length).clamp(0.0, 1.0);
                let moved = space.encode(&space.decode(&at(base, &[k], &[vertex[place]])));
                if number(&moved, k) != number(base, k) || length >= 1.0 {
                    break;
                }
                length *= 2.0;
            }
            vertices.push(vertex);
        }
        vertices
    }
}

fn number(point: &Point, k: usize) -> f64 {
    match point.0[k] {
        Coordinate::Number(u) => u,
        Coordinate::Inactive | Coordinate::Category(_) => 0.0,
    }
}

fn at(base: &Point, free: &[usize], shares: &[f64]) -> Point {
    let mut point = base.clone();
    for (&k, &u) in free.iter().zip(shares) {
        point.0[k] = Coordinate::Number(u.clamp(0.0, 1.0));
    }
    point
}

/// The recorded response, as argmin sees it.
struct Surface<'a> {
    search: &'a Search<'a>,
    base: &'a Point,
    start: &'a Configuration,
    free: &'a [usize],
    ledger: &'a Ledger,
    wanted: &'a RefCell<Option<Configuration>>,
    count: &'a RefCell<usize>,
}

impl CostFunction for Surface<'_> {
    type Param = Array1<f64>;
    type Output = f64;

    fn cost(&self, shares: &Self::Param) -> Result<f64, Error> {
        if self.wanted.borrow().is_some() {
            return Ok(WORSE_THAN_WORST);
        }
        // The first vertex is the beginning itself, which may lie off the steps: its own result counts.
        let begins = *self.count.borrow() == 0;
        let configuration = if begins {
            self.start.clone()
        } else {
            self.search
                .space
                .decode(&at(self.base, self.free, &shares.to_vec()))
        };
        if !begins && self.search.space.permits(&configuration).is_err() {
            *self.count.borrow_mut() += 1;
            return Ok(WORSE_THAN_WORST);
        }
        let results = self.ledger.get(&configuration);
        if results.runs() + results.open == 0 {
            *self.wanted.borrow_mut() = Some(configuration);
            return Ok(WORSE_THAN_WORST);
        }
        *self.count.borrow_mut() += 1;
        // What is still being measured counts as bad until it is there; the replay corrects itself then.
        Ok(results
            .mean()
            .map_or(WORSE_THAN_WORST, |mean| -self.search.goal.oriented(level(mean))))
    }
}

/// Order-preserving, and within ±1500 for every finite value.
fn level(value: f64) -> f64 {
    value.signum()
        * if value.abs() > 1.0 {
            1.0 + value.abs().ln()
        } else {
            value.abs()
        }
}
