//! The start-up arguments of a study: in one spelling, none that undoes the server's isolation, none that a knob writes.

use super::StudySource;
use crate::error::{Error, Problem, Result};
use crate::server::{canonical, checked_arguments};
use crate::space::{Knob, ServerFacts};
use crate::study::Document;

/// The study's start-up arguments in one spelling.
///
/// # Errors
/// [`Error::Input`] for what could undo the server's isolation, with its place in the study file.
pub(super) fn arguments(source: &StudySource, facts: &ServerFacts) -> Result<Vec<String>> {
    let args = &source.study.server.args;
    checked_arguments(args, |name| facts.variables.contains_key(name)).map_err(|(index, why)| {
        let argument = args.get(index).map_or("", String::as_str);
        Error::input(format!(
            "the private server is not started with {argument}: {why}"
        ))
        .at(place(source, index))
        .next("take it out of args")
    })
}

/// Refuses arguments that set what a knob of the space writes: an argument wins over the my.cnf, so no candidate's value
/// would ever be applied.
///
/// # Errors
/// [`Error::Input`] with the argument's place, naming it and the knob.
pub(super) fn refuse_arguments_of_knobs(source: &StudySource, knobs: &[Knob]) -> Result<()> {
    match clash(&source.study.server.args, knobs) {
        Some((index, problem)) => Err(Error::Input(problem.at(place(source, index)))),
        None => Ok(()),
    }
}

/// The first argument that a knob writes, too, by its index.
fn clash(args: &[String], knobs: &[Knob]) -> Option<(usize, Problem)> {
    args.iter().enumerate().find_map(|(index, argument)| {
        let variable = canonical(argument.split_once('=').map_or(argument, |(name, _)| name));
        let knob = knobs
            .iter()
            .find(|knob| knob.variables().contains(&variable.as_str()))?;
        let name = &knob.name;
        let problem = Problem::new(format!(
            "{argument} sets {variable}, which the knob {name} writes: arguments win, so that no candidate would get its value"
        ))
        .next(format!(
            "take it out of args; to keep a value of {name} for all trials, write `fix` in [space.knob.{name}]"
        ));
        Some((index, problem))
    })
}

fn place(source: &StudySource, index: usize) -> String {
    let place = ["server", "args", &index.to_string()];
    format!(
        "{}, [server] args",
        Document::new(&source.text, &source.name).place(&place)
    )
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::space::{Domain, Value, Writes};

    fn knob(name: &str, writes: Writes) -> Knob {
        Knob {
            writes,
            ..Knob::new(name, Domain::Bool)
        }
    }

    #[test]
    fn an_argument_that_a_knob_writes_is_found_with_the_knob() {
        let written = BTreeMap::from([("innodb_flush_sync".to_owned(), Value::Bool(true))]);
        let by_value = Writes::ByValue(BTreeMap::from([("calm".to_owned(), written)]));
        let knobs = [
            knob("innodb_io_capacity", Writes::Own),
            knob("flushing", by_value),
        ];
        let clash = |argument: &str| clash(&["--sync-binlog=1".to_owned(), argument.to_owned()], &knobs);
        for (argument, name) in [
            ("--innodb-io-capacity=400", "innodb_io_capacity"),
            ("--innodb_io_capacity", "innodb_io_capacity"),
            ("--innodb-flush-sync=OFF", "flushing"),
        ] {
            let (index, problem) = clash(argument).unwrap();
            assert_eq!(index, 1);
            let told = problem.to_string();
            assert!(
                told.contains(argument) && told.contains(&format!("knob {name} ")),
                "{told}"
            );
        }
        assert!(clash("--innodb-io-capacity-max=400").is_none());
    }
}
