//! Executes one job after another and stores what came of each; the ports it needs; events.

mod clock;
mod event;
mod ports;
mod run;

pub use clock::now;
pub use event::{Event, Events, Listener};
pub use ports::{RunTrial, TrialOrder};
pub use run::Night;
