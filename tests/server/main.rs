//! Private servers, with the real `mariadbd`; skipped with a printed reason where none is installed.

#![expect(clippy::unwrap_used, reason = "what cannot be set up fails the test")]
#![expect(clippy::print_stdout, reason = "a test that is skipped says so")]

mod bench;
mod death;
mod failures;
mod life;
mod production;
