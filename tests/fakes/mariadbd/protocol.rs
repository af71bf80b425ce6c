//! One client's connection to the fake server.

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

struct Connection(Arc<State>);

/// Serves a client until it leaves.
pub(super) async fn serve(stream: UnixStream, state: Arc<State>) {
    state.connections.fetch_add(1, Ordering::Relaxed);
    let (input, output) = stream.into_split();
    // A client that breaks off is not the server's trouble.
    let _ = AsyncMysqlIntermediary::run_on(Connection(state), input, output).await;
}

#[async_trait]
impl<W: AsyncWrite + Send + Unpin> AsyncMysqlShim<W> for Connection {
    type Error = io::Error;

    fn version(&self) -> String {
        format!("5.5.5-{}", self.0.version)
    }

    async fn on_prepare<'a>(&'a mut self, _: &'a str, info: StatementMetaWriter<'a, W>) -> io::Result<()> {
        info.error(ErrorKind::ER_UNSUPPORTED_PS, b"the fake server prepares nothing")
            .await
    }

    async fn on_execute<'a>(
        &'a mut self,
        _: u32,
        _: ParamParser<'a>,
        results: QueryResultWriter<'a, W>,
    ) -> io::Result<()> {
        results.completed(OkResponse::default()).await
    }

    async fn on_close(&mut self, _: u32) {}

    async fn on_query<'a>(&'a mut self, sql: &'a str, results: QueryResultWriter<'a, W>) -> io::Result<()> {
        match answer(sql, &self.0).map_err(io::Error::other)? {
            Answer::Done => results.completed(OkResponse::default()).await,
            Answer::Error(text) => results.error(ErrorKind::ER_UNKNOWN_ERROR, text.as_bytes()).await,
            Answer::Bye => {
                results.completed(OkResponse::default()).await?;
                self.0.shutdown.notify_one();
                Ok(())
            }
            Answer::Rows(names, rows) => {
                let columns: Vec<Column> = names
                    .into_iter()
                    .map(|column| Column {
                        table: String::new(),
                        column,
                        coltype: ColumnType::MYSQL_TYPE_VAR_STRING,
                        colflags: ColumnFlags::empty(),
                    })
                    .collect();
                let mut writer = results.start(&columns).await?;
                for row in rows {
                    writer.write_row(row).await?;
                }
                writer.finish().await
            }
        }
    }
}
