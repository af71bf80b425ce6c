//! Studies in one SQLite file.

mod patience;
mod read;
mod schema;
mod store;
mod write;

pub use patience::Patience;
pub use store::SqliteStore;
