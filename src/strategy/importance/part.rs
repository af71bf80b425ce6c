//! One part of the variance: of a knob by itself, or of two knobs beyond what each does by itself.

use rand_chacha::ChaCha8Rng;

use super::base::{Base, Grid};
use super::level::Level;
use super::two_way::{Cell, additive, variance};
use super::{Member, Share};
use crate::space::Point;

/// Points at which functions are drawn jointly, at most about.
const JOINT: usize = 216;
/// Base points of these, at most and at least.
const JOINT_BASES: (usize, usize) = (24, 4);
/// Functions that are drawn in all.
const DRAWS: usize = 64;
/// Members from which they are drawn, at most.
const DRAWN_MEMBERS: usize = 8;
/// Ends of a range.
const ENDS: (f64, f64) = (0.05, 0.95);

/// The variance of what the model expects over the space.
#[derive(Debug, Clone, Copy)]
pub(super) struct Total {
    /// In squared units of `unit`.
    variance: f64,
    /// The largest magnitude expected: values are computed in shares of it, so that nothing overflows.
    unit: f64,
}

/// The total over `points`; none where the model expects the same everywhere.
pub(super) fn total(members: &[&dyn Member], points: &[Point]) -> Option<Total> {
    let values = mixture(members, points);
    let unit = values.iter().fold(0.0, |most: f64, value| most.max(value.abs()));
    if unit <= 0.0 || !unit.is_finite() {
        return None;
    }
    let variance = variance(values.iter().map(|value| (1.0, value / unit)));
    (variance > 1e-18).then_some(Total { variance, unit })
}

/// What the members expect together.
fn mixture(members: &[&dyn Member], points: &[Point]) -> Vec<f64> {
    let mut sum = vec![0.0; points.len()];
    for member in members {
        for (sum, value) in sum.iter_mut().zip(member.means(points)) {
            *sum += member.weight() * value;
        }
    }
    sum
}

/// What is said of a part.
pub(super) struct Estimate {
    /// Its share of the variance.
    pub(super) share: Share,
    /// The objective at each joint level, with its range; none where no point has it.
    pub(super) curve: Vec<Option<Share>>,
    /// How many standard deviations lie between the best and the worst level.
    pub(super) told: f64,
}

/// A part of the variance.
pub(super) struct Part {
    grid: Grid,
    bases: usize,
    /// Levels of each knob, and the weight of each joint level.
    shape: (usize, Option<usize>),
    weights: Vec<f64>,
    /// The share of the space in which its knobs are active.
    active: f64,
}

/// What a table of values says of a part.
struct Reading {
    curve: Vec<Option<f64>>,
    /// Of the part.
    variance: f64,
    /// Of all values of the table.
    total: f64,
}

impl Part {
    /// Of one knob or two, averaged over `bases` points.
    pub(super) fn of(base: &Base<'_>, knobs: &[(usize, &[Level])], bases: usize) -> Self {
        let grid = base.grid(knobs, bases);
        let weights = knobs.iter().fold(vec![1.0], |joint: Vec<f64>, (_, levels)| {
            joint
                .iter()
                .flat_map(|weight| levels.iter().map(move |level| weight * level.weight))
                .collect()
        });
        Self {
            grid,
            bases: bases.min(base.len()),
            shape: (knobs[0].1.len(), knobs.get(1).map(|(_, levels)| levels.len())),
            weights,
            active: base.active(knobs.iter().map(|(knob, _)| *knob)),
        }
    }

    /// What is said of it; none where the knobs move nothing that is permitted.
    pub(super) fn estimate(
        &self,
        members: &[&dyn Member],
        total: Total,
        rng: &mut ChaCha8Rng,
    ) -> Option<Estimate> {
        let scaled =
            |values: Vec<f64>| -> Vec<f64> { values.iter().map(|value| value / total.unit).collect() };
        let means = scaled(mixture(members, &self.grid.points));
        let whole = self.read(&means)?;
        let share = |reading: &Reading, all: f64| {
            let part = self.active * reading.variance;
            if part > 0.0 { part / all.max(part) } else { 0.0 }
        };
        // What a knob can do everywhere is measured against the variance over its own levels, which are the same.
        let total_variance = if self.active < 1.0 {
            total.variance
        } else {
            whole.total
        };
        let expected = share(&whole, total_variance);

        // Ranges come from functions drawn at fewer points: how far these lie from what is expected at the same points.
        let fewer = self.joint();
        let points = &self.grid.points[..fewer];
        let middle = self.read(&means[..fewer])?;
        let drawn: Vec<Reading> = draws(members, points, rng)
            .into_iter()
            .filter_map(|values| self.read(&scaled(values)))
            .collect();
        let moved = drawn.iter().map(|reading| {
            let all = (total_variance + self.active * (reading.total - middle.total)).max(0.0);
            expected + share(reading, all) - share(&middle, total_variance)
        });
        let share = range(expected, moved.collect(), |share| share.clamp(0.0, 1.0));
        let curve = (0..whole.curve.len())
            .map(|level| {
                let mean = whole.curve[level]?;
                let moved = drawn
                    .iter()
                    .filter_map(|reading| Some(mean + reading.curve[level]? - middle.curve[level]?));
                let unit = |value: f64| (value * total.unit).clamp(-f64::MAX, f64::MAX);
                Some(range(mean, moved.collect(), unit))
            })
            .collect();
        Some(Estimate {
            share,
            curve,
            told: told(&whole.curve, &drawn),
        })
    }

    /// How many points, those of the first bases, are few enough for joint draws.
    fn joint(&self) -> usize {
        let (most, least) = JOINT_BASES;
        let bases = (JOINT / self.weights.len().max(1)).clamp(least, most);
        // Counted by bases that have points: a knob may be inactive in most.
        let mut seen = 0;
        let mut last = None;
        for (place, (base, _)) in self.grid.places.iter().enumerate() {
            if last != Some(*base) {
                seen += 1;
                last = Some(*base);
            }
            if seen > bases {
                return place;
            }
        }
        self.grid.places.len()
    }

    /// What the values at the first points of the grid say; none where fewer than two levels have one.
    fn read(&self, values: &[f64]) -> Option<Reading> {
        let places = &self.grid.places[..values.len()];
        let cells: Vec<Cell> = places
            .iter()
            .map(|&(row, column)| Cell {
                row,
                column,
                weight: 1.0,
            })
            .collect();
        let (rows, columns) = additive(&cells, values, (self.bases, self.weights.len()));
        let known = rows.iter().flatten().count();
        let middle = rows.iter().flatten().sum::<f64>() / known.max(1) as f64;
        let curve: Vec<Option<f64>> = columns.into_iter().map(|column| Some(column? + middle)).collect();
        if curve.iter().flatten().count() < 2 {
            return None;
        }
        // Under constraints a level stands for as much of the space as it is permitted in.
        let mut weights = vec![0.0; curve.len()];
        for &(_, level) in places {
            weights[level] += self.weights[level];
        }
        let variance_of_part = match self.shape {
            (_, None) => variance(
                weights
                    .iter()
                    .zip(&curve)
                    .filter_map(|(&weight, value)| Some((weight, (*value)?))),
            ),
            (first, Some(second)) => together(&weights, &curve, (first, second)),
        };
        let total = variance(
            places
                .iter()
                .zip(values)
                .map(|(&(_, level), &value)| (self.weights[level], value)),
        );
        Some(Reading {
            curve,
            variance: variance_of_part,
            total,
        })
    }
}

/// The variance of a table beyond the sums of its rows and columns.
fn together(weights: &[f64], table: &[Option<f64>], shape: (usize, usize)) -> f64 {
    let (mut cells, mut values) = (Vec::new(), Vec::new());
    for (place, value) in table.iter().enumerate() {
        if let Some(value) = value {
            cells.push(Cell {
                row: place / shape.1,
                column: place % shape.1,
                weight: weights[place],
            });
            values.push(*value);
        }
    }
    let (rows, columns) = additive(&cells, &values, shape);
    variance(cells.iter().zip(&values).map(|(cell, value)| {
        let sum = rows[cell.row].unwrap_or(0.0) + columns[cell.column].unwrap_or(0.0);
        (cell.weight, value - sum)
    }))
}

/// Functions drawn at `points`, from members by weight; members that are one function give that.
fn draws(members: &[&dyn Member], points: &[Point], rng: &mut ChaCha8Rng) -> Vec<Vec<f64>> {
    let mut order: Vec<&&dyn Member> = members.iter().collect();
    order.sort_by(|a, b| b.weight().total_cmp(&a.weight()));
    order.truncate(DRAWN_MEMBERS);
    let weight: f64 = order.iter().map(|member| member.weight()).sum();
    let mut all = Vec::new();
    for member in order {
        let count = (DRAWS as f64 * member.weight() / weight).round() as usize;
        let drawn = member.draws(points, count, rng);
        if drawn.is_empty() && count > 0 {
            all.extend(std::iter::repeat_n(member.means(points), count));
        } else {
            all.extend(drawn);
        }
    }
    all
}

/// The range of `drawn` around what is expected, which it holds.
fn range(expected: f64, mut drawn: Vec<f64>, unit: impl Fn(f64) -> f64) -> Share {
    drawn.retain(|value| value.is_finite());
    drawn.sort_by(f64::total_cmp);
    let quantile = |q: f64| {
        let place = (q * drawn.len().saturating_sub(1) as f64).round() as usize;
        drawn.get(place).copied().unwrap_or(expected)
    };
    Share {
        share: unit(expected),
        low: unit(quantile(ENDS.0).min(expected)),
        high: unit(quantile(ENDS.1).max(expected)),
    }
}

/// How many standard deviations of the drawn functions lie between the highest and the lowest level expected.
fn told(curve: &[Option<f64>], drawn: &[Reading]) -> f64 {
    let by_mean = |a: &(usize, f64), b: &(usize, f64)| a.1.total_cmp(&b.1);
    let levels = || {
        curve
            .iter()
            .enumerate()
            .filter_map(|(i, value)| Some((i, (*value)?)))
    };
    let (Some((high, top)), Some((low, bottom))) = (levels().max_by(by_mean), levels().min_by(by_mean))
    else {
        return 0.0;
    };
    if top - bottom <= 1e-9 * top.abs().max(bottom.abs()) {
        return 0.0;
    }
    let gaps: Vec<f64> = drawn
        .iter()
        .filter_map(|reading| Some(reading.curve[high]? - reading.curve[low]?))
        .collect();
    let mean = gaps.iter().sum::<f64>() / gaps.len().max(1) as f64;
    let sd = variance(gaps.iter().map(|&gap| (1.0, gap))).sqrt();
    if sd <= 1e-9 * (top - bottom) {
        return f64::MAX;
    }
    mean / sd
}
