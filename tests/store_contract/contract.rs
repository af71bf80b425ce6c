//! The contract, one test per promise, run on each store.

use std::collections::BTreeSet;
use std::sync::Arc;

use noctune::plan::State;
use noctune::space::Value;
use noctune::store::{Claim, Claimed, Delivery, MemoryStore, Patience, SqliteStore, Store, StoreError};
use noctune::trial::{Outcome, TrialRecord};
use noctune::units::UtcMillis;

use super::samples::{ENDED, HOUR, STUDY, claim, job, measured, refused, study, worker};

/// A store with the results kept as late, which the contract itself does not show.
pub(crate) trait Tested: Store {
    fn late_of(&self, number: u64) -> impl Future<Output = Vec<(u64, TrialRecord)>> + Send;
}

impl Tested for MemoryStore {
    async fn late_of(&self, number: u64) -> Vec<(u64, TrialRecord)> {
        self.late(STUDY, number).unwrap()
    }
}

impl Tested for SqliteStore {
    async fn late_of(&self, number: u64) -> Vec<(u64, TrialRecord)> {
        self.late(STUDY, number).await.unwrap()
    }
}

/// Runs each promise on each store; a store begins with the study [`STUDY`].
macro_rules! promises {
    ($($name:ident),* $(,)?) => {
        mod memory {
            use super::*;
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
                async fn $name() {
                    let store = MemoryStore::new();
                    store.create(&study(STUDY)).await.unwrap();
                    super::$name(Arc::new(store)).await;
                }
            )*
        }
        mod sqlite {
            use super::*;
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
                async fn $name() {
                    let folder = tempfile::tempdir().unwrap();
                    let path = folder.path().join("noctune.db");
                    let store = SqliteStore::open(&path, Patience::default()).await.unwrap();
                    store.create(&study(STUDY)).await.unwrap();
                    super::$name(Arc::new(store)).await;
                }
            )*
        }
    };
}

promises![
    a_study_is_read_as_it_was_written,
    a_second_study_of_the_name_is_refused,
    only_file_and_frozen_facts_change_on_update,
    what_is_asked_of_an_unknown_study_names_it,
    jobs_are_numbered_from_one_and_listed_in_order,
    every_new_job_and_every_result_changes_the_version,
    facts_read_before_a_change_are_stale,
    a_living_worker_keeps_its_job,
    a_dead_workers_job_is_taken_over_once,
    an_expired_job_is_taken_over_once,
    a_renewed_claim_is_not_expired,
    a_claim_that_was_taken_over_is_not_renewed,
    a_result_is_written_once,
    a_result_with_a_stale_token_is_kept_as_late,
    an_ended_job_is_not_taken_over,
    a_record_comes_back_to_the_last_bit,
    a_failed_trial_has_no_effective_configuration,
    what_is_not_a_number_is_never_stored,
    a_job_with_a_knob_that_is_no_number_is_refused,
    trials_are_in_order_of_number_when_the_clock_went_back,
    events_are_the_newest_oldest_first,
    studies_do_not_see_each_other,
    eight_workers_run_every_trial_once,
];

async fn a_study_is_read_as_it_was_written<S: Tested>(store: Arc<S>) {
    assert_eq!(store.study(STUDY).await.unwrap(), Some(study(STUDY)));
    assert_eq!(store.study("other").await.unwrap(), None);
    store.create(&study("a")).await.unwrap();
    assert_eq!(store.studies().await.unwrap(), [STUDY, "a"]);
}

async fn a_second_study_of_the_name_is_refused<S: Tested>(store: Arc<S>) {
    let mut other = study(STUDY);
    other.seed = 7;
    let error = store.create(&other).await.unwrap_err();
    assert!(matches!(error, StoreError::StudyExists(name) if name == STUDY));
    assert_eq!(store.study(STUDY).await.unwrap(), Some(study(STUDY)));
}

async fn only_file_and_frozen_facts_change_on_update<S: Tested>(store: Arc<S>) {
    let mut changed = study(STUDY);
    changed.file = "format = 1\n[budget]\n".to_owned();
    changed.frozen = serde_json::json!([1]);
    let expected = changed.clone();
    changed.seed = 1;
    changed.created = UtcMillis(0);
    changed.identity.clear();
    store.update(&changed).await.unwrap();
    assert_eq!(store.study(STUDY).await.unwrap(), Some(expected));
}

async fn what_is_asked_of_an_unknown_study_names_it<S: Tested>(store: Arc<S>) {
    let nobody = Claim {
        study: "x".to_owned(),
        number: 1,
        token: 1,
    };
    let errors = [
        store.update(&study("x")).await.unwrap_err(),
        store.facts("x").await.unwrap_err(),
        store.claim("x", 0, &job(1), &worker(1), HOUR).await.unwrap_err(),
        store.open_jobs("x").await.unwrap_err(),
        store.renew(&nobody, HOUR).await.unwrap_err(),
        store.deliver(&nobody, &worker(1), &refused()).await.unwrap_err(),
        store.record("x", 1).await.unwrap_err(),
        store.series("x", 1, "tps").await.unwrap_err(),
        store.append_event("x", UtcMillis(0), "{}").await.unwrap_err(),
        store.events("x", 1).await.unwrap_err(),
    ];
    for error in errors {
        assert!(
            matches!(&error, StoreError::NoSuchStudy(name) if name == "x"),
            "{error}"
        );
    }
}

async fn jobs_are_numbered_from_one_and_listed_in_order<S: Tested>(store: Arc<S>) {
    for pool in 1..=12 {
        let made = claim(&*store, &job(pool), &worker(1), HOUR).await;
        assert_eq!(made.number, pool as u64);
    }
    let (facts, _) = store.facts(STUDY).await.unwrap();
    let numbers: Vec<u64> = facts.jobs.iter().map(|fact| fact.number).collect();
    assert_eq!(numbers, (1..=12).collect::<Vec<_>>());
    assert!(facts.jobs.iter().all(|fact| fact.state == State::Open));
    assert_eq!(facts.jobs[4].job, job(5));
    let open = store.open_jobs(STUDY).await.unwrap();
    assert_eq!(open.iter().map(|job| job.number).collect::<Vec<_>>(), numbers);
    assert_eq!(open[0].worker, worker(1));
    assert_eq!(open[0].job, job(1));
}

async fn every_new_job_and_every_result_changes_the_version<S: Tested>(store: Arc<S>) {
    let mut versions = vec![store.facts(STUDY).await.unwrap().1];
    for number in 1..=3 {
        let made = claim(&*store, &job(number), &worker(1), HOUR).await;
        versions.push(store.facts(STUDY).await.unwrap().1);
        store.deliver(&made, &worker(1), &measured(1.0)).await.unwrap();
        versions.push(store.facts(STUDY).await.unwrap().1);
    }
    assert!(versions.is_sorted_by(|a, b| a < b), "{versions:?}");
}

async fn facts_read_before_a_change_are_stale<S: Tested>(store: Arc<S>) {
    let (_, version) = store.facts(STUDY).await.unwrap();
    let first = store
        .claim(STUDY, version, &job(1), &worker(1), HOUR)
        .await
        .unwrap();
    let second = store
        .claim(STUDY, version, &job(2), &worker(2), HOUR)
        .await
        .unwrap();
    assert!(matches!(first, Claimed::Yes(_)));
    assert_eq!(second, Claimed::Stale);
    assert_eq!(store.facts(STUDY).await.unwrap().0.jobs.len(), 1);
}

async fn a_living_worker_keeps_its_job<S: Tested>(store: Arc<S>) {
    claim(&*store, &job(1), &worker(1), HOUR).await;
    let open = store.open_jobs(STUDY).await.unwrap().remove(0);
    assert!(!open.expired);
    assert_eq!(
        store
            .reclaim(STUDY, &open, &worker(2), HOUR, false)
            .await
            .unwrap(),
        None
    );
    assert_eq!(store.open_jobs(STUDY).await.unwrap(), [open]);
}

async fn a_dead_workers_job_is_taken_over_once<S: Tested>(store: Arc<S>) {
    let first = claim(&*store, &job(1), &worker(1), HOUR).await;
    let open = store.open_jobs(STUDY).await.unwrap().remove(0);
    let taken = store
        .reclaim(STUDY, &open, &worker(2), HOUR, true)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(taken.number, first.number);
    assert!(taken.token > first.token);
    // Worker 3 judged worker 1 dead, too, and came second: worker 2 lives.
    assert_eq!(
        store.reclaim(STUDY, &open, &worker(3), HOUR, true).await.unwrap(),
        None
    );
    let now = store.open_jobs(STUDY).await.unwrap().remove(0);
    assert_eq!((now.worker, now.token), (worker(2), taken.token));
}

async fn an_expired_job_is_taken_over_once<S: Tested>(store: Arc<S>) {
    claim(&*store, &job(1), &worker(1), ENDED).await;
    let open = store.open_jobs(STUDY).await.unwrap().remove(0);
    assert!(open.expired);
    let taken = store
        .reclaim(STUDY, &open, &worker(2), HOUR, false)
        .await
        .unwrap();
    assert!(taken.is_some());
    assert!(!store.open_jobs(STUDY).await.unwrap()[0].expired);
    assert_eq!(
        store
            .reclaim(STUDY, &open, &worker(3), HOUR, false)
            .await
            .unwrap(),
        None
    );
}

async fn a_renewed_claim_is_not_expired<S: Tested>(store: Arc<S>) {
    let made = claim(&*store, &job(1), &worker(1), ENDED).await;
    assert!(store.renew(&made, HOUR).await.unwrap());
    assert!(!store.open_jobs(STUDY).await.unwrap()[0].expired);
}

async fn a_claim_that_was_taken_over_is_not_renewed<S: Tested>(store: Arc<S>) {
    let made = claim(&*store, &job(1), &worker(1), ENDED).await;
    let open = store.open_jobs(STUDY).await.unwrap().remove(0);
    let taken = store
        .reclaim(STUDY, &open, &worker(2), ENDED, false)
        .await
        .unwrap()
        .unwrap();
    assert!(!store.renew(&made, HOUR).await.unwrap());
    assert!(store.open_jobs(STUDY).await.unwrap()[0].expired);
    assert!(store.renew(&taken, HOUR).await.unwrap());
}

async fn a_result_is_written_once<S: Tested>(store: Arc<S>) {
    let made = claim(&*store, &job(1), &worker(1), HOUR).await;
    assert_eq!(store.record(STUDY, 1).await.unwrap(), None);
    let delivery = store.deliver(&made, &worker(1), &measured(800.0)).await.unwrap();
    assert_eq!(delivery, Delivery::Written);
    let (_, version) = store.facts(STUDY).await.unwrap();
    let again = store.deliver(&made, &worker(1), &measured(1.0)).await.unwrap();
    assert_eq!(again, Delivery::AlreadyWritten);
    assert_eq!(store.record(STUDY, 1).await.unwrap(), Some(measured(800.0)));
    assert_eq!(store.facts(STUDY).await.unwrap().1, version);
    assert_eq!(store.open_jobs(STUDY).await.unwrap(), []);
}

async fn a_result_with_a_stale_token_is_kept_as_late<S: Tested>(store: Arc<S>) {
    let made = claim(&*store, &job(1), &worker(1), HOUR).await;
    let open = store.open_jobs(STUDY).await.unwrap().remove(0);
    let taken = store
        .reclaim(STUDY, &open, &worker(2), HOUR, true)
        .await
        .unwrap()
        .unwrap();
    for _ in 0..2 {
        let delivery = store.deliver(&made, &worker(1), &measured(1.0)).await.unwrap();
        assert_eq!(delivery, Delivery::Late);
    }
    assert_eq!(store.record(STUDY, 1).await.unwrap(), None);
    let delivery = store.deliver(&taken, &worker(2), &refused()).await.unwrap();
    assert_eq!(delivery, Delivery::Written);
    assert_eq!(store.record(STUDY, 1).await.unwrap(), Some(refused()));
    assert_eq!(store.late_of(1).await, [(made.token, measured(1.0))]);
    let (facts, _) = store.facts(STUDY).await.unwrap();
    let State::Ended { host, .. } = &facts.jobs[0].state else {
        panic!("it ended");
    };
    assert_eq!(host, "host2");
}

async fn an_ended_job_is_not_taken_over<S: Tested>(store: Arc<S>) {
    let made = claim(&*store, &job(1), &worker(1), ENDED).await;
    let open = store.open_jobs(STUDY).await.unwrap().remove(0);
    // Its lease is over but nobody else came: the result counts.
    assert_eq!(
        store.deliver(&made, &worker(1), &refused()).await.unwrap(),
        Delivery::Written
    );
    assert_eq!(
        store.reclaim(STUDY, &open, &worker(2), HOUR, true).await.unwrap(),
        None
    );
}

async fn a_record_comes_back_to_the_last_bit<S: Tested>(store: Arc<S>) {
    let record = measured(812.400_000_000_000_1);
    let made = claim(&*store, &job(1), &worker(1), HOUR).await;
    store.deliver(&made, &worker(1), &record).await.unwrap();
    assert_eq!(store.record(STUDY, 1).await.unwrap(), Some(record.clone()));
    assert_eq!(
        store.series(STUDY, 1, "tps").await.unwrap(),
        Some(record.series[0].clone())
    );
    assert_eq!(store.series(STUDY, 1, "none").await.unwrap(), None);
    assert_eq!(store.record(STUDY, 2).await.unwrap(), None);
    let (facts, _) = store.facts(STUDY).await.unwrap();
    assert_eq!(facts.jobs[0].job, job(1));
    assert_eq!(
        facts.jobs[0].state,
        State::Ended {
            outcome: record.outcome,
            effective: record.effective,
            began: record.began,
            seconds: record.seconds,
            host: "host1".to_owned(),
            warnings: record.warnings,
        }
    );
}

async fn a_failed_trial_has_no_effective_configuration<S: Tested>(store: Arc<S>) {
    let made = claim(&*store, &job(1), &worker(1), HOUR).await;
    store.deliver(&made, &worker(1), &refused()).await.unwrap();
    assert_eq!(store.record(STUDY, 1).await.unwrap(), Some(refused()));
    let (facts, _) = store.facts(STUDY).await.unwrap();
    assert_eq!(facts.jobs[0].configuration(), &job(1).configuration);
}

async fn what_is_not_a_number_is_never_stored<S: Tested>(store: Arc<S>) {
    let mut broken = measured(f64::NAN);
    let Outcome::Measured(measurement) = &mut broken.outcome else {
        unreachable!("it is measured")
    };
    measurement.counters.insert("cpu".to_owned(), f64::INFINITY);
    broken.phases[0].seconds = f64::NAN;
    broken.series[0].values[0] = Some(f64::NAN);
    broken.series[0].at[2] = f64::NAN;
    let made = claim(&*store, &job(1), &worker(1), HOUR).await;
    store.deliver(&made, &worker(1), &broken).await.unwrap();

    let stored = store.record(STUDY, 1).await.unwrap().unwrap();
    let measurement = stored.outcome.measurement().unwrap();
    assert!(!measurement.metrics.contains_key("tps"));
    assert!(measurement.metrics.contains_key("p95_ms"));
    assert!(!measurement.counters.contains_key("cpu"));
    assert_eq!(stored.phases.len(), broken.phases.len() - 1);
    assert_eq!(stored.series[0].at, [1.0, 2.000_1]);
    assert_eq!(stored.series[0].values, [None, None]);
    let told: Vec<&str> = stored.warnings.iter().skip(2).map(|w| w.text.as_str()).collect();
    for what in ["metric tps", "counter cpu", "phase check", "series tps"] {
        assert!(told.iter().any(|text| text.contains(what)), "{what}: {told:?}");
    }
}

async fn a_job_with_a_knob_that_is_no_number_is_refused<S: Tested>(store: Arc<S>) {
    let mut broken = job(1);
    broken.configuration.set("ratio", Value::Float(f64::NAN));
    let refusal = store.claim(STUDY, 0, &broken, &worker(1), HOUR).await;
    assert!(matches!(refusal, Err(StoreError::Corrupt { .. })));
    assert_eq!(store.facts(STUDY).await.unwrap().0.jobs, []);
}

/// The times of case O12: clocks that go forward and back in the nights of the change.
async fn trials_are_in_order_of_number_when_the_clock_went_back<S: Tested>(store: Arc<S>) {
    let began = [
        1_711_846_770_000,
        1_711_850_410_000,
        1_729_990_770_000,
        1_729_990_820_000,
        5,
    ];
    for (i, at) in began.into_iter().enumerate() {
        let made = claim(&*store, &job(i as i64), &worker(1), HOUR).await;
        let mut record = measured(i as f64);
        record.began = UtcMillis(at);
        store.deliver(&made, &worker(1), &record).await.unwrap();
    }
    let (facts, _) = store.facts(STUDY).await.unwrap();
    let told: Vec<(u64, i64)> = facts
        .jobs
        .iter()
        .map(|fact| match &fact.state {
            State::Ended { began, .. } => (fact.number, began.0),
            State::Open => panic!("all ended"),
        })
        .collect();
    assert_eq!(told, (1..).zip(began).collect::<Vec<_>>());
}

async fn events_are_the_newest_oldest_first<S: Tested>(store: Arc<S>) {
    // The clock goes back between the second and the third.
    for (at, event) in [(10, "a"), (20, "b"), (5, "c")] {
        store.append_event(STUDY, UtcMillis(at), event).await.unwrap();
    }
    let newest = store.events(STUDY, 2).await.unwrap();
    assert_eq!(
        newest,
        [(UtcMillis(20), "b".to_owned()), (UtcMillis(5), "c".to_owned())]
    );
    assert_eq!(store.events(STUDY, u32::MAX).await.unwrap().len(), 3);
    assert_eq!(store.events(STUDY, 0).await.unwrap(), []);
}

async fn studies_do_not_see_each_other<S: Tested>(store: Arc<S>) {
    store.create(&study("b")).await.unwrap();
    let made = claim(&*store, &job(1), &worker(1), HOUR).await;
    store.deliver(&made, &worker(1), &measured(1.0)).await.unwrap();
    assert_eq!(store.facts("b").await.unwrap().0.jobs, []);
    let Claimed::Yes(other) = store.claim("b", 0, &job(2), &worker(1), HOUR).await.unwrap() else {
        panic!("nothing happened in b")
    };
    assert_eq!(other.number, 1);
    assert_eq!(store.record("b", 1).await.unwrap(), None);
}

async fn eight_workers_run_every_trial_once<S: Tested + 'static>(store: Arc<S>) {
    const TRIALS: usize = 5;
    let workers: Vec<_> = (0..8)
        .map(|pid| {
            let store = Arc::clone(&store);
            tokio::spawn(async move {
                let mut numbers = Vec::new();
                for _ in 0..TRIALS {
                    let made = claim(&*store, &job(1), &worker(pid), HOUR).await;
                    let delivery = store.deliver(&made, &worker(pid), &refused()).await.unwrap();
                    assert_eq!(delivery, Delivery::Written);
                    numbers.push(made.number);
                }
                numbers
            })
        })
        .collect();
    let mut numbers = Vec::new();
    for worker in workers {
        numbers.extend(worker.await.unwrap());
    }
    assert_eq!(numbers.len(), 8 * TRIALS);
    let distinct: BTreeSet<u64> = numbers.into_iter().collect();
    assert_eq!(distinct, (1..=8 * TRIALS as u64).collect());
    let (facts, _) = store.facts(STUDY).await.unwrap();
    assert!(facts.jobs.iter().all(|fact| fact.outcome().is_some()));
}
