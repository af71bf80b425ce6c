//! The search engine for other programs, as a process.

use std::io::Write as _;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::bench::Bench;

const SPACE: &str =
    "[knob.pool]\ntype = \"bytes\"\nmin = \"64M\"\nmax = \"4G\"\nunit = \"1M\"\ndefault = \"128M\"\n";

/// Exit code, replies and error output of `noctune engine` told `lines`.
fn engine(arguments: &[&str], lines: &[String]) -> (Option<i32>, Vec<Value>, String) {
    let bench = Bench::new("");
    bench.write("space.toml", SPACE);
    let mut child = bench
        .command(&[&["engine"], arguments].concat())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    for line in lines {
        // A program that refused its arguments reads nothing.
        let _ = writeln!(input, "{line}");
    }
    drop(input);
    let output = child.wait_with_output().unwrap();
    let replies = String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    (
        output.status.code(),
        replies,
        String::from_utf8(output.stderr).unwrap(),
    )
}

#[test]
fn one_object_a_line_in_one_out_and_a_bad_line_ends_nothing() {
    let lines = [
        json!({"op": "hello"}).to_string(),
        json!({"op": "ask", "seq": 7}).to_string(),
        "nonsense".to_owned(),
        String::new(),
        json!({"op": "tell", "id": 1, "outcome": "measured", "values": {"tps": 500.0, "p95_ms": 12}})
            .to_string(),
        json!({"op": "ask", "n": 3}).to_string(),
        json!({"op": "recommend"}).to_string(),
    ];
    let arguments = [
        "--space",
        "space.toml",
        "--objective",
        "tps:max",
        "--constraint",
        "p95_ms <= 50",
        "--seed",
        "3",
    ];
    let (code, replies, errors) = engine(&arguments, &lines);
    assert_eq!(code, Some(0), "{errors}");
    assert_eq!(replies.len(), 6, "{replies:?}");
    assert_eq!(replies[1]["seq"], 7);
    assert_eq!(replies[1]["trials"][0]["config"]["pool"], 128 << 20);
    assert!(replies[2]["error"].is_string());
    assert_eq!(replies[3], json!({"ok": true}));
    assert_eq!(replies[4]["trials"].as_array().unwrap().len(), 3);
    assert_eq!(replies[5]["id"], 1);
}

#[test]
fn bad_arguments_end_it_with_code_2_before_anything_is_read() {
    for (arguments, part) in [
        (&["--space", "space.toml"][..], "--maximize"),
        (&["--space", "missing.toml", "--maximize"], "missing.toml"),
        (
            &["--space", "space.toml", "--strategy", "baies", "--minimize"],
            "did you mean",
        ),
        (&["--space", "space.toml", "--objective", "tps"], "NAME:max"),
        (
            &["--space", "space.toml", "--maximize", "--minimize"],
            "cannot be used",
        ),
        (
            &["--space", "space.toml", "--maximize", "--constraint", "p95 <="],
            "p95 <=",
        ),
    ] {
        let (code, replies, errors) = engine(arguments, &[json!({"op": "hello"}).to_string()]);
        assert_eq!(code, Some(2), "{arguments:?}: {errors}");
        assert!(replies.is_empty(), "{replies:?}");
        assert!(errors.contains(part), "{arguments:?}: {errors}");
    }
}
