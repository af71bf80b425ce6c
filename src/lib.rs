//! Noctune searches, unattended, for the best `my.cnf` of a MariaDB or MySQL server on a machine class.
//!
//! ```text
//!  Space ──► Plan (asks Strategy) ──► Trial ──► Store ──► Report, my.cnf
//!  what may   which job next, why      reset, start,   every job,     what was found,
//!  be tuned                            verify, warm    every sample   how sure we are
//!                                      up, measure, stop
//!      ▲               ▲                                │
//!      │               └──── stored facts ◄─────────────┘
//!      └── hardware, server facts, baseline
//! ```
//!
//! The plan is a pure function of what is stored: nothing about the night is remembered in a running process.
//! `ARCHITECTURE.md` describes the folders and the direction of dependencies.

pub mod cli;
pub mod engine;
pub mod error;
pub mod handover;
pub mod host;
pub mod mycnf;
pub mod night;
pub mod plan;
pub mod report;
pub mod runner;
pub mod server;
pub mod setup;
pub mod space;
pub mod stats;
pub mod store;
pub mod strategy;
pub mod study;
pub mod trial;
pub mod ui;
pub mod units;
pub mod workload;
