//! A configuration as the models see it: coordinates in the unit cube and categories.

use serde::{Deserialize, Serialize};

/// One coordinate of a [`Point`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Coordinate {
    /// The knob is inactive in this configuration (its condition does not hold).
    Inactive,
    /// A number in [0, 1], already rounded to a legal step. An observed value out of the bounds may lie outside.
    Number(f64),
    /// Index of a category, below the dimension's count. An observed value that is none of the categories has the index `count`.
    Category(usize),
}

/// What one coordinate can be.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dimension {
    /// A number in [0, 1].
    Number {
        /// How many distinct legal values there are; none for a continuum. `1/(steps-1)` is the spacing on a linear scale.
        steps: Option<u64>,
        /// Whether the unit interval is logarithmic in the knob's value.
        log: bool,
    },
    /// Unordered categories (enums, switches, and the flag of a special value).
    Category {
        /// How many there are.
        count: usize,
    },
}

/// A configuration in the model's coordinates, one per [`Dimension`] of the space. A knob with special values has two
/// dimensions: a category (which special value, or the range) and a number that is inactive unless the range applies.
#[derive(Debug, Clone, PartialEq)]
pub struct Point(pub Vec<Coordinate>);
