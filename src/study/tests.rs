//! Study files as people write them, right and wrong.

use super::*;
use crate::error::Error;

const FULL: &str = r#"format = 1
[study]
name = "oltp"
seed = 7
[server]
binary = "/usr/sbin/mariadbd"
baseline = "/etc/mysql/my.cnf"
args = ["--skip-name-resolve"]
[hardware]
class = "4c-8g-ssd"
connections = 500
[space]
families = ["memory", "redo"]
durability = "os-1s"
allow = ["doublewrite-off"]
[space.knob.innodb_io_capacity]
max = 4000
[[space.constraint]]
name = "leave room"
require = "innodb_buffer_pool_size <= 0.7 * ram"
[workload]
script = "oltp_write_only"
threads = 32
options = { tables = 4, rand-type = "pareto" }
[trial]
caches = { drop = "none" }
warmup = "10s"
measure = { min = "15s", max = "1m 30s" }
[[objective]]
metric = "tps / p95_ms"
goal = "maximize"
[[constraint]]
require = "p95_ms <= 1.1 * baseline.p95_ms"
[strategy]
preset = "coordinate"
rule_of_thumb = false
[[candidate]]
innodb_buffer_pool_size = "2G"
innodb_flush_method = "O_DIRECT"
[template]
from = "/backup/data"
[budget]
time = "2h"
trials = 100
patience = false
[confirm]
length = "60s"
[finish]
run = "mail -s done dba"
"#;

fn problem(text: &str) -> crate::error::Problem {
    match Study::parse(text, "study.toml").unwrap_err() {
        Error::Input(problem) => problem,
        other => panic!("{other}"),
    }
}

#[test]
fn a_full_file_says_what_it_says() {
    let study = Study::parse(FULL, "study.toml").unwrap();
    assert_eq!(study.space.durability, Durability::Os1s);
    assert_eq!(study.trial.warmup, Warmup::AtMost(Time::seconds(10)));
    assert_eq!(study.trial.measure.max, Time::seconds(90));
    assert_eq!(study.budget.patience, Patience::Off);
    assert_eq!(study.candidate[0]["innodb_buffer_pool_size"], "2G".into());
    assert_eq!(study.objective().unwrap().metrics(), ["p95_ms", "tps"]);
}

#[test]
fn what_is_written_back_has_every_default_and_reads_equal() {
    for text in [FULL, "format = 1\n"] {
        let study = Study::parse(text, "study.toml").unwrap();
        let written = study.to_toml().unwrap();
        for key in [
            "seed",
            "families",
            "durability",
            "threads",
            "drop",
            "warmup",
            "min",
            "preset",
            "reserve",
        ] {
            assert!(
                written.contains(&format!("{key} = ")),
                "{key} is missing:\n{written}"
            );
        }
        assert_eq!(Study::parse(&written, "resolved.toml").unwrap(), study);
    }
}

#[test]
fn an_unknown_key_is_an_error_with_its_place_and_what_was_meant() {
    let found = problem("format = 1\n[workload]\nscript = \"oltp_read_only\"\n  thread = 8\n");
    assert!(
        found.what.contains("unknown key \"thread\" in [workload]"),
        "{found}"
    );
    assert_eq!(found.place.as_deref(), Some("study.toml:4:3"));
    assert_eq!(found.next.as_deref(), Some("did you mean \"threads\"?"));
}

#[test]
fn unknown_keys_in_arrays_of_tables_and_inline_tables_are_found_too() {
    let found = problem("format = 1\n[[objective]]\nmetric = \"tps\"\ngoal = \"maximize\"\nweigth = 2\n");
    assert_eq!(found.place.as_deref(), Some("study.toml:5:1"));
    let found = problem("format = 1\n[budget]\npatience = { gian = 0.01 }\n");
    assert_eq!(found.next.as_deref(), Some("did you mean \"gain\"?"));
    assert_eq!(found.place.as_deref(), Some("study.toml:3:14"));
}

#[test]
fn a_value_of_the_wrong_kind_is_shown_with_line_and_column() {
    let found = problem("format = 1\n[workload]\nthreads = \"many\"\n");
    assert_eq!(found.place.as_deref(), Some("study.toml:3:11"));
    let found = problem("format = 1\n[budget]\ntime = \"8\"\n");
    assert!(found.what.contains("8h"), "{found}");
    assert_eq!(found.place.as_deref(), Some("study.toml:3:8"));
}

#[test]
fn a_wrong_durability_word_gets_the_nearest() {
    let found = problem("format = 1\n[space]\ndurability = \"os-1\"\n");
    assert_eq!(found.next.as_deref(), Some("did you mean \"os-1s\"?"));
    assert_eq!(found.place.as_deref(), Some("study.toml:3:14"));
}

#[test]
fn no_toml_at_all_is_shown_where_it_stops_being_toml() {
    let found = problem("format = 1\n[study\nname = \"x\"\n");
    assert_eq!(
        found.place.as_deref().map(|place| &place[..13]),
        Some("study.toml:2:")
    );
}

#[test]
fn min_above_max_a_newer_format_and_an_empty_objective_are_refused() {
    let found = problem("format = 1\n[trial]\nmeasure = { min = \"60s\", max = \"30s\" }\n");
    assert!(found.what.contains("1m") && found.what.contains("30s"), "{found}");
    assert_eq!(found.place.as_deref(), Some("study.toml:3:13"));
    assert!(
        problem("format = 2\n")
            .next
            .is_some_and(|next| next.contains("newer"))
    );
    assert!(
        problem("format = 1\nobjective = []\n")
            .what
            .contains("no objective")
    );
}

#[test]
fn an_expression_that_cannot_be_read_shows_the_position_in_it() {
    let found = problem("format = 1\n[[constraint]]\nrequire = \"p95_ms <= * 2\"\n");
    assert!(found.what.contains('^'), "{found}");
    assert_eq!(found.place.as_deref(), Some("study.toml:3:1"));
}

#[test]
fn names_that_do_not_exist_are_told_with_those_that_do() {
    let known = Known {
        families: &["memory", "redo", "io", "session", "threads", "contention"],
        presets: &["bayes", "random"],
        metrics: &["tps", "p95_ms"],
    };
    let check = |text: &str| {
        Study::parse(text, "study.toml")
            .unwrap()
            .check_names(text, "study.toml", &known)
            .map_err(|e| e.to_string())
    };
    assert_eq!(check("format = 1\n"), Ok(()));
    assert_eq!(
        check("format = 1\n[strategy]\npreset = \"./mine.toml\"\n"),
        Ok(())
    );
    let wrong = check("format = 1\n[space]\nfamilies = [\"memory\", \"rede\"]\n").unwrap_err();
    assert!(
        wrong.contains("did you mean \"redo\"?") && wrong.contains("study.toml:3:23"),
        "{wrong}"
    );
    let wrong = check("format = 1\n[strategy]\npreset = \"bayess\"\n").unwrap_err();
    assert!(wrong.contains("did you mean \"bayes\"?"), "{wrong}");
    let wrong = check("format = 1\n[[objective]]\nmetric = \"qps\"\ngoal = \"maximize\"\n").unwrap_err();
    assert!(wrong.contains("unknown metric \"qps\""), "{wrong}");
}

#[test]
fn the_example_studies_are_read() {
    for (name, text) in [
        ("overnight", include_str!("../../examples/overnight.toml")),
        ("planted-bad", include_str!("../../examples/planted-bad.toml")),
        ("quick", include_str!("../../examples/quick.toml")),
        ("write-heavy", include_str!("../../examples/write-heavy.toml")),
    ] {
        let study = Study::parse(text, name).unwrap_or_else(|error| panic!("{name}: {error}"));
        study.check_budget(text, name).unwrap();
        assert_eq!(study.budget_warning(), None, "{name}");
    }
}

#[test]
fn every_key_of_the_list_of_known_keys_is_read() {
    let study = Study::parse(FULL, "study.toml").unwrap().to_toml().unwrap();
    let table: toml::Table = study.parse().unwrap();
    for key in known::keys("") {
        assert!(table.contains_key(*key), "{key}");
    }
    for (section, value) in &table {
        let inner = match value {
            toml::Value::Table(inner) => inner,
            toml::Value::Array(items) => items[0].as_table().unwrap(),
            _ => continue,
        };
        for key in inner.keys().filter(|_| section != "candidate") {
            assert!(known::keys(section).contains(&key.as_str()), "{section}.{key}");
        }
    }
}
