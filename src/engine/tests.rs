//! The protocol as a program meets it.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};

use super::{Session, Setup};
use crate::space::file::NamedFile;
use crate::space::{DurabilityRule, ResolveInputs, resolve};
use crate::strategy;
use crate::study::{ConstraintSpec, Objective, ObjectiveSpec};

const SPACE: &str = r#"
[knob.pool]
type = "bytes"
min = "64M"
max = "16G"
unit = "1M"
default = "128M"

[knob.threads]
type = "int"
min = 1
max = 64
default = 8

[knob.flush]
type = "enum"
values = ["fsync", "O_DIRECT"]
default = "fsync"
"#;

fn session(space: &str, preset: &str, constraints: &[&str]) -> Session {
    let files = [NamedFile::parse(space, "space.toml").unwrap()];
    let space = resolve(ResolveInputs {
        files: &files,
        knobs: &BTreeMap::new(),
        constraints: &[],
        study_file: "space.toml",
        class: None,
        server: None,
        baseline: &BTreeMap::new(),
        durability: DurabilityRule::Keep,
        allow: &[],
    })
    .unwrap()
    .space;
    let constraints: Vec<ConstraintSpec> = constraints
        .iter()
        .map(|require| ConstraintSpec {
            require: (*require).to_owned(),
        })
        .collect();
    let objective = ObjectiveSpec {
        metric: "value".to_owned(),
        goal: strategy::Goal::Maximize,
    };
    Session::new(Setup {
        space,
        strategy: strategy::load(strategy::embedded(preset).unwrap()).unwrap(),
        objective: Objective::new(&objective, &constraints).unwrap(),
        seed: 1,
    })
}

fn say(session: &mut Session, request: &Json) -> Json {
    session.reply(&request.to_string())
}

/// The error of a request.
fn refused(session: &mut Session, request: &Json) -> String {
    say(session, request)["error"].as_str().unwrap().to_owned()
}

/// A smooth response with its optimum inside.
fn response(config: &Json) -> f64 {
    let pool = config["pool"].as_f64().unwrap() / (1u64 << 30) as f64;
    let threads = config["threads"].as_f64().unwrap();
    let flush = if config["flush"] == "O_DIRECT" { 1.2 } else { 1.0 };
    1000.0 * flush * (-(pool.ln() - 1.5).powi(2) / 8.0 - (threads / 32.0 - 0.7).powi(2)).exp()
}

#[test]
fn the_default_comes_first_then_the_search() {
    let mut session = session(SPACE, "bayes", &[]);
    assert_eq!(say(&mut session, &json!({"op": "hello"}))["protocol"], 1);
    let first = say(&mut session, &json!({"op": "ask"}));
    assert_eq!(
        first["trials"][0]["config"],
        json!({"pool": 134_217_728, "threads": 8, "flush": "fsync"})
    );
    assert_eq!(first["trials"][0]["purpose"], "explore");
    let second = say(&mut session, &json!({"op": "ask", "n": 2}));
    let ids: Vec<_> = second["trials"]
        .as_array()
        .unwrap()
        .iter()
        .map(|t| &t["id"])
        .collect();
    assert_eq!(ids, [2, 3]);
    assert_ne!(second["trials"][0]["config"], second["trials"][1]["config"]);
}

#[test]
fn a_search_by_the_protocol_finds_what_is_good_and_recommends_it() {
    let mut session = session(SPACE, "bayes", &[]);
    let mut best = f64::NEG_INFINITY;
    for _ in 0..14 {
        let asked = say(&mut session, &json!({"op": "ask"}));
        let trial = &asked["trials"][0];
        let value = response(&trial["config"]);
        best = best.max(value);
        let told = say(
            &mut session,
            &json!({"op": "tell", "id": trial["id"], "outcome": "measured", "value": value, "variance": 1.0, "seconds": 20.0}),
        );
        assert_eq!(told, json!({"ok": true}));
    }
    assert!(best > 1100.0, "{best}");
    let recommended = say(&mut session, &json!({"op": "recommend", "seq": "last"}));
    assert!(response(&recommended["config"]) > 1100.0, "{recommended}");
    assert!(recommended["sd"].as_f64().unwrap() > 0.0);
    assert_eq!(recommended["seq"], "last");
}

#[test]
fn what_is_told_otherwise_than_the_protocol_says_changes_nothing() {
    let mut session = session(SPACE, "sobol", &[]);
    let id = say(&mut session, &json!({"op": "ask"}))["trials"][0]["id"].clone();
    for (request, part) in [
        (json!({"op": "tell", "id": 9, "outcome": "refused"}), "no trial 9"),
        (json!({"op": "tell", "id": 0, "outcome": "refused"}), "no trial 0"),
        (json!({"op": "tell", "outcome": "refused"}), "\"id\" is missing"),
        (
            json!({"op": "tell", "id": id, "outcome": "measured"}),
            "needs \"value\"",
        ),
        (
            json!({"op": "tell", "id": id, "outcome": "broken"}),
            "unknown variant",
        ),
        (
            json!({"op": "tell", "id": id, "outcome": "refused", "vale": 1}),
            "unknown field `vale`",
        ),
        (
            json!({"op": "tell", "id": id, "outcome": "measured", "value": 1, "variance": -1}),
            "not negative",
        ),
        (json!({"op": "ask", "n": 0}), "1 to"),
        (json!({"op": "aks"}), "unknown op"),
        (json!({"n": 1}), "\"op\" is missing"),
        (json!([1]), "JSON object"),
        (
            json!({"op": "add", "outcome": "refused"}),
            "\"config\" is missing",
        ),
        (
            json!({"op": "add", "config": {"pol": 1}, "outcome": "refused"}),
            "\"pol\" is no knob",
        ),
        (
            json!({"op": "add", "config": {"pool": "much"}, "outcome": "refused"}),
            "no value of pool",
        ),
        (json!({"op": "recommend"}), "nothing was measured"),
    ] {
        let problem = refused(&mut session, &request);
        assert!(problem.contains(part), "{request}: {problem}");
    }
    assert!(
        session.reply("{\"op\":")["error"]
            .as_str()
            .unwrap()
            .contains("no JSON")
    );
    let tell = json!({"op": "tell", "id": id, "outcome": "measured", "value": 5});
    assert_eq!(say(&mut session, &tell), json!({"ok": true}));
    assert!(refused(&mut session, &tell).contains("told already"));
}

#[test]
fn a_host_fault_leaves_the_trial_to_be_told_again_and_a_dropped_one_is_gone() {
    let mut session = session(SPACE, "random", &[]);
    let asked = say(&mut session, &json!({"op": "ask", "n": 2}));
    let (first, second) = (&asked["trials"][0]["id"], &asked["trials"][1]["id"]);
    assert_eq!(
        say(
            &mut session,
            &json!({"op": "tell", "id": first, "outcome": "host-fault"})
        ),
        json!({"ok": true})
    );
    let measured = json!({"op": "tell", "id": first, "outcome": "measured", "value": 3.0});
    assert_eq!(say(&mut session, &measured), json!({"ok": true}));
    assert_eq!(
        say(&mut session, &json!({"op": "drop", "id": second})),
        json!({"ok": true})
    );
    let problem = refused(
        &mut session,
        &json!({"op": "tell", "id": second, "outcome": "refused"}),
    );
    assert!(problem.contains("given up"), "{problem}");
    assert_eq!(say(&mut session, &json!({"op": "recommend"}))["id"], *first);
}

#[test]
fn an_exhausted_space_says_so() {
    let space = "[knob.flush]\ntype = \"enum\"\nvalues = [\"a\", \"b\"]\n";
    for preset in strategy::names() {
        let mut session = session(space, preset, &[]);
        let asked = say(&mut session, &json!({"op": "ask", "n": 5}));
        assert!(
            asked["trials"].as_array().unwrap().len() <= 2,
            "{preset}: {asked}"
        );
        for trial in asked["trials"].as_array().unwrap() {
            say(
                &mut session,
                &json!({"op": "tell", "id": trial["id"], "outcome": "refused"}),
            );
        }
        for _ in 0..3 {
            let asked = say(&mut session, &json!({"op": "ask"}));
            for trial in asked["trials"].as_array().unwrap() {
                say(
                    &mut session,
                    &json!({"op": "tell", "id": trial["id"], "outcome": "refused"}),
                );
            }
        }
        assert_eq!(
            say(&mut session, &json!({"op": "ask"})),
            json!({"trials": [], "exhausted": true}),
            "{preset}"
        );
    }
}

#[test]
fn sizes_beyond_what_a_double_holds_are_text_both_ways() {
    let space = "[knob.big]\ntype = \"int\"\nmin = 9007199254740993\nmax = 9007199254740999\ndefault = 9007199254740995\n";
    let mut session = session(space, "sobol", &[]);
    let asked = say(&mut session, &json!({"op": "ask"}));
    assert_eq!(asked["trials"][0]["config"]["big"], "9007199254740995");
    let added = say(
        &mut session,
        &json!({"op": "add", "config": {"big": "9007199254740997"}, "outcome": "measured", "value": 2}),
    );
    assert_eq!(added, json!({"id": 2}));
    let recommended = say(&mut session, &json!({"op": "recommend"}));
    assert_eq!(recommended["config"]["big"], "9007199254740997");
}

#[test]
fn a_constraint_on_a_metric_keeps_what_breaks_it_from_being_recommended() {
    let mut session = session(SPACE, "bayes", &["p95_ms <= 50"]);
    for (threads, value, p95) in [(8, 100.0, 20.0), (16, 300.0, 90.0), (12, 200.0, 45.0)] {
        let config = json!({"pool": 1u64 << 30, "threads": threads, "flush": "fsync"});
        let added = say(
            &mut session,
            &json!({"op": "add", "config": config, "outcome": "measured", "values": {"value": value, "p95_ms": p95}}),
        );
        assert!(added["id"].is_u64(), "{added}");
    }
    assert_eq!(
        say(&mut session, &json!({"op": "recommend"}))["config"]["threads"],
        12
    );
}

#[test]
fn the_same_seed_and_the_same_tells_give_the_same_proposals() {
    let run = || {
        let mut session = session(SPACE, "bayes", &[]);
        let mut all = Vec::new();
        for _ in 0..8 {
            let asked = say(&mut session, &json!({"op": "ask"}));
            let trial = asked["trials"][0].clone();
            let value = response(&trial["config"]);
            say(
                &mut session,
                &json!({"op": "tell", "id": trial["id"], "outcome": "measured", "value": value}),
            );
            all.push(trial);
        }
        all
    };
    assert_eq!(run(), run());
}

#[test]
fn names_that_no_study_may_tune_are_another_program_s_own() {
    let space = "[knob.expire_logs_days]\ntype = \"int\"\nmin = 0\nmax = 99\ndefault = 0\n";
    let mut session = session(space, "sobol", &[]);
    let asked = say(&mut session, &json!({"op": "ask"}));
    assert_eq!(asked["trials"][0]["config"]["expire_logs_days"], 0);
}

#[test]
fn what_the_knobs_do_is_told_with_ranges_and_curves() {
    let mut session = session(SPACE, "sobol", &[]);
    for seq in 0..30 {
        let asked = say(&mut session, &json!({"op": "ask"}));
        let trial = &asked["trials"][0];
        // More threads change nothing here.
        let pool = trial["config"]["pool"].as_f64().unwrap().log2();
        let luck = [1.01, 0.99, 1.0][seq % 3];
        let value = luck
            * (100.0
                + 20.0 * pool
                + if trial["config"]["flush"] == "fsync" {
                    50.0
                } else {
                    0.0
                });
        say(
            &mut session,
            &json!({"op": "tell", "id": trial["id"], "outcome": "measured", "value": value}),
        );
    }
    let told = say(&mut session, &json!({"op": "importance", "seq": 1}));
    assert_eq!(
        (&told["measurable"], &told["seq"]),
        (&json!(true), &json!(1)),
        "{told}"
    );
    let share = |knob: &str| told["importance"][knob].as_f64().unwrap();
    assert!(
        share("pool") > 0.55 && share("flush") > 0.1 && share("threads") < 0.05,
        "{told}"
    );
    assert!(told["explained"].as_f64().unwrap() > 0.8, "{told}");
    assert_eq!(told["told"]["pool"], true);
    let range = &told["ranges"]["pool"];
    assert!(range[0].as_f64().unwrap() <= share("pool") && share("pool") <= range[1].as_f64().unwrap());
    let curve = told["effects"]["pool"].as_array().unwrap();
    assert_eq!(curve[0]["value"], 64u64 << 20);
    assert_eq!(curve[8]["value"], 16u64 << 30);
    let step = curve[8]["mean"].as_f64().unwrap() - curve[0]["mean"].as_f64().unwrap();
    assert!((step - 160.0).abs() < 30.0, "{told}");
    assert_eq!(told["effects"]["flush"].as_array().unwrap().len(), 2);
    assert_eq!(told["pairs"].as_array().unwrap().len(), 3);
    assert_eq!(say(&mut session, &json!({"op": "importance", "seq": 1})), told);
    assert!(refused(&mut session, &json!({"op": "importance", "n": 1})).contains("unknown field"));
}

#[test]
fn equal_results_have_an_importance_of_zero_that_is_called_not_measurable() {
    for preset in strategy::names() {
        let mut session = session(SPACE, preset, &[]);
        assert_eq!(
            say(&mut session, &json!({"op": "importance"}))["measurable"],
            false
        );
        for (pool, threads) in [(1, 2), (2, 4), (3, 8), (4, 16), (5, 32), (6, 64), (7, 1), (8, 3)] {
            let config = json!({"pool": pool << 28, "threads": threads, "flush": "fsync"});
            say(
                &mut session,
                &json!({"op": "add", "config": config, "outcome": "measured", "value": 1200.0}),
            );
        }
        let told = say(&mut session, &json!({"op": "importance"}));
        assert_eq!(
            told["importance"],
            json!({"pool": 0.0, "threads": 0.0, "flush": 0.0}),
            "{told}"
        );
        assert_eq!(told["measurable"], false);
        assert!(told["why"].as_str().unwrap().contains("no difference"), "{told}");
    }
}
