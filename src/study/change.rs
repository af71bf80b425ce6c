//! What changed in a study since it was begun, and whether it may go on.

use std::fmt;

use super::Study;
use super::identity::meaning;
use crate::error::{Error, Problem, Result};
use crate::space::{Domain, Knob, Space, Writes};

/// One thing that changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The part of the study, e.g. `workload`.
    pub part: String,
    /// What changed, and what that means for earlier trials.
    pub what: String,
    /// Whether the study may go on with it.
    pub allowed: bool,
}

/// Everything that changed in a study since it was begun.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes(pub Vec<Change>);

impl Changes {
    /// Whether the study may go on.
    ///
    /// # Errors
    /// An input error with everything that changed, where one change does not allow it.
    pub fn check(&self) -> Result<()> {
        if self.0.iter().all(|change| change.allowed) {
            return Ok(());
        }
        Err(Error::Input(
            Problem::new(format!("the study was begun otherwise, so that its trials cannot be compared:\n{self}")).next(
                "take the change back to go on, or give the study another name ([study] name) to begin a new one; the \
                 old one's best configurations can be its first candidates ([[candidate]])",
            ),
        ))
    }
}

impl fmt::Display for Changes {
    /// One line a change, those that forbid going on first.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut changes: Vec<&Change> = self.0.iter().collect();
        changes.sort_by_key(|change| change.allowed);
        for (index, change) in changes.iter().enumerate() {
            let line_end = if index == 0 { "" } else { "\n" };
            let verdict = if change.allowed { "goes on" } else { "refused" };
            write!(f, "{line_end}  {}: {} ({verdict})", change.part, change.what)?;
        }
        Ok(())
    }
}

/// A study with its identity and its resolved space: as stored, or as it is now.
#[derive(Debug, Clone, Copy)]
pub struct Version<'a> {
    /// The study file.
    pub study: &'a Study,
    /// Its identity ([`Study::identity`]).
    pub identity: &'a [(String, String)],
    /// Its resolved space.
    pub space: &'a Space,
    /// Knobs that it had earlier; of the stored one.
    pub gone: &'a [Knob],
}

/// What changed from `old` to `new`. Of the space, knobs may come and go, bounds and choices may change; what a knob
/// means may not. Of the rest of the identity nothing may change; whatever is no part of it may.
pub fn changes(old: &Version<'_>, new: &Version<'_>) -> Changes {
    let mut list = Vec::new();
    for (part, hash) in new.identity {
        let before = old
            .identity
            .iter()
            .find(|(name, _)| name == part)
            .map(|(_, hash)| hash);
        let unchanged = match before {
            Some(before) => before == hash,
            // Studies begun before the machine class was part of the identity.
            None if part == "hardware" => differences("hardware", old.study, new.study).is_empty(),
            // Nor was what a script says; another script is another workload.
            None => part == "script",
        };
        if unchanged {
            continue;
        }
        if part == "space" {
            space_changes(old, new.space, &mut list);
        } else {
            list.push(Change {
                part: part.clone(),
                what: words(part, old.study, new.study),
                allowed: false,
            });
        }
    }
    for section in ["study", "strategy", "budget", "confirm", "finish", "candidate"] {
        let differences = differences(section, old.study, new.study);
        if !differences.is_empty() {
            let mut what = differences.join(", ");
            if section == "study" && old.study.study.seed != new.study.study.seed {
                what.push_str("; the study keeps its seed, another name begins one with the new seed");
            }
            list.push(Change {
                part: section.to_owned(),
                what,
                allowed: true,
            });
        }
    }
    Changes(list)
}

/// What changed in a part of the identity, as far as the study file tells.
fn words(part: &str, old: &Study, new: &Study) -> String {
    let sections: &[&str] = match part {
        "workload" => &["workload"],
        "objective" => &["objective", "constraint"],
        "durability" => &["space"],
        "template" => &["template"],
        "server" => &["server"],
        "hardware" => &["hardware"],
        "protocol" => &["trial"],
        _ => &[],
    };
    let differences: Vec<String> = sections
        .iter()
        .flat_map(|section| differences(section, old, new))
        .collect();
    if !differences.is_empty() {
        return differences.join(", ");
    }
    match part {
        "baseline" => {
            "the content of the baseline is another; a setting of it counts as long as a knob writes it"
                .to_owned()
        }
        "script" => "the load's script says other things than when the study was begun".to_owned(),
        "server" => "the server is another version or build".to_owned(),
        "template" => "the data that trials start from are others".to_owned(),
        "hardware" => "the machine class has other figures".to_owned(),
        "protocol" => "this version of noctune measures otherwise".to_owned(),
        _ => "it is another".to_owned(),
    }
}

/// The leaves of a section that differ, as `key: old → new`.
fn differences(section: &str, old: &Study, new: &Study) -> Vec<String> {
    let section_of = |study: &Study| {
        toml::Table::try_from(study)
            .ok()
            .and_then(|mut table| table.remove(section))
    };
    let mut found = Vec::new();
    compare(
        section,
        section_of(old).as_ref(),
        section_of(new).as_ref(),
        &mut found,
    );
    found
}

fn compare(path: &str, old: Option<&toml::Value>, new: Option<&toml::Value>, found: &mut Vec<String>) {
    use toml::Value::{Array, Table};
    match (old, new) {
        (Some(Table(a)), Some(Table(b))) => {
            let mut keys: Vec<&String> = a.keys().chain(b.keys()).collect();
            keys.sort();
            keys.dedup();
            for key in keys {
                compare(&format!("{path}.{key}"), a.get(key), b.get(key), found);
            }
        }
        (Some(Array(a)), Some(Array(b))) if a.len() == b.len() => {
            for (index, (a, b)) in a.iter().zip(b).enumerate() {
                let path = if a.is_table() && index == 0 {
                    path.to_owned()
                } else {
                    format!("{path}.{index}")
                };
                compare(&path, Some(a), Some(b), found);
            }
        }
        (a, b) if a == b => {}
        (a, b) => {
            let text =
                |value: Option<&toml::Value>| value.map_or_else(|| "none".to_owned(), toml::Value::to_string);
            found.push(format!("{path}: {} → {}", text(a), text(b)));
        }
    }
}

fn space_changes(before: &Version<'_>, new: &Space, list: &mut Vec<Change>) {
    let old = before.space;
    let mut push = |what: String, allowed: bool| {
        list.push(Change {
            part: "space".to_owned(),
            what,
            allowed,
        });
    };
    for knob in old.knobs() {
        match new.knob(&knob.name) {
            None if let Some(other) = computed_from(knob, new) => push(
                format!(
                    "{} was taken out, but what it wrote was computed from {other}, which stays: the space cannot tell any \
                     more what earlier trials ran with",
                    knob.name
                ),
                false,
            ),
            None => push(
                format!(
                    "{} was taken out; earlier trials with the baseline's value of it stay valid, others are left out",
                    knob.name
                ),
                true,
            ),
            Some(now) if meaning(now) == meaning(knob) => {}
            Some(now) => {
                let (what, allowed) = knob_change(knob, now);
                push(format!("{}: {what}", knob.name), allowed);
            }
        }
    }
    for knob in new.knobs().iter().filter(|knob| old.knob(&knob.name).is_none()) {
        let name = &knob.name;
        match before.gone.iter().find(|gone| gone.name == *name) {
            None => push(
                format!("{name} came in; earlier trials count as run with the baseline's value"),
                true,
            ),
            Some(then) if meaning(then) == meaning(knob) => {
                push(
                    format!("{name} came back; earlier trials with it count again"),
                    true,
                );
            }
            Some(then) => {
                let (what, allowed) = knob_change(then, knob);
                push(format!("{name} came back: {what}"), allowed);
            }
        }
    }
    if old.constraints() != new.constraints() {
        push(
            "the constraints are others; earlier trials that keep them stay valid, others are left out"
                .to_owned(),
            true,
        );
    }
}

/// A knob of the space from which this one computes what it writes.
fn computed_from<'a>(knob: &Knob, space: &'a Space) -> Option<&'a str> {
    let Writes::Expressions(expressions) = &knob.writes else {
        return None;
    };
    expressions
        .values()
        .flat_map(|expression| expression.names())
        .find_map(|name| space.knob(name.name))
        .map(|other| other.name.as_str())
}

fn knob_change(old: &Knob, new: &Knob) -> (String, bool) {
    if !writes_alike(&old.writes, &new.writes) || old.reads != new.reads {
        return (
            "it writes other settings, so that its values mean something else".to_owned(),
            false,
        );
    }
    if std::mem::discriminant(&old.domain) != std::mem::discriminant(&new.domain) {
        return ("it is of another type".to_owned(), false);
    }
    let what = match (&old.domain, &new.domain) {
        (a, b) if a == b => {
            "its condition, its default or its fixed value changed; earlier trials that it permits stay valid"
                .to_owned()
        }
        (Domain::Enum { values: a }, Domain::Enum { values: b }) => {
            let missing = a.iter().filter(|value| !b.contains(value)).count();
            match (missing, a.len() == b.len()) {
                (0, true) => "its choices are in another order; earlier trials stay valid".to_owned(),
                (0, false) => "it has more choices; earlier trials stay valid".to_owned(),
                _ => "it lost choices; earlier trials with them are left out".to_owned(),
            }
        }
        (Domain::Int { min: a, max: b, .. }, Domain::Int { min: c, max: d, .. }) => bounds(a, b, c, d),
        (Domain::Float { min: a, max: b, .. }, Domain::Float { min: c, max: d, .. }) => bounds(a, b, c, d),
        _ => "its values changed; earlier trials stay valid".to_owned(),
    };
    (what, true)
}

/// Whether values that both know write the same settings.
fn writes_alike(old: &Writes, new: &Writes) -> bool {
    match (old, new) {
        (Writes::ByValue(old), Writes::ByValue(new)) => old
            .iter()
            .all(|(value, writes)| new.get(value).is_none_or(|now| now == writes)),
        (old, new) => old == new,
    }
}

fn bounds<T: PartialOrd + fmt::Display>(old_min: &T, old_max: &T, min: &T, max: &T) -> String {
    let (how, earlier) = if min <= old_min && max >= old_max {
        ("wider", "earlier trials stay valid")
    } else {
        ("other", "earlier trials outside of them are left out")
    };
    format!("{how} bounds ({old_min} to {old_max} → {min} to {max}); {earlier}")
}
