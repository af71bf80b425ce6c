//! What the knobs do, by what the search measured.

use super::blame::settled;
use super::observe::View;
use super::{Facts, Inputs};
use crate::strategy::Importance;

/// What the knobs of the space do, by the trials of the search: those of the confirmation are used for nothing else.
pub fn importance(inputs: &Inputs<'_>, facts: &Facts) -> Importance {
    let view = View::new(inputs, &settled(inputs, facts));
    inputs.strategy.importance(&view.search(inputs))
}
