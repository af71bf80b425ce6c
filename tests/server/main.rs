//! Private servers, with the real `mariadbd`; skipped with a printed reason where none is
//! installed, unless `CI=true`.

#![expect(clippy::unwrap_used, reason = "what cannot be set up fails the test")]

mod bench;
mod death;
mod failures;
mod life;
mod production;
#[path = "../common/skip.rs"]
mod skip;
#[path = "../common/trials.rs"]
mod trials;
mod whole_trials;
