//! The host: processes, caches, limits, and what can be known of it.

mod guardian;
mod identity;
mod process;
mod run_as;
mod supervisor;

pub use guardian::{Guardian, end_leftovers};
pub use identity::{Identity, boot_id};
pub use process::{Child, Exit, Output, Spawn};
pub use run_as::RunAs;
pub use supervisor::supervise;
