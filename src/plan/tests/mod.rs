//! Whole studies against a response of known shape, in milliseconds.

mod bench;
mod budget;
mod differences;
mod endings;
mod interruptions;
mod kept;
mod spaces;
mod stages;
