//! Whole studies against a response of known shape, in milliseconds.

mod bench;
mod endings;
mod interruptions;
mod stages;
