//! The template: the clean data directory from which every trial starts.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::data_dir::{TEMPLATE_MARKER, TRIAL_MARKER, create, make_read_only, must_be_ours, remove, tree};
use super::detect::ServerBinary;
use super::failure::recovered_from_crash;
use super::install::{copy_users_data, install};
use super::instance::{Instance, InstanceSpec};
use super::private_cnf::{Placement, private_cnf};
use super::socket_dir::SocketDir;
use super::strip::{refuse_unusable_tables, strip_files, strip_rows, take_over_accounts};
use super::user::ServerUser;
use crate::error::{Error, IoContext, Result};
use crate::host::{Guardian, boot_id};
use crate::space::Flavor;
use crate::units::Bytes;

/// What a template's data come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// An empty data directory.
    Empty,
    /// A copy of a user's data directory, which is only read; its server must have been shut down cleanly.
    UsersData(PathBuf),
}

/// How to make a template.
#[derive(Debug)]
pub struct TemplateSpec<'a> {
    /// The server that makes it and that trials run.
    pub server: &'a ServerBinary,
    /// Its folder; the data directory is `data` in it.
    pub folder: &'a Path,
    /// Stands for the contents (load, sizes, seed, geometry): a template with another key is made anew.
    pub key: &'a str,
    /// Where the data come from.
    pub source: Source,
    /// Settings for the making, as a my.cnf takes them: geometry (page size and so on) and what makes filling quick.
    pub settings: &'a BTreeMap<String, String>,
    /// The user of private servers.
    pub user: &'a ServerUser,
    /// Limit for each of installing, starting and shutting down.
    pub deadline: Duration,
}

/// The size of the redo log, for servers that have it so.
const REDO_SIZE: &str = "innodb_log_file_size";
/// A redo log of this size is quick to restore.
const SMALL_REDO: Bytes = Bytes::mib(16);

/// What the marker file of a template says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Marker {
    /// Version of this file's format.
    pub format: u32,
    /// Key of the contents.
    pub key: String,
    /// Whose server made it.
    pub flavor: Flavor,
    /// The server's version line; a data directory is one-way between versions.
    pub version: String,
    /// The server's build.
    pub build_id: String,
    /// Size of its files, bytes.
    pub size: u64,
}

/// A finished template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    /// Its data directory, read-only.
    pub data: PathBuf,
    /// What it says of itself.
    pub marker: Marker,
}

impl Template {
    /// A finished template with this key, made by this server; none where there is none.
    pub fn open(folder: &Path, server: &ServerBinary, key: &str) -> Option<Self> {
        let data = folder.join("data");
        let text = fs::read_to_string(data.join(TEMPLATE_MARKER)).ok()?;
        let marker: Marker = serde_json::from_str(&text).ok()?;
        (marker.format == 1 && marker.key == key && marker.build_id == server.build_id)
            .then_some(Self { data, marker })
    }

    /// Opens the template, or makes it: installs or copies, starts the server, lets `fill` load it over the socket, strips
    /// what belongs to production, shuts down cleanly, marks it and makes it read-only. What an interrupted making left is
    /// removed first.
    ///
    /// # Errors
    /// Host errors of the server and the file system, input errors about a user's data, errors of `fill`.
    pub async fn open_or_make(
        spec: &TemplateSpec<'_>,
        guardian: Option<&Guardian>,
        fill: impl AsyncFnOnce(&Path) -> Result<()>,
    ) -> Result<Self> {
        if let Some(template) = Self::open(spec.folder, spec.server, spec.key) {
            return Ok(template);
        }
        let data = spec.folder.join("data");
        must_be_ours(&data)?;
        let making = Making::begin(spec)?;
        match &spec.source {
            Source::Empty => install(spec, guardian, &making.data, &making.root, &making.tmp).await?,
            Source::UsersData(source) => copy_users_data(source, &making.data, spec).await?,
        }
        making.fill(spec, guardian, fill).await?;
        making.shrink_redo(spec, guardian).await?;
        strip_files(&making.data)?;
        let marker = making.mark(spec)?;
        remove(&data)?;
        fs::rename(&making.data, &data).context("cannot put the template in its place", &data)?;
        make_read_only(&data).context("cannot make the template read-only", &data)?;
        fs::remove_dir_all(&making.root).context("cannot remove the folder of the making", &making.root)?;
        Ok(Self { data, marker })
    }
}

/// A template in the making.
struct Making {
    root: PathBuf,
    data: PathBuf,
    tmp: PathBuf,
}

impl Making {
    fn begin(spec: &TemplateSpec<'_>) -> Result<Self> {
        let root = spec.folder.join("making");
        let making = Self {
            data: root.join("data"),
            tmp: root.join("tmp"),
            root,
        };
        remove(&making.data)?;
        for folder in [&making.root, &making.data, &making.tmp] {
            create(folder)?;
        }
        let marker = making.data.join(TRIAL_MARKER);
        fs::write(
            &marker,
            "A template in the making, by Noctune; it may be removed.\n",
        )
        .context("cannot mark the data directory", &marker)?;
        making.hand_over(spec)?;
        Ok(making)
    }

    /// Gives all of it to the server's user.
    fn hand_over(&self, spec: &TemplateSpec<'_>) -> Result<()> {
        match &spec.user.run_as {
            Some(user) => user
                .own_tree(&self.root)
                .context("cannot hand the folder to the server's user", &self.root),
            None => Ok(()),
        }
    }

    async fn fill(
        &self,
        spec: &TemplateSpec<'_>,
        guardian: Option<&Guardian>,
        fill: impl AsyncFnOnce(&Path) -> Result<()>,
    ) -> Result<()> {
        self.hand_over(spec)?;
        let users = matches!(spec.source, Source::UsersData(_));
        let mut instance = self.start(spec, spec.settings, guardian).await?;
        let filled = self.fill_running(&instance, users, spec, fill).await;
        if let Err(error) = filled {
            instance.kill().await?;
            return Err(error);
        }
        instance.shut_down(spec.deadline).await
    }

    /// Leaves a redo log that is quick to restore: it is empty, each trial makes its own in the size it wants, and what was
    /// large for filling would be written back at every reset.
    async fn shrink_redo(&self, spec: &TemplateSpec<'_>, guardian: Option<&Guardian>) -> Result<()> {
        let size = |value: &String| value.parse::<Bytes>().ok();
        if spec.settings.get(REDO_SIZE).and_then(size) <= Some(SMALL_REDO) {
            return Ok(());
        }
        let mut settings = spec.settings.clone();
        settings.insert(REDO_SIZE.to_owned(), SMALL_REDO.0.to_string());
        let instance = self.start(spec, &settings, guardian).await?;
        instance.shut_down(spec.deadline).await
    }

    async fn start(
        &self,
        spec: &TemplateSpec<'_>,
        settings: &BTreeMap<String, String>,
        guardian: Option<&Guardian>,
    ) -> Result<Instance> {
        let socket = SocketDir::new(spec.user.run_as.as_ref())?;
        let placement = Placement {
            data: self.data.clone(),
            tmp: self.tmp.clone(),
            socket: socket.socket(),
            port: None,
            user: spec.user.line.clone(),
            server_id: fresh_server_id(),
        };
        let mut settings = settings.clone();
        settings.entry("log_bin".into()).or_insert_with(|| "OFF".into());
        let mut cnf = private_cnf(spec.server.flavor, &placement, &[], &settings, |_| true)?.text;
        if matches!(spec.source, Source::UsersData(_)) {
            // Until the copy of the user's accounts has one of ours.
            cnf.push_str("skip_grant_tables = ON\n");
        }
        let instance = InstanceSpec {
            binary: spec.server.path.clone(),
            cnf,
            folder: self.root.clone(),
            socket,
            run_as: spec.user.run_as.clone(),
            args: Vec::new(),
            cgroups: Vec::new(),
        };
        Instance::start(instance, guardian, spec.deadline)
            .await
            .map_err(|error| {
                Error::host(format!("the template's server failed: {error}"))
                    .at(self.root.join(super::LOG_NAME).display().to_string())
                    .next("read that log; `noctune doctor` tells what this host can do")
            })
    }

    async fn fill_running(
        &self,
        instance: &Instance,
        users: bool,
        spec: &TemplateSpec<'_>,
        fill: impl AsyncFnOnce(&Path) -> Result<()>,
    ) -> Result<()> {
        if users && recovered_from_crash(&instance.log()) {
            return Err(Error::input("the data directory was not shut down cleanly")
                .next("shut its server down with innodb_fast_shutdown=0 and try again"));
        }
        let failed =
            |error: super::ClientError| Error::host(format!("the template's server failed: {error}"));
        let mut client = instance.client(spec.deadline).await.map_err(failed)?;
        if users {
            take_over_accounts(&mut client, spec.server.flavor)
                .await
                .map_err(failed)?;
            refuse_unusable_tables(&mut client).await?;
        }
        fill(&instance.socket()).await?;
        strip_rows(&mut client).await.map_err(|error| {
            Error::host(format!(
                "the template cannot be cleared of what is production's: {error}"
            ))
            .at(self.root.join(super::LOG_NAME).display().to_string())
            .next("run that statement on the server the data come from, and read what it says")
        })?;
        client.close().await;
        Ok(())
    }

    fn mark(&self, spec: &TemplateSpec<'_>) -> Result<Marker> {
        let tree = tree(&self.data).context("cannot read the template", &self.data)?;
        let marker = Marker {
            format: 1,
            key: spec.key.to_owned(),
            flavor: spec.server.flavor,
            version: spec.server.banner.clone(),
            build_id: spec.server.build_id.clone(),
            size: tree.files.iter().map(|(_, size)| size).sum(),
        };
        let text =
            serde_json::to_string_pretty(&marker).map_err(|error| Error::internal(error.to_string()))?;
        let file = self.data.join(TEMPLATE_MARKER);
        fs::write(&file, text).context("cannot mark the template", &file)?;
        let old = self.data.join(TRIAL_MARKER);
        fs::remove_file(&old).context("cannot mark the template", &old)?;
        Ok(marker)
    }
}

/// A server id that production has hardly taken.
pub fn fresh_server_id() -> u32 {
    let mut bytes = [0; 4];
    let now = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap_or_default();
    let digest = Sha256::digest(format!("{} {} {}", boot_id(), std::process::id(), now.as_nanos()));
    bytes.copy_from_slice(&digest[..4]);
    (u32::from_le_bytes(bytes) >> 1) | 1 << 24
}
