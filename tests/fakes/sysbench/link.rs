//! The fake load generator's connection to the fake server.

use std::path::Path;

use sqlx::mysql::{MySqlConnectOptions, MySqlConnection, MySqlSslMode};
use sqlx::{AssertSqlSafe, ConnectOptions, Executor, Row};
use tokio::runtime::Runtime;

use crate::Fallible;
use crate::expression::{Names, Value};

/// A connection to the fake server.
pub(super) struct Link {
    runtime: Runtime,
    connection: MySqlConnection,
}

impl Link {
    /// Connects.
    ///
    /// # Errors
    ///
    /// When nobody answers.
    pub(super) fn open(socket: &Path) -> Fallible<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let options = MySqlConnectOptions::new()
            .socket(socket)
            .username("root")
            .ssl_mode(MySqlSslMode::Disabled)
            .pipes_as_concat(false)
            .no_engine_substitution(false)
            .timezone(None)
            .set_names(false);
        let connection = runtime.block_on(options.connect())?;
        Ok(Self { runtime, connection })
    }

    /// Runs a statement.
    ///
    /// # Errors
    ///
    /// When the server is gone.
    pub(super) fn run(&mut self, sql: &str) -> Fallible<()> {
        let query = sqlx::raw_sql(AssertSqlSafe(sql.to_owned()));
        self.runtime.block_on(self.connection.execute(query))?;
        Ok(())
    }

    /// The server's variables.
    ///
    /// # Errors
    ///
    /// When the server is gone.
    pub(super) fn variables(&mut self) -> Fallible<Names> {
        let query = sqlx::raw_sql(AssertSqlSafe("SHOW SESSION VARIABLES".to_owned()));
        let rows = self.runtime.block_on(self.connection.fetch_all(query))?;
        let mut names = Names::new();
        for row in &rows {
            let text = |at: usize| -> Fallible<String> {
                let bytes: &[u8] = row.try_get_unchecked(at)?;
                Ok(String::from_utf8_lossy(bytes).into_owned())
            };
            names.insert(text(0)?, Value::of(&text(1)?));
        }
        Ok(names)
    }
}
