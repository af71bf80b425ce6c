//! The fake server's system variables: facts of MariaDB 10.11.19 and how it takes values.

use std::collections::BTreeMap;

use crate::Fallible;
use crate::expression::{Names, Value};

const FACTS: &str = include_str!("../../fixtures/fake/mariadb-10.11.variables.tsv");

/// One system variable.
#[derive(Debug, Clone)]
pub(crate) struct Variable {
    /// Its name.
    pub(crate) name: String,
    /// What it is by default.
    pub(crate) default: String,
    /// What it is.
    pub(crate) value: String,
    /// `CONFIG` where it was set, else `COMPILE-TIME`.
    pub(crate) origin: &'static str,
    /// `GLOBAL`, `SESSION` or `SESSION ONLY`.
    pub(crate) scope: String,
    /// Its type, e.g. `BIGINT UNSIGNED`.
    pub(crate) kind: String,
    /// Smallest value.
    pub(crate) min: Option<String>,
    /// Largest value.
    pub(crate) max: Option<String>,
    /// Values are multiples of it.
    pub(crate) block: Option<String>,
    /// Values of an enumeration, separated by commas.
    pub(crate) choices: String,
    /// Whether it needs a restart.
    pub(crate) read_only: bool,
    /// `REQUIRED`, `OPTIONAL`, `NONE`, or nothing where it is no option.
    pub(crate) command_line: String,
}

/// How an option was taken.
pub(crate) enum Taken {
    /// As it is, or with these warnings.
    Well(Vec<String>),
    /// The server ends with these error lines and this exit code.
    Badly(Vec<String>, u8),
}

/// All system variables by name.
#[derive(Debug, Clone)]
pub(crate) struct Variables(pub(crate) BTreeMap<String, Variable>);

impl Variables {
    /// The variables at their defaults.
    ///
    /// # Errors
    ///
    /// When the list of facts is malformed.
    pub(crate) fn defaults() -> Fallible<Self> {
        let mut variables = BTreeMap::new();
        for line in FACTS.lines().filter(|line| !line.starts_with('#')) {
            let fields: Vec<&str> = line.split('\t').collect();
            let [
                name,
                default,
                scope,
                kind,
                min,
                max,
                block,
                choices,
                read_only,
                command_line,
            ] = fields.as_slice()
            else {
                return Err(format!("malformed facts: {line}").into());
            };
            let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
            variables.insert(
                (*name).to_owned(),
                Variable {
                    name: (*name).to_owned(),
                    default: (*default).to_owned(),
                    value: (*default).to_owned(),
                    origin: "COMPILE-TIME",
                    scope: (*scope).to_owned(),
                    kind: (*kind).to_owned(),
                    min: some(min),
                    max: some(max),
                    block: some(block),
                    choices: (*choices).to_owned(),
                    read_only: *read_only == "1",
                    command_line: (*command_line).to_owned(),
                },
            );
        }
        Ok(Self(variables))
    }

    /// The value of a variable; empty where there is none.
    pub(crate) fn get(&self, name: &str) -> &str {
        self.0.get(name).map_or("", |variable| variable.value.as_str())
    }

    /// Makes a variable something, unchecked.
    pub(crate) fn put(&mut self, name: &str, value: &str) {
        if let Some(variable) = self.0.get_mut(name) {
            value.clone_into(&mut variable.value);
            variable.origin = "CONFIG";
        }
    }

    /// The variables as names of an expression.
    pub(crate) fn names(&self) -> Names {
        self.0
            .iter()
            .map(|(name, variable)| (name.clone(), Value::of(&variable.value)))
            .collect()
    }

    /// Takes an option as the server does at its start: clamped, rounded, or refused.
    pub(crate) fn take(&mut self, name: &str, value: Option<&str>) -> Taken {
        let Some(variable) = self.0.get_mut(name) else {
            let text = value.map_or_else(|| name.to_owned(), |value| format!("{name}={value}"));
            return Taken::Badly(
                vec![
                    format!("mariadbd: unknown variable '{text}'"),
                    "Aborting".to_owned(),
                ],
                7,
            );
        };
        variable.origin = "CONFIG";
        let innodb = name.starts_with("innodb_");
        let shown = if innodb {
            name.replace('_', "-")
        } else {
            name.to_owned()
        };
        let value = value.unwrap_or("1");
        let numeric = variable.kind.contains("INT") || variable.kind == "DOUBLE";
        if name == "log_bin" {
            variable.value = if matches!(value, "0" | "OFF") { "OFF" } else { "ON" }.to_owned();
            return Taken::Well(Vec::new());
        }
        if variable.kind == "DOUBLE" {
            return match value.parse::<f64>() {
                Ok(number) => {
                    let low = variable.min.as_deref().and_then(|m| m.parse().ok());
                    let high = variable.max.as_deref().and_then(|m| m.parse().ok());
                    let kept = number.max(low.unwrap_or(f64::MIN)).min(high.unwrap_or(f64::MAX));
                    variable.value = format!("{kept:.6}");
                    Taken::Well(Vec::new())
                }
                Err(_) => bad_value(&shown, value, innodb),
            };
        }
        if numeric {
            let Some(number) = whole(value) else {
                let suffix = value.trim_start_matches(|c: char| c.is_ascii_digit());
                let mut lines = vec![format!(
                    "Unknown suffix '{}' used for variable '{shown}' (value '{value}'). \
                     Legal suffix characters are: K, M, G, T, P, E",
                    suffix.chars().next().unwrap_or(' ')
                )];
                let Taken::Badly(rest, code) = bad_value(&shown, value, innodb) else {
                    return Taken::Well(Vec::new());
                };
                lines.extend(rest);
                return Taken::Badly(lines, if code == 13 { 9 } else { code });
            };
            let kept = variable.fitted(number);
            variable.value = kept.to_string();
            let clamped = variable.clamped(number);
            return Taken::Well(if clamped == number {
                Vec::new()
            } else {
                vec![format!(
                    "option '{shown}': unsigned value {number} adjusted to {kept}"
                )]
            });
        }
        match variable.kind.as_str() {
            "BOOLEAN" => match value.to_ascii_uppercase().as_str() {
                "1" | "ON" | "TRUE" | "YES" => "ON".clone_into(&mut variable.value),
                "0" | "OFF" | "FALSE" | "NO" => "OFF".clone_into(&mut variable.value),
                _ => {
                    return Taken::Well(vec![format!(
                        "option '{shown}': boolean value '{value}' was not recognized. Set to OFF."
                    )]);
                }
            },
            "ENUM" => {
                let choices: Vec<&str> = variable.choices.split(',').collect();
                let by_name = choices.iter().find(|c| c.eq_ignore_ascii_case(value));
                let by_number = value.parse::<usize>().ok().and_then(|n| choices.get(n));
                match by_name.or(by_number) {
                    Some(choice) => variable.value = (*choice).to_owned(),
                    None => return bad_value(&shown, value, innodb),
                }
            }
            _ => value.clone_into(&mut variable.value),
        }
        Taken::Well(Vec::new())
    }

    /// What the server derives from other settings at its start; the warnings.
    pub(crate) fn settle(&mut self) -> Vec<String> {
        let mut warnings = Vec::new();
        let capacity: u64 = self.get("innodb_io_capacity").parse().unwrap_or(200);
        let set = |s: &Self, name: &str| s.0.get(name).is_some_and(|v| v.origin == "CONFIG");
        if set(self, "innodb_io_capacity_max") {
            let most: u64 = self.get("innodb_io_capacity_max").parse().unwrap_or(0);
            if most < capacity {
                warnings.push(format!(
                    "InnoDB: innodb_io_capacity = {capacity} is set higher than innodb_io_capacity_max = {most}"
                ));
                warnings.push(format!("InnoDB: Setting innodb_io_capacity_max to {capacity}"));
                self.put("innodb_io_capacity_max", &capacity.to_string());
            }
        } else if let Some(variable) = self.0.get_mut("innodb_io_capacity_max") {
            variable.value = (2 * capacity).max(2000).to_string();
        }
        let pct: f64 = self.get("innodb_max_dirty_pages_pct").parse().unwrap_or(90.0);
        let low: f64 = self.get("innodb_max_dirty_pages_pct_lwm").parse().unwrap_or(0.0);
        if low > pct {
            warnings.push(
                "InnoDB: innodb_max_dirty_pages_pct_lwm cannot be set higher than \
                           innodb_max_dirty_pages_pct"
                    .to_owned(),
            );
            self.put("innodb_max_dirty_pages_pct_lwm", &format!("{pct:.6}"));
        }
        warnings
    }
}

impl Variable {
    /// The number within the variable's limits.
    fn clamped(&self, number: i128) -> i128 {
        let limit = |text: &Option<String>| text.as_deref().and_then(|text| text.parse::<i128>().ok());
        number
            .max(limit(&self.min).unwrap_or(i128::MIN))
            .min(limit(&self.max).unwrap_or(i128::MAX))
    }

    /// The number within the limits and on the block.
    fn fitted(&self, number: i128) -> i128 {
        let clamped = self.clamped(number);
        match self.block.as_deref().and_then(|text| text.parse::<i128>().ok()) {
            Some(block) if block > 1 => clamped - clamped.rem_euclid(block),
            _ => clamped,
        }
    }
}

fn bad_value(shown: &str, value: &str, innodb: bool) -> Taken {
    let first = format!("mariadbd: Error while setting value '{value}' to '{shown}'");
    if !innodb {
        return Taken::Badly(vec![first, "Aborting".to_owned()], 13);
    }
    Taken::Badly(
        vec![
            first,
            "Parsing options for plugin 'InnoDB' failed. Disabling plugin".to_owned(),
            "Unknown/unsupported storage engine: InnoDB".to_owned(),
            "Aborting".to_owned(),
        ],
        1,
    )
}

/// A whole number with an optional size suffix.
fn whole(text: &str) -> Option<i128> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let number: i128 = digits.parse().ok()?;
    let shift = match text[digits.len()..].to_ascii_uppercase().as_str() {
        "" => 0,
        "K" => 10,
        "M" => 20,
        "G" => 30,
        "T" => 40,
        "P" => 50,
        "E" => 60,
        _ => return None,
    };
    number.checked_mul(1_i128 << shift)
}
