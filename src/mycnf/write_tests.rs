use std::path::Path;

use proptest::prelude::*;

use super::*;
use crate::space::Value;
use crate::stats::Interval;
use crate::units::{Bytes, UtcMillis};

fn read(text: &str) -> MyCnf {
    parse_text(
        Path::new("my.cnf"),
        text.as_bytes(),
        Dialect::MariaDb { major: 10, minor: 11 },
    )
}

fn value(cnf: &MyCnf, name: &str) -> Option<String> {
    cnf.effective(|_| true).get(name)?.0.value.clone()
}

fn recommended(lines: Vec<RecommendedLine>) -> Recommended {
    Recommended {
        server: "MariaDB 10.11.19".to_owned(),
        machine_class: "2 cores, 4 GiB".to_owned(),
        workload: "sysbench oltp_read_write, 16 threads".to_owned(),
        durability: Durability {
            class: "full".to_owned(),
            can_be_lost: "no acknowledged commit is lost".to_owned(),
        },
        metric: "tps".to_owned(),
        gain: Gain::Confirmed {
            ratio: Interval {
                point: 2.1,
                low: 1.8,
                high: 2.4,
                level: 0.95,
            },
            blocks: 5,
            burst: None,
        },
        notes: Vec::new(),
        trials: 25,
        date: UtcMillis(0),
        version: "0.1.0".to_owned(),
        lines,
    }
}

fn line(variable: &str, value: impl Into<Value>, size: bool) -> RecommendedLine {
    RecommendedLine {
        variable: variable.to_owned(),
        value: value.into(),
        size,
        baseline: None,
        set_in_baseline: false,
        effect: Effect::Together,
    }
}

#[test]
fn the_recommendation_says_where_it_holds_and_what_each_line_was() {
    let mut pool = line("innodb_buffer_pool_size", 1536_i64 << 20, true);
    pool.baseline = Some(Value::Int(128 << 20));
    let mut flush = line("innodb_adaptive_flushing", false, false);
    flush.baseline = Some(Value::Bool(true));
    flush.set_in_baseline = true;
    flush.effect = Effect::Measured(Interval {
        point: 1.05,
        low: 1.01,
        high: 1.09,
        level: 0.95,
    });
    let recommended = recommended(vec![pool, flush]);
    let text = render(&recommended);
    for expected in [
        "# server:      MariaDB 10.11.19\n",
        "# durability:  full: no acknowledged commit is lost\n",
        "# gain:        tps × 2.10 (95 % interval 1.80 to 2.40) against the baseline, in 5 paired blocks\n",
        "# trials:      25\n",
        "# was 128M (the server's default); effect measured only together with the other lines\n\
         innodb_buffer_pool_size = 1536M\n",
        "# was ON; effect × 1.05 (95 % interval 1.01 to 1.09)\ninnodb_adaptive_flushing = OFF\n",
    ] {
        assert!(text.contains(expected), "{expected} in\n{text}");
    }
    let back = rollback(&recommended);
    assert!(
        back.contains("# remove: innodb_buffer_pool_size = 1536M; below: the server's default\n"),
        "{back}"
    );
    assert_eq!(
        value(&read(&back), "innodb_buffer_pool_size").as_deref(),
        Some("128M")
    );
    assert_eq!(
        value(&read(&back), "innodb_adaptive_flushing").as_deref(),
        Some("ON")
    );
}

#[test]
fn the_section_is_the_end_of_the_file_whatever_the_header_says() {
    let mut recommended = recommended(vec![
        line("innodb_buffer_pool_size", 1536_i64 << 20, true),
        line("ft_boolean_syntax", "+ -><#", false),
    ]);
    let section = render_section(&recommended.lines);
    assert!(section.starts_with("[mysqld]\n# was not set;"), "{section}");
    for gain in [Gain::Untested, Gain::Believed { ratio: Some(1.2) }] {
        recommended.gain = gain;
        recommended.trials += 1;
        assert!(render(&recommended).ends_with(&format!("\n\n{section}")));
    }
    recommended.lines.clear();
    assert!(render(&recommended).ends_with(&render_section(&[])));
}

#[test]
fn an_unconfirmed_gain_is_called_so_and_no_number_is_ever_not_finite() {
    let mut recommended = recommended(vec![line("a", 1_i64, false)]);
    recommended.gain = Gain::Believed { ratio: Some(1.3) };
    assert!(render(&recommended).contains("NOT confirmed"));
    recommended.gain = Gain::NotConfirmed {
        ratio: Interval {
            point: 1.05,
            low: 0.98,
            high: 1.4,
            level: 0.95,
        },
        blocks: 5,
        burst: None,
    };
    assert!(render(&recommended).contains(
        "# gain:        NOT CONFIRMED: tps × 1.05 (95 % interval 0.98 to 1.40) against the baseline, in 5 paired blocks"
    ));
    recommended.gain = Gain::Confirmed {
        ratio: Interval {
            point: 1.5,
            low: 1.3,
            high: 1.7,
            level: 0.95,
        },
        blocks: 5,
        burst: Some(crate::plan::Burst {
            seconds: 15.0,
            unpaid_bytes: 120e6,
        }),
    };
    assert!(render(&recommended).contains("in 5 paired blocks; burst of 15 s, 120 MB of debt unpaid\n"));
    recommended.gain = Gain::Untested;
    assert!(render(&recommended).contains("# gain:        NOT CONFIRMED: no time was left for it\n"));
    recommended.gain = Gain::Confirmed {
        ratio: Interval {
            point: f64::NAN,
            low: 0.0,
            high: f64::INFINITY,
            level: 0.95,
        },
        blocks: 5,
        burst: None,
    };
    recommended.lines[0].effect = Effect::Estimated { ratio: f64::NAN };
    let text = render(&recommended);
    assert!(
        text.contains("not measurable") && !text.contains("NaN") && !text.contains("inf"),
        "{text}"
    );
}

#[test]
fn a_workload_name_with_a_line_feed_cannot_add_a_setting() {
    let mut recommended = recommended(vec![]);
    recommended.workload = "x\nskip_grant_tables".to_owned();
    assert!(read(&render(&recommended)).settings.is_empty());
}

fn any_value() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(Value::Int),
        (-1e12..1e12_f64).prop_map(Value::Float),
        "[^\u{0}]{0,40}".prop_map(Value::Text),
    ]
}

proptest! {
    #[test]
    fn what_is_written_reads_back_as_the_same_value(value_in in any_value(), size in any::<bool>()) {
        // Control characters without an escape of their own end up as they are, except those that end a line or a text.
        if let Value::Text(text) = &value_in {
            prop_assume!(!text.contains(['\u{b}', '\u{c}', '\u{0}']));
        }
        let cnf = read(&render(&recommended(vec![line("knob", value_in.clone(), size)])));
        prop_assert_eq!(&cnf.findings, &vec![]);
        let back = value(&cnf, "knob").unwrap();
        match (&value_in, size) {
            (Value::Int(n), true) if *n >= 0 => {
                prop_assert_eq!(back.parse::<Bytes>().unwrap(), Bytes(n.unsigned_abs()));
            }
            _ => prop_assert_eq!(back, value_in.to_string()),
        }
    }
}
