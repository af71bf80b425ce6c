//! The recovery after a crash, timed where a study asks for it.

use noctune::trial::Phase;

use crate::bench::Bench;
use crate::trials::Trials;

#[tokio::test]
async fn a_trial_collects_before_it_kills_its_server_and_tells_how_long_the_recovery_took() {
    let bench = Bench::new("[server]\ndebt = 20000");
    let sysbench = bench.bin().join("sysbench").display().to_string();
    let mut trials = Trials::new(&bench.bin().join("mariadbd"), &sysbench, bench.path()).await;
    trials.runner.crash_recovery = true;
    let record = trials.run().await;
    let phases: Vec<Phase> = record.phases.iter().map(|time| time.phase).collect();
    assert_eq!(phases, Phase::ALL, "{:?}", record.outcome);
    let measurement = record.outcome.measurement().unwrap();
    assert!(measurement.metrics["recovery_s"].value > 0.0, "{measurement:?}");
    assert!(
        record
            .warnings
            .iter()
            .any(|warning| warning.text.contains("lower bound")),
        "two seconds show no plateau: {:?}",
        record.warnings
    );
    // Of the window and the warm-up alone: a second each.
    let seconds = &record.series.first().unwrap().values;
    assert!(seconds.len() <= 4, "{seconds:?}");
    assert!(bench.path().join("trial-1/recovery/server.log").is_file());
    assert_eq!(bench.running(), [0; 0], "something still runs");
}
