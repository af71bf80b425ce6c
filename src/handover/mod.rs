//! What a study hands over: my.cnf and its roll-back, rewritten whenever the belief changes.

mod recommendation;

pub use recommendation::{Recommendation, hand_over, hand_over_nothing, section, sizes};
