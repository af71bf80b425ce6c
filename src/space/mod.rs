//! What may be tuned: knobs with their domains, conditions and constraints, resolved for one machine class and one server.

mod configuration;
mod constraint;
mod domain;
pub mod durability;
pub mod embedded;
mod encode;
pub mod expr;
pub mod file;
mod hardware;
pub mod isolation;
mod knob;
mod line;
mod memory;
mod permit;
mod point;
pub mod refused;
mod resolve;
mod resolved;
mod server_facts;
mod value;
mod write;

pub use configuration::Configuration;
pub use constraint::{Breach, Constraint};
pub use domain::{Domain, Scale};
pub use durability::{DurabilityClass, DurabilityRule};
pub use hardware::{MachineClass, Storage};
pub use knob::{Knob, Writes};
pub use memory::{Item as MemoryItem, MemoryBill};
pub use permit::redo_size;
pub use point::{Coordinate, Dimension, Point};
pub use resolve::{Inputs as ResolveInputs, LeftOut, Resolution, resolve, variables_written};
pub use resolved::{Ground, Space};
pub use server_facts::{Flavor, ServerFacts, VariableFacts, VariableKind, variable_value};
pub use value::Value;
