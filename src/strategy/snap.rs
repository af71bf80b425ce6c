//! Rounds points to legal ones without building whole configurations: the search of an acquisition needs thousands.

use std::ops::Range;

use crate::space::{Configuration, Coordinate, Point, Space};

/// Rounds points of one space.
#[derive(Debug)]
pub(super) struct Snapper<'a> {
    space: &'a Space,
    /// Of each knob, its dimensions.
    spans: Vec<Range<usize>>,
    /// Knobs with a condition.
    conditional: Vec<usize>,
    /// Knobs that conditions name.
    named: Vec<usize>,
}

impl<'a> Snapper<'a> {
    /// For `space`.
    pub(super) fn new(space: &'a Space) -> Self {
        let knobs = space.knobs();
        let owners: Vec<usize> = (0..space.dimensions().len())
            .map(|i| space.dimension_knob(i))
            .collect();
        let spans = (0..knobs.len())
            .map(|knob| {
                let begin = owners.partition_point(|&owner| owner < knob);
                begin..owners.partition_point(|&owner| owner <= knob)
            })
            .collect();
        let conditional: Vec<usize> = (0..knobs.len()).filter(|&i| knobs[i].when.is_some()).collect();
        let named = (0..knobs.len())
            .filter(|&i| {
                conditional.iter().any(|&j| {
                    let names = knobs[j].when.iter().flat_map(|when| when.names());
                    names.into_iter().any(|name| name.name == knobs[i].name)
                })
            })
            .collect();
        Self {
            space,
            spans,
            conditional,
            named,
        }
    }

    /// The point of the configuration at `point`: every number on a step, inactive knobs inactive.
    pub(super) fn snap(&self, point: &Point) -> Point {
        let knobs = self.space.knobs();
        let mut snapped = Vec::with_capacity(point.0.len());
        for (knob, span) in knobs.iter().zip(&self.spans) {
            let coordinates = &point.0[span.clone()];
            if let [Coordinate::Category(_)] = coordinates
                && knob.fixed.is_none()
            {
                snapped.push(coordinates[0]);
            } else if knob.fixed.is_some() {
                snapped.extend(coordinates.iter().map(|coordinate| match coordinate {
                    Coordinate::Category(_) => Coordinate::Category(0),
                    Coordinate::Number(_) | Coordinate::Inactive => Coordinate::Number(0.0),
                }));
            } else {
                let value = knob
                    .domain
                    .decode(coordinates)
                    .unwrap_or_else(|| knob.snap(&knob.fallback()));
                snapped.extend(knob.domain.encode(&value));
            }
        }
        let mut snapped = Point(snapped);
        if !self.conditional.is_empty() {
            self.deactivate(&mut snapped);
        }
        snapped
    }

    fn deactivate(&self, point: &mut Point) {
        let knobs = self.space.knobs();
        let mut configuration = Configuration::new();
        for &index in &self.named {
            let knob = &knobs[index];
            let value = match &knob.fixed {
                Some(fixed) => Some(fixed.clone()),
                None => knob.domain.decode(&point.0[self.spans[index].clone()]),
            };
            configuration.set(
                knob.name.clone(),
                value.unwrap_or_else(|| knob.snap(&knob.fallback())),
            );
        }
        for &index in &self.conditional {
            if !self.space.is_active(index, &configuration) {
                point.0[self.spans[index].clone()].fill(Coordinate::Inactive);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::space::expr::Expr;
    use crate::strategy::testing::{Spec, knobs};
    use crate::strategy::unit::random_point;

    #[test]
    fn snapping_agrees_with_building_the_configuration() {
        let mut knobs = knobs(&[
            Spec::Enum("mode", 2),
            Spec::Int("size", 1, 64, true),
            Spec::Special("lwm", 1, 70),
            Spec::Int("only_a", 1, 5, false),
            Spec::Enum("only_large", 3),
            Spec::Float("x", 0.0, 90.0),
            Spec::Int("held", 1, 5, false),
        ]);
        knobs[3].when = Some(Expr::parse("mode == 'v0'").unwrap());
        knobs[4].when = Some(Expr::parse("only_a >= 3 and size > 8").unwrap());
        knobs[6].fixed = Some(4.into());
        let space = Space::new(knobs, Vec::new(), Default::default()).unwrap();
        let snapper = Snapper::new(&space);
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        for _ in 0..500 {
            let point = random_point(space.dimensions(), &mut rng);
            assert_eq!(
                snapper.snap(&point),
                space.encode(&space.decode(&point)),
                "{point:?}"
            );
        }
    }
}
