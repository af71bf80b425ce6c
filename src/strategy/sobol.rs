//! A quasi-random sequence: spreads trials evenly over the space, independent of what was measured.

use super::history::{self, Known};
use super::unit::{any_left, sobol_point};
use super::{Proposal, ProposalPurpose, Recommendation, Search, Strategy, rng};

/// Points of the sequence tried beyond the number already used.
const ATTEMPTS: u32 = 2_000;

/// The Sobol sequence, Owen-scrambled by the study's seed.
#[derive(Debug, Clone, Copy, Default)]
pub struct Sobol;

impl Strategy for Sobol {
    fn propose(&self, search: &Search<'_>, n: usize) -> Vec<Proposal> {
        let mut known = Known::of(search);
        let mut proposals = Vec::new();
        while proposals.len() < n {
            let Some((index, proposal)) = next(search, &mut known) else {
                break;
            };
            proposals.push(Proposal {
                why: format!("{index}: spread evenly over the whole space"),
                ..proposal
            });
        }
        proposals
    }

    fn recommend(&self, search: &Search<'_>) -> Option<Recommendation> {
        history::best_by_mean(search)
    }
}

/// The first point of the study's sequence that is legal and not known yet, with a word on its place; it becomes known.
/// The sequence is walked from its beginning each time, so that nothing has to be remembered.
pub(super) fn next(search: &Search<'_>, known: &mut Known) -> Option<(String, Proposal)> {
    let dimensions = search.space.dimensions();
    let seed = rng::study_seed(search.seed, "sobol");
    let used = u32::try_from(search.observations.len() + search.pending.len()).unwrap_or(u32::MAX);
    let last = used.saturating_mul(4).saturating_add(ATTEMPTS).min(1 << 16);
    let by_sequence = (0..last).find_map(|index| {
        let configuration = known.legal(search.space, &sobol_point(dimensions, index, seed))?;
        Some((
            format!("point {} of a quasi-random sequence", index + 1),
            configuration,
        ))
    });
    let (place, configuration) = by_sequence.or_else(|| {
        let configuration = any_left(search.space, known)?;
        Some(("one of the few points left".to_owned(), configuration))
    })?;
    known.add(&configuration);
    let proposal = Proposal {
        model: history::remember(&configuration, None),
        configuration,
        purpose: ProposalPurpose::Explore,
        why: place.clone(),
    };
    Some((place, proposal))
}
