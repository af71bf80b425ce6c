//! Configurations as points of the model, and back.

use super::resolved::Space;
use super::{Configuration, Coordinate, Domain, Knob, Point, Value};

impl Space {
    /// The nearest legal configuration: values on the steps and within the bounds, inactive knobs left out, missing active
    /// ones at their default. Constraints are not looked at.
    pub fn snap(&self, configuration: &Configuration) -> Configuration {
        self.assemble(|knob, _| {
            knob.snap(
                &configuration
                    .get(&knob.name)
                    .cloned()
                    .unwrap_or_else(|| knob.fallback()),
            )
        })
    }

    /// The point of a configuration; total: missing, off-step, out-of-bounds and unknown values never fail. Numbers within
    /// the bounds are rounded to legal steps, beyond them they lie outside of [0, 1]; an unknown word is the category `count`.
    pub fn encode(&self, configuration: &Configuration) -> Point {
        let legal = self.snap(configuration);
        let mut point = Vec::with_capacity(self.dimensions.len());
        for knob in &self.knobs {
            let width = self.width(knob);
            if legal.get(&knob.name).is_none() {
                point.extend(std::iter::repeat_n(Coordinate::Inactive, width));
                continue;
            }
            let value = configuration
                .get(&knob.name)
                .cloned()
                .unwrap_or_else(|| knob.fallback());
            point.extend(encode_knob(knob, &value));
        }
        Point(point)
    }

    /// The legal configuration of a point: values snapped, inactive knobs left out; an active knob whose coordinate says
    /// inactive, or nothing legal, takes its default or the middle. Constraints are not looked at.
    pub fn decode(&self, point: &Point) -> Configuration {
        self.assemble(|knob, at| {
            let coordinates = point.0.get(at..).unwrap_or(&[]);
            let width = self.width(knob).min(coordinates.len());
            match &knob.fixed {
                Some(fixed) => fixed.clone(),
                None => knob
                    .domain
                    .decode(&coordinates[..width])
                    .unwrap_or_else(|| knob.snap(&knob.fallback())),
            }
        })
    }

    /// The baseline, or the server's defaults: exact values, which may lie off the steps or out of the bounds.
    pub fn default_configuration(&self) -> Configuration {
        self.assemble(|knob, _| knob.fallback())
    }

    /// Puts a configuration together, conditions decided on the way; `value` gets a knob and its first dimension.
    pub(super) fn assemble(&self, value: impl Fn(&Knob, usize) -> Value) -> Configuration {
        let mut first = Vec::with_capacity(self.knobs.len());
        let mut next = 0;
        for knob in &self.knobs {
            first.push(next);
            next += self.width(knob);
        }
        let mut active = vec![false; self.knobs.len()];
        let mut configuration = Configuration::new();
        for &index in &self.order {
            active[index] = self.holds(index, &configuration, &active);
            if active[index] {
                let knob = &self.knobs[index];
                configuration.set(knob.name.clone(), value(knob, first[index]));
            }
        }
        configuration
    }

    /// How many dimensions a knob has.
    fn width(&self, knob: &Knob) -> usize {
        if knob.fixed.is_none() && !knob.domain.special().is_empty() {
            2
        } else {
            1
        }
    }

    /// How many distinct configurations there are, where that is finite and below 2^40. Exact up to 16,384 combinations of
    /// values; above that conditions and constraints are not subtracted.
    pub fn distinct(&self) -> Option<u64> {
        const EXACT: u64 = 1 << 14;
        if let Some(all) = self.enumerate(EXACT) {
            return Some(all.len() as u64);
        }
        self.combinations().filter(|n| *n < 1 << 40)
    }

    /// Every permitted configuration, where there are at most `limit` combinations of values.
    pub fn enumerate(&self, limit: u64) -> Option<Vec<Configuration>> {
        if self.combinations()? > limit {
            return None;
        }
        let values: Vec<Vec<Value>> = self
            .knobs
            .iter()
            .map(|knob| match &knob.fixed {
                Some(fixed) => Some(vec![fixed.clone()]),
                None => knob.domain.values(limit),
            })
            .collect::<Option<_>>()?;
        let mut seen = std::collections::BTreeSet::new();
        let mut all = Vec::new();
        let mut digits = vec![0usize; values.len()];
        loop {
            let full: Configuration = self
                .knobs
                .iter()
                .zip(&values)
                .zip(&digits)
                .map(|((knob, values), &digit)| (knob.name.clone(), values[digit].clone()))
                .collect();
            let legal = self.snap(&full);
            if self.permits(&legal).is_ok() && seen.insert(legal.key()) {
                all.push(legal);
            }
            // Count up, the last knob fastest.
            let Some(place) = (0..digits.len()).rev().find(|&i| digits[i] + 1 < values[i].len()) else {
                return Some(all);
            };
            digits[place] += 1;
            digits[place + 1..].fill(0);
        }
    }

    /// The product of the knobs' counts; none where one is a continuum or the product does not fit.
    fn combinations(&self) -> Option<u64> {
        self.knobs.iter().try_fold(1u64, |product, knob| {
            let count = if knob.fixed.is_some() {
                1
            } else {
                knob.domain.count()?
            };
            product.checked_mul(count)
        })
    }
}

fn encode_knob(knob: &Knob, value: &Value) -> Vec<Coordinate> {
    match (&knob.fixed, &knob.domain) {
        (None, Domain::Int { .. } | Domain::Float { .. }) if knob.domain.snap(value).is_none() => {
            // No number at all: where it will be snapped to.
            knob.domain.encode(&knob.snap(value))
        }
        (None, _) => knob.domain.encode(value),
        (Some(fixed), Domain::Enum { .. } | Domain::Bool) => {
            vec![Coordinate::Category(usize::from(fixed != value))]
        }
        (Some(_), _) => vec![Coordinate::Number(0.0)],
    }
}
