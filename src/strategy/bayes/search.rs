//! The search of the acquisition over the mixed space: quasi-random points and changes of the best, then local steps.

use std::cmp::Ordering;

use rand::Rng;

use super::kernel::Rows;
use super::model::Model;
use crate::space::{Configuration, Coordinate, Dimension, Point, Space};
use crate::strategy::history::Known;
use crate::strategy::rng::normal;
use crate::strategy::snap::Snapper;
use crate::strategy::unit::{coordinate, random_point, sobol_point};

/// Quasi-random points of the first round.
const SPREAD: u32 = 1500;
/// Changes of each of the best configurations, at each of three lengths.
const CHANGES: usize = 60;
/// How many of the best configurations are changed.
const BEST: usize = 5;
/// Points that go on into the local rounds.
const KEPT: usize = 24;
/// Changes of each kept point in a round.
const CHILDREN: usize = 16;
/// Length of a step in each local round.
const ROUNDS: [f64; 10] = [0.3, 0.2, 0.1, 0.1, 0.05, 0.05, 0.02, 0.02, 0.01, 0.01];
/// Score of a point outside the trust region, before its distance is taken off: below any inside.
const OUTSIDE: f64 = -1e6;

/// A point found, with the configuration it stands for.
#[derive(Debug, Clone)]
pub(in crate::strategy) struct Found {
    pub(in crate::strategy) point: Point,
    pub(in crate::strategy) configuration: Configuration,
}

/// The legal, new point with the highest acquisition that was found; `None` where no new one came up.
pub(in crate::strategy) fn maximize(
    space: &Space,
    model: &Model,
    known: &Known,
    trust: bool,
    rng: &mut impl Rng,
) -> Option<Found> {
    let dimensions = space.dimensions();
    let snapper = Snapper::new(space);
    let region = trust.then(|| Region::of(dimensions, model.tried())).flatten();
    let score = |points: &[Point]| -> Vec<f64> {
        let mut rows = model.tried().emptied();
        points.iter().for_each(|point| rows.push(point));
        let mut scores = model.acquisition(&rows);
        if let Some(region) = &region {
            for (i, score) in scores.iter_mut().enumerate() {
                let beyond = region.distance(rows.row(i)) - region.radius;
                if beyond > 0.0 {
                    *score = OUTSIDE - beyond;
                }
            }
        }
        scores
    };

    let seed: u32 = rng.random();
    let mut points: Vec<Point> = (0..SPREAD)
        .map(|index| snapper.snap(&sobol_point(dimensions, index, seed)))
        .collect();
    let mut leaders: Vec<_> = model.contenders().iter().collect();
    leaders.sort_by(|a, b| b.belief.mean.total_cmp(&a.belief.mean));
    for leader in leaders.iter().take(BEST) {
        for length in [0.3, 0.1, 0.03] {
            points.extend((0..CHANGES).map(|_| change(&snapper, dimensions, &leader.point, length, rng)));
        }
    }
    let scores = score(&points);
    let mut ranked: Vec<(f64, Point)> = scores.into_iter().zip(points).collect();
    ranked.sort_by(descending);
    let mut kept: Vec<(f64, Found)> = Vec::new();
    for (value, point) in ranked {
        if kept.len() == KEPT {
            break;
        }
        if kept.iter().any(|(_, other)| other.point == point) {
            continue;
        }
        if let Some(configuration) = known.legal(space, &point) {
            kept.push((value, Found { point, configuration }));
        }
    }
    for length in ROUNDS {
        let children: Vec<Point> = kept
            .iter()
            .flat_map(|(_, parent)| std::iter::repeat_n(parent, CHILDREN))
            .map(|parent| change(&snapper, dimensions, &parent.point, length, rng))
            .collect();
        let scores = score(&children);
        for (place, (value, found)) in kept.iter_mut().enumerate() {
            let mine = place * CHILDREN..(place + 1) * CHILDREN;
            let mut better: Vec<(f64, &Point)> = scores[mine.clone()]
                .iter()
                .copied()
                .zip(&children[mine])
                .filter(|(s, _)| s > value)
                .collect();
            better.sort_by(descending);
            let legal = better
                .into_iter()
                .find_map(|(score, point)| Some((score, point, known.legal(space, point)?)));
            if let Some((score, point, configuration)) = legal {
                *value = score;
                *found = Found {
                    point: point.clone(),
                    configuration,
                };
            }
        }
    }
    kept.into_iter()
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, found)| found)
}

fn descending<T>(a: &(f64, T), b: &(f64, T)) -> Ordering {
    b.0.total_cmp(&a.0)
}

/// `point` with one to a few coordinates changed by steps of about `length`, snapped.
fn change(
    snapper: &Snapper<'_>,
    dimensions: &[Dimension],
    point: &Point,
    length: f64,
    rng: &mut impl Rng,
) -> Point {
    let mut changed = point.clone();
    let drawn = random_point(dimensions, rng);
    let expected = [1.0, 2.0, 4.0][rng.random_range(0..3)];
    let certain = rng.random_range(0..dimensions.len());
    for (k, dimension) in dimensions.iter().enumerate() {
        let chosen = k == certain || rng.random::<f64>() * (dimensions.len() as f64) < expected;
        changed.0[k] = match (changed.0[k], dimension) {
            // What was inactive gets a value, in case the change makes it active; snapping drops it otherwise.
            (Coordinate::Inactive, _) => drawn.0[k],
            (Coordinate::Number(u), Dimension::Number { steps, log }) if chosen => {
                let mut step = length * normal(rng);
                if let (Some(steps), false) = (steps, log)
                    && *steps > 1
                {
                    let gap = 1.0 / (*steps - 1) as f64;
                    if step.abs() < gap {
                        step = gap.copysign(step);
                    }
                }
                Coordinate::Number((u + step).clamp(0.0, 1.0))
            }
            (_, Dimension::Category { .. }) if chosen => coordinate(dimension, rng.random()),
            (same, _) => same,
        };
    }
    snapper.snap(&changed)
}

/// Vizier's trust region: near enough to something tried, by the largest difference of a number; it grows with the
/// number of trials and is dropped once it spans half the range.
struct Region<'a> {
    tried: &'a Rows,
    counts: Vec<bool>,
    radius: f64,
}

impl<'a> Region<'a> {
    /// `None` once it is dropped, and where every dimension is a category or has few steps.
    fn of(dimensions: &[Dimension], tried: &'a Rows) -> Option<Self> {
        let radius = 0.2 + 0.3 * tried.len() as f64 / (5.0 * (dimensions.len() + 1) as f64);
        let counts: Vec<bool> = dimensions
            .iter()
            .map(|dimension| match dimension {
                Dimension::Category { .. } => false,
                Dimension::Number { steps, .. } => steps.is_none_or(|steps| steps > 5),
            })
            .collect();
        (radius <= 0.5 && counts.contains(&true)).then_some(Self {
            tried,
            counts,
            radius,
        })
    }

    fn distance(&self, row: &[f64]) -> f64 {
        let mut nearest = f64::INFINITY;
        for i in 0..self.tried.len() {
            let other = self.tried.row(i);
            let mut largest = 0.0f64;
            for (k, &counts) in self.counts.iter().enumerate() {
                if counts {
                    // The difference from an inactive coordinate is NaN, which max passes over.
                    largest = largest.max((row[k] - other[k]).abs());
                    if largest >= nearest {
                        break;
                    }
                }
            }
            nearest = nearest.min(largest);
        }
        nearest
    }
}
