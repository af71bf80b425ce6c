//! What was asked for against what the server runs. Pure.

use std::collections::BTreeMap;

use crate::space::Value;
use crate::units::Bytes;

/// A variable that runs with another value than asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct Mismatch {
    /// The variable.
    pub name: String,
    /// What was asked for.
    pub asked: Value,
    /// What runs; none where the server does not know the variable.
    pub got: Option<String>,
}

impl std::fmt::Display for Mismatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.got {
            Some(got) => write!(f, "{}: {} was asked for, {got} runs", self.name, self.asked),
            None => write!(
                f,
                "{}: {} was asked for, the server does not have it",
                self.name, self.asked
            ),
        }
    }
}

/// The result of reading every asked variable back.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Verified {
    /// What really runs, in the type that was asked for.
    pub effective: BTreeMap<String, Value>,
    /// Rounded by the server to a legal value near by; not a failure.
    pub rounded: Vec<Mismatch>,
    /// Not applied: the trial would measure something else.
    pub not_applied: Vec<Mismatch>,
}

impl Verified {
    /// Limits that the server lowered itself, and told of in its log: its host would not let it have more. What runs is
    /// the configuration then, not a candidate that was refused.
    pub fn accept_lowered(&mut self, log: &str) {
        let lowered = lowered_limits(log);
        let (told, silent) = std::mem::take(&mut self.not_applied)
            .into_iter()
            .partition(|mismatch| lowered.contains(&mismatch.name.to_ascii_lowercase().as_str()));
        self.not_applied = silent;
        self.rounded.extend::<Vec<Mismatch>>(told);
    }
}

/// Variables named in `Changed limits: max_open_files: 1024 (requested 5000)` and its like, one or several a line; and the
/// instances of MariaDB's table cache, of which there are fewer, without a line of its own, where it cannot open more files.
fn lowered_limits(log: &str) -> Vec<&'static str> {
    let told = || log.lines().filter_map(|line| line.split_once("Changed limits:"));
    [
        ("max_open_files:", "open_files_limit"),
        ("max_connections:", "max_connections"),
        ("table_open_cache:", "table_open_cache"),
        ("table_cache:", "table_open_cache"),
    ]
    .into_iter()
    .filter(|(sign, _)| told().any(|(_, limits)| limits.contains(sign)))
    .map(|(_, variable)| variable)
    .chain(
        log.contains("Could not increase number of max_open_files")
            .then_some("table_open_cache_instances"),
    )
    .collect()
}

/// A number that differs by at most this share was rounded, whatever the block: MySQL rounds the pool up to a multiple of
/// chunk size × instances (2 GiB with 3 instances runs 2.25 GiB).
const ROUNDING_SHARE: f64 = 0.125;

/// Compares. `asked` by variable; `read` as `SHOW GLOBAL VARIABLES` gives it, names in lower case; `block` is the step of a
/// variable in its own unit where the server told it.
pub fn verify(
    asked: &BTreeMap<String, Value>,
    read: &BTreeMap<String, String>,
    block: impl Fn(&str) -> Option<u64>,
) -> Verified {
    let mut result = Verified::default();
    for (name, value) in asked {
        let Some(got) = read.get(&name.to_ascii_lowercase()) else {
            result.not_applied.push(Mismatch {
                name: name.clone(),
                asked: value.clone(),
                got: None,
            });
            continue;
        };
        let (effective, verdict) = compare(name, value, got, block(name));
        result.effective.insert(name.clone(), effective);
        let mismatch = || Mismatch {
            name: name.clone(),
            asked: value.clone(),
            got: Some(got.clone()),
        };
        match verdict {
            Verdict::Same => {}
            Verdict::Rounded => result.rounded.push(mismatch()),
            Verdict::Other => result.not_applied.push(mismatch()),
        }
    }
    result
}

enum Verdict {
    Same,
    Rounded,
    Other,
}

fn compare(name: &str, asked: &Value, got: &str, block: Option<u64>) -> (Value, Verdict) {
    let same_if = |same: bool| if same { Verdict::Same } else { Verdict::Other };
    if name == "log_bin" {
        // Asked for as a file name, read back as a switch.
        let wanted = switch(&asked.to_string()).unwrap_or(true);
        return (asked.clone(), same_if(switch(got) == Some(wanted)));
    }
    if let Some(wanted) = number(asked)
        && let Ok(runs) = got.trim().parse::<f64>()
    {
        let effective = match asked {
            Value::Bool(_) => Value::Bool(runs != 0.0),
            Value::Float(_) => Value::Float(runs),
            Value::Int(_) | Value::Text(_) => got.trim().parse().map_or(Value::Float(runs), Value::Int),
        };
        let difference = (wanted - runs).abs();
        let verdict = if difference <= f64::EPSILON * wanted.abs() {
            Verdict::Same
        } else if block.is_some_and(|block| difference < block as f64)
            || difference <= ROUNDING_SHARE * wanted.abs()
        {
            Verdict::Rounded
        } else {
            Verdict::Other
        };
        return (effective, verdict);
    }
    match (asked, switch(&asked.to_string()), switch(got)) {
        (_, Some(wanted), Some(runs)) => {
            let effective = if matches!(asked, Value::Text(_)) {
                Value::Text(got.to_owned())
            } else {
                Value::Bool(runs)
            };
            (effective, same_if(wanted == runs))
        }
        (Value::Text(wanted), _, _) => (Value::Text(got.to_owned()), same_if(words(wanted) == words(got))),
        _ => (Value::Text(got.to_owned()), Verdict::Other),
    }
}

/// A number, or a text that is one or a size.
fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Bool(_) => None,
        Value::Int(_) | Value::Float(_) => value.as_f64(),
        Value::Text(text) => text
            .trim()
            .parse()
            .ok()
            .or_else(|| text.parse::<Bytes>().ok().map(|bytes| bytes.0 as f64)),
    }
}

/// A switch in any of the spellings that servers take.
fn switch(text: &str) -> Option<bool> {
    match text.trim().to_ascii_lowercase().as_str() {
        "on" | "1" | "yes" | "true" => Some(true),
        "off" | "0" | "no" | "false" => Some(false),
        _ => None,
    }
}

/// The words of an enum or a set; servers give them back in another case and order.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = text
        .split(',')
        .map(|word| word.trim().to_ascii_lowercase())
        .collect();
    words.sort();
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(asked: Value, got: &str, block: Option<u64>) -> Verified {
        verify(
            &BTreeMap::from([("v".to_owned(), asked)]),
            &BTreeMap::from([("v".to_owned(), got.to_owned())]),
            |_| block,
        )
    }

    #[test]
    fn equal_values_in_other_spellings_are_equal() {
        for (asked, got) in [
            (Value::Int(134_217_728), "134217728"),
            (Value::Text("128M".into()), "134217728"),
            (Value::Bool(true), "ON"),
            (Value::Bool(false), "0"),
            (Value::Text("1".into()), "ON"),
            (Value::Text("o_direct".into()), "O_DIRECT"),
            (Value::Float(0.25), "0.250000"),
            (Value::Text("b,a".into()), "A,B"),
        ] {
            let verified = check(asked.clone(), got, None);
            assert!(
                verified.rounded.is_empty() && verified.not_applied.is_empty(),
                "{asked:?} {got}: {verified:?}"
            );
        }
    }

    #[test]
    fn a_value_moved_within_its_block_is_rounded_and_the_effective_one_is_kept() {
        let verified = check(Value::Int(2_147_483_648), "2147479552", Some(4096 * 2));
        assert_eq!(verified.rounded.len(), 1);
        assert_eq!(verified.effective["v"], Value::Int(2_147_479_552));
    }

    #[test]
    fn a_pool_rounded_up_to_chunks_times_instances_is_rounded() {
        assert_eq!(
            check(Value::Int(2 << 30), "2415919104", Some(1 << 20))
                .rounded
                .len(),
            1
        );
    }

    #[test]
    fn a_value_that_stayed_at_the_default_is_not_applied() {
        for (asked, got) in [
            (Value::Int(20_000), "2000"),
            (Value::Bool(true), "OFF"),
            (Value::Text("O_DIRECT".into()), "fsync"),
            (Value::Bool(true), "fast"),
        ] {
            assert_eq!(
                check(asked.clone(), got, Some(1)).not_applied.len(),
                1,
                "{asked:?}"
            );
        }
    }

    #[test]
    fn a_limit_that_the_server_lowered_and_told_of_is_what_runs() {
        let log = "\
0 [Warning] Changed limits: max_open_files: 1024 (requested 5000)
0 [Warning] Changed limits: max_connections: 214 (requested 500)
0 [Warning] Changed limits: max_open_files: 4096  max_connections: 214 (was 500)  table_cache: 431 (was 2000)
";
        for (variable, asked, runs) in [("max_connections", 500, "214"), ("table_open_cache", 2000, "431")] {
            let asked = BTreeMap::from([(variable.to_owned(), Value::Int(asked))]);
            let read = BTreeMap::from([(variable.to_owned(), runs.to_owned())]);
            let mut verified = verify(&asked, &read, |_| None);
            assert_eq!(verified.not_applied.len(), 1);
            verified.accept_lowered("0 [Warning] Changed limits: nothing");
            assert_eq!(verified.not_applied.len(), 1, "nobody told of it");
            verified.accept_lowered(log);
            assert!(verified.not_applied.is_empty(), "{variable}");
            assert_eq!(verified.rounded.len(), 1);
            assert_eq!(verified.effective[variable].to_string(), runs);
        }
    }

    #[test]
    fn fewer_instances_of_the_table_cache_for_want_of_open_files_are_what_runs() {
        // Seen on MariaDB 10.11: no other line tells of it.
        let log =
            "0 [Warning] Could not increase number of max_open_files to more than 20000 (request: 256184)\n";
        let asked = BTreeMap::from([("table_open_cache_instances".to_owned(), Value::Int(16))]);
        let read = BTreeMap::from([("table_open_cache_instances".to_owned(), "1".to_owned())]);
        let mut verified = verify(&asked, &read, |_| None);
        verified.accept_lowered(log);
        assert!(verified.not_applied.is_empty(), "{verified:?}");
        assert_eq!(verified.effective["table_open_cache_instances"], Value::Int(1));
    }

    #[test]
    fn a_variable_the_server_does_not_have_is_not_applied() {
        let verified = verify(
            &BTreeMap::from([("x".to_owned(), Value::Int(1))]),
            &BTreeMap::new(),
            |_| None,
        );
        assert_eq!(verified.not_applied[0].got, None);
        assert!(verified.not_applied[0].to_string().contains("does not have it"));
    }
}
