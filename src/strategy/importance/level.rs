//! The levels of a knob at which it is looked at.

use super::KnobEffect;
use crate::space::{Coordinate, Domain, Knob, Value};

/// One level of a knob.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Level {
    /// The value.
    pub(super) value: Value,
    /// Its coordinates.
    pub(super) coordinates: Vec<Coordinate>,
    /// How much of the knob's range it stands for; the weights of a knob add up to 1.
    pub(super) weight: f64,
}

/// Where in its range a number with many values is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Spread {
    /// From end to end: what people want to see.
    Ends,
    /// In the middle of equal parts: what a mean over few levels needs.
    Middles,
}

/// The levels of `knob`: every category and special value, and of numbers each value where these are at most `most`, else
/// `most` over the range. One level for a fixed knob.
pub(super) fn levels(knob: &Knob, most: usize, spread: Spread) -> Vec<Level> {
    let level = |value: Value, weight| Level {
        coordinates: knob.domain.encode(&value),
        value,
        weight,
    };
    if let Some(fixed) = &knob.fixed {
        return vec![level(fixed.clone(), 1.0)];
    }
    if matches!(knob.domain, Domain::Enum { .. } | Domain::Bool) {
        let values = knob.domain.values(u64::MAX).unwrap_or_default();
        let weight = 1.0 / values.len().max(1) as f64;
        return values.into_iter().map(|value| level(value, weight)).collect();
    }
    let special = knob.domain.special();
    // A special value is a category beside the range, as it is for quasi-random points.
    let mass = 1.0 / (special.len() + 1) as f64;
    let Numbers { values, all } = numbers(knob, &special, most.saturating_sub(special.len()).max(2), spread);
    let places: Vec<f64> = values.iter().map(|(_, place)| *place).collect();
    let weights = if all || spread == Spread::Middles {
        nearest(&places)
    } else {
        quadrature(&places)
    };
    let mut levels: Vec<Level> = special.into_iter().map(|value| level(value, mass)).collect();
    let numbers = values.into_iter().zip(weights);
    levels.extend(numbers.map(|((value, _), weight)| level(value, mass * weight)));
    levels
}

/// Some of a knob's numbers with their places in the unit interval, ascending.
struct Numbers {
    values: Vec<(Value, f64)>,
    /// Whether these are all there are.
    all: bool,
}

fn numbers(knob: &Knob, special: &[Value], most: usize, spread: Spread) -> Numbers {
    let at = |u: f64| {
        let number = Coordinate::Number(u);
        match special.len() {
            0 => vec![number],
            n => vec![Coordinate::Category(n), number],
        }
    };
    let place = |value: &Value| match knob.domain.encode(value).last() {
        Some(Coordinate::Number(u)) => *u,
        _ => 0.0,
    };
    let all = knob.domain.values((most + special.len()) as u64);
    let is_all = all.is_some();
    let values = all.unwrap_or_else(|| {
        (0..most)
            .map(|i| match spread {
                Spread::Ends => i as f64 / (most - 1) as f64,
                Spread::Middles => (i as f64 + 0.5) / most as f64,
            })
            .filter_map(|u| knob.domain.decode(&at(u)))
            .collect()
    });
    let mut values: Vec<(Value, f64)> = values
        .into_iter()
        .filter(|value| !special.contains(value))
        .map(|value| {
            let place = place(&value);
            (value, place)
        })
        .collect();
    values.sort_by(|a, b| a.1.total_cmp(&b.1));
    values.dedup_by(|a, b| a.0 == b.0);
    Numbers { values, all: is_all }
}

/// The share of the unit interval that is nearest to each of some ascending places.
fn nearest(places: &[f64]) -> Vec<f64> {
    let edge = |i: usize| {
        if i == 0 {
            0.0
        } else if i == places.len() {
            1.0
        } else {
            0.5 * (places[i - 1] + places[i])
        }
    };
    let widths: Vec<f64> = (0..places.len())
        .map(|i| (edge(i + 1) - edge(i)).max(0.0))
        .collect();
    let sum: f64 = widths.iter().sum();
    widths.iter().map(|width| width / sum).collect()
}

/// Weights for means over the unit interval of what is known at some ascending places from end to end: those of the
/// trapezoids with Gregory's correction of the ends, which straight and wavy curves both need.
fn quadrature(places: &[f64]) -> Vec<f64> {
    let mut weights = nearest(places);
    let last = weights.len().saturating_sub(1);
    if last >= 3 {
        for (end, next) in [(0, 1), (last, last - 1)] {
            let moved = weights[end] / 6.0;
            weights[end] -= moved;
            weights[next] += moved;
        }
    }
    weights
}

/// At most `most` levels of a knob that has an effect, for looking at it together with another: categories evenly by
/// their effect, so that the best and the worst are among them.
pub(super) fn fewer(knob: &Knob, effect: &KnobEffect, most: usize) -> Vec<Level> {
    let mut levels = levels(knob, most, Spread::Middles);
    if levels.len() > most {
        let mean = |level: &Level| {
            let at = effect.curve.iter().find(|at| at.value == level.value);
            at.map_or(f64::MIN, |at| at.mean)
        };
        levels.sort_by(|a, b| mean(a).total_cmp(&mean(b)));
        let last = levels.len() - 1;
        levels = (0..most).map(|i| levels[i * last / (most - 1)].clone()).collect();
    }
    let sum: f64 = levels.iter().map(|level| level.weight).sum();
    for level in &mut levels {
        level.weight /= sum;
    }
    levels
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strategy::testing::{Spec, knobs};

    fn shown(spec: Spec, spread: Spread) -> Vec<(String, f64)> {
        levels(&knobs(&[spec])[0], 9, spread)
            .into_iter()
            .map(|level| (level.value.to_string(), level.weight))
            .collect()
    }

    #[test]
    fn a_number_of_few_values_has_them_all_as_rounding_weighs_them() {
        let found = shown(Spec::Int("a", 0, 4, false), Spread::Ends);
        let values: Vec<&str> = found.iter().map(|(value, _)| value.as_str()).collect();
        assert_eq!(values, ["0", "1", "2", "3", "4"]);
        assert!((found[0].1 - 0.125).abs() < 1e-12 && (found[1].1 - 0.25).abs() < 1e-12);
    }

    #[test]
    fn a_range_is_seen_from_end_to_end_and_off_is_a_level_beside_it() {
        let found = shown(Spec::Special("a", 1, 1000), Spread::Ends);
        assert_eq!(found.len(), 9);
        assert_eq!((found[0].0.as_str(), found[0].1), ("0", 0.5));
        assert_eq!((found[1].0.as_str(), found[8].0.as_str()), ("1", "1000"));
        let sum: f64 = found.iter().map(|(_, weight)| weight).sum();
        assert!((sum - 1.0).abs() < 1e-12);
    }

    #[test]
    fn one_value_is_one_level() {
        assert_eq!(
            shown(Spec::Int("a", 7, 7, false), Spread::Ends),
            [("7".to_owned(), 1.0)]
        );
        assert_eq!(shown(Spec::Enum("a", 60), Spread::Ends).len(), 60);
    }
}
