//! The sysbench load against a real, private mariadbd with a real sysbench. Where one of them is missing, each test says
//! so and passes; with `CI=true` it fails.

#![expect(clippy::unwrap_used, reason = "what cannot be set up fails the test")]

mod server;
#[path = "../common/skip.rs"]
mod skip;
mod sysbench;
