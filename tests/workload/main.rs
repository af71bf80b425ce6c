//! The sysbench load against a real, private mariadbd with a real sysbench. Where one of them is missing, each test says
//! so and passes.

mod server;
mod sysbench;
