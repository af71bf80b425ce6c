//! What a running fake server knows.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Signal, getpid, kill_process};
use tokio::sync::Notify;

use super::log::Log;
use super::variables::Variables;
use crate::world::{ServerFault, ServerMishap, ServerWorld};

/// What a running fake server knows.
pub(super) struct State {
    /// Text of the version.
    pub(super) version: String,
    /// Bytes that a transaction leaves for later.
    pub(super) debt: u64,
    /// Whether reading a whole index lasts until it is killed.
    pub(super) scan_hangs: bool,
    /// Raised by KILL.
    pub(super) killed: Notify,
    /// Raised by SHUTDOWN.
    pub(super) shutdown: Notify,
    /// Transactions that the load reported.
    pub(super) transactions: AtomicU64,
    /// Connections accepted.
    pub(super) connections: AtomicU64,
    /// The error log.
    pub(super) log: Log,
    variables: Mutex<Variables>,
    began: Instant,
    load_began: OnceLock<Instant>,
    faults: Vec<ServerFault>,
}

impl State {
    /// A server that just started with these variables; of the faults, those that apply to it.
    pub(super) fn new(world: &ServerWorld, variables: Variables, faults: Vec<ServerFault>, log: Log) -> Self {
        Self {
            version: world.version.clone(),
            debt: world.debt,
            scan_hangs: world.scan_hangs,
            killed: Notify::new(),
            shutdown: Notify::new(),
            transactions: AtomicU64::new(0),
            connections: AtomicU64::new(0),
            log,
            variables: Mutex::new(variables),
            began: Instant::now(),
            load_began: OnceLock::new(),
            faults,
        }
    }

    /// The variables.
    pub(super) fn variables(&self) -> MutexGuard<'_, Variables> {
        self.variables.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The data directory.
    pub(super) fn data(&self) -> PathBuf {
        Path::new(self.variables().get("datadir")).to_owned()
    }

    /// Time since the start.
    pub(super) fn uptime(&self) -> Duration {
        self.began.elapsed()
    }

    /// Whether SHUTDOWN and SIGTERM are ignored.
    pub(super) fn is_deaf(&self) -> bool {
        self.faults
            .iter()
            .any(|fault| fault.happens == ServerMishap::Deaf)
    }

    /// The load did so many more transactions; what goes wrong under load goes wrong here.
    pub(super) fn work(&self, transactions: u64) {
        self.transactions.fetch_add(transactions, Ordering::Relaxed);
        let under_load = self.load_began.get_or_init(Instant::now).elapsed().as_secs_f64();
        for fault in &self.faults {
            if fault.on.is_none() && under_load >= fault.after {
                self.hit(fault);
            }
        }
    }

    /// A statement is about to be answered; what goes wrong at it goes wrong here.
    pub(super) fn asked(&self, sql: &str) {
        for fault in &self.faults {
            if fault.on.as_deref().is_some_and(|part| sql.contains(part)) {
                self.hit(fault);
            }
        }
    }

    fn hit(&self, fault: &ServerFault) {
        let signal = match fault.happens {
            ServerMishap::Crash => Signal::ABORT,
            ServerMishap::Kill => Signal::KILL,
            ServerMishap::Freeze => Signal::STOP,
            _ => return,
        };
        for line in &fault.log {
            self.log.line("ERROR", line);
        }
        // It cannot fail for a signal to oneself.
        let _ = kill_process(getpid(), signal);
    }
}
