//! Space files and machine class files: their format, read strictly.

mod hardware;
mod spec;
mod strict;

pub use hardware::{HARDWARE_KEYS, parse_hardware};
pub use spec::{
    ConstraintSpec, EnumValues, KnobSpec, KnobType, NamedFile, Quantity, SPACE_KEYS, SpaceFile, ValueSpec,
};
pub use strict::{closest, read_strict};
