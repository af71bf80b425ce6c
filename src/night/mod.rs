//! Executes one job after another and stores what came of each; the ports it needs; events.

mod event;
mod ports;

pub use event::{Event, Events, Listener};
pub use ports::{RunTrial, TrialOrder};
