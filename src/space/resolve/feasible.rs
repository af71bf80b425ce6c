//! Whether anything at all is permitted, before a night is spent on a space without a legal point.

use std::collections::BTreeMap;

use super::super::file::ConstraintSpec;
use super::super::{Breach, Coordinate, Dimension, Point, Space};
use crate::error::{Error, Result};

/// Points looked at besides the default, the rule of thumb and the least values.
const POINTS: u32 = 512;

/// An error where no point looked at is permitted, naming what stood in the way most often, with its place: that of a
/// constraint of the user's where it is one, else the file.
pub(super) fn check(space: &Space, file: &str, constraints: &[ConstraintSpec]) -> Result<()> {
    let mut breaches: BTreeMap<String, (usize, Breach)> = BTreeMap::new();
    let candidates = std::iter::once(space.snap(&space.default_configuration()))
        .chain(space.rule_of_thumb().ok())
        .chain([space.decode(&at(space, |_| 0.0))])
        .chain((1..=POINTS).map(|n| space.decode(&at(space, |dimension| spread(n, dimension)))));
    for candidate in candidates {
        match space.permits(&candidate) {
            Ok(()) => return Ok(()),
            Err(breach) => note(&mut breaches, breach),
        }
    }
    let worst = breaches.into_values().max_by_key(|(count, _)| *count);
    let place = worst
        .as_ref()
        .and_then(|(_, breach)| {
            let broken = |spec: &&ConstraintSpec| spec.name() == breach.constraint;
            constraints.iter().find(broken)?.place.as_deref()
        })
        .unwrap_or(file);
    let what = worst.as_ref().map_or_else(String::new, |(_, breach)| {
        format!("; most often broken is {breach}")
    });
    Err(
        Error::input(format!("no configuration of the space is permitted{what}"))
            .at(place)
            .next("loosen the constraint, lower the bounds, or choose a larger machine class"),
    )
}

fn note(breaches: &mut BTreeMap<String, (usize, Breach)>, breach: Breach) {
    let entry = breaches.entry(breach.constraint.clone()).or_insert((0, breach));
    entry.0 += 1;
}

/// The point with `u` as the place of each dimension in [0, 1).
fn at(space: &Space, u: impl Fn(usize) -> f64) -> Point {
    let coordinate = |(i, dimension): (usize, &Dimension)| match dimension {
        Dimension::Number { .. } => Coordinate::Number(u(i)),
        Dimension::Category { count } => Coordinate::Category((u(i) * *count as f64) as usize),
    };
    Point(space.dimensions().iter().enumerate().map(coordinate).collect())
}

/// An additive recurrence with square roots of odd numbers as steps: even enough, and the same every time.
fn spread(n: u32, dimension: usize) -> f64 {
    let step = (2.0 * dimension as f64 + 3.0).sqrt() + 1.0 / std::f64::consts::PI;
    (f64::from(n) * step).fract()
}
