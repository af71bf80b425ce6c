//! The command line as a user meets it, with fake servers and a fake load: whole studies in seconds.

#![expect(clippy::unwrap_used, reason = "what cannot be set up fails the test")]

mod all_strategies;
mod bad_input;
mod bench;
mod commands;
mod conclusions;
mod engine;
mod exact;
mod failures;
mod fakes;
mod handed_over;
mod hangs;
mod importance;
mod kept;
mod kills;
mod nights;
mod readers;
mod recovery;
mod resume;
mod spaces;
mod stores;
mod study;
#[path = "../common/trials.rs"]
mod trials;
