//! A space resolved for one machine class and one server.

/// The knobs of a study, their domains, conditions and constraints, resolved for one machine class and one server.
#[derive(Debug, Clone, Default)]
pub struct Space {}
