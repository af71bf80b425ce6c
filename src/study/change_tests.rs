//! Resuming with an edited study file.

use super::Study;
use super::change::*;
use crate::space::{Domain, Knob, Space, Writes};
use crate::space::{Ground, Scale};
use crate::study::Surroundings;

fn int(name: &str, min: i64, max: i64) -> Knob {
    Knob::new(
        name,
        Domain::Int {
            min,
            max,
            unit: 1,
            scale: Scale::Log,
            special: vec![],
            bytes: false,
        },
    )
}

fn choices(name: &str, values: &[&str]) -> Knob {
    Knob::new(
        name,
        Domain::Enum {
            values: values.iter().map(|v| (*v).to_owned()).collect(),
        },
    )
}

fn space(knobs: Vec<Knob>) -> Space {
    Space::new(knobs, vec![], Ground::default()).unwrap()
}

fn compared(old: (&str, &Space, &str), new: (&str, &Space, &str)) -> Changes {
    compared_with(old, &[], new)
}

/// With knobs that the old one had earlier.
fn compared_with(old: (&str, &Space, &str), gone: &[Knob], new: (&str, &Space, &str)) -> Changes {
    let [(a, a_id), (b, b_id)] = [&old, &new].map(|(text, space, baseline)| {
        let study = Study::parse(text, "study.toml").unwrap();
        let around = Surroundings {
            space,
            baseline,
            template: "t",
            server: "10.11",
            hardware: "probe",
            script: None,
        };
        let identity = study.identity(&around).unwrap();
        (study, identity)
    });
    changes(
        &Version {
            study: &a,
            identity: &a_id,
            space: old.1,
            gone,
        },
        &Version {
            study: &b,
            identity: &b_id,
            space: new.1,
            gone: &[],
        },
    )
}

const SLOW: &str = "format = 1\n[[objective]]\nmetric = \"p95_ms\"\ngoal = \"minimize\"\n";
const FAST: &str = "format = 1\n[[objective]]\nmetric = \"tps\"\ngoal = \"maximize\"\n";

#[test]
fn reordered_choices_wider_bounds_and_knobs_that_come_and_go_let_a_study_go_on() {
    let before = space(vec![
        choices("flush", &["1", "2"]),
        int("innodb_io_capacity", 200, 2000),
        int("sort_buffer_size", 1, 4),
    ]);
    let after = space(vec![
        choices("flush", &["2", "1"]),
        int("innodb_io_capacity", 200, 20000),
        int("join_buffer_size", 1, 4),
    ]);
    let changes = compared((FAST, &before, "b"), (FAST, &after, "b"));
    let text = changes.to_string();
    assert_eq!(changes.check(), Ok(()), "{text}");
    for words in [
        "another order",
        "wider bounds (200 to 2000 → 200 to 20000)",
        "sort_buffer_size was taken out",
        "join_buffer_size came in",
    ] {
        assert!(text.contains(words), "{words} in\n{text}");
    }
}

#[test]
fn a_knob_whose_settings_were_computed_from_one_that_stays_cannot_be_taken_out_alone() {
    let mut ratio = int("ratio", 1, 8);
    let written = crate::space::expr::Expr::parse("round(innodb_io_capacity * value)").unwrap();
    ratio.writes = Writes::Expressions([("innodb_io_capacity_max".to_owned(), written)].into());
    let capacity = || int("innodb_io_capacity", 200, 2000);
    let other = || int("x", 1, 2);
    let both = space(vec![capacity(), ratio, other()]);
    let error = compared((FAST, &both, "b"), (FAST, &space(vec![capacity(), other()]), "b"))
        .check()
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("ratio was taken out, but what it wrote was computed from innodb_io_capacity"),
        "{error}"
    );
    let neither = compared((FAST, &both, "b"), (FAST, &space(vec![other()]), "b"));
    assert_eq!(neither.check(), Ok(()), "{neither}");
}

#[test]
fn a_knob_that_comes_back_has_to_mean_what_it_meant() {
    let without = space(vec![int("y", 1, 2)]);
    let with = |knob: Knob| space(vec![int("y", 1, 2), knob]);
    let gone = [int("x", 1, 8)];
    for (knob, words, allowed) in [
        (
            int("x", 1, 8),
            "x came back; earlier trials with it count again",
            true,
        ),
        (
            int("x", 1, 4),
            "x came back: other bounds (1 to 8 → 1 to 4)",
            true,
        ),
        (
            choices("x", &["1", "2"]),
            "x came back: it is of another type",
            false,
        ),
    ] {
        let changes = compared_with((FAST, &without, "b"), &gone, (FAST, &with(knob), "b"));
        assert!(changes.to_string().contains(words), "{words} in\n{changes}");
        assert_eq!(changes.check().is_ok(), allowed, "{changes}");
    }
}

#[test]
fn another_direction_is_refused_and_a_new_study_offered() {
    let one = || space(vec![int("x", 1, 2)]);
    let error = compared((SLOW, &one(), "b"), (FAST, &one(), "b"))
        .check()
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("objective.goal: \"minimize\" → \"maximize\""),
        "{error}"
    );
    assert!(error.contains("[[candidate]]"), "{error}");
}

#[test]
fn another_workload_baseline_or_meaning_of_a_knob_is_refused() {
    let one = || space(vec![int("x", 1, 2)]);
    let threads = "format = 1\n[workload]\nthreads = 32\n";
    let error = compared(("format = 1\n", &one(), "b"), (threads, &one(), "b"))
        .check()
        .unwrap_err()
        .to_string();
    assert!(error.contains("workload.threads: 16 → 32"), "{error}");
    assert!(
        compared((FAST, &one(), "b"), (FAST, &one(), "c"))
            .check()
            .is_err()
    );
    let typed = space(vec![choices("x", &["1", "2"])]);
    let error = compared((FAST, &one(), "b"), (FAST, &typed, "b"))
        .check()
        .unwrap_err()
        .to_string();
    assert!(error.contains("another type"), "{error}");
}

#[test]
fn budget_and_finish_may_change_and_are_told() {
    let one = || space(vec![int("x", 1, 2)]);
    let more = "format = 1\n[budget]\ntime = \"9h\"\n[finish]\nrun = \"true\"\n";
    let changes = compared(("format = 1\n", &one(), "b"), (more, &one(), "b"));
    assert_eq!(changes.check(), Ok(()));
    assert!(
        changes.to_string().contains("budget.time: \"8h\" → \"9h\""),
        "{changes}"
    );
    assert_eq!(
        compared((FAST, &one(), "b"), (FAST, &one(), "b")),
        Changes::default()
    );
}
