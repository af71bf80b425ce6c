//! What every kind of load offers to the runner.

use std::path::{Path, PathBuf};
use std::time::Duration;

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;

use super::LoadFailure;
use crate::error::Result;
use crate::host::Identity;
use crate::trial::{Second, WindowTotals};
use crate::units::Bytes;

/// Where the server listens, and as whom to come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// Unix socket.
    pub socket: PathBuf,
    /// Loopback port, for loads that cannot use a socket.
    pub port: Option<u16>,
    /// User.
    pub user: String,
    /// Password; none for none.
    pub password: Option<String>,
    /// Database the load works in; made by [`Workload::prepare`] where it is missing.
    pub database: String,
}

/// A kind of load with its options.
#[async_trait(?Send)]
pub trait Workload {
    /// One line for people, e.g. `sysbench oltp_read_write, 16 threads, tables=8 table-size=250000`. Equal lines mean equal
    /// loads; it is part of the study's identity.
    fn describe(&self) -> String;

    /// Whether it writes; then the score counts the write debt.
    fn writes(&self) -> bool;

    /// About what its data take on the disk; none where that cannot be told before they are made.
    fn expected_size(&self) -> Option<Bytes> {
        None
    }

    /// Looks before anything starts whether the load can run here: tool, version, script, options.
    ///
    /// # Errors
    /// [`crate::error::Error::Host`] for a missing tool, [`crate::error::Error::Input`] for a wrong script or option, each
    /// with the fix.
    async fn preflight(&self) -> Result<()>;

    /// Makes the database and fills it, on the server from which the template is made. Output goes to `folder`.
    ///
    /// # Errors
    /// [`crate::error::Error::Host`] when the load's tool fails or not every row is there,
    /// [`crate::error::Error::Interrupted`] when `stop` was raised.
    async fn prepare(&self, endpoint: &Endpoint, folder: &Path, stop: &CancellationToken) -> Result<()>;

    /// Starts the load; returns when every thread is connected. It ends by itself after `seconds_cap`. Output goes to
    /// `folder`. The same `seed` draws the same keys, as far as the tool allows.
    ///
    /// # Errors
    /// Why it did not start; nothing runs then.
    async fn start(
        &self,
        endpoint: &Endpoint,
        folder: &Path,
        seconds_cap: Duration,
        seed: u64,
    ) -> Result<Box<dyn RunningLoad>, LoadFailure>;
}

/// A load that runs. Dropping it kills its process group.
#[async_trait(?Send)]
pub trait RunningLoad {
    /// Waits for the end of the next second and tells what it held; none when the load ended by itself, at its cap. A
    /// second in which nothing finished is a sample of zero, not an error.
    ///
    /// # Errors
    /// Why the load ended before its time.
    async fn next_second(&mut self) -> Result<Option<Second>, LoadFailure>;

    /// What was counted from the begin of second `from` to the begin of second `to`, both counted from 0 in the order in
    /// which [`Self::next_second`] returned them; so `window(5, 15)` are the ten seconds after the first five. Ends
    /// beyond what was seen are moved to the last second seen.
    fn window(&self, from: usize, to: usize) -> WindowTotals;

    /// Asks the load to end, waits for it until `deadline` from now, kills it then, and checks its figures.
    ///
    /// # Errors
    /// It did not end in time ([`LoadFailure::Hung`]), ended in an error, or its figures do not add up.
    async fn stop(self: Box<Self>, deadline: Duration) -> Result<LoadSummary, LoadFailure>;

    /// Who it is; to be recorded, so that it does not outlive Noctune.
    fn identity(&self) -> &Identity;

    /// Kills the whole process group at once.
    fn kill(&mut self);
}

/// What a whole run of a load says at its end, for the record.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadSummary {
    /// Transactions of the whole run, warm-up included.
    pub transactions: u64,
    /// Errors ignored in the whole run.
    pub errors: u64,
    /// Reconnects in the whole run.
    pub reconnects: u64,
    /// What a person should know: percentiles that are missing, and why.
    pub notes: Vec<String>,
}
