//! Points of the unit cube: random, quasi-random, and every point of a small space.

use rand::Rng;

use super::history::Known;
use crate::space::{Configuration, Coordinate, Dimension, Point, Space};

/// Spaces with at most this many combinations are searched exhaustively once nothing new is found by chance.
const ENUMERABLE: u64 = 1 << 14;

/// The coordinate of `dimension` at the share `u` of its range.
pub(super) fn coordinate(dimension: &Dimension, u: f64) -> Coordinate {
    match dimension {
        Dimension::Number { .. } => Coordinate::Number(u),
        Dimension::Category { count } => {
            let index = (u * *count as f64) as usize;
            Coordinate::Category(index.min(count.saturating_sub(1)))
        }
    }
}

/// A point drawn uniformly, no coordinate inactive.
pub(super) fn random_point(dimensions: &[Dimension], rng: &mut impl Rng) -> Point {
    Point(
        dimensions
            .iter()
            .map(|dimension| coordinate(dimension, rng.random()))
            .collect(),
    )
}

/// Point `index` of the Owen-scrambled Sobol sequence of `seed` (Burley, "Practical Hash-based Owen Scrambling", 2020).
pub(super) fn sobol_point(dimensions: &[Dimension], index: u32, seed: u32) -> Point {
    let sets = sobol_burley::NUM_DIMENSION_SETS_4D;
    let mut point = Vec::with_capacity(dimensions.len());
    for (set, block) in (0u32..).zip(dimensions.chunks(4)) {
        // Beyond the table's dimensions the sequence begins again under another scrambling.
        let seed = seed.wrapping_add((set / sets).wrapping_mul(0x9e37_79b9));
        let shares = sobol_burley::sample_4d(index, set % sets, seed);
        point.extend(
            block
                .iter()
                .zip(shares)
                .map(|(dimension, u)| coordinate(dimension, f64::from(u))),
        );
    }
    Point(point)
}

/// A configuration of `space` that is legal and not among the `known`, found by trying all of a small space; `None`
/// where every one is known or the space is too large to try.
pub(super) fn any_left(space: &Space, known: &Known) -> Option<Configuration> {
    let all = space.enumerate(ENUMERABLE)?;
    all.into_iter().find(|configuration| known.is_new(configuration))
}
