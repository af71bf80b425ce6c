//! One suite on every store: whatever the plan and the night rely on holds in memory and in SQLite alike.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod agree;
mod contract;
mod fixture;
mod samples;
mod sqlite;
