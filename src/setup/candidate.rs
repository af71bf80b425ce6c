//! The user's own candidates: `[[candidate]]` of a study file.

use std::collections::BTreeMap;

use super::{Baseline, StudySource};
use crate::error::{Error, Result};
use crate::space::{Configuration, Domain, Space, Value, variable_value};
use crate::units::Bytes;

/// A candidate of the user's: knobs or variables with values over the baseline.
pub(super) fn candidate(
    wanted: &BTreeMap<String, Value>,
    space: &Space,
    baseline: &Baseline,
    source: &StudySource,
) -> Result<Configuration> {
    let mut configuration = space.default_configuration();
    let mut variables = baseline.effective.clone();
    let writes = |name: &str| space.knobs().iter().any(|knob| knob.variables().contains(&name));
    // Knobs that are no variables themselves first: a variable named beside them wins.
    for (name, value) in wanted.iter().filter(|(name, _)| !writes(name)) {
        let knob = space.knob(name).ok_or_else(|| {
            Error::input(format!(
                "\"{name}\" is neither a knob of the space nor written by one"
            ))
            .at(format!("{}, [[candidate]]", source.name))
            .next("take it out, or add the knob with [space.knob]")
        })?;
        configuration.set(name.clone(), knob_value(value, &knob.domain));
        // What the baseline says of its variables must not win over it.
        for variable in knob.variables() {
            variables.remove(variable);
        }
    }
    for (name, value) in wanted.iter().filter(|(name, _)| writes(name)) {
        let own = space.knob(name).filter(|knob| knob.reads.is_none());
        if own.is_some_and(|knob| knob.domain.snap(&plain_value(value)).is_none()) {
            return Err(Error::input(format!("{name} = {value} is no value of this knob"))
                .at(format!("{}, [[candidate]]", source.name)));
        }
        variables.insert(name.clone(), plain_value(value).to_string());
    }
    let configuration = space.read(&variables, &configuration);
    space
        .can_run(&configuration)
        .map(|()| configuration)
        .map_err(|breach| {
            Error::input(format!("this candidate cannot be tried: {breach}"))
                .at(format!("{}, [[candidate]]", source.name))
        })
}

/// A knob's value as people write it, in the form of its domain where that holds it.
pub(crate) fn knob_value(value: &Value, domain: &Domain) -> Value {
    let value = plain_value(value);
    domain.own(&value).unwrap_or(value)
}

/// A value as people write it: `2G` is a size.
fn plain_value(value: &Value) -> Value {
    match value {
        Value::Text(text) => match text.parse::<Bytes>() {
            Ok(Bytes(bytes)) => i64::try_from(bytes).map_or_else(|_| value.clone(), Value::Int),
            Err(_) => variable_value(text, None),
        },
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::space::file::NamedFile;
    use crate::space::{DurabilityRule, ResolveInputs, resolve};

    const FILE: &str = r#"
format = 1
[knob.innodb_buffer_pool_size]
family = "memory"
type = "bytes"
min = "64M"
max = "8G"
unit = "1M"
default = "128M"
source = "test"
[knob.innodb_io_capacity]
family = "io"
type = "int"
min = 100
max = 4000
default = 200
source = "test"
[knob.io_capacity_max_ratio]
family = "io"
type = "float"
min = 1
max = 8
default = 2
writes = { innodb_io_capacity_max = "round(innodb_io_capacity * value)" }
reads = "innodb_io_capacity_max / innodb_io_capacity"
source = "test"
"#;

    fn tried(text: &str) -> Result<Configuration> {
        let source = StudySource {
            study: crate::study::Study::parse(text, "study.toml")?,
            text: text.to_owned(),
            name: "study.toml".to_owned(),
            folder: "".into(),
        };
        let effective: BTreeMap<String, String> = [
            ("innodb_buffer_pool_size", "134217728"),
            ("innodb_io_capacity", "200"),
            ("innodb_io_capacity_max", "400"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into();
        let baseline = Baseline {
            effective,
            ..Baseline::default()
        };
        let file = NamedFile::parse(FILE, "space.toml")?;
        let space = resolve(ResolveInputs {
            files: &[file],
            knobs: &BTreeMap::new(),
            constraints: &[],
            study_file: "study.toml",
            class: None,
            server: None,
            baseline: &baseline.effective,
            durability: DurabilityRule::Explore,
            allow: &[],
        })?
        .space;
        candidate(&source.study.candidate[0], &space, &baseline, &source)
    }

    #[test]
    fn a_candidate_of_the_users_runs_with_its_own_values_not_the_baselines() {
        let configuration =
            tried("format = 1\n[[candidate]]\ninnodb_buffer_pool_size = \"4G\"\nio_capacity_max_ratio = 4\n")
                .unwrap();
        assert_eq!(
            configuration.get("innodb_buffer_pool_size"),
            Some(&Value::Int(4 << 30))
        );
        assert_eq!(
            configuration.get("io_capacity_max_ratio").and_then(Value::as_f64),
            Some(4.0)
        );
        assert_eq!(
            configuration.get("innodb_io_capacity").and_then(Value::as_f64),
            Some(200.0)
        );
    }

    #[test]
    fn a_candidate_may_name_what_a_knob_writes() {
        let configuration = tried("format = 1\n[[candidate]]\ninnodb_io_capacity_max = 600\n").unwrap();
        assert_eq!(
            configuration.get("io_capacity_max_ratio").and_then(Value::as_f64),
            Some(3.0)
        );
    }

    #[test]
    fn a_candidate_off_the_steps_or_out_of_the_bounds_runs_as_it_is() {
        let configuration = tried(
            "format = 1\n[[candidate]]\ninnodb_buffer_pool_size = 9000000001\ninnodb_io_capacity = 50\n",
        )
        .unwrap();
        assert_eq!(
            configuration.get("innodb_buffer_pool_size"),
            Some(&Value::Int(9_000_000_001))
        );
        assert_eq!(configuration.get("innodb_io_capacity"), Some(&Value::Int(50)));
    }

    #[test]
    fn a_candidate_that_cannot_be_tried_is_refused_before_anything_starts() {
        for text in ["innodb_buffer_pool_size = \"half\"", "innodb_no_such = 1"] {
            let error = tried(&format!("format = 1\n[[candidate]]\n{text}\n")).unwrap_err();
            assert_eq!(error.exit_code(), 2, "{error}");
            let told = error.to_string();
            assert!(told.contains("study.toml, [[candidate]]"), "{told}");
        }
        // As one that named a knob which was taken out since.
        let told = tried("format = 1\n[[candidate]]\ninnodb_no_such = 1\n")
            .unwrap_err()
            .to_string();
        assert!(
            told.contains("\"innodb_no_such\" is neither a knob of the space")
                && told.contains("take it out"),
            "{told}"
        );
    }
}
