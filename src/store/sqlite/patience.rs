//! How long a locked database is waited for, and trying again.

use std::time::{Duration, Instant};

use crate::store::StoreError;

/// What a damaged database is called before its file is named.
pub(super) const DATABASE: &str = "the database";

/// How long a locked database is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// How long one attempt waits inside SQLite (its busy timeout).
    pub attempt: Duration,
    /// After this time in all, no new attempt is made.
    pub total: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            attempt: Duration::from_secs(5),
            total: Duration::from_secs(60),
        }
    }
}

/// What one attempt ends with: an answer of ours, or words of the database.
#[derive(Debug)]
pub(super) enum Trouble {
    Store(StoreError),
    Sql(sqlx::Error),
}

impl From<StoreError> for Trouble {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<sqlx::Error> for Trouble {
    fn from(error: sqlx::Error) -> Self {
        Self::Sql(error)
    }
}

impl Patience {
    /// Runs `attempt` until it succeeds, fails for another reason than a lock, or the time is up. An attempt must be a whole
    /// transaction.
    pub(super) async fn wait<T, F>(&self, doing: &str, attempt: impl Fn() -> F) -> Result<T, StoreError>
    where
        F: Future<Output = Result<T, Trouble>>,
    {
        let began = Instant::now();
        let mut pause = Duration::from_millis(10);
        loop {
            let error = match attempt().await {
                Ok(answer) => return Ok(answer),
                Err(Trouble::Store(error)) => return Err(error),
                Err(Trouble::Sql(error)) => error,
            };
            if is_damaged(&error) {
                return Err(StoreError::Corrupt {
                    what: DATABASE.to_owned(),
                    text: format!("{error}, seen while {doing}"),
                });
            }
            if !is_locked(&error) {
                return Err(StoreError::Database {
                    doing: doing.to_owned(),
                    text: error.to_string(),
                });
            }
            let waited = began.elapsed();
            if waited >= self.total {
                return Err(StoreError::Locked {
                    waited,
                    text: error.to_string(),
                });
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(Duration::from_secs(1));
        }
    }
}

/// Whether the database only asks to try again: BUSY (5), LOCKED (6), or PROTOCOL (15: a race in opening the WAL).
fn is_locked(error: &sqlx::Error) -> bool {
    code(error).is_some_and(|code| matches!(code, 5 | 6 | 15))
}

/// Whether the file is no database, or a damaged one: CORRUPT (11), NOTADB (26).
fn is_damaged(error: &sqlx::Error) -> bool {
    code(error).is_some_and(|code| matches!(code, 11 | 26))
}

/// The primary result code.
///
/// Source: SQLite, "Result and Error Codes"; the low byte of an extended code is the primary one.
fn code(error: &sqlx::Error) -> Option<i32> {
    let code = error.as_database_error()?.code()?.parse::<i32>().ok()?;
    Some(code & 0xff)
}
