//! The last trial starts the server with the very text that is handed over, not with one made anew.

use crate::bench::{Bench, Run, of_kind};
use crate::nights::{purposes, tuned};
use crate::study::Study;

/// Twice as fast with the larger of two log buffers.
pub(crate) const STEP: &str = "[load]\ntps = \"if(innodb_log_buffer_size > 16M, 600, 300)\"\n";

/// The line of the larger one as it is handed over. Trials of the search write the number of bytes.
const LINE: &str = "innodb_log_buffer_size = 32M\n";

pub(crate) fn study() -> Study {
    Study {
        space: "families = []\n\
                [space.knob.innodb_log_buffer_size]\ntype = \"bytes\"\nmin = \"16M\"\nmax = \"32M\"\nunit = \"16M\""
            .to_owned(),
        strategy: "preset = \"random\"\nrule_of_thumb = false".to_owned(),
        budget: "time = \"10m\"\ntrials = 14\npatience = false".to_owned(),
        ..Study::default()
    }
}

/// The my.cnf with which the last trial, that of the final my.cnf, started its server.
fn last_cnf(bench: &Bench, run: &Run) -> String {
    let events = run.events();
    let last = of_kind(&events, "trial-started").last().unwrap();
    assert_eq!(last["job"]["purpose"], "final", "{}", run.text());
    let folder = format!("results/fake/trials/{:06}", last["trial"].as_u64().unwrap());
    std::fs::read_to_string(bench.path().join(folder).join("my.cnf")).unwrap()
}

#[test]
fn the_last_trial_starts_with_the_lines_that_are_handed_over_byte_for_byte() {
    let bench = Bench::new(STEP);
    let run = tuned(&bench, &study());
    assert_eq!(run.code, Some(0), "{}", run.text());
    let handed = std::fs::read_to_string(bench.path().join("results/fake/my.cnf")).unwrap();
    let (_, section) = handed.split_at(handed.find("[mysqld]\n").unwrap());
    assert!(section.contains(LINE), "{handed}");
    let private = last_cnf(&bench, &run);
    let (_, behind) = private
        .split_once(section)
        .unwrap_or_else(|| panic!("{section} not in\n{private}"));
    assert!(
        behind.contains("\ndatadir = "),
        "what keeps it apart is last:\n{private}"
    );
}

#[test]
fn a_line_that_the_server_refuses_only_as_it_is_handed_over_is_found_and_not_handed_over() {
    let refuses = format!(
        "[[server.fault]]\nreads = \"{}\"\nhappens = \"refuse\"\nlog = [\"mariadbd: Error while setting value '32M' to \
         'innodb-log-buffer-size'\", \"Aborting\"]\n",
        LINE.trim_end()
    );
    let bench = Bench::new(&format!("{STEP}{refuses}"));
    let run = tuned(&bench, &study());
    assert_eq!(run.code, Some(1), "{}", run.text());
    let events = run.events();
    assert_eq!(
        purposes(&events).last().map(String::as_str),
        Some("final"),
        "{}",
        run.text()
    );
    let ended = of_kind(&events, "study-ended").last().unwrap();
    let verdict = ended["verdict"].as_str().unwrap();
    assert!(
        verdict.contains("does not start with the final my.cnf"),
        "{ended}"
    );
    for file in ["my.cnf", "zz-noctune.cnf", "my.cnf.rollback"] {
        assert!(!bench.path().join("results/fake").join(file).exists(), "{file}");
    }
}
