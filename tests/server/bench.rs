//! What the tests share: a template made once, and a private server from it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use noctune::host::Guardian;
use noctune::server::{
    Backend, Client, Instance, InstanceSpec, Placement, ServerBinary, ServerUser, SocketDir, Source,
    StartFailure, Template, TemplateSpec, fresh_server_id, private_cnf, reset,
};

use crate::skip::skip;

pub(crate) const DEADLINE: Duration = Duration::from_secs(60);

pub(crate) struct Bench {
    pub(crate) scratch: tempfile::TempDir,
    pub(crate) server: ServerBinary,
    pub(crate) template: Template,
    pub(crate) user: ServerUser,
}

/// A program of PATH or /usr/sbin.
pub(crate) fn found(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(["/usr/sbin".into()])
        .map(|folder| folder.join(program))
        .find(|file| file.is_file())
}

/// None where this host has no server.
pub(crate) async fn bench() -> Option<Bench> {
    static ONE_AT_A_TIME: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());
    let Ok(server) = ServerBinary::find("mariadbd").await else {
        skip("no mariadbd on PATH");
        return None;
    };
    let _turn = ONE_AT_A_TIME.lock().await;
    let target = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let folder = target.join("server-template");
    std::fs::create_dir_all(&folder).unwrap();
    let user = ServerUser::choose(&folder);
    let settings = BTreeMap::new();
    let spec = TemplateSpec {
        server: &server,
        folder: &folder,
        key: "one small table",
        source: Source::Empty,
        settings: &settings,
        user: &user,
        deadline: DEADLINE,
    };
    let template = Template::open_or_make(&spec, None, async |socket| {
        let mut client = Client::connect(socket, DEADLINE).await.unwrap();
        client.run("CREATE DATABASE shop").await.unwrap();
        client
            .run("CREATE TABLE shop.item (id INT PRIMARY KEY, n INT) ENGINE=InnoDB")
            .await
            .unwrap();
        client
            .run("INSERT INTO shop.item SELECT seq, seq FROM shop.seq_1_to_5000")
            .await
            .unwrap();
        client
            .run("CREATE EVENT shop.nightly ON SCHEDULE EVERY 1 DAY DO DELETE FROM shop.item")
            .await
            .unwrap();
        client.close().await;
        Ok(())
    })
    .await
    .unwrap();
    let scratch = tempfile::tempdir_in(target).unwrap();
    std::fs::set_permissions(
        scratch.path(),
        std::os::unix::fs::PermissionsExt::from_mode(0o755),
    )
    .unwrap();
    Some(Bench {
        scratch,
        server,
        template,
        user,
    })
}

/// A template is made with nothing but the server's defaults.
static DEFAULTS: BTreeMap<String, String> = BTreeMap::new();

impl Bench {
    /// A template in `folder` by this server and its user.
    pub(crate) fn template_spec<'a>(
        &'a self,
        folder: &'a Path,
        key: &'a str,
        source: Source,
    ) -> TemplateSpec<'a> {
        TemplateSpec {
            server: &self.server,
            folder,
            key,
            source,
            settings: &DEFAULTS,
            user: &self.user,
            deadline: DEADLINE,
        }
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.scratch.path().join("data")
    }

    pub(crate) fn reset(&self, backend: Option<Backend>) {
        reset(
            &self.template.data,
            &self.data(),
            backend,
            self.user.run_as.as_ref(),
        )
        .unwrap();
    }

    pub(crate) fn spec(&self, settings: &[(&str, &str)]) -> InstanceSpec {
        let folder = self.scratch.path().to_owned();
        let tmp = folder.join("tmp");
        std::fs::create_dir_all(&tmp).unwrap();
        if let Some(user) = &self.user.run_as {
            user.own(&tmp).unwrap();
        }
        let socket = SocketDir::new(self.user.run_as.as_ref()).unwrap();
        let placement = Placement {
            data: self.data(),
            tmp,
            socket: socket.socket(),
            port: None,
            user: self.user.line.clone(),
            server_id: fresh_server_id(),
        };
        let settings = settings
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        InstanceSpec {
            binary: self.server.path.clone(),
            cnf: private_cnf(self.server.flavor, &placement, &[], &settings, |_| true)
                .unwrap()
                .text,
            folder,
            socket,
            run_as: self.user.run_as.clone(),
            args: Vec::new(),
            cgroups: Vec::new(),
        }
    }

    pub(crate) async fn start(
        &self,
        settings: &[(&str, &str)],
        guardian: Option<&Guardian>,
    ) -> Result<Instance, StartFailure> {
        Instance::start(self.spec(settings), guardian, DEADLINE).await
    }
}
