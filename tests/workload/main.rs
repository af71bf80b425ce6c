//! The sysbench load against a real, private mariadbd with a real sysbench. Where one of them is missing, each test says
//! so and passes.

#![expect(clippy::unwrap_used, reason = "what cannot be set up fails the test")]
#![expect(clippy::print_stdout, reason = "a test that is skipped says so")]

mod server;
mod sysbench;
