//! Errors a user can meet: what failed, where, and what to do next; each kind has its exit code.

use std::fmt;

/// Result with the crate's error.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// One problem, told completely: what failed, where, and what to do next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// What failed, one sentence without a full stop, e.g. `unknown key "pool"`.
    pub what: String,
    /// Where: `file:line:column`, or trial and phase.
    pub place: Option<String>,
    /// What to do next, in the imperative, e.g. `did you mean "pools"?`.
    pub next: Option<String>,
}

impl Problem {
    /// A problem known only by what failed; add the rest with [`Problem::at`] and [`Problem::next`].
    pub fn new(what: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            place: None,
            next: None,
        }
    }

    /// Says where.
    #[must_use]
    pub fn at(mut self, place: impl Into<String>) -> Self {
        self.place = Some(place.into());
        self
    }

    /// Says what to do next.
    #[must_use]
    pub fn next(mut self, next: impl Into<String>) -> Self {
        self.next = Some(next.into());
        self
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.what)?;
        if let Some(place) = &self.place {
            write!(f, "\n  at: {place}")?;
        }
        if let Some(next) = &self.next {
            write!(f, "\n  next: {next}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Problem {}

/// Everything that ends a command other than with success.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Usage or bad input; found before anything starts. Exit code 2.
    #[error("{0}")]
    Input(Problem),
    /// The host cannot run trials: server, workload, permissions. Exit code 3.
    #[error("{0}")]
    Host(Problem),
    /// A check failed, or an internal error. Exit code 1.
    #[error("{0}")]
    Internal(Problem),
    /// Every trial failed. Exit code 5.
    #[error("{0}")]
    EveryTrialFailed(Problem),
    /// The user interrupted; the study can be resumed. Exit code 130.
    #[error("interrupted; what was measured is stored, run the same command again to go on")]
    Interrupted,
}

impl Error {
    /// Bad input ([`Error::Input`]) known by what failed.
    pub fn input(what: impl Into<String>) -> Self {
        Self::Input(Problem::new(what))
    }

    /// A host problem ([`Error::Host`]) known by what failed.
    pub fn host(what: impl Into<String>) -> Self {
        Self::Host(Problem::new(what))
    }

    /// An internal error ([`Error::Internal`]) known by what failed.
    pub fn internal(what: impl Into<String>) -> Self {
        Self::Internal(Problem::new(what))
    }

    /// Says where, as [`Problem::at`].
    #[must_use]
    pub fn at(self, place: impl Into<String>) -> Self {
        self.map(|problem| problem.at(place))
    }

    /// Says what to do next, as [`Problem::next`].
    #[must_use]
    pub fn next(self, next: impl Into<String>) -> Self {
        self.map(|problem| problem.next(next))
    }

    /// The process's exit code for this error (interface: "Exit codes").
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Internal(_) => 1,
            Self::Input(_) => 2,
            Self::Host(_) => 3,
            Self::EveryTrialFailed(_) => 5,
            Self::Interrupted => 130,
        }
    }

    fn map(self, change: impl FnOnce(Problem) -> Problem) -> Self {
        match self {
            Self::Input(p) => Self::Input(change(p)),
            Self::Host(p) => Self::Host(change(p)),
            Self::Internal(p) => Self::Internal(change(p)),
            Self::EveryTrialFailed(p) => Self::EveryTrialFailed(change(p)),
            Self::Interrupted => Self::Interrupted,
        }
    }
}

/// Adds what was being done to an I/O error, and where.
pub trait IoContext<T> {
    /// An I/O failure as a host error: `what` in words (`cannot write`), `path` the file.
    fn context(self, what: &str, path: &std::path::Path) -> Result<T>;
}

impl<T> IoContext<T> for std::io::Result<T> {
    fn context(self, what: &str, path: &std::path::Path) -> Result<T> {
        self.map_err(|error| Error::host(format!("{what}: {error}")).at(path.display().to_string()))
    }
}
