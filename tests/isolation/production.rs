//! A production server's data directory and my.cnf, full of what must not come along.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use noctune::server::{
    Client, Instance, InstanceSpec, Placement, ServerBinary, ServerUser, SocketDir, Source, Template,
    TemplateSpec, fresh_server_id, private_cnf, reset,
};

const DEADLINE: Duration = Duration::from_secs(120);

/// What production has.
pub(crate) struct Production {
    /// The study file that names it.
    pub(crate) study: PathBuf,
    /// Where its my.cnf points; empty.
    pub(crate) foreign: PathBuf,
    /// Its files before the trial: size and time of the last change.
    pub(crate) before: BTreeMap<PathBuf, (u64, SystemTime)>,
    data: PathBuf,
}

impl Production {
    /// Its files now.
    pub(crate) fn contents(&self) -> BTreeMap<PathBuf, (u64, SystemTime)> {
        contents(&self.data)
    }
}

fn contents(folder: &Path) -> BTreeMap<PathBuf, (u64, SystemTime)> {
    let mut all = BTreeMap::new();
    let mut todo = vec![folder.to_owned()];
    while let Some(folder) = todo.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            let meta = entry.metadata().unwrap();
            if meta.is_dir() {
                todo.push(entry.path());
            } else {
                all.insert(entry.path(), (meta.len(), meta.modified().unwrap()));
            }
        }
    }
    all
}

/// A folder that the server's user can go into.
pub(crate) fn scratch() -> tempfile::TempDir {
    let scratch = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(scratch.path(), open).unwrap();
    scratch
}

/// Makes a data directory with an enabled event, files of a replica, and a my.cnf and a study that name it.
pub(crate) async fn make(scratch: &Path) -> Production {
    let server = ServerBinary::find("mariadbd").await.unwrap();
    let user = ServerUser::choose(scratch);
    let folder = scratch.join("primary");
    std::fs::create_dir(&folder).unwrap();
    let settings = BTreeMap::from([("innodb_log_file_size".to_owned(), "16M".to_owned())]);
    let spec = TemplateSpec {
        server: &server,
        folder: &folder,
        key: "production",
        source: Source::Empty,
        settings: &settings,
        user: &user,
        deadline: DEADLINE,
    };
    let made = Template::open_or_make(&spec, None, async |socket| {
        let mut client = Client::connect(socket, DEADLINE).await.unwrap();
        for statement in [
            "CREATE DATABASE shop",
            "CREATE TABLE shop.item (id INT PRIMARY KEY AUTO_INCREMENT, at DATETIME) ENGINE=InnoDB",
            "CREATE EVENT shop.tick ON SCHEDULE EVERY 1 SECOND DO INSERT INTO shop.item (at) VALUES (NOW())",
            "INSERT INTO mysql.gtid_slave_pos VALUES (0, 1, 1, 1)",
        ] {
            client.run(statement).await.unwrap();
        }
        client.close().await;
        Ok(())
    })
    .await
    .unwrap();
    let data = scratch.join("production");
    reset(&made.data, &data, None, user.run_as.as_ref()).unwrap();
    // A template's events are disabled; production's run.
    enable_events(&server, &user, &data, scratch).await;
    for (name, text) in [
        (
            "auto.cnf",
            "[auto]\nserver-uuid=6f0c1d3e-0000-0000-0000-000000000001\n",
        ),
        (
            "master.info",
            "33\nprod-bin.000009\n4\n10.1.2.3\nrepl\nsecret\n3306\n60\n0\n\n\n\n\n\n0\n1800.000\n\n0\n",
        ),
        (
            "relay-log.info",
            "./prod-relay-bin.000001\n4\nprod-bin.000009\n4\n",
        ),
        ("prod-relay-bin.000001", "relay"),
        ("ib_buffer_pool", "0,1\n"),
    ] {
        std::fs::write(data.join(name), text).unwrap();
    }
    let foreign = scratch.join("foreign");
    std::fs::create_dir(&foreign).unwrap();
    // The server could write there, if it were told to.
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o777);
    std::fs::set_permissions(&foreign, open).unwrap();
    let cnf = include_str!("production.cnf").replace("@FOREIGN@", foreign.to_str().unwrap());
    std::fs::write(scratch.join("my.cnf"), cnf).unwrap();
    let study = scratch.join("study.toml");
    std::fs::write(&study, include_str!("study.toml")).unwrap();
    Production {
        study,
        foreign,
        before: contents(&data),
        data,
    }
}

async fn enable_events(server: &ServerBinary, user: &ServerUser, data: &Path, folder: &Path) {
    let socket = SocketDir::new(user.run_as.as_ref()).unwrap();
    let tmp = folder.join("tmp");
    std::fs::create_dir(&tmp).unwrap();
    if let Some(user) = &user.run_as {
        user.own(&tmp).unwrap();
    }
    let placement = Placement {
        data: data.to_owned(),
        tmp,
        socket: socket.socket(),
        port: None,
        user: user.line.clone(),
        server_id: fresh_server_id(),
    };
    let spec = InstanceSpec {
        binary: server.path.clone(),
        cnf: private_cnf(server.flavor, &placement, &[], &BTreeMap::new(), |_| true)
            .unwrap()
            .text,
        folder: folder.to_owned(),
        socket,
        run_as: user.run_as.clone(),
        args: Vec::new(),
        cgroups: Vec::new(),
    };
    let running = Instance::start(spec, None, DEADLINE).await.unwrap();
    let mut client = running.client(DEADLINE).await.unwrap();
    client.run("ALTER EVENT shop.tick ENABLE").await.unwrap();
    client.close().await;
    running.shut_down(DEADLINE).await.unwrap();
}
