//! Why a run of sysbench failed, from what it printed and how it ended.

use super::output::{Fatal, Output};
use crate::error::Problem;
use crate::trial::{Cause, CauseKind};
use crate::workload::LoadFailure;

/// Error numbers by which a candidate keeps the load from starting, with the variable at fault (MariaDB Error Codes).
const CANDIDATE: [(u32, &str); 4] = [
    (1040, "max_connections"),
    (1203, "max_user_connections"),
    (1226, "max_user_connections"),
    (1461, "max_prepared_stmt_count"),
];

/// Error numbers that say the load and its data do not fit together, with what to do.
const SETUP: [(u32, &str); 5] = [
    (
        1045,
        "let the load's user come in: it needs all rights on the load's database",
    ),
    (1049, "make the template again: the load's database is not in it"),
    (
        1054,
        "make the template again with the options of this load: its tables have other columns",
    ),
    (1064, "correct the statement in the load's script"),
    (
        1146,
        "make the template again with the options of this load: a table it wants is not there",
    ),
];

/// Why the run failed; none where nothing that was printed says so and it exited with 0.
pub(super) fn failure(output: &Output, exit: Option<i32>) -> Option<LoadFailure> {
    if let Some(line) = &output.invalid_option {
        return Some(LoadFailure::Setup(
            Problem::new(format!("sysbench does not take an option of this load: {line}"))
                .next("correct [workload] options; `sysbench SCRIPT help` lists what a script takes"),
        ));
    }
    if let Some(failure) = output.fatals.iter().find_map(|fatal| special(fatal, output)) {
        return Some(failure);
    }
    if let Some(first) = output.fatals.first() {
        return Some(reported(first, output));
    }
    match exit {
        Some(0) => None,
        Some(code) => Some(LoadFailure::Inconsistent {
            text: format!("sysbench exited with {code} and printed no error"),
        }),
        None => Some(LoadFailure::Host {
            text: "sysbench was ended by a signal".to_owned(),
        }),
    }
}

/// A failure known by its text or number. The first line with a number decides: what follows it may be its consequence.
fn special(fatal: &Fatal, output: &Output) -> Option<LoadFailure> {
    let text = &fatal.text;
    if text.contains("event queue is full") {
        return Some(LoadFailure::Censored {
            text: format!("the load's rate is above what the server serves: {text}"),
        });
    }
    if text.contains("failed to initialize within") {
        return Some(LoadFailure::Candidate(Cause {
            variable: Some("table_open_cache".to_owned()),
            ..Cause::new(CauseKind::LoadError, format!("sysbench: {text}"))
        }));
    }
    if text.contains("Cannot find benchmark") {
        return Some(LoadFailure::Setup(
            Problem::new(format!("sysbench: {text}"))
                .next("correct [workload] script: a bundled script's name or a path to a Lua file"),
        ));
    }
    let Some(errno) = fatal.errno else {
        // A script's own mistake (`attempt to call ...`): no server error before it and none in it.
        let own =
            fatal.echo && !text.contains("SQL API error") && !text.contains("connection creation failed");
        return (own && output.errnos().is_empty()).then(|| {
            LoadFailure::Setup(
                Problem::new(format!("the load's script failed: {text}")).next("correct the script"),
            )
        });
    };
    if let Some((_, variable)) = CANDIDATE.iter().find(|(number, _)| *number == errno) {
        return Some(LoadFailure::Candidate(Cause {
            variable: Some((*variable).to_owned()),
            ..Cause::new(CauseKind::LoadError, format!("sysbench: {text}"))
        }));
    }
    if let Some((_, next)) = SETUP.iter().find(|(number, _)| *number == errno) {
        return Some(LoadFailure::Setup(
            Problem::new(format!("sysbench: {text}")).next(*next),
        ));
    }
    Some(reported(fatal, output))
}

fn reported(first: &Fatal, output: &Output) -> LoadFailure {
    let errnos = output.errnos();
    let counts: Vec<String> = errnos.iter().map(|(errno, n)| format!("{errno} x{n}")).collect();
    let text = match counts.as_slice() {
        [] => format!("sysbench: {}", first.text),
        _ => format!("sysbench: {} ({})", first.text, counts.join(", ")),
    };
    LoadFailure::Reported { text, errnos }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    macro_rules! fixture {
        ($name:literal, $exit:expr) => {
            failure(
                &Output::parse(include_str!(concat!(
                    env!("CARGO_MANIFEST_DIR"),
                    "/tests/fixtures/sysbench/",
                    $name,
                    ".txt"
                )))
                .unwrap(),
                $exit,
            )
        };
    }

    fn variable(failure: Option<LoadFailure>) -> String {
        match failure {
            Some(LoadFailure::Candidate(cause)) => cause.variable.unwrap(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_a_candidate_forbids_names_its_variable() {
        assert_eq!(
            variable(fixture!("start-thread-init-timeout", Some(2))),
            "table_open_cache"
        );
        assert_eq!(
            variable(fixture!("start-max-prepared-statements", Some(1))),
            "max_prepared_stmt_count"
        );
        assert_eq!(
            variable(fixture!("start-max-connections", Some(1))),
            "max_connections"
        );
    }

    #[test]
    fn a_rate_above_capacity_is_a_censored_result() {
        assert!(
            fixture!("start-rate-above-capacity", Some(1))
                .unwrap()
                .is_censored()
        );
    }

    #[test]
    fn our_own_wrong_command_line_stops_the_study() {
        for failure in [
            fixture!("start-invalid-option", Some(1)),
            fixture!("start-missing-script", Some(1)),
        ] {
            assert_eq!(failure.unwrap().stops_study().unwrap().exit_code(), 2);
        }
    }

    #[test]
    fn the_first_error_is_the_cause_and_each_is_counted() {
        let failure = fixture!("errors-in-mid-run", Some(1)).unwrap();
        assert!(failure.server_lost());
        let LoadFailure::Reported { text, errnos } = failure else {
            panic!("{failure:?}")
        };
        assert!(
            text.contains("returned error 1205") && text.contains("2013 x8"),
            "{text}"
        );
        assert_eq!(errnos, BTreeMap::from([(1205, 1), (2013, 8)]));
    }

    #[test]
    fn a_mistake_in_the_script_stops_the_study() {
        let text =
            "FATAL: `event' function failed: ./mine.lua:3: attempt to call global 'foo' (a nil value)\n";
        let failure = failure(&Output::parse(text).unwrap(), Some(1)).unwrap();
        assert!(failure.stops_study().is_some(), "{failure:?}");
    }

    #[test]
    fn a_run_that_says_nothing_wrong_is_no_failure_and_a_silent_bad_exit_is() {
        assert_eq!(fixture!("whole-run-1.0", Some(0)), None);
        assert!(matches!(
            fixture!("whole-run-1.0", Some(1)),
            Some(LoadFailure::Inconsistent { .. })
        ));
        assert!(matches!(
            fixture!("whole-run-1.0", None),
            Some(LoadFailure::Host { .. })
        ));
    }
}
