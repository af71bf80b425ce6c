//! The private server of a trial: found, started, asked, ended.

mod client;
mod detect;
mod instance;
mod socket_dir;

pub use client::{Client, ClientError, TextRow};
pub use detect::{Flavor, ServerBinary, Version};
pub use instance::{CNF_NAME, Instance, InstanceSpec, LOG_NAME, StartFailure};
pub use socket_dir::SocketDir;
