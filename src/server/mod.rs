//! The private server of a trial: found, started, asked, ended; the template it starts from.

mod arguments;
mod client;
mod data_dir;
mod data_files;
mod detect;
mod facts;
mod failure;
mod install;
mod instance;
mod load_settings;
mod log_file;
mod option;
mod private_cnf;
mod reset;
mod socket_dir;
mod strip;
mod template;
mod user;
mod variables;

pub use crate::space::Flavor;
pub use crate::space::isolation::canonical;
pub use arguments::checked_arguments;
pub use client::{Client, ClientError, TextRow};
pub use data_dir::{contents_key, data_size, remove as remove_data};
pub use data_files::{DATA_FILE_PATH, GEOMETRY, data_files_size, own_data_files};
pub use detect::{ServerBinary, Version};
pub use facts::{scratch, server_facts};
pub use failure::{Death, classify_death, recovered_from_crash, start_warnings};
pub use instance::{CNF_NAME, Instance, InstanceSpec, LOG_NAME, StartFailure, open_files_limit};
pub use option::{OptionFate, option_fate};
pub use private_cnf::{Dropped, Placement, PrivateCnf, Setting, final_cnf, private_cnf};
pub use reset::{Backend, ResetDone, reset, reset_until, supports_reflink, supports_reflink_in};
pub use socket_dir::SocketDir;
pub use template::{Marker, Source, Template, TemplateSpec, fresh_server_id};
pub use user::ServerUser;
pub use variables::{Mismatch, Verified, verify};
