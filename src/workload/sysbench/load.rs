//! The sysbench load: its options, and how it is looked at, filled and started.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;
use std::time::Duration;

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;

use super::run::Run;
use super::{prepare, script, version};
use crate::error::{Error, Problem, Result};
use crate::host::{Output, Spawn};
use crate::units::Bytes;
use crate::workload::{Endpoint, LoadFailure, RunningLoad, Workload};

/// A row of the bundled scripts' tables with its part of both indexes (190 bytes of values; 2 million rows take 480 MB).
const ROW_BYTES: u64 = 240;

/// Options that Noctune sets itself; a study may not.
const OURS: [&str; 14] = [
    "config-file",
    "db-driver",
    "events",
    "histogram",
    "mysql-db",
    "mysql-host",
    "mysql-password",
    "mysql-port",
    "mysql-socket",
    "mysql-user",
    "percentile",
    "rand-seed",
    "report-interval",
    "time",
];

/// A sysbench load as a study asks for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sysbench {
    script: String,
    threads: usize,
    options: BTreeMap<String, String>,
    program: String,
}

impl Sysbench {
    /// A load with a bundled script's name or a path to a Lua file, a number of threads, and further options of sysbench
    /// or the script without their dashes (`table-size` → `250000`; `_` for `-` is taken).
    ///
    /// # Errors
    /// [`Error::Input`] for no or too many threads, and for an option that Noctune sets itself.
    pub fn new(
        script: impl Into<String>,
        threads: usize,
        options: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self> {
        if !(1..=4096).contains(&threads) {
            return Err(Error::Input(
                Problem::new(format!("{threads} threads are none sysbench can run"))
                    .next("take 1 to 4096 threads"),
            ));
        }
        let options: BTreeMap<String, String> = options
            .into_iter()
            .map(|(key, value)| (key.trim_start_matches('-').replace('_', "-"), value))
            .collect();
        if let Some(key) = options
            .keys()
            .find(|key| OURS.contains(&key.as_str()) || key.as_str() == "threads")
        {
            let next = match key.as_str() {
                "threads" => "set [workload] threads instead",
                "time" | "events" => "set the lengths of trials in [measure] instead",
                _ => "leave it out",
            };
            return Err(Error::Input(
                Problem::new(format!("sysbench's option \"{key}\" is set by Noctune")).next(next),
            ));
        }
        Ok(Self {
            script: script.into(),
            threads,
            options,
            program: "sysbench".to_owned(),
        })
    }

    /// The same load with another program than the `sysbench` on the path.
    #[must_use]
    pub fn with_program(mut self, program: impl Into<String>) -> Self {
        self.program = program.into();
        self
    }

    /// The script's name or path.
    pub(super) fn script(&self) -> &str {
        &self.script
    }

    /// Number of threads.
    pub(super) fn threads(&self) -> usize {
        self.threads
    }

    /// Whether an option has this value.
    pub(super) fn has(&self, option: &str, value: &str) -> bool {
        self.options.get(option).is_some_and(|set| set == value)
    }

    /// A whole number among the options.
    pub(super) fn number(&self, option: &str, default: u64) -> Result<u64> {
        match self.options.get(option) {
            None => Ok(default),
            Some(text) => text.parse().map_err(|_| {
                Error::input(format!(
                    "sysbench's option {option} is \"{text}\", which is no whole number"
                ))
            }),
        }
    }

    /// sysbench on this script (or the wrapper in its place) and endpoint, with the study's options, in a folder where
    /// its output goes to `log`.
    pub(super) fn spawn(
        &self,
        file: &Path,
        endpoint: &Endpoint,
        threads: usize,
        folder: &Path,
        log: &Path,
    ) -> std::io::Result<Spawn> {
        let printed = File::create(log)?;
        let mut spawn = Spawn::new(&self.program)
            .folder(folder)
            // Both share one position in it.
            .stdout(Output::File(printed.try_clone()?))
            .stderr(Output::File(printed))
            .arg(file)
            .arg("--db-driver=mysql");
        spawn = match endpoint.port {
            Some(port) => spawn
                .arg("--mysql-host=127.0.0.1")
                .arg(format!("--mysql-port={port}")),
            None => spawn.arg(format!("--mysql-socket={}", endpoint.socket.display())),
        };
        spawn = spawn
            .arg(format!("--mysql-user={}", endpoint.user))
            .arg(format!("--mysql-db={}", endpoint.database))
            .arg(format!("--threads={threads}"));
        if let Some(password) = &endpoint.password {
            spawn = spawn.arg(format!("--mysql-password={password}"));
        }
        Ok(spawn.args(self.options.iter().map(|(key, value)| format!("--{key}={value}"))))
    }
}

#[async_trait(?Send)]
impl Workload for Sysbench {
    fn describe(&self) -> String {
        let mut text = format!("sysbench {}, {} threads", self.script, self.threads);
        for (index, (key, value)) in self.options.iter().enumerate() {
            text.push_str(if index == 0 { ", " } else { " " });
            text.push_str(&format!("{key}={value}"));
        }
        text
    }

    fn writes(&self) -> bool {
        script::writes(&self.script)
    }

    fn expected_size(&self) -> Option<Bytes> {
        // Other scripts have tables of their own.
        if !self.script.starts_with("oltp_") && !self.script.starts_with("select_random") {
            return None;
        }
        let rows = self
            .number("tables", 1)
            .ok()?
            .saturating_mul(self.number("table-size", 10_000).ok()?);
        Some(Bytes(rows.saturating_mul(ROW_BYTES)))
    }

    async fn preflight(&self) -> Result<()> {
        version::check(&self.program).await?;
        script::find(&self.script)?;
        self.number("tables", 1)?;
        self.number("table-size", 10_000)?;
        Ok(())
    }

    async fn prepare(&self, endpoint: &Endpoint, folder: &Path, stop: &CancellationToken) -> Result<()> {
        prepare::prepare(self, endpoint, folder, stop).await
    }

    async fn start(
        &self,
        endpoint: &Endpoint,
        folder: &Path,
        seconds_cap: Duration,
        seed: u64,
    ) -> Result<Box<dyn RunningLoad>, LoadFailure> {
        let run = Run::start(self, endpoint, folder, seconds_cap, seed).await?;
        Ok(Box::new(run))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(options: &[(&str, &str)]) -> Result<Sysbench> {
        let options = options.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
        Sysbench::new("oltp_read_write", 16, options)
    }

    #[test]
    fn two_spellings_of_one_load_describe_alike() {
        let load = |options: &[(&str, &str)]| load(options).unwrap().describe();
        assert_eq!(
            load(&[("table_size", "1000"), ("tables", "8")]),
            load(&[("tables", "8"), ("--table-size", "1000")])
        );
        assert_eq!(
            load(&[("tables", "8")]),
            "sysbench oltp_read_write, 16 threads, tables=8"
        );
    }

    #[test]
    fn an_option_that_is_ours_is_refused_with_the_place_where_it_belongs() {
        let error = load(&[("time", "60")]).unwrap_err();
        assert_eq!(error.exit_code(), 2);
        assert!(error.to_string().contains("[measure]"), "{error}");
        assert!(load(&[("threads", "4")]).is_err());
        assert!(Sysbench::new("oltp_read_only", 0, []).is_err());
    }

    #[tokio::test]
    async fn a_missing_tool_is_the_hosts_fault_and_says_how_to_get_it() {
        let load = load(&[]).unwrap().with_program("/no/such/sysbench");
        let error = load.preflight().await.unwrap_err();
        assert_eq!(error.exit_code(), 3);
        assert!(error.to_string().contains("apt-get install sysbench"), "{error}");
    }
}
