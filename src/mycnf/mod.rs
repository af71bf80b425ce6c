//! my.cnf files: read as the servers read them, written so that the servers take them, compared.

mod dialect;
mod diff;
mod finding;
mod line;
mod parse;
mod render;
mod rollback;
mod setting;

#[cfg(test)]
mod tests;
#[cfg(test)]
mod write_tests;

pub use dialect::Dialect;
pub use diff::{Difference, diff, same_value};
pub use finding::{Finding, FindingKind, Severity};
pub use parse::{Files, MyCnf, Unread, parse, parse_text};
pub use render::{Durability, Effect, Gain, Recommended, RecommendedLine, render, render_section, written};
pub use rollback::rollback;
pub use setting::{Meaning, Setting};
