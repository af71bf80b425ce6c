//! The stores agree on every sequence of operations.

use noctune::plan::Facts;
use noctune::store::{
    Claim, Claimed, Delivery, MemoryStore, OpenJob, Patience, SqliteStore, Store, StoreError, StudyRecord,
};
use noctune::trial::TrialRecord;
use noctune::units::UtcMillis;
use proptest::prelude::*;

use super::samples::{ENDED, HOUR, job, measured, refused, study, worker};

const STUDIES: [&str; 2] = ["a", "b"];

/// One operation; indices choose among what earlier operations left.
#[derive(Debug, Clone)]
enum Op {
    Create(usize),
    Update(usize, String),
    Claim {
        study: usize,
        pool: i64,
        stale: bool,
        ended: bool,
    },
    Reclaim {
        study: usize,
        open: prop::sample::Index,
        ended: bool,
        dead: bool,
    },
    /// With an open job as it was seen at some time before.
    ReclaimSeen {
        seen: prop::sample::Index,
        dead: bool,
    },
    Renew {
        claim: prop::sample::Index,
        ended: bool,
    },
    Deliver {
        claim: prop::sample::Index,
        tps: Option<f64>,
    },
    Event(usize, i64),
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let study = || 0..STUDIES.len();
    let index = any::<prop::sample::Index>;
    let op = prop_oneof![
        1 => study().prop_map(Op::Create),
        1 => (study(), "[a-z\\n\"']{0,8}").prop_map(|(study, file)| Op::Update(study, file)),
        5 => (study(), any::<i64>(), prop::bool::weighted(0.2), any::<bool>())
            .prop_map(|(study, pool, stale, ended)| Op::Claim { study, pool, stale, ended }),
        3 => (study(), index(), any::<bool>(), any::<bool>())
            .prop_map(|(study, open, ended, dead)| Op::Reclaim { study, open, ended, dead }),
        1 => (index(), any::<bool>()).prop_map(|(seen, dead)| Op::ReclaimSeen { seen, dead }),
        2 => (index(), any::<bool>()).prop_map(|(claim, ended)| Op::Renew { claim, ended }),
        5 => (index(), prop::option::of(any::<f64>())).prop_map(|(claim, tps)| Op::Deliver { claim, tps }),
        1 => (study(), any::<i64>()).prop_map(|(study, at)| Op::Event(study, at)),
    ];
    prop::collection::vec(op, 1..40)
}

/// What an operation answered; errors by their words.
#[derive(Debug, PartialEq)]
enum Answer {
    Done,
    Claimed(Claimed),
    Taken(Option<Claim>),
    Renewed(bool),
    Delivered(Delivery),
    Nothing,
    Failed(String),
}

fn answer<T>(result: Result<T, StoreError>, of: impl FnOnce(T) -> Answer) -> Answer {
    result.map_or_else(|error| Answer::Failed(error.to_string()), of)
}

/// What earlier operations left to choose from; the same for both stores, as long as they agree.
#[derive(Default)]
struct Left {
    claims: Vec<Claim>,
    seen: Vec<(usize, OpenJob)>,
}

async fn apply(store: &dyn Store, op: &Op, left: &Left) -> Answer {
    let lease = |ended: bool| if ended { ENDED } else { HOUR };
    match op {
        Op::Create(s) => answer(store.create(&study(STUDIES[*s])).await, |()| Answer::Done),
        Op::Update(s, file) => {
            let changed = StudyRecord {
                file: file.clone(),
                frozen: serde_json::json!({ "file": file }),
                ..study(STUDIES[*s])
            };
            answer(store.update(&changed).await, |()| Answer::Done)
        }
        Op::Claim {
            study,
            pool,
            stale,
            ended,
        } => {
            let version = match store.facts(STUDIES[*study]).await {
                Ok((_, version)) => version + u64::from(*stale),
                Err(error) => return Answer::Failed(error.to_string()),
            };
            let claimed = store
                .claim(STUDIES[*study], version, &job(*pool), &worker(1), lease(*ended))
                .await;
            answer(claimed, Answer::Claimed)
        }
        Op::Reclaim {
            study,
            open,
            ended,
            dead,
        } => {
            let name = STUDIES[*study];
            let jobs = match store.open_jobs(name).await {
                Ok(jobs) if jobs.is_empty() => return Answer::Nothing,
                Ok(jobs) => jobs,
                Err(error) => return Answer::Failed(error.to_string()),
            };
            let taken = store
                .reclaim(name, open.get(&jobs), &worker(2), lease(*ended), *dead)
                .await;
            answer(taken, Answer::Taken)
        }
        Op::ReclaimSeen { seen, dead } => {
            if left.seen.is_empty() {
                return Answer::Nothing;
            }
            let (study, open) = seen.get(&left.seen);
            let taken = store
                .reclaim(STUDIES[*study], open, &worker(3), HOUR, *dead)
                .await;
            answer(taken, Answer::Taken)
        }
        Op::Renew { claim, ended } => {
            if left.claims.is_empty() {
                return Answer::Nothing;
            }
            answer(
                store.renew(claim.get(&left.claims), lease(*ended)).await,
                Answer::Renewed,
            )
        }
        Op::Deliver { claim, tps } => {
            if left.claims.is_empty() {
                return Answer::Nothing;
            }
            let record = tps.map_or_else(refused, measured);
            let delivered = store.deliver(claim.get(&left.claims), &worker(4), &record).await;
            answer(delivered, Answer::Delivered)
        }
        Op::Event(s, at) => {
            let appended = store.append_event(STUDIES[*s], UtcMillis(*at), "{}").await;
            answer(appended, |()| Answer::Done)
        }
    }
}

/// Everything a store shows.
#[derive(Debug, PartialEq)]
struct Shown {
    studies: Vec<String>,
    each: Vec<Result<Study, String>>,
}

#[derive(Debug, PartialEq)]
struct Study {
    study: Option<StudyRecord>,
    facts: Facts,
    version: u64,
    open: Vec<OpenJob>,
    records: Vec<Option<TrialRecord>>,
    events: Vec<(UtcMillis, String)>,
}

async fn show(store: &dyn Store) -> Shown {
    async fn one(store: &dyn Store, name: &str) -> Result<Study, StoreError> {
        let (facts, version) = store.facts(name).await?;
        let mut records = Vec::new();
        for fact in &facts.jobs {
            records.push(store.record(name, fact.number).await?);
        }
        Ok(Study {
            study: store.study(name).await?,
            facts,
            version,
            open: store.open_jobs(name).await?,
            records,
            events: store.events(name, 5).await?,
        })
    }
    let mut each = Vec::new();
    for name in STUDIES {
        each.push(one(store, name).await.map_err(|error| error.to_string()));
    }
    Shown {
        studies: store.studies().await.unwrap(),
        each,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]
    #[test]
    fn memory_and_sqlite_agree_on_every_sequence_of_operations(ops in ops()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let outcome: Result<(), TestCaseError> = runtime.block_on(async {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("noctune.db");
            let sqlite = SqliteStore::open(&path, Patience::default()).await.unwrap();
            let memory = MemoryStore::new();
            let mut left = Left::default();
            for store in [&memory as &dyn Store, &sqlite] {
                store.create(&study(STUDIES[0])).await.unwrap();
            }
            for op in &ops {
                let expected = apply(&memory, op, &left).await;
                let got = apply(&sqlite, op, &left).await;
                prop_assert_eq!(&got, &expected, "{:?}", op);
                if let Answer::Claimed(Claimed::Yes(claim)) | Answer::Taken(Some(claim)) = got {
                    left.claims.push(claim);
                    for (i, name) in STUDIES.iter().enumerate() {
                        let open = memory.open_jobs(name).await.unwrap_or_default();
                        left.seen.extend(open.into_iter().map(|open| (i, open)));
                    }
                }
            }
            prop_assert_eq!(show(&sqlite).await, show(&memory).await);
            sqlite.close().await;
            Ok(())
        });
        outcome?;
    }
}
