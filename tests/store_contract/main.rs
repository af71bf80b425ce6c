//! One suite on every store: whatever the plan and the night rely on holds in memory and in SQLite alike.

mod agree;
mod contract;
mod fixture;
mod samples;
mod sqlite;
