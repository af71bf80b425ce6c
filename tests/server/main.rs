//! Private servers, with the real `mariadbd`; skipped with a printed reason where none is installed.

mod bench;
mod death;
mod failures;
mod life;
mod production;
