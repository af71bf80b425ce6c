//! What a person sees while a study runs: views of the event stream. Progress goes to standard error, `--json` to
//! standard output. A view never fails and never holds up the night: what cannot be written is dropped.

mod bars;
mod choose;
mod json;
mod lines;
mod plain;
mod quiet;
mod spark;
mod story;
mod words;

#[cfg(test)]
mod tests;

pub use bars::Bars;
pub use choose::{ColorChoice, Ui};
pub use json::JsonLines;
pub use lines::{Lines, stderr, stdout};
pub use plain::Plain;
pub use quiet::Quiet;
pub use spark::sparkline;
