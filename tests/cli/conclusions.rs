//! What follows a verdict: whatever fails there, the verdict is told.

use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::bench::{Bench, of_kind, send};
use crate::handed_over::{STEP, study};

/// A server that is slower with all but the baseline.
const SLOWER: &str = "[load]\ntps = \"if(innodb_log_buffer_size > 16M, 200, 300)\"\n";

/// Whether a file holds something, at the latest after a while.
fn is_written(path: &Path) -> bool {
    let end = Instant::now() + Duration::from_secs(90);
    while std::fs::read_to_string(path).unwrap_or_default().is_empty() {
        if Instant::now() > end {
            return false;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    true
}

#[test]
fn a_my_cnf_that_cannot_be_written_is_an_error_after_the_verdict_and_the_next_run_writes_it() {
    let bench = Bench::new(STEP);
    let finish = "[finish]\nrun = 'echo $NOCTUNE_EXIT_CODE > code; (/bin/sleep 1; echo sent > sent) &'\n";
    bench.write("study.toml", &format!("{}\n{finish}", study().text()));
    let my_cnf = bench.path().join("results/fake/my.cnf");
    std::fs::create_dir_all(&my_cnf).unwrap();
    let arguments = ["tune", "study.toml", "--shared-host"];
    let run = bench.run(&arguments);
    assert_eq!(run.code, Some(3), "{}", run.text());
    assert!(
        run.stdout.contains("tps improved over the baseline"),
        "{}",
        run.text()
    );
    for words in [
        "study ended: tps improved",
        "the recommendation is not handed over",
        "results/fake/my.cnf\n",
        "run the same command again",
    ] {
        assert!(run.stderr.contains(words), "no {words:?} in {}", run.text());
    }
    let told = run.stderr.matches("warning: cannot ").count();
    assert_eq!(told, 1, "what stays so is told once: {}", run.text());
    let code = std::fs::read_to_string(bench.path().join("code")).unwrap();
    assert_eq!(
        code.trim(),
        "3",
        "what the command is told is what the process ends with"
    );
    assert!(
        is_written(&bench.path().join("sent")),
        "what the command left in the background was ended"
    );

    std::fs::remove_dir(&my_cnf).unwrap();
    let run = bench.run(&["tune", "study.toml", "--shared-host", "--json"]);
    assert_eq!(run.code, Some(0), "{}", run.text());
    assert_eq!(
        of_kind(&run.events(), "trial-started").count(),
        0,
        "{}",
        run.text()
    );
    let written = std::fs::read_to_string(&my_cnf).unwrap();
    assert!(written.contains("innodb_log_buffer_size = 32M"), "{written}");
}

#[test]
fn an_outdated_my_cnf_that_cannot_be_removed_hides_no_verdict() {
    let bench = Bench::new(SLOWER);
    bench.write("study.toml", &study().text());
    let folder = bench.path().join("results/fake");
    std::fs::create_dir_all(folder.join("my.cnf")).unwrap();
    std::fs::write(folder.join("zz-noctune.cnf"), "outdated").unwrap();
    let run = bench.run(&["tune", "study.toml", "--shared-host"]);
    assert_eq!(run.code, Some(3), "{}", run.text());
    assert!(
        run.stdout
            .contains("nothing measured was better than the baseline"),
        "{}",
        run.text()
    );
    assert!(
        run.stderr.contains("cannot remove an outdated recommendation"),
        "{}",
        run.text()
    );
    assert!(!folder.join("zz-noctune.cnf").exists(), "what can be removed is");
}

#[test]
fn a_command_at_the_end_that_does_not_end_is_ended_by_ctrl_c_and_hides_no_verdict() {
    let bench = Bench::new(SLOWER);
    let finish = "[finish]\nrun = 'echo began > began; /bin/sleep 500'\n";
    bench.write("study.toml", &format!("{}\n{finish}", study().text()));
    let mut child = bench.spawn(&["tune", "study.toml", "--shared-host"]);
    assert!(is_written(&bench.path().join("began")), "{}", bench.errors());
    send(&child, Signal::INT);
    assert_eq!(child.wait().unwrap().code(), Some(4), "{}", bench.errors());
    let told = std::fs::read_to_string(bench.path().join("out")).unwrap();
    assert!(
        told.contains("nothing measured was better than the baseline"),
        "{told}"
    );
    assert!(
        bench.errors().contains("it was ended, as you wished"),
        "{}",
        bench.errors()
    );
}
