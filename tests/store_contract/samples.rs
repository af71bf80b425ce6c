//! Things to store.

use std::collections::BTreeMap;
use std::time::Duration;

use noctune::plan::{Job, Length, Purpose};
use noctune::space::Configuration;
use noctune::stats::Estimate;
use noctune::store::{Claim, Claimed, Store, StudyRecord, WorkerId};
use noctune::trial::{
    Cause, CauseKind, EndOfMeasuring, Measurement, Outcome, Phase, PhaseTime, Series, TrialRecord, Warning,
    WriteDebt,
};
use noctune::units::UtcMillis;

pub(crate) const STUDY: &str = "oltp \"night\"; --";
pub(crate) const HOUR: Duration = Duration::from_secs(3600);
/// A lease that has ended as soon as it begins.
pub(crate) const ENDED: Duration = Duration::ZERO;

pub(crate) fn study(name: &str) -> StudyRecord {
    StudyRecord {
        name: name.to_owned(),
        created: UtcMillis(1_711_846_770_000),
        seed: u64::MAX - 1,
        file: "format = 1\n".to_owned(),
        identity: vec![
            ("space".to_owned(), "ab12".to_owned()),
            ("workload".to_owned(), "cd34".to_owned()),
        ],
        frozen: serde_json::json!({"ram": 17_179_869_184u64, "share": 0.1 + 0.2, "none": null}),
    }
}

pub(crate) fn worker(pid: u32) -> WorkerId {
    WorkerId {
        host: format!("host{pid}"),
        boot: "6f9c".to_owned(),
        pid,
        started: u64::from(pid) * 100,
    }
}

pub(crate) fn job(pool: i64) -> Job {
    let mut configuration = Configuration::new();
    configuration.set("innodb_buffer_pool_size", pool);
    configuration.set("innodb_flush_neighbors", false);
    configuration.set("ratio", 1.0);
    configuration.set("innodb_flush_method", "O_DIRECT");
    Job {
        purpose: Purpose::Repeat { of: 3 },
        configuration,
        length: Length {
            warmup_cap: 60.0,
            measure_min: 20.5,
            measure_max: 0.1 + 0.2,
        },
        why: "bigger is better — perhaps".to_owned(),
        model: Some(serde_json::json!({"lengths": [0.1, 1e-300, 12_345_678.9]})),
        host: Some("host1".to_owned()),
        forgives: 0,
    }
}

/// A measured trial with every part filled, whose numbers do not survive careless printing.
pub(crate) fn measured(tps: f64) -> TrialRecord {
    let estimate = Estimate {
        value: tps,
        standard_error: Some(std::f64::consts::PI * 1e-5),
    };
    let unknown = Estimate {
        value: 5e-324,
        standard_error: None,
    };
    let counters = [
        ("Innodb_data_fsyncs", 9_007_199_254_740_993.0),
        ("cpu", 0.1 + 0.2),
    ];
    TrialRecord {
        outcome: Outcome::Measured(Box::new(Measurement {
            metrics: BTreeMap::from([("tps".to_owned(), estimate), ("p95_ms".to_owned(), unknown)]),
            window_seconds: 30.000_000_000_000_004,
            warmup_seconds: 12.25,
            steady: true,
            ended: EndOfMeasuring::Precise,
            debt: Some(WriteDebt {
                growth_bytes: 1e9 / 3.0,
                flush_bytes_per_second: 1e7,
                seconds: 100.0 / 3.0,
            }),
            counters: counters.map(|(name, value)| (name.to_owned(), value)).into(),
        })),
        effective: Some(job(134_217_728).configuration),
        began: UtcMillis(1_711_846_770_123),
        seconds: 45.1,
        phases: Phase::ALL
            .iter()
            .map(|phase| PhaseTime {
                phase: *phase,
                began: UtcMillis(1_711_846_770_123),
                seconds: 1.0 / 3.0,
            })
            .collect(),
        series: vec![
            Series {
                name: "tps".to_owned(),
                at: vec![1.0, 2.000_1, 3.0],
                values: vec![Some(800.1), None, Some(1e-310)],
            },
            Series {
                name: "empty".to_owned(),
                at: vec![],
                values: vec![],
            },
        ],
        warnings: vec![
            Warning {
                text: "the disk was busy".to_owned(),
                next: Some("stop the backup".to_owned()),
            },
            Warning {
                text: "swap".to_owned(),
                next: None,
            },
        ],
    }
}

pub(crate) fn refused() -> TrialRecord {
    TrialRecord {
        outcome: Outcome::ServerRefused {
            cause: Cause::new(CauseKind::BadValue, "[ERROR] no"),
        },
        effective: None,
        phases: vec![],
        series: vec![],
        warnings: vec![],
        ..measured(1.0)
    }
}

/// Claims a new job, whatever the facts are.
pub(crate) async fn claim(store: &dyn Store, job: &Job, worker: &WorkerId, lease: Duration) -> Claim {
    loop {
        let (_, version) = store.facts(STUDY).await.unwrap();
        if let Claimed::Yes(claim) = store.claim(STUDY, version, job, worker, lease).await.unwrap() {
            return claim;
        }
    }
}
