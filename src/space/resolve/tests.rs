//! Resolving the shipped families on servers seen live, and the mistakes of files.

use std::collections::BTreeMap;

use super::super::embedded::{families, family_names, machine_class, machine_class_names};
use super::super::file::{KnobSpec, NamedFile};
use super::super::*;
use super::{Inputs, Resolution, resolve};
use crate::error::Result;
use crate::units::Bytes;

const SERVERS: [&str; 3] = ["10.5", "10.11", "11.8"];

fn server(version: &str) -> ServerFacts {
    let text = match version {
        "10.5" => include_str!("../../../tests/fixtures/server_facts/mariadb-10.5.json"),
        "10.11" => include_str!("../../../tests/fixtures/server_facts/mariadb-10.11.json"),
        _ => include_str!("../../../tests/fixtures/server_facts/mariadb-11.8.json"),
    };
    serde_json::from_str(text).unwrap()
}

pub(super) struct Case {
    files: Vec<NamedFile>,
    pub(super) knobs: BTreeMap<String, KnobSpec>,
    class: MachineClass,
    server: Option<ServerFacts>,
    baseline: BTreeMap<String, String>,
    durability: DurabilityRule,
    allow: Vec<String>,
}

impl Case {
    pub(super) fn shipped(version: &str, class: &str) -> Self {
        Self {
            files: families(&family_names()).unwrap(),
            knobs: BTreeMap::new(),
            class: machine_class(class).unwrap(),
            server: Some(server(version)),
            baseline: BTreeMap::new(),
            durability: DurabilityRule::Keep,
            allow: Vec::new(),
        }
    }

    fn file(text: &str) -> Self {
        Self {
            files: vec![NamedFile::parse(&format!("format = 1\n{text}"), "own.toml").unwrap()],
            server: None,
            ..Self::shipped("10.11", "4-cores-8g-ssd")
        }
    }

    pub(super) fn baseline(mut self, name: &str, value: &str) -> Self {
        self.baseline.insert(name.to_owned(), value.to_owned());
        self
    }

    pub(super) fn resolve(&self) -> Result<Resolution> {
        resolve(Inputs {
            files: &self.files,
            knobs: &self.knobs,
            constraints: &[],
            study_file: "study.toml",
            class: Some(&self.class),
            server: self.server.as_ref(),
            baseline: &self.baseline,
            durability: self.durability,
            allow: &self.allow,
        })
    }

    pub(super) fn space(&self) -> Space {
        self.resolve().unwrap().space
    }

    pub(super) fn error(&self) -> String {
        self.resolve().unwrap_err().to_string()
    }
}

#[test]
fn the_shipped_families_resolve_on_every_server_and_class() {
    for version in SERVERS {
        for class in machine_class_names() {
            let resolution = Case::shipped(version, class).resolve().unwrap();
            let space = &resolution.space;
            assert!(
                space.knobs().len() > 25,
                "{version} {class}: {}",
                space.knobs().len()
            );
            assert!(
                space
                    .knobs()
                    .iter()
                    .all(|k| !k.source.is_empty() && k.default.is_some()),
                "{version}"
            );
            let guess = space.rule_of_thumb().unwrap();
            space.permits(&guess).unwrap();
            let text = serde_json::to_string(space).unwrap();
            assert_eq!(&serde_json::from_str::<Space>(&text).unwrap(), space);
        }
    }
}

#[test]
fn the_default_writes_exactly_what_the_baseline_has() {
    for version in SERVERS {
        let case = Case::shipped(version, "4-cores-8g-ssd")
            .baseline("tmp_table_size", "33554432")
            .baseline("max_heap_table_size", "16777216")
            .baseline("innodb_io_capacity_max", "2001");
        let space = case.space();
        for (name, value) in space.writes(&space.default_configuration()).unwrap() {
            let have = &space.ground().variables[&name];
            assert!(
                super::super::write::same(have, &value),
                "{version}: {name} {have} {value}"
            );
        }
    }
}

#[test]
fn a_knob_the_server_lacks_is_left_out_with_a_reason() {
    let resolution = Case::shipped("11.8", "4-cores-8g-ssd").resolve().unwrap();
    let reason = |knob: &str| {
        resolution
            .left_out
            .iter()
            .find(|l| l.knob == knob)
            .map(|l| l.reason.clone())
    };
    assert!(
        reason("innodb_redo_log_capacity")
            .unwrap()
            .contains("MariaDB 11.8.9 has no variable")
    );
    assert!(
        reason("innodb_flush_method")
            .unwrap()
            .contains("version_major < 11")
    );
    assert!(reason("commit").unwrap().contains("log_bin"));
    assert!(resolution.space.knob("innodb_data_file_buffering").is_some());
}

#[test]
fn the_guess_gives_most_memory_to_the_pool_and_fits() {
    let space = Case::shipped("10.11", "4-cores-8g-ssd").space();
    let guess = space.rule_of_thumb().unwrap();
    let pool = guess.get("innodb_buffer_pool_size").unwrap().as_f64().unwrap();
    assert!((0.6..=0.72).contains(&(pool / Bytes::gib(8).0 as f64)), "{pool}");
    assert_eq!(guess.get("innodb_flush_neighbors"), Some(&Value::from("0")));
}

#[test]
fn the_guess_of_a_small_machine_lowers_the_pool_until_it_fits() {
    let space = Case::shipped("10.11", "2-cores-1g").space();
    let guess = space.rule_of_thumb().unwrap();
    let pool = guess.get("innodb_buffer_pool_size").unwrap().as_f64().unwrap();
    assert!(pool < 0.5 * Bytes::gib(1).0 as f64);
    assert!(space.memory(&guess).unwrap().unwrap().fits());
}

#[test]
fn a_pool_that_does_not_fit_is_refused_with_the_bill() {
    let space = Case::shipped("10.11", "4-cores-8g-ssd")
        .baseline("max_connections", "2000")
        .space();
    let mut large = space.snap(&space.default_configuration());
    large.set("innodb_buffer_pool_size", 3_i64 << 30);
    let breach = space.permits(&large).unwrap_err();
    assert_eq!(breach.constraint, "memory");
    assert!(
        breach.detail.contains("2000 ×") && breach.detail.contains("missing"),
        "{breach}"
    );
}

#[test]
fn without_a_binlog_full_durability_leaves_no_choice_of_flushing() {
    let resolution = Case::shipped("10.11", "4-cores-8g-ssd").resolve().unwrap();
    assert!(resolution.space.knob("innodb_flush_log_at_trx_commit").is_none());
    assert!(resolution.space.knob("innodb_doublewrite").is_none());
}

#[test]
fn with_a_binlog_the_commit_keeps_the_class_of_the_baseline() {
    let case = Case::shipped("10.11", "4-cores-8g-ssd")
        .baseline("log_bin", "ON")
        .baseline("sync_binlog", "1");
    let space = case.space();
    let Domain::Enum { values } = &space.knob("commit").unwrap().domain else {
        panic!("no enum")
    };
    assert_eq!(values, &["1/1", "3/1"]);
    let explore = Case {
        durability: DurabilityRule::Explore,
        ..case
    };
    let space = explore.space();
    assert_eq!(space.knob("commit").unwrap().domain.count(), Some(7));
    assert!(space.knob("innodb_doublewrite").is_none());
}

#[test]
fn a_commit_setting_of_the_baseline_that_no_word_says_is_one_more_word() {
    let space = Case::shipped("10.11", "4-cores-8g-ssd")
        .baseline("log_bin", "ON")
        .baseline("sync_binlog", "7")
        .space();
    assert_eq!(
        space.default_configuration().get("commit"),
        Some(&Value::from("baseline"))
    );
    let writes = space.writes(&space.default_configuration()).unwrap();
    assert!(writes.contains(&("sync_binlog".to_owned(), Value::Int(7))));
}

#[test]
fn the_doublewrite_opens_only_with_permission() {
    let mut case = Case::shipped("11.8", "4-cores-8g-ssd");
    case.allow = vec!["doublewrite-off".to_owned()];
    let space = case.space();
    let mut off = space.snap(&space.default_configuration());
    off.set("innodb_doublewrite", "OFF");
    space.permits(&off).unwrap();
    assert_eq!(space.durability(&off).unwrap(), DurabilityClass::Unsafe);
}

#[test]
fn a_server_that_rounds_the_pool_to_chunks_gets_whole_chunks() {
    let space = Case::shipped("10.5", "4-cores-8g-ssd").space();
    let Domain::Int { unit, .. } = space.knob("innodb_buffer_pool_size").unwrap().domain else {
        panic!("no number")
    };
    assert_eq!(unit, 128 << 20);
}

#[test]
fn three_small_knobs_have_six_points_and_a_narrow_pool_has_one() {
    let six = Case::file(
        "[knob.n]\ntype = \"enum\"\nvalues = [0, 1, 2]\n[knob.a]\ntype = \"bool\"\n[knob.d]\ntype = \"enum\"\nvalues = [\"ON\"]\n",
    );
    assert_eq!(six.space().distinct(), Some(6));
    let one =
        Case::file("[knob.pool]\ntype = \"bytes\"\nmin = \"1G\"\nmax = \"1.1 * 1G\"\nunit = \"128M\"\n");
    assert_eq!(one.space().distinct(), Some(1));
}

#[test]
fn geometry_is_refused_and_capacity_needs_permission() {
    let on_a_server = |text: &str| Case {
        server: Some(server("10.11")),
        ..Case::file(text)
    };
    let page = on_a_server("[knob.innodb_page_size]\ntype = \"enum\"\nvalues = [4096, 16384]\n").error();
    assert!(
        page.contains("fixed when the data directory is made") && page.contains("own.toml"),
        "{page}"
    );
    let connections = on_a_server("[knob.max_connections]\ntype = \"int\"\nmin = 10\nmax = 500\n");
    assert!(connections.error().contains("allow = [\"max_connections\"]"));
}

#[test]
fn no_more_threads_are_cached_than_may_connect() {
    // MariaDB 10.11 runs with max_connections where more is asked for, without a word.
    for (connections, most) in [("151", 151), ("4000", 1024)] {
        let case = Case::shipped("10.11", "4-cores-8g-ssd").baseline("max_connections", connections);
        let space = case.space();
        let Domain::Int { max, .. } = space.knob("thread_cache_size").unwrap().domain else {
            panic!("no whole number")
        };
        assert_eq!(max, most);
    }
}

#[test]
fn a_capacity_never_goes_below_the_baseline() {
    let case = Case {
        allow: vec!["max_connections".to_owned()],
        server: Some(server("10.11")),
        ..Case::file("[knob.max_connections]\ntype = \"int\"\nmin = 10\nmax = 500\n")
    };
    let space = case.space();
    assert!(matches!(
        space.knobs()[0].domain,
        Domain::Int {
            min: 151,
            max: 500,
            ..
        }
    ));
}

#[test]
fn mistakes_are_told_with_file_knob_and_position() {
    let crossed = Case::file("[knob.a]\ntype = \"int\"\nmin = 9\nmax = 3\n").error();
    assert!(
        crossed.contains("min 9 is above max 3") && crossed.contains("own.toml, knob a"),
        "{crossed}"
    );
    let unknown = Case::file("[knob.a]\ntype = \"int\"\nmin = 1\nmax = \"4 * corse\"\n").error();
    assert!(
        unknown.contains("4 * corse\n        ^") || unknown.contains("    ^"),
        "{unknown}"
    );
    assert!(unknown.contains("did you mean \"cores\"?"), "{unknown}");
    let circle = Case::file(
        "[knob.a]\ntype = \"int\"\nmin = 1\nmax = \"b\"\n[knob.b]\ntype = \"int\"\nmin = 1\nmax = \"a\"\n",
    );
    assert!(circle.error().contains("go in a circle"));
    let nothing =
        Case::file("[knob.a]\ntype = \"int\"\nmin = 1\nmax = 5\n[[constraint]]\nrequire = \"a > 7\"\n");
    assert!(
        nothing
            .error()
            .contains("no configuration of the space is permitted")
    );
}

#[test]
fn a_study_narrows_fixes_and_adds() {
    let mut case = Case::shipped("10.11", "4-cores-8g-ssd");
    let spec = |text: &str| toml::from_str::<KnobSpec>(text).unwrap();
    case.knobs
        .insert("innodb_io_capacity".to_owned(), spec("max = 4000"));
    case.knobs
        .insert("innodb_buffer_pool_size".to_owned(), spec("fix = \"1000M\""));
    case.knobs.insert(
        "innodb_purge_batch_size".to_owned(),
        spec("type = \"int\"\nmin = 1\nmax = 9"),
    );
    let space = case.space();
    assert!(matches!(
        space.knob("innodb_io_capacity").unwrap().domain,
        Domain::Int { max: 4000, .. }
    ));
    let any = space.decode(&Point(vec![]));
    assert_eq!(any.get("innodb_buffer_pool_size"), Some(&Value::Int(1000 << 20)));
    case.knobs
        .insert("innodb_io_capacty".to_owned(), spec("max = 4000"));
    assert!(case.error().contains("did you mean innodb_io_capacity?"));
}

#[test]
fn a_bound_on_another_knob_is_the_envelope_and_a_constraint() {
    let space = Case::file(
        "[knob.a]\ntype = \"int\"\nmin = 1\nmax = 10\n[knob.b]\ntype = \"int\"\nmin = 0\nmax = \"2 * a\"\n",
    )
    .space();
    assert!(matches!(
        space.knob("b").unwrap().domain,
        Domain::Int { max: 20, .. }
    ));
    let mut c = Configuration::new();
    c.set("a", 3_i64);
    c.set("b", 7_i64);
    let breach = space.permits(&c).unwrap_err();
    assert!(
        breach.detail.contains("b is 7, (2 * a) is 6") || breach.detail.contains("is 6"),
        "{breach}"
    );
    c.set("b", 6_i64);
    space.permits(&c).unwrap();
}

#[test]
fn odd_spaces_neither_panic_nor_leave_their_bounds() {
    let many: Vec<String> = (0..60).map(|i| format!("\"v{i}\"")).collect();
    let space = Case::file(&format!(
        "[knob.one]\ntype = \"int\"\nmin = 5\nmax = 5\n[knob.many]\ntype = \"enum\"\nvalues = [{}]\n[knob.huge]\ntype = \"float\"\nmin = -1e300\nmax = 1e300\n[knob.wide]\ntype = \"int\"\nscale = \"log\"\nmin = 1\nmax = 9223372036854775807\n[knob.log]\ntype = \"float\"\nscale = \"log\"\nmin = 1e-300\nmax = 1e300\n",
        many.join(",")
    ))
    .space();
    for u in [
        f64::NAN,
        f64::NEG_INFINITY,
        -3.0,
        0.0,
        0.3,
        1.0,
        7.0,
        f64::INFINITY,
    ] {
        let point = Point(space.dimensions().iter().map(|_| Coordinate::Number(u)).collect());
        let c = space.decode(&point);
        space.permits(&c).unwrap();
        assert_eq!(space.decode(&space.encode(&c)), c);
    }
    let mut odd = Configuration::new();
    odd.set("one", f64::MAX);
    odd.set("many", "none of them");
    odd.set("huge", "text");
    odd.set("wide", i64::MIN);
    odd.set("log", -1.0);
    assert_eq!(space.decode(&space.encode(&odd)), space.snap(&odd));
}
