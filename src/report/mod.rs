//! What was found, from stored facts: typed numbers first, then text and JSON. No output ever holds a number that is
//! not finite: what cannot be told is "not measurable" or `null`.

mod conclusion;
mod explain;
mod format;
mod importance;
mod json;
mod text;
mod view;

#[cfg(test)]
mod tests;

pub use conclusion::Conclusion;
pub use explain::{Explained, explain, explain_json};
pub use json::json;
pub use text::text;
pub use view::{BlockRow, Change, ConfigurationRow, Counts, Input, PhaseRow, View, view};
