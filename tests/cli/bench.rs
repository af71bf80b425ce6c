//! A folder with fake programs, a world and a study, and what running `noctune` in it says.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

/// A private place: `bin/` with the fakes, `study.toml`, `results/`. What still runs of it is ended when it is dropped.
pub(crate) struct Bench {
    folder: tempfile::TempDir,
}

/// What one run of `noctune` said.
#[derive(Debug)]
pub(crate) struct Run {
    /// Exit code; none where a signal ended it.
    pub(crate) code: Option<i32>,
    /// Standard output.
    pub(crate) stdout: String,
    /// Error output.
    pub(crate) stderr: String,
}

impl Bench {
    /// A place with fakes that behave as the world file says.
    pub(crate) fn new(world: &str) -> Self {
        let folder = tempfile::Builder::new().prefix("fake-").tempdir().unwrap();
        let bin = folder.path().join("bin");
        std::fs::create_dir(&bin).unwrap();
        // A server that gives up root's rights still reaches its world.
        for path in [folder.path(), &bin] {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o777)).unwrap();
        }
        let fakes = fakes();
        for name in ["mariadbd", "mariadb-install-db", "sysbench", "finish"] {
            if std::fs::hard_link(&fakes, bin.join(name)).is_err() {
                std::fs::copy(&fakes, bin.join(name)).unwrap();
            }
        }
        let bench = Self { folder };
        bench.world(world);
        bench
    }

    /// The folder.
    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Where the fakes are.
    pub(crate) fn bin(&self) -> PathBuf {
        self.path().join("bin")
    }

    /// Changes the world.
    pub(crate) fn world(&self, world: &str) {
        std::fs::write(self.bin().join("world.toml"), world).unwrap();
    }

    /// Writes a file of this folder.
    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    /// `noctune` in this folder, with the fakes first on `PATH`.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_noctune"));
        command
            .args(arguments)
            .current_dir(self.path())
            .env("PATH", self.bin())
            .env("HOME", self.path())
            .env("XDG_CONFIG_HOME", self.path().join("config"))
            .env_remove("RUST_LOG")
            .stdin(Stdio::null());
        command
    }

    /// Runs `noctune` to its end.
    pub(crate) fn run(&self, arguments: &[&str]) -> Run {
        let output = self.command(arguments).output().unwrap();
        Run {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Starts `noctune` with its output in files.
    pub(crate) fn spawn(&self, arguments: &[&str]) -> Child {
        let file = |name: &str| std::fs::File::create(self.path().join(name)).unwrap();
        self.command(arguments)
            .stdout(file("out"))
            .stderr(file("err"))
            .spawn()
            .unwrap()
    }

    /// The events in the output of what [`Bench::spawn`] started, so far.
    pub(crate) fn output(&self) -> Vec<Value> {
        events(&std::fs::read_to_string(self.path().join("out")).unwrap_or_default())
    }

    /// The error output of what [`Bench::spawn`] started, so far.
    pub(crate) fn errors(&self) -> String {
        std::fs::read_to_string(self.path().join("err")).unwrap_or_default()
    }

    /// Running programs of this folder's `bin/`.
    pub(crate) fn running(&self) -> Vec<i32> {
        let bin = self.bin();
        let Ok(entries) = std::fs::read_dir("/proc") else {
            return Vec::new();
        };
        entries
            .flatten()
            .filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok())
            .filter(|pid| {
                std::fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|exe| exe.starts_with(&bin))
            })
            .collect()
    }

    /// Whether nothing of this folder runs any more, at the latest after a while.
    pub(crate) fn is_quiet_within(&self, limit: Duration) -> bool {
        let end = Instant::now() + limit;
        while !self.running().is_empty() {
            if Instant::now() > end {
                return false;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        true
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        for pid in self.running() {
            if let Some(pid) = rustix::process::Pid::from_raw(pid) {
                let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
            }
        }
    }
}

impl Run {
    /// The events of `--json`.
    pub(crate) fn events(&self) -> Vec<Value> {
        events(&self.stdout)
    }

    /// Everything it printed.
    pub(crate) fn text(&self) -> String {
        format!("{}{}", self.stdout, self.stderr)
    }
}

/// Sends a signal to a child.
pub(crate) fn send(child: &Child, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    rustix::process::kill_process(pid, signal).unwrap();
}

/// The events of a `--json` output; a line that was cut off by a kill is left out.
pub(crate) fn events(text: &str) -> Vec<Value> {
    text.lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect()
}

/// The events of one kind.
pub(crate) fn of_kind<'a>(events: &'a [Value], kind: &'a str) -> impl Iterator<Item = &'a Value> {
    events.iter().filter(move |event| event["event"] == kind)
}

/// The program that is all fakes; Cargo builds it with the tests (`cargo build --examples` by hand).
fn fakes() -> PathBuf {
    let path = Path::new(env!("CARGO_BIN_EXE_noctune"))
        .parent()
        .unwrap()
        .join("examples/fakes");
    assert!(
        path.is_file(),
        "{} is missing: cargo build --examples",
        path.display()
    );
    path
}
