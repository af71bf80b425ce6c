//! The search engine alone, for other programs: one JSON object a line in, one out. A session is told everything and
//! remembers it; what it proposes depends on nothing but the space, the strategy, the seed and what was told.
//!
//! The protocol is described in the README ("The engine for other programs").

mod reply;
mod request;
mod session;

#[cfg(test)]
mod tests;

pub use session::{PROTOCOL, Session, Setup};
