//! The legal values of a knob, and their place in the unit interval.
//!
//! Legal numbers are the multiples of the unit within the bounds: servers round to multiples of their block, so a grid that
//! starts at the lower bound would hold values that no server runs.

use serde::{Deserialize, Serialize};

use super::line::Line;
use super::server_facts::switch;
use super::{Coordinate, Dimension, Value};
use crate::units::Bytes;

/// How numbers spread over the unit interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    /// Equal ratios have equal distances.
    Log,
    /// Equal differences have equal distances.
    Linear,
}

/// The legal values of a knob.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum Domain {
    /// Whole numbers, or sizes in bytes.
    Int {
        /// The least, a multiple of `unit`.
        min: i64,
        /// The greatest, a multiple of `unit`.
        max: i64,
        /// Legal values are its multiples; at least 1.
        unit: i64,
        /// Spread over the unit interval.
        scale: Scale,
        /// Values that switch meaning (0 or -1 = off or auto): categories of their own, whatever the bounds.
        special: Vec<i64>,
        /// Whether it is a size in bytes.
        bytes: bool,
    },
    /// Numbers with a fraction.
    Float {
        /// The least.
        min: f64,
        /// The greatest.
        max: f64,
        /// Legal values are its multiples; none for a continuum, held to six significant digits.
        unit: Option<f64>,
        /// Spread over the unit interval.
        scale: Scale,
        /// Values that switch meaning.
        special: Vec<f64>,
    },
    /// Words.
    Enum {
        /// The words, in the order of their categories.
        values: Vec<String>,
    },
    /// `OFF` (category 0) and `ON` (category 1).
    Bool,
}

/// A value as a number: sizes and numbers in texts count.
fn numeric(value: &Value) -> Option<f64> {
    match value {
        Value::Text(text) => text
            .trim()
            .parse::<f64>()
            .ok()
            .or_else(|| text.parse::<Bytes>().ok().map(|b| b.0 as f64)),
        other => other.as_f64(),
    }
    .filter(|x| !x.is_nan())
}

/// A value as a whole number, without a detour over f64 where it is one.
fn integral(value: &Value) -> Option<i64> {
    match value {
        Value::Int(n) => Some(*n),
        Value::Text(text) if text.trim().parse::<i64>().is_ok() => text.trim().parse().ok(),
        // `as` saturates, which is what a value beyond i64 should do.
        other => numeric(other).map(|x| x.round() as i64),
    }
}

impl Domain {
    fn line(&self) -> Option<Line> {
        match self {
            Self::Int {
                min,
                max,
                unit,
                scale,
                ..
            } => Some(Line {
                min: *min as f64,
                max: *max as f64,
                unit: Some(*unit as f64),
                scale: *scale,
            }),
            Self::Float {
                min,
                max,
                unit,
                scale,
                ..
            } => Some(Line {
                min: *min,
                max: *max,
                unit: *unit,
                scale: *scale,
            }),
            Self::Enum { .. } | Self::Bool => None,
        }
    }

    /// Its special values.
    pub fn special(&self) -> Vec<Value> {
        match self {
            Self::Int { special, .. } => special.iter().map(|n| Value::Int(*n)).collect(),
            Self::Float { special, .. } => special.iter().map(|x| Value::Float(*x)).collect(),
            Self::Enum { .. } | Self::Bool => Vec::new(),
        }
    }

    fn special_index(&self, value: &Value) -> Option<usize> {
        match self {
            Self::Int { special, .. } if !special.is_empty() => {
                let n = integral(value)?;
                special.iter().position(|s| *s == n)
            }
            Self::Float { special, .. } if !special.is_empty() => {
                let x = numeric(value)?;
                special.iter().position(|s| *s == x)
            }
            _ => None,
        }
    }

    fn category(&self, value: &Value) -> Option<usize> {
        match self {
            Self::Enum { values } => {
                let text = value.to_string();
                values
                    .iter()
                    .position(|v| v.eq_ignore_ascii_case(&text))
                    // A switch among words: 1 is ON.
                    .or_else(|| {
                        let on = switch(&text)?;
                        values
                            .iter()
                            .position(|v| v.eq_ignore_ascii_case(if on { "ON" } else { "OFF" }))
                    })
            }
            Self::Bool => match value {
                Value::Bool(b) => Some(usize::from(*b)),
                other => switch(&other.to_string()).map(usize::from),
            },
            Self::Int { .. } | Self::Float { .. } => None,
        }
    }

    /// Its dimensions: one, or with special values two (a category, the range being the last, then the number).
    pub fn dimensions(&self) -> Vec<Dimension> {
        let number = |line: &Line, log: bool| Dimension::Number {
            steps: line.steps(),
            log,
        };
        match (self, self.line()) {
            (Self::Enum { values }, _) => vec![Dimension::Category { count: values.len() }],
            (Self::Int { scale, .. } | Self::Float { scale, .. }, Some(line)) => {
                let number = number(&line, *scale == Scale::Log);
                match self.special().len() {
                    0 => vec![number],
                    n => vec![Dimension::Category { count: n + 1 }, number],
                }
            }
            _ => vec![Dimension::Category { count: 2 }],
        }
    }

    /// How many legal values there are; none for a continuum.
    pub fn count(&self) -> Option<u64> {
        match self {
            Self::Enum { values } => Some(values.len() as u64),
            Self::Bool => Some(2),
            Self::Int { .. } | Self::Float { .. } => {
                // Special values within the bounds and on the grid are the same values, counted once.
                let inside = |value: &Value| {
                    let x = value.as_f64().unwrap_or(f64::NAN);
                    self.line()
                        .is_some_and(|l| x >= l.min && x <= l.max && l.snap(x) == x)
                };
                let extra = self.special().iter().filter(|v| !inside(v)).count() as u64;
                self.line()?.steps()?.checked_add(extra)
            }
        }
    }

    /// The legal value nearest to `value`; none where it is not of this type at all (a word for a number, an unknown word).
    pub fn snap(&self, value: &Value) -> Option<Value> {
        if let Some(special) = self.special_index(value) {
            return self.special().get(special).cloned();
        }
        match self {
            Self::Int { min, max, unit, .. } => {
                let (n, unit) = (i128::from(integral(value)?), i128::from(*unit).max(1));
                let n = n.clamp(i128::from(*min), i128::from(*max));
                let nearest = ((2 * n + unit).div_euclid(2 * unit)) * unit;
                let nearest = nearest.clamp(i128::from(*min), i128::from(*max));
                i64::try_from(nearest).ok().map(Value::Int)
            }
            Self::Float { .. } => {
                let x = numeric(value)?;
                self.line().map(|line| Value::Float(line.snap(x)))
            }
            Self::Enum { values } => values.get(self.category(value)?).cloned().map(Value::Text),
            Self::Bool => self.category(value).map(|c| Value::Bool(c == 1)),
        }
    }

    /// `value` in the form of this type, where it is legal as it stands: `0` is a word where there are words, `50` a number with
    /// a fraction where there are such, `ON` a switch. None for any other.
    pub fn own(&self, value: &Value) -> Option<Value> {
        let legal = self.snap(value)?;
        let same = match self {
            Self::Enum { .. } | Self::Bool => true,
            Self::Int { .. } | Self::Float { .. } => numeric(value) == legal.as_f64(),
        };
        same.then_some(legal)
    }

    /// Coordinates of `value`: rounded to a legal step within the bounds, outside of [0, 1] beyond them; a word that is none
    /// of the categories has the index `count`.
    pub fn encode(&self, value: &Value) -> Vec<Coordinate> {
        let specials = self.special().len();
        match self.line() {
            None => {
                let count = self.count().unwrap_or(0) as usize;
                vec![Coordinate::Category(self.category(value).unwrap_or(count))]
            }
            Some(line) => {
                if let Some(index) = self.special_index(value) {
                    return vec![Coordinate::Category(index), Coordinate::Inactive];
                }
                let x = numeric(value).unwrap_or(line.min);
                let legal = if x < line.min || x > line.max {
                    x
                } else {
                    self.snap(value).and_then(|v| v.as_f64()).unwrap_or(x)
                };
                let number = Coordinate::Number(line.place(legal));
                if specials == 0 {
                    vec![number]
                } else {
                    vec![Coordinate::Category(specials), number]
                }
            }
        }
    }

    /// The legal value at `coordinates` (as many as [`Domain::dimensions`]); none where they say inactive or nothing.
    pub fn decode(&self, coordinates: &[Coordinate]) -> Option<Value> {
        let specials = self.special();
        let number = match (specials.is_empty(), coordinates) {
            (true, [only, ..]) => *only,
            (false, [Coordinate::Category(index), number, ..]) => {
                if let Some(special) = specials.get(*index) {
                    return Some(special.clone());
                }
                match number {
                    // In the range, and nothing says where.
                    Coordinate::Inactive => Coordinate::Number(0.5),
                    number => *number,
                }
            }
            _ => return None,
        };
        match (self, number) {
            (Self::Int { .. }, Coordinate::Number(u)) => {
                let x = self.line()?.at(u);
                self.snap(&Value::Float(x))
            }
            (Self::Float { .. }, Coordinate::Number(u)) => Some(Value::Float(self.line()?.at(u))),
            (Self::Enum { values }, Coordinate::Category(index)) => {
                values.get(index).cloned().map(Value::Text)
            }
            (Self::Bool, Coordinate::Category(index)) if index < 2 => Some(Value::Bool(index == 1)),
            _ => None,
        }
    }

    /// A value in the middle: of the unit interval, or the first category.
    pub fn middle(&self) -> Value {
        let middle: Vec<Coordinate> = match (self.line(), self.special().len()) {
            (None, _) => vec![Coordinate::Category(0)],
            (Some(_), 0) => vec![Coordinate::Number(0.5)],
            (Some(_), n) => vec![Coordinate::Category(n), Coordinate::Number(0.5)],
        };
        self.decode(&middle).unwrap_or(Value::Bool(false))
    }

    /// Every legal value, where there are at most `limit`.
    pub fn values(&self, limit: u64) -> Option<Vec<Value>> {
        if self.count()? > limit {
            return None;
        }
        Some(match self {
            Self::Enum { values } => values.iter().cloned().map(Value::Text).collect(),
            Self::Bool => vec![Value::Bool(false), Value::Bool(true)],
            Self::Int { min, max, unit, .. } => {
                let step = usize::try_from((*unit).max(1)).unwrap_or(1);
                let mut all = self.special();
                all.extend(
                    (*min..=*max)
                        .step_by(step)
                        .map(Value::Int)
                        .filter(|v| self.special_index(v).is_none()),
                );
                all
            }
            Self::Float { min, unit, .. } => {
                let (line, unit) = (self.line()?, unit.unwrap_or(0.0));
                let mut all = self.special();
                let grid = (0..line.steps()?).map(|i| Value::Float(line.snap(min + i as f64 * unit)));
                all.extend(grid.filter(|v| self.special_index(v).is_none()));
                all
            }
        })
    }

    /// A value as people read it: sizes with a suffix.
    pub fn show(&self, value: &Value) -> String {
        match (self, value) {
            (Self::Int { bytes: true, .. }, Value::Int(n)) => match u64::try_from(*n) {
                Ok(n) => Bytes(n).to_string(),
                Err(_) => n.to_string(),
            },
            _ => value.to_string(),
        }
    }
}
