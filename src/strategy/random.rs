//! Random search: the yardstick every other strategy has to beat.

use super::history::{self, Known};
use super::unit::{any_left, random_point};
use super::{Proposal, ProposalPurpose, Recommendation, Search, Strategy, rng};

/// Draws before a space counts as exhausted or hard to hit.
const ATTEMPTS: usize = 2_000;

/// Uniform draws over the unit cube of the space, independent of what was measured.
#[derive(Debug, Clone, Copy, Default)]
pub struct Random;

impl Strategy for Random {
    fn propose(&self, search: &Search<'_>, n: usize) -> Vec<Proposal> {
        let mut known = Known::of(search);
        let mut proposals = Vec::new();
        for asked in 0..n {
            let mut rng = rng::generator(search, asked, "random");
            let found = (0..ATTEMPTS)
                .find_map(|_| known.legal(search.space, &random_point(search.space.dimensions(), &mut rng)))
                .or_else(|| any_left(search.space, &known));
            let Some(configuration) = found else { break };
            known.add(&configuration);
            proposals.push(Proposal {
                model: history::remember(&configuration, None),
                configuration,
                purpose: ProposalPurpose::Explore,
                why: "drawn at random from the whole space".to_owned(),
            });
        }
        proposals
    }

    fn recommend(&self, search: &Search<'_>) -> Option<Recommendation> {
        history::best_by_mean(search)
    }
}
