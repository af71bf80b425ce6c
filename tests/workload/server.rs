//! A private mariadbd on a fresh data directory, killed when dropped.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use noctune::workload::Endpoint;

use crate::skip::skip;

pub(crate) struct Server {
    child: Child,
    folder: tempfile::TempDir,
}

fn found(program: &str) -> Option<PathBuf> {
    let path = std::env::var("PATH").unwrap_or_default();
    path.split(':')
        .chain(["/usr/sbin"])
        .map(|folder| Path::new(folder).join(program))
        .find(|file| file.is_file())
}

impl Server {
    /// A server that answers; none, with the reason printed, where this host has no mariadbd or no sysbench.
    pub(crate) fn start() -> Option<Self> {
        let (Some(mariadbd), Some(install), Some(_)) =
            (found("mariadbd"), found("mariadb-install-db"), found("sysbench"))
        else {
            skip("mariadbd, mariadb-install-db or sysbench is not installed");
            return None;
        };
        let folder = tempfile::Builder::new()
            .prefix("noctune-load")
            .tempdir_in("/tmp")
            .unwrap();
        let data = folder.path().join("data");
        // Its own, since bootstraps at the same time take each other's temporary tables away.
        let temporary = folder.path().join("tmp");
        std::fs::create_dir(&temporary).unwrap();
        let user = std::env::var("USER").unwrap_or_else(|_| "root".to_owned());
        let made = Command::new(install)
            .args([
                "--no-defaults",
                "--auth-root-authentication-method=normal",
                "--skip-test-db",
            ])
            .arg(format!("--user={user}"))
            .arg(format!("--datadir={}", data.display()))
            .arg(format!("--tmpdir={}", temporary.display()))
            .output()
            .unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let log = std::fs::File::create(folder.path().join("server.log")).unwrap();
        let child = Command::new(mariadbd)
            .args([
                "--no-defaults",
                "--skip-networking",
                "--innodb-flush-log-at-trx-commit=2",
            ])
            .arg(format!("--user={user}"))
            .arg(format!("--datadir={}", data.display()))
            .arg(format!("--tmpdir={}", temporary.display()))
            .arg(format!("--socket={}", folder.path().join("s.sock").display()))
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .unwrap();
        let server = Self { child, folder };
        let until = Instant::now() + Duration::from_secs(60);
        while std::os::unix::net::UnixStream::connect(server.endpoint().socket).is_err() {
            assert!(Instant::now() < until, "the server does not answer");
            std::thread::sleep(Duration::from_millis(50));
        }
        Some(server)
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn endpoint(&self) -> Endpoint {
        Endpoint {
            socket: self.folder.path().join("s.sock"),
            port: None,
            user: "root".to_owned(),
            password: None,
            database: "sbtest".to_owned(),
        }
    }

    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have been killed by the test already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
