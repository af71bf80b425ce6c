//! The range an expression can take when its names range over intervals (interval arithmetic: never too narrow).

use super::ast::{Binary, Expr, Function, Kind, Node};

/// From the least to the greatest value, both included.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Range {
    /// The least.
    pub low: f64,
    /// The greatest.
    pub high: f64,
}

impl Range {
    /// One value.
    pub fn point(x: f64) -> Self {
        Self { low: x, high: x }
    }

    fn of(candidates: &[f64]) -> Option<Self> {
        let low = candidates.iter().copied().fold(f64::INFINITY, f64::min);
        let high = candidates.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        (candidates.iter().all(|x| x.is_finite())).then_some(Self { low, high })
    }
}

impl Expr {
    /// The range of its values when names have the ranges of `ranges`. None where a name has none, or the range has no end
    /// (division by a range that holds zero).
    pub fn range(&self, ranges: &dyn Fn(&str) -> Option<Range>) -> Option<Range> {
        range(&self.root, ranges)
    }
}

fn range(node: &Node, ranges: &dyn Fn(&str) -> Option<Range>) -> Option<Range> {
    match &node.kind {
        Kind::Literal(value) => value.as_f64().map(Range::point),
        Kind::Name(name) => ranges(name),
        Kind::Negate(inner) => {
            let r = range(inner, ranges)?;
            Some(Range {
                low: -r.high,
                high: -r.low,
            })
        }
        Kind::Not(_) => Some(Range { low: 0.0, high: 1.0 }),
        Kind::Binary(op, left, right) => {
            // Comparisons may hold texts, which have no range: they are 0 or 1 whatever their sides are.
            if op.compares() || matches!(op, Binary::And | Binary::Or) {
                return Some(Range { low: 0.0, high: 1.0 });
            }
            let (a, b) = (range(left, ranges)?, range(right, ranges)?);
            match op {
                Binary::Add => Range::of(&[a.low + b.low, a.high + b.high]),
                Binary::Subtract => Range::of(&[a.low - b.high, a.high - b.low]),
                Binary::Multiply => {
                    Range::of(&[a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high])
                }
                _ if b.low <= 0.0 && b.high >= 0.0 => None,
                _ => Range::of(&[a.low / b.low, a.low / b.high, a.high / b.low, a.high / b.high]),
            }
        }
        Kind::Call(function, arguments) => {
            let all = arguments
                .iter()
                .map(|argument| range(argument, ranges))
                .collect::<Option<Vec<_>>>()?;
            let fold = |pick: fn(f64, f64) -> f64| {
                let low = all.iter().map(|r| r.low).reduce(pick)?;
                let high = all.iter().map(|r| r.high).reduce(pick)?;
                Some(Range { low, high })
            };
            let map = |change: fn(f64) -> f64| {
                all.first().map(|r| Range {
                    low: change(r.low),
                    high: change(r.high),
                })
            };
            match function {
                Function::Min => fold(f64::min),
                Function::Max => fold(f64::max),
                Function::Round => map(f64::round),
                Function::Floor => map(f64::floor),
                Function::Ceil => map(f64::ceil),
            }
        }
    }
}
