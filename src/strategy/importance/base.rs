//! Points of the permitted space, evenly spread, and what they become with some knobs set.

use std::ops::Range;

use super::level::Level;
use crate::space::{Configuration, Point, Space};
use crate::strategy::unit::sobol_point;

/// Points of the sequence looked at for each one wanted.
const TRIES: usize = 16;

/// Points of the permitted space.
pub(super) struct Base<'a> {
    space: &'a Space,
    /// Of each knob, its dimensions.
    spans: Vec<Range<usize>>,
    /// As the sequence has them: also where a knob is inactive, so that it has a place once another one activates it.
    raw: Vec<Point>,
    /// The same as legal configurations have them.
    points: Vec<Point>,
    /// Of each point, the knobs that are active.
    configurations: Vec<Configuration>,
}

/// Points with some knobs set: of base point `base`, joint level `level`.
pub(super) struct Grid {
    /// Base and joint level of each point, by base.
    pub(super) places: Vec<(usize, usize)>,
    /// The points.
    pub(super) points: Vec<Point>,
}

impl<'a> Base<'a> {
    /// `count` points of a quasi-random sequence that are permitted; where these are rare, those `measured` beside them.
    pub(super) fn new(space: &'a Space, measured: &[Point], count: usize, seed: u32) -> Self {
        let owners: Vec<usize> = (0..space.dimensions().len())
            .map(|i| space.dimension_knob(i))
            .collect();
        let spans = (0..space.knobs().len())
            .map(|knob| {
                let begin = owners.partition_point(|&owner| owner < knob);
                begin..owners.partition_point(|&owner| owner <= knob)
            })
            .collect();
        let mut base = Self {
            space,
            spans,
            raw: Vec::new(),
            points: Vec::new(),
            configurations: Vec::new(),
        };
        let tries = u32::try_from(TRIES * count).unwrap_or(u32::MAX);
        for index in 0..tries {
            base.take(sobol_point(space.dimensions(), index, seed));
            if base.len() == count {
                break;
            }
        }
        if base.len() < count / TRIES {
            measured.iter().for_each(|point| base.take(point.clone()));
        }
        base
    }

    fn take(&mut self, raw: Point) {
        let configuration = self.space.decode(&raw);
        if self.space.permits(&configuration).is_ok() {
            self.points.push(self.space.encode(&configuration));
            self.configurations.push(configuration);
            self.raw.push(raw);
        }
    }

    /// How many points there are.
    pub(super) fn len(&self) -> usize {
        self.raw.len()
    }

    /// The points.
    pub(super) fn points(&self) -> &[Point] {
        &self.points
    }

    /// The share of points in which all of `knobs` are active.
    pub(super) fn active(&self, knobs: impl Iterator<Item = usize> + Clone) -> f64 {
        let names = knobs.map(|index| self.space.knobs()[index].name.as_str());
        let count = self
            .configurations
            .iter()
            .filter(|configuration| names.clone().all(|name| configuration.get(name).is_some()))
            .count();
        count as f64 / self.len().max(1) as f64
    }

    /// The first `bases` points with each combination of levels of `knobs`, the last knob fastest; those that are not
    /// permitted, or in which one of the knobs is inactive, are left out.
    pub(super) fn grid(&self, knobs: &[(usize, &[Level])], bases: usize) -> Grid {
        let mut grid = Grid {
            places: Vec::new(),
            points: Vec::new(),
        };
        let joint: usize = knobs.iter().map(|(_, levels)| levels.len()).product();
        for (base, raw) in self.raw.iter().enumerate().take(bases) {
            for level in 0..joint {
                let mut point = raw.clone();
                let mut rest = level;
                let mut set = Vec::with_capacity(knobs.len());
                for (knob, levels) in knobs.iter().rev() {
                    let level = &levels[rest % levels.len()];
                    rest /= levels.len();
                    point.0[self.spans[*knob].clone()].copy_from_slice(&level.coordinates);
                    set.push((*knob, &level.value));
                }
                let configuration = self.space.decode(&point);
                let holds = set
                    .iter()
                    .all(|(knob, value)| configuration.get(&self.space.knobs()[*knob].name) == Some(*value));
                if holds && self.space.permits(&configuration).is_ok() {
                    grid.places.push((base, level));
                    grid.points.push(self.space.encode(&configuration));
                }
            }
        }
        grid
    }
}
