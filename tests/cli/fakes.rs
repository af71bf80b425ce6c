//! The fakes are taken for real ones by the parts of Noctune that deal with a server and a load.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use noctune::server::{
    Instance, InstanceSpec, ServerBinary, ServerUser, SocketDir, Source, StartFailure, Template, TemplateSpec,
};
use noctune::workload::sysbench::Sysbench;
use noctune::workload::{Endpoint, Workload};
use tokio_util::sync::CancellationToken;

use crate::bench::Bench;

fn server(bench: &Bench) -> Child {
    let data = bench.path().join("data");
    let installed = Command::new(bench.bin().join("mariadb-install-db"))
        .arg("--no-defaults")
        .arg(format!("--datadir={}", data.display()))
        .stdout(Stdio::null())
        .status()
        .unwrap();
    assert!(installed.success());
    let socket = bench.path().join("s");
    let child = Command::new(bench.bin().join("mariadbd"))
        .arg("--no-defaults")
        .arg(format!("--datadir={}", data.display()))
        .arg(format!("--socket={}", socket.display()))
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    while std::os::unix::net::UnixStream::connect(&socket).is_err() {
        std::thread::sleep(Duration::from_millis(5));
    }
    child
}

#[tokio::test]
async fn a_load_fills_its_tables_runs_at_the_rate_of_the_world_and_adds_up() {
    let bench = Bench::new("[load]\ntps = \"300\"\nlatency_ms = \"5\"");
    let mut server = server(&bench);
    let endpoint = Endpoint {
        socket: bench.path().join("s"),
        port: None,
        user: "root".to_owned(),
        password: None,
        database: "sbtest".to_owned(),
    };
    let options = [("tables", "2"), ("table-size", "1234")].map(|(k, v)| (k.to_owned(), v.to_owned()));
    let load = Sysbench::new("oltp_read_write", 3, options)
        .unwrap()
        .with_program(bench.bin().join("sysbench").display().to_string());
    load.preflight().await.unwrap();
    load.prepare(&endpoint, bench.path(), &CancellationToken::new())
        .await
        .unwrap();
    let mut run = load
        .start(&endpoint, bench.path(), Duration::from_secs(60), 1)
        .await
        .unwrap();
    for _ in 0..2 {
        run.next_second().await.unwrap().unwrap();
    }
    let window = run.window(0, 2);
    let tps = window.transactions as f64 / window.seconds;
    assert!((250.0..=330.0).contains(&tps), "{tps}");
    let median = window.histogram.unwrap().quantile_ms(0.5).unwrap();
    assert!((median - 5.0).abs() < 0.1, "{median}");
    run.stop(Duration::from_secs(5)).await.unwrap();
    server.kill().unwrap();
    server.wait().unwrap();
}

#[tokio::test]
async fn a_template_is_made_filled_and_shut_down_and_a_bad_value_is_refused_with_its_cause() {
    let bench = Bench::new("");
    let binary = ServerBinary::find(&bench.bin().join("mariadbd").display().to_string())
        .await
        .unwrap();
    let folder = bench.path().join("template");
    std::fs::create_dir(&folder).unwrap();
    let user = ServerUser::choose(&folder);
    let spec = TemplateSpec {
        server: &binary,
        folder: &folder,
        key: "k",
        source: Source::Empty,
        settings: &BTreeMap::new(),
        user: &user,
        deadline: Duration::from_secs(20),
    };
    let template = Template::open_or_make(&spec, None, async |socket: &Path| {
        assert!(socket.exists());
        Ok(())
    })
    .await
    .unwrap();
    assert!(template.data.join("ibdata1").is_file());

    let socket = SocketDir::new(None).unwrap();
    let trial = bench.path().join("trial");
    std::fs::create_dir(&trial).unwrap();
    let cnf = format!(
        "[mysqld]\ndatadir = {}\nsocket = {}\ninnodb_flush_method = O_DIRECTLY\n",
        template.data.display(),
        socket.socket().display()
    );
    let instance = InstanceSpec {
        binary: binary.path.clone(),
        cnf,
        folder: trial,
        socket,
        run_as: None,
        args: Vec::new(),
        cgroups: Vec::new(),
    };
    let failure = Instance::start(instance, None, Duration::from_secs(20))
        .await
        .unwrap_err();
    let StartFailure::Ended { exit, log, .. } = failure else {
        panic!("{failure}")
    };
    assert_eq!(exit.code, Some(1));
    assert!(log.contains("innodb-flush-method"), "{log}");
}
