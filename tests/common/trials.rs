//! A runner of trials with short limits on a server and a load of the test's choice: outcomes of what hangs, in seconds.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use noctune::host::Guardian;
use noctune::night::{Events, RunTrial as _, TrialOrder};
use noctune::plan::{Job, Length, Purpose};
use noctune::runner::{CacheDrop, Deadlines, TrialRunner};
use noctune::server::{ServerBinary, ServerUser, Source, Template, TemplateSpec, server_facts};
use noctune::space::{DurabilityRule, MachineClass, ResolveInputs, embedded, resolve};
use noctune::trial::{Phase, TrialRecord};
use noctune::units::Bytes;
use noctune::workload::sysbench::Sysbench;
use noctune::workload::{Endpoint, Workload as _};
use tokio_util::sync::CancellationToken;

/// Limits that a healthy trial of a second keeps with ease.
pub(crate) fn short() -> Deadlines {
    let seconds = Duration::from_secs;
    Deadlines {
        start: seconds(20),
        verify: seconds(10),
        warm_up: seconds(8),
        measure: seconds(20),
        answer: seconds(2),
        silence: seconds(2),
        load_hung: seconds(4),
        dying: seconds(2),
        scan: seconds(2),
        load_end: seconds(3),
        plateau: seconds(2),
        ..Deadlines::default()
    }
}

/// Trials of one study, in a folder.
pub(crate) struct Trials {
    pub(crate) runner: TrialRunner,
    folder: PathBuf,
    number: u64,
}

impl Trials {
    /// A runner on `binary`, loaded by `sysbench` with two threads on one small table. `folder` can be gone into by everybody.
    pub(crate) async fn new(binary: &Path, sysbench: &str, folder: &Path) -> Self {
        let binary = ServerBinary::find(&binary.display().to_string()).await.unwrap();
        let options = [("tables", "1"), ("table-size", "1000")].map(|(k, v)| (k.to_owned(), v.to_owned()));
        let workload = Sysbench::new("oltp_read_write", 2, options)
            .unwrap()
            .with_program(sysbench);
        let supervisor = [
            OsString::from(env!("CARGO_BIN_EXE_noctune")),
            OsString::from("supervise"),
        ];
        let guardian = Guardian::start(&supervisor, &folder.join("running.json")).unwrap();
        let facts = server_facts(&binary, folder, Some(&guardian)).await.unwrap();
        let class = MachineClass {
            name: "probe".to_owned(),
            cores: 2,
            ram: Bytes::mib(2048),
            disk_free: Bytes::mib(4096),
            ..MachineClass::default()
        };
        let space = resolve(ResolveInputs {
            files: &embedded::families(&["io"]).unwrap(),
            knobs: &BTreeMap::new(),
            constraints: &[],
            study_file: "study.toml",
            class: Some(&class),
            server: Some(&facts),
            baseline: &facts
                .variables
                .iter()
                .map(|(name, facts)| (name.clone(), facts.value.clone()))
                .collect(),
            durability: DurabilityRule::Keep,
            allow: &[],
        })
        .unwrap()
        .space;
        let user = ServerUser::choose(folder);
        let template = folder.join("template");
        std::fs::create_dir(&template).unwrap();
        // Small: some tests have little room.
        let settings = BTreeMap::from([("innodb_log_file_size".to_owned(), "16M".to_owned())]);
        let spec = TemplateSpec {
            server: &binary,
            folder: &template,
            key: "trials",
            source: Source::Empty,
            settings: &settings,
            user: &user,
            deadline: Duration::from_secs(120),
        };
        let template = Template::open_or_make(&spec, Some(&guardian), async |socket: &Path| {
            let endpoint = Endpoint {
                socket: socket.to_owned(),
                port: None,
                user: "root".to_owned(),
                password: None,
                database: "noctune".to_owned(),
            };
            workload
                .prepare(&endpoint, folder, &CancellationToken::new())
                .await
        })
        .await
        .unwrap();
        let runner = TrialRunner {
            binary,
            facts,
            args: vec!["--innodb-log-file-size=16M".to_owned()],
            space,
            tuned: std::collections::BTreeSet::new(),
            baseline: Vec::new(),
            // None of these trials is the last of a study.
            handed_over: Box::new(|_| Ok("[mysqld]\n".to_owned())),
            template: template.data,
            data: folder.join("data"),
            user,
            guardian,
            reset: None,
            caches: CacheDrop::Nothing,
            limits: None,
            crash_recovery: false,
            workload: Box::new(workload),
            told: std::cell::RefCell::default(),
            load_seed: 1,
            deadlines: short(),
        };
        Self {
            runner,
            folder: folder.to_owned(),
            number: 0,
        }
    }

    /// Runs a trial of the server's defaults that warms up and measures for so many seconds, while `meanwhile` looks at its
    /// folder.
    pub(crate) async fn run_while(
        &mut self,
        seconds: f64,
        meanwhile: impl AsyncFnOnce(&Path),
    ) -> TrialRecord {
        self.number += 1;
        let folder = self.folder.join(format!("trial-{}", self.number));
        std::fs::create_dir(&folder).unwrap();
        let order = TrialOrder {
            number: self.number,
            job: Job {
                purpose: Purpose::Baseline,
                configuration: self.runner.space.default_configuration(),
                length: Length {
                    warmup_cap: seconds,
                    measure_min: seconds,
                    measure_max: seconds,
                },
                why: String::new(),
                model: None,
                host: None,
                forgives: 0,
            },
            folder: folder.clone(),
        };
        let (events, stop) = (Events::default(), CancellationToken::new());
        let (record, ()) = tokio::join!(self.runner.run(&order, &events, &stop), meanwhile(&folder));
        assert!(!folder.join("tmp").exists(), "temporary files were left");
        record.unwrap()
    }

    /// Runs a trial of a second or two.
    pub(crate) async fn run(&mut self) -> TrialRecord {
        self.run_while(1.0, async |_| ()).await
    }
}

/// The last phase of a trial before it was stopped.
pub(crate) fn last_phase(record: &TrialRecord) -> Phase {
    record
        .phases
        .iter()
        .map(|time| time.phase)
        .rfind(|phase| *phase != Phase::Stop)
        .unwrap()
}
