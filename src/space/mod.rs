//! What may be tuned: knobs with their domains, conditions and constraints, resolved for one machine class and one server.

mod configuration;
mod point;
mod resolved;
mod value;

pub use configuration::Configuration;
pub use point::{Coordinate, Dimension, Point};
pub use resolved::Space;
pub use value::Value;
