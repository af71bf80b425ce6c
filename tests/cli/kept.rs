//! What a study confirmed is still in its my.cnf after the study was given more budget, whatever became of that.

use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::bench::{Bench, of_kind, send};
use crate::nights::tuned;
use crate::study::Study;

/// Twice as fast with the larger of two log buffers; the other knob is felt by nothing.
const STEP: &str = "[load]\ntps = \"if(innodb_log_buffer_size > 16M, 600, 300)\"\n";

/// The disk is full whenever a server starts.
const FULL: &str = "[[server.fault]]\nhappens = \"refuse\"\nlog = [\"[ERROR] InnoDB: Write to file ./ib_logfile0 failed at \
                    offset 512, 512 bytes should have been written, error 28\", \"Aborting\"]\n";

fn study(trials: u32) -> Study {
    Study {
        space: "families = []\n\
                [space.knob.innodb_log_buffer_size]\ntype = \"bytes\"\nmin = \"16M\"\nmax = \"32M\"\nunit = \"16M\"\n\
                [space.knob.innodb_io_capacity]\ntype = \"int\"\nmin = 100\nmax = 8000"
            .to_owned(),
        strategy: "preset = \"random\"\nrule_of_thumb = false".to_owned(),
        budget: format!("time = \"10m\"\ntrials = {trials}\npatience = false"),
        ..Study::default()
    }
}

fn my_cnf(bench: &Bench) -> String {
    std::fs::read_to_string(bench.path().join("results/fake/my.cnf")).unwrap_or_default()
}

/// The line of the header that tells the gain.
fn gain(my_cnf: &str) -> &str {
    my_cnf
        .lines()
        .find(|line| line.starts_with("# gain:"))
        .unwrap_or_default()
}

#[test]
fn a_confirmed_my_cnf_outlives_more_budget_an_interruption_and_a_host_that_fails() {
    let bench = Bench::new(STEP);
    let run = tuned(&bench, &study(18));
    assert_eq!(run.code, Some(0), "{}", run.text());
    let confirmed = my_cnf(&bench);
    assert!(gain(&confirmed).contains("paired blocks"), "{confirmed}");
    assert!(confirmed.contains("innodb_log_buffer_size = 32M"), "{confirmed}");

    // More budget, and stopped in the middle of the search.
    bench.write("study.toml", &study(60).text());
    let arguments = ["tune", "study.toml", "--shared-host", "--json"];
    let mut child = bench.spawn(&arguments);
    let end = Instant::now() + Duration::from_secs(100);
    while of_kind(&bench.output(), "trial-ended").count() < 2 {
        assert!(
            Instant::now() < end && child.try_wait().unwrap().is_none(),
            "no two trials: {}",
            bench.errors()
        );
        std::thread::sleep(Duration::from_millis(20));
    }
    send(&child, Signal::INT);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let kept = my_cnf(&bench);
    assert_eq!(gain(&kept), gain(&confirmed), "{kept}");
    assert!(kept.contains("nothing better is confirmed so far"), "{kept}");
    let status = bench.run(&["status"]).stdout;
    assert!(status.contains("  confirmed: trial "), "{status}");
    let report = bench.run(&["report"]).stdout;
    assert!(
        report.contains("tps improved over the baseline") && report.contains("the study goes on"),
        "{report}"
    );
    assert!(bench.run(&["explain"]).stdout.contains("innodb_log_buffer_size"));

    // Then the host fails.
    bench.world(&format!("{STEP}{FULL}"));
    let run = bench.run(&arguments);
    assert_eq!(run.code, Some(3), "{}", run.text());
    assert!(
        run.stderr.contains("what was confirmed before is kept"),
        "{}",
        run.text()
    );
    let events = run.events();
    let ended = of_kind(&events, "study-ended").last().unwrap();
    assert!(ended["my_cnf"].as_str().unwrap().ends_with("my.cnf"), "{ended}");
    let kept = my_cnf(&bench);
    assert_eq!(gain(&kept), gain(&confirmed), "{kept}");
    assert!(
        kept.contains("then the host could not run the trials any more"),
        "{kept}"
    );
    let report = bench.run(&["report"]).stdout;
    assert!(report.contains("what was confirmed before is kept"), "{report}");
}
