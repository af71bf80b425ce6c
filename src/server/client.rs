//! SQL over the private server's socket, by the text protocol only.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use sqlx::mysql::{MySqlConnectOptions, MySqlConnection, MySqlDatabaseError, MySqlSslMode};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, Executor, Row};

/// Why a query gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// No answer in time.
    #[error("no answer to `{query}` within {seconds} s")]
    TimedOut {
        /// The query.
        query: String,
        /// The limit, seconds.
        seconds: f64,
    },
    /// The server, or the way to it, reported an error.
    #[error("`{query}` failed: {source}")]
    Failed {
        /// The query.
        query: String,
        /// What was reported.
        source: sqlx::Error,
    },
}

impl ClientError {
    /// Number of an error that the server itself reported (MariaDB and MySQL error codes); none where no answer came.
    pub fn number(&self) -> Option<u16> {
        match self {
            Self::Failed {
                source: sqlx::Error::Database(error),
                ..
            } => error
                .try_downcast_ref::<MySqlDatabaseError>()
                .map(MySqlDatabaseError::number),
            _ => None,
        }
    }

    /// Whether the connection broke: the server is gone or going.
    pub fn is_lost(&self) -> bool {
        matches!(self, Self::Failed { source, .. } if !matches!(source, sqlx::Error::Database(_)))
    }
}

/// One row: columns as text, none for NULL.
pub type TextRow = Vec<Option<String>>;

/// One connection as `root` without a password. Every query has a deadline.
#[derive(Debug)]
pub struct Client {
    connection: MySqlConnection,
    deadline: Duration,
}

impl Client {
    /// Connects; `deadline` holds for this and for each query after it. Nothing is sent but the handshake.
    ///
    /// # Errors
    /// [`ClientError`] of the pseudo query `connect`.
    pub async fn connect(socket: &Path, deadline: Duration) -> Result<Self, ClientError> {
        let options = MySqlConnectOptions::new()
            .socket(socket)
            .username("root")
            .ssl_mode(MySqlSslMode::Disabled)
            .pipes_as_concat(false)
            .no_engine_substitution(false)
            .timezone(None)
            .set_names(false)
            .disable_statement_logging();
        let connection = within(deadline, "connect", options.connect()).await?;
        Ok(Self { connection, deadline })
    }

    /// Rows of one query.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn rows(&mut self, sql: &str) -> Result<Vec<TextRow>, ClientError> {
        let query = sqlx::raw_sql(AssertSqlSafe(sql.to_owned()));
        let rows = within(self.deadline, sql, self.connection.fetch_all(query)).await?;
        rows.iter()
            .map(|row| {
                (0..row.len())
                    .map(|index| {
                        row.try_get_unchecked::<Option<&[u8]>, _>(index)
                            .map(|bytes| bytes.map(|bytes| String::from_utf8_lossy(bytes).into_owned()))
                    })
                    .collect::<Result<TextRow, sqlx::Error>>()
            })
            .collect::<Result<_, _>>()
            .map_err(|source| ClientError::Failed {
                query: sql.to_owned(),
                source,
            })
    }

    /// Runs statements whose rows do not matter; several may be separated by `;`.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn run(&mut self, sql: &str) -> Result<(), ClientError> {
        let query = sqlx::raw_sql(AssertSqlSafe(sql.to_owned()));
        within(self.deadline, sql, self.connection.execute(query))
            .await
            .map(drop)
    }

    /// Whether a query is answered.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn ping(&mut self) -> Result<(), ClientError> {
        self.rows("SELECT 1").await.map(drop)
    }

    /// Server variables by their lower-case name.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn global_variables(&mut self) -> Result<BTreeMap<String, String>, ClientError> {
        self.pairs("SHOW GLOBAL VARIABLES").await
    }

    /// Status counters by their lower-case name.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn global_status(&mut self) -> Result<BTreeMap<String, String>, ClientError> {
        self.pairs("SHOW GLOBAL STATUS").await
    }

    /// Changes the deadline of the queries that follow.
    pub fn set_deadline(&mut self, deadline: Duration) {
        self.deadline = deadline;
    }

    /// Says good-bye to the server.
    pub async fn close(self) {
        // The server may be gone already; then so is the connection.
        let _ = tokio::time::timeout(self.deadline, self.connection.close()).await;
    }

    async fn pairs(&mut self, sql: &str) -> Result<BTreeMap<String, String>, ClientError> {
        let rows = self.rows(sql).await?;
        Ok(rows
            .into_iter()
            .filter_map(|row| {
                let mut columns = row.into_iter();
                let name = columns.next()??.to_ascii_lowercase();
                Some((name, columns.next()?.unwrap_or_default()))
            })
            .collect())
    }
}

async fn within<T>(
    deadline: Duration,
    query: &str,
    answer: impl Future<Output = Result<T, sqlx::Error>>,
) -> Result<T, ClientError> {
    match tokio::time::timeout(deadline, answer).await {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(source)) => Err(ClientError::Failed {
            query: query.to_owned(),
            source,
        }),
        Err(_) => Err(ClientError::TimedOut {
            query: query.to_owned(),
            seconds: deadline.as_secs_f64(),
        }),
    }
}
