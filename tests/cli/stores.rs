//! A study kept in a store of its own (`--store`) is read there by every command.

use crate::bench::Bench;
use crate::study::Study;

#[test]
fn a_study_in_another_store_is_read_by_status_report_and_explain() {
    // After a measured trial or more every server is refused: a short study.
    let bench = Bench::new("[[server.fault]]\nwhen = \"start > 5\"\nhappens = \"refuse\"");
    bench.write("study.toml", &Study::default().text());
    let url = format!("sqlite:{}", bench.path().join("all.db").display());
    let store = ["--store", url.as_str()];
    bench.run(&[["tune", "study.toml", "--shared-host"].as_slice(), &store].concat());
    assert!(!bench.path().join("results/fake/noctune.db").exists());
    for command in [
        ["status"].as_slice(),
        &["status", "fake"],
        &["status", "results/fake"],
        &["report"],
        &["explain", "1"],
    ] {
        let run = bench.run(&[command, &store].concat());
        assert_eq!(run.code, Some(0), "{command:?}: {}", run.text());
        assert!(!run.stdout.is_empty(), "{command:?}");
    }
    let status = bench.run(&[["status"].as_slice(), &store].concat()).stdout;
    assert!(status.starts_with("study fake (results/fake)"), "{status}");

    let run = bench.run(&[["status", "other"].as_slice(), &store].concat());
    assert_eq!(run.code, Some(2), "{}", run.text());
    assert!(
        run.stderr.contains("no study other in this store")
            && run.stderr.contains("all.db")
            && run.stderr.contains("it holds: fake"),
        "{}",
        run.text()
    );
    let run = bench.run(&["status"]);
    assert_eq!(run.code, Some(2), "{}", run.text());
    assert!(
        run.stderr.contains("results") && run.stderr.contains("--store"),
        "{}",
        run.text()
    );
}
