//! The server binary: where it is, what it is, and what installs a data directory for it.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::error::{Error, IoContext, Result};
use crate::host::{Output, Spawn};
use crate::space::Flavor;

/// A version; ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Version {
    /// First number.
    pub major: u32,
    /// Second number.
    pub minor: u32,
    /// Third number.
    pub patch: u32,
}

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

/// A server binary that answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerBinary {
    /// Full path.
    pub path: PathBuf,
    /// Whose.
    pub flavor: Flavor,
    /// Its version.
    pub version: Version,
    /// The line it printed for `--version`, without the path.
    pub banner: String,
    /// Changes when the file or its version does (SHA-256 of path, size, time of change and version line).
    pub build_id: String,
}

/// What `--version` printed.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Banner {
    flavor: Flavor,
    version: Version,
    line: String,
}

impl Banner {
    /// Reads a line such as `/usr/sbin/mariadbd  Ver 10.11.6-MariaDB-0 for debian-linux-gnu on x86_64`.
    fn parse(output: &str) -> Option<Self> {
        let (_, rest) = output.lines().find_map(|line| line.split_once(" Ver "))?;
        let line = rest.trim();
        let numbers = line.split(|c: char| !c.is_ascii_digit() && c != '.').next()?;
        let mut parts = numbers.split('.').map(str::parse::<u32>);
        let mut next = || parts.next()?.ok();
        let version = Version {
            major: next()?,
            minor: next()?,
            patch: next().unwrap_or(0),
        };
        let flavor = if line.contains("MariaDB") {
            Flavor::MariaDb
        } else {
            Flavor::MySql
        };
        Some(Self {
            flavor,
            version,
            line: line.to_owned(),
        })
    }
}

impl ServerBinary {
    /// Finds a server by path, or by name on `PATH` and in the usual folders of daemons, and asks for its version.
    ///
    /// # Errors
    /// Host errors: missing, not executable, no answer, an answer that is no version.
    pub async fn find(wanted: &str) -> Result<Self> {
        let path = locate(wanted)?;
        let banner = ask_version(&path).await?;
        let meta = path
            .metadata()
            .context("cannot look at the server binary", &path)?;
        let mut hash = Sha256::new();
        hash.update(path.as_os_str().as_encoded_bytes());
        hash.update(meta.size().to_le_bytes());
        hash.update(meta.mtime().to_le_bytes());
        hash.update(banner.line.as_bytes());
        let build_id = hash
            .finalize()
            .iter()
            .take(16)
            .map(|byte| format!("{byte:02x}"))
            .collect();
        Ok(Self {
            path,
            flavor: banner.flavor,
            version: banner.version,
            banner: banner.line,
            build_id,
        })
    }

    /// The program that makes an empty data directory: MariaDB's script beside the server or on `PATH`; none for MySQL,
    /// whose server does it itself (`--initialize-insecure`).
    ///
    /// # Errors
    /// A host error when MariaDB's script is missing.
    pub fn install_tool(&self) -> Result<Option<PathBuf>> {
        if self.flavor == Flavor::MySql {
            return Ok(None);
        }
        let prefix = self.path.parent().and_then(Path::parent);
        for name in ["mariadb-install-db", "mysql_install_db"] {
            let beside = self
                .path
                .parent()
                .map(|folder| folder.join(name))
                .into_iter()
                .chain(
                    ["bin", "scripts"]
                        .into_iter()
                        .filter_map(|folder| Some(prefix?.join(folder).join(name))),
                )
                .find(|path| path.is_file());
            if let Some(path) = beside.or_else(|| on_path(name)) {
                return Ok(Some(path));
            }
        }
        Err(
            Error::host("mariadb-install-db is missing, which makes an empty data directory")
                .at(self.path.display().to_string())
                .next("install the package mariadb-server-core (Debian, Ubuntu) or mariadb-server (others)"),
        )
    }
}

/// Folders searched after `PATH`: daemons are rarely on a user's.
const DAEMON_FOLDERS: [&str; 4] = [
    "/usr/sbin",
    "/usr/local/sbin",
    "/usr/libexec",
    "/usr/local/mysql/bin",
];

fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(DAEMON_FOLDERS.map(PathBuf::from))
        .map(|folder| folder.join(name))
        .find(|file| file.is_file())
}

fn locate(wanted: &str) -> Result<PathBuf> {
    let how =
        "install mariadb-server-core (Debian, Ubuntu) or mariadb-server (others), or set [server] binary";
    let path = if wanted.contains('/') {
        PathBuf::from(wanted)
    } else {
        on_path(wanted)
            .ok_or_else(|| Error::host(format!("no server binary \"{wanted}\" on PATH")).next(how))?
    };
    let meta = std::fs::metadata(&path).map_err(|error| {
        Error::host(format!("no server binary: {error}"))
            .at(path.display().to_string())
            .next(how)
    })?;
    if !meta.is_file() || meta.permissions().mode() & 0o111 == 0 {
        return Err(Error::host("the server binary is not an executable file")
            .at(path.display().to_string())
            .next("set [server] binary to mariadbd or mysqld itself, or chmod +x it"));
    }
    std::path::absolute(&path).context("cannot resolve the path of the server binary", &path)
}

async fn ask_version(path: &Path) -> Result<Banner> {
    let fault = |what: String| {
        Error::host(what)
            .at(path.display().to_string())
            .next("set [server] binary to mariadbd or mysqld itself")
    };
    let mut child = Spawn::new(path)
        .arg("--no-defaults")
        .arg("--version")
        .stdout(Output::Pipe)
        .start()
        .map_err(|error| fault(format!("the server binary cannot be run: {error}")))?;
    let output = child.take_stdout();
    let exit = child
        .wait(Duration::from_secs(20))
        .await
        .map_err(|error| fault(error.to_string()))?;
    if exit.is_none() {
        return Err(fault(
            "the server binary does not answer --version within 20 s".to_owned(),
        ));
    }
    let mut text = String::new();
    if let Some(mut output) = output {
        // A version line is far below the size of a pipe, so it is complete when the child ended.
        std::io::Read::read_to_string(&mut output, &mut text)
            .map_err(|error| fault(format!("the answer to --version cannot be read: {error}")))?;
    }
    Banner::parse(&text).ok_or_else(|| fault(format!("the answer to --version is none: \"{}\"", text.trim())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_both_families_are_read() {
        let maria = Banner::parse(
            "/usr/sbin/mariadbd  Ver 10.11.6-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64 (Debian 12)\n",
        )
        .unwrap();
        assert_eq!(maria.flavor, Flavor::MariaDb);
        assert_eq!(maria.version.to_string(), "10.11.6");
        let mysql =
            Banner::parse("mysqld  Ver 8.0.36 for Linux on x86_64 (MySQL Community Server - GPL)\n").unwrap();
        assert_eq!((mysql.flavor, mysql.version.major), (Flavor::MySql, 8));
        assert_eq!(Banner::parse("bash, version 5"), None);
    }

    #[tokio::test]
    async fn a_missing_binary_is_a_host_error_that_says_what_to_install() {
        let error = ServerBinary::find("no-such-mariadbd").await.unwrap_err();
        assert_eq!(error.exit_code(), 3);
        assert!(error.to_string().contains("mariadb-server-core"), "{error}");
    }

    #[tokio::test]
    async fn a_binary_that_is_not_executable_is_a_host_error() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let error = ServerBinary::find(file.path().to_str().unwrap())
            .await
            .unwrap_err();
        assert_eq!(error.exit_code(), 3);
        assert!(error.to_string().contains("chmod"), "{error}");
    }

    #[tokio::test]
    async fn a_program_that_is_no_server_is_a_host_error() {
        let error = ServerBinary::find("/bin/true").await.unwrap_err();
        assert!(error.to_string().contains("--version"), "{error}");
    }
}
