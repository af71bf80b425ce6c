//! Resumed with a space that lost a knob: the study tells which trials are left out, and goes on without them.

use rustix::process::Signal;

use crate::bench::{Bench, Run, of_kind, send};
use crate::resume::reaches;
use crate::study::Study;

/// The neighbours matter most.
const WORLD: &str =
    "[load]\ntps = \"300 * if(innodb_flush_neighbors == 0, 3, 1) * (1 + ln(innodb_io_capacity / 100) / 4)\"";

const CAPACITY: &str =
    "families = []\n[space.knob.innodb_io_capacity]\ntype = \"int\"\nmin = 100\nmax = 8000\n";
const NEIGHBORS: &str =
    "[space.knob.innodb_flush_neighbors]\ntype = \"enum\"\nvalues = [\"0\", \"1\", \"2\"]\n";

const ARGUMENTS: [&str; 4] = ["tune", "study.toml", "--shared-host", "--json"];

fn study(space: &str) -> Study {
    Study {
        space: space.to_owned(),
        strategy: "preset = \"random\"\nrule_of_thumb = false".to_owned(),
        budget: "time = \"10m\"\ntrials = 26\npatience = false".to_owned(),
        ..Study::default()
    }
}

/// Runs a study with both knobs until it is in `phase` of a trial for `purpose`, and then without the second knob.
fn without_neighbors_from(bench: &Bench, purpose: &str, phase: &str) -> Run {
    bench.write("study.toml", &study(&format!("{CAPACITY}{NEIGHBORS}")).text());
    let mut child = bench.spawn(&ARGUMENTS);
    assert!(reaches(bench, &mut child, purpose, phase), "{}", bench.errors());
    send(&child, Signal::KILL);
    child.wait().unwrap();
    bench.write("study.toml", &study(CAPACITY).text());
    bench.run(&ARGUMENTS)
}

/// The warnings of a run that hold `words`.
fn warnings(run: &Run, words: &str) -> Vec<String> {
    of_kind(&run.events(), "warning")
        .filter_map(|event| event["text"].as_str())
        .filter(|text| text.contains(words))
        .map(str::to_owned)
        .collect()
}

#[test]
fn a_knob_that_is_taken_out_while_its_best_is_confirmed_is_in_nothing_that_follows() {
    let bench = Bench::new(WORLD);
    let run = without_neighbors_from(&bench, "pair", "measure");
    assert_eq!(run.code, Some(0), "{}", run.text());
    let told = warnings(&run, "left out");
    assert!(
        told.iter()
            .any(|text| text.contains("innodb_flush_neighbors was taken out of the space, and they ran")),
        "{told:?}"
    );
    let events = run.events();
    // The run that was killed is ended at once: there is no such configuration any more.
    let rejected = of_kind(&events, "trial-ended").filter(|event| event["outcome"] == "rejected");
    assert!(rejected.count() <= 1, "{}", run.text());
    let my_cnf = std::fs::read_to_string(bench.path().join("results/fake/my.cnf")).unwrap();
    assert!(
        my_cnf.contains("\ninnodb_io_capacity = ") && !my_cnf.contains("innodb_flush_neighbors"),
        "{my_cnf}"
    );
    let gain = of_kind(&events, "study-ended").last().unwrap()["verdict"].to_string();
    assert!(gain.contains("x 1.") && gain.contains("improved"), "{gain}");
    let report = bench.run(&["report"]).stdout;
    assert!(report.contains("Left out since the space changed"), "{report}");
    let status = bench.run(&["status"]).stdout;
    assert!(status.contains("  left out: "), "{status}");
}

#[test]
fn trials_with_the_baselines_value_of_a_knob_that_is_taken_out_still_count() {
    // The only other value is refused, so that whatever was measured ran with the baseline's.
    let refuses = "[[server.fault]]\nwhen = \"innodb_flush_neighbors != 1\"\nhappens = \"refuse\"\n";
    let bench = Bench::new(&format!("{refuses}{WORLD}"));
    let run = without_neighbors_from(&bench, "pair", "start");
    assert_eq!(run.code, Some(0), "{}", run.text());
    let events = run.events();
    let purposes = crate::nights::purposes(&events);
    assert!(
        !purposes
            .iter()
            .any(|purpose| purpose == "baseline" || purpose == "start"),
        "{purposes:?}"
    );
    let blocks: Vec<u64> = of_kind(&events, "trial-started")
        .filter_map(|event| event["job"]["block"].as_u64())
        .collect();
    assert_eq!(blocks.first(), Some(&1), "the confirmation goes on: {blocks:?}");
    for event in of_kind(&events, "trial-ended") {
        assert_eq!(event["outcome"], "measured", "{event}");
    }
    let report = bench.run(&["report", "--json"]).stdout;
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    for row in report["configurations"].as_array().unwrap() {
        assert!(
            row["configuration"].get("innodb_flush_neighbors").is_none(),
            "{row}"
        );
    }
}

#[test]
fn a_confirmed_my_cnf_outside_of_narrower_bounds_is_taken_back_and_that_is_told() {
    let step = "[load]\ntps = \"if(innodb_io_capacity > 1000, 600, 300)\"";
    let bench = Bench::new(step);
    let begun = Study {
        budget: "time = \"10m\"\ntrials = 15\npatience = false".to_owned(),
        ..study(CAPACITY)
    };
    bench.write("study.toml", &begun.text());
    let run = bench.run(&ARGUMENTS);
    assert_eq!(run.code, Some(0), "{}", run.text());
    let my_cnf = bench.path().join("results/fake/my.cnf");
    assert!(my_cnf.is_file());

    let narrower = Study {
        budget: "time = \"10m\"\ntrials = 40\npatience = false".to_owned(),
        ..study(&CAPACITY.replace("8000", "1000"))
    };
    bench.write("study.toml", &narrower.text());
    let mut child = bench.spawn(&ARGUMENTS);
    assert!(
        reaches(&bench, &mut child, "explore", "measure"),
        "{}",
        bench.errors()
    );
    let kept = std::fs::read_to_string(&my_cnf).unwrap_or_default();
    send(&child, Signal::INT);
    child.wait().unwrap();
    assert!(!kept.contains("paired blocks"), "{kept}");
    let events = bench.output();
    let told: Vec<&str> = of_kind(&events, "warning")
        .filter_map(|event| event["text"].as_str())
        .collect();
    assert!(
        told.iter()
            .any(|text| text.contains("innodb_io_capacity has other bounds"))
            && told.iter().any(|text| text.contains("is no claim any more")),
        "{told:?}"
    );
}
