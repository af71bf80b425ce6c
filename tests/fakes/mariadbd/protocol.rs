//! One client's connection to the fake server.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use async_trait::async_trait;
use opensrv_mysql::{
    AsyncMysqlIntermediary, AsyncMysqlShim, Column, ColumnFlags, ColumnType, ErrorKind, OkResponse,
    ParamParser, QueryResultWriter, StatementMetaWriter,
};
use tokio::io::AsyncWrite;
use tokio::net::UnixStream;

use super::answers::{Answer, answer};
use super::state::State;

struct Connection {
    state: Arc<State>,
    prepared: BTreeMap<u32, String>,
}

/// Serves a client until it leaves.
pub(super) async fn serve(stream: UnixStream, state: Arc<State>) {
    state.connections.fetch_add(1, Ordering::Relaxed);
    let (input, output) = stream.into_split();
    let connection = Connection {
        state,
        prepared: BTreeMap::new(),
    };
    // A client that breaks off is not the server's trouble.
    let _ = AsyncMysqlIntermediary::run_on(connection, input, output).await;
}

impl Connection {
    fn answer(&self, sql: &str) -> io::Result<Answer> {
        answer(sql, &self.state).map_err(io::Error::other)
    }

    async fn reply<W: AsyncWrite + Send + Unpin>(
        &self,
        answer: Answer,
        results: QueryResultWriter<'_, W>,
    ) -> io::Result<()> {
        let columns = columns(&answer);
        match answer {
            Answer::Done => results.completed(OkResponse::default()).await,
            Answer::Error(text) => results.error(ErrorKind::ER_UNKNOWN_ERROR, text.as_bytes()).await,
            Answer::Bye => {
                results.completed(OkResponse::default()).await?;
                self.state.shutdown.notify_one();
                Ok(())
            }
            Answer::Count(count) => {
                let mut writer = results.start(&columns).await?;
                writer.write_row([count]).await?;
                writer.finish().await
            }
            Answer::Rows(_, rows) => {
                let mut writer = results.start(&columns).await?;
                for row in rows {
                    writer.write_row(row).await?;
                }
                writer.finish().await
            }
        }
    }
}

fn columns(answer: &Answer) -> Vec<Column> {
    let column = |name: &str, coltype| Column {
        table: String::new(),
        column: name.to_owned(),
        coltype,
        colflags: ColumnFlags::empty(),
    };
    match answer {
        Answer::Rows(names, _) => names
            .iter()
            .map(|name| column(name, ColumnType::MYSQL_TYPE_VAR_STRING))
            .collect(),
        Answer::Count(_) => vec![column("COUNT(*)", ColumnType::MYSQL_TYPE_LONGLONG)],
        Answer::Done | Answer::Error(_) | Answer::Bye => Vec::new(),
    }
}

#[async_trait]
impl<W: AsyncWrite + Send + Unpin> AsyncMysqlShim<W> for Connection {
    type Error = io::Error;

    fn version(&self) -> String {
        format!("5.5.5-{}", self.state.version)
    }

    async fn on_prepare<'a>(&'a mut self, sql: &'a str, info: StatementMetaWriter<'a, W>) -> io::Result<()> {
        // A fake's statements have no parameters and can be asked twice.
        let columns = columns(&self.answer(sql)?);
        let id = u32::try_from(self.prepared.len() + 1).map_err(io::Error::other)?;
        self.prepared.insert(id, sql.to_owned());
        info.reply(id, &[], &columns).await
    }

    async fn on_execute<'a>(
        &'a mut self,
        id: u32,
        _: ParamParser<'a>,
        results: QueryResultWriter<'a, W>,
    ) -> io::Result<()> {
        let sql = self.prepared.get(&id).cloned().unwrap_or_default();
        self.reply(self.answer(&sql)?, results).await
    }

    async fn on_close(&mut self, _: u32) {}

    async fn on_query<'a>(&'a mut self, sql: &'a str, results: QueryResultWriter<'a, W>) -> io::Result<()> {
        if self.state.scan_hangs && sql.contains("FORCE INDEX") {
            self.state.killed.notified().await;
        }
        self.reply(self.answer(sql)?, results).await
    }
}
