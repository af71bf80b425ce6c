//! What a person sees while a study runs: views of the event stream. Progress goes to standard error, `--json` to
//! standard output. A view never fails and never holds up the night: while a study runs it works on a thread of
//! its own ([`Behind`]), and what cannot be written is dropped.

mod bars;
mod behind;
mod choose;
mod json;
mod last_words;
mod lines;
mod plain;
mod quiet;
mod spark;
mod story;
mod words;

#[cfg(test)]
mod tests;

pub use bars::Bars;
pub use behind::Behind;
pub use choose::{ColorChoice, Ui};
pub use json::JsonLines;
pub use last_words::last_words;
pub use lines::{Lines, stderr, stdout};
pub use plain::Plain;
pub use quiet::Quiet;
pub use spark::sparkline;
