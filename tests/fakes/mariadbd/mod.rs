//! The fake `mariadbd`: reads its my.cnf as the real one, listens on its socket, answers in the MySQL protocol.

mod answers;
mod log;
mod options;
mod protocol;
mod start;
mod state;
mod variables;

pub(crate) use start::{install, run};
