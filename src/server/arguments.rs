//! Start-up arguments of a study: only what a my.cnf could give to a private server, too. Pure.
//!
//! Arguments win over every line of the private my.cnf, and servers take the beginning of a name for the name: so only full
//! names of reviewed settings pass.

use super::data_files::GEOMETRY;
use super::load_settings::is_capacity_or_load;
use crate::space::isolation::{canonical, leads_out, reason_to_refuse};

/// The arguments in one spelling: `--name=value`, or `--name`. `known` tells which variables the server has.
///
/// # Errors
/// The index of the first argument that no private server gets, and why.
pub fn checked_arguments(
    args: &[String],
    known: impl Fn(&str) -> bool,
) -> Result<Vec<String>, (usize, String)> {
    args.iter()
        .enumerate()
        .map(|(index, argument)| checked(argument, &known).map_err(|why| (index, why)))
        .collect()
}

fn checked(argument: &str, known: &impl Fn(&str) -> bool) -> Result<String, String> {
    if let Some(why) = danger(argument) {
        return Err(why);
    }
    let (name, value) = parts(argument);
    let (name, value) = if known(&name) {
        (name, value)
    } else {
        switched(&name, known).ok_or_else(|| {
            "the server has no variable of that name; write the full name, not its beginning".to_owned()
        })?
    };
    if GEOMETRY.contains(&name.as_str()) {
        return Err(
            "it is fixed when the data directory is made; set it in the baseline's my.cnf".to_owned(),
        );
    }
    if !is_capacity_or_load(&name) {
        return Err("it is not on the list of settings that shape the load".to_owned());
    }
    let name = name.replace('_', "-");
    Ok(match value {
        Some(value) => format!("--{name}={value}"),
        None => format!("--{name}"),
    })
}

/// `skip-name` and its like as the variable with its value.
fn switched(name: &str, known: &impl Fn(&str) -> bool) -> Option<(String, Option<String>)> {
    [("skip_", "OFF"), ("disable_", "OFF"), ("enable_", "ON")]
        .iter()
        .find_map(|(modifier, value)| {
            let rest = name.strip_prefix(modifier)?;
            known(rest).then(|| (rest.to_owned(), Some((*value).to_owned())))
        })
}

/// Why an argument could reach out of a private server; none where nothing speaks against it. For every start, the last line
/// of defence.
pub(super) fn danger(argument: &str) -> Option<String> {
    if !argument.starts_with("--") {
        return Some("it is no --name=value".to_owned());
    }
    let (name, value) = parts(argument);
    let value = value.unwrap_or_default();
    // Here a binary log's name is taken as it is.
    if name == "log_bin" && leads_out(&value) {
        return Some("its value holds a path, and a private server keeps to its own folder".to_owned());
    }
    reason_to_refuse(&name, &value).map(str::to_owned)
}

fn parts(argument: &str) -> (String, Option<String>) {
    match argument.split_once('=') {
        Some((name, value)) => (canonical(name), Some(value.to_owned())),
        None => (canonical(argument), None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(name: &str) -> bool {
        [
            "datadir",
            "innodb_io_capacity",
            "innodb_doublewrite",
            "log_bin",
            "innodb_page_size",
            "plugin_dir",
            "lc_time_names",
        ]
        .contains(&name)
    }

    fn check(argument: &str) -> Result<Vec<String>, (usize, String)> {
        checked_arguments(&[argument.to_owned()], known)
    }

    #[test]
    fn reviewed_settings_pass_in_one_spelling() {
        for (written, passed) in [
            ("--innodb_io_capacity=400", "--innodb-io-capacity=400"),
            ("--Loose-innodb-io-capacity=400", "--innodb-io-capacity=400"),
            ("--skip-innodb-doublewrite", "--innodb-doublewrite=OFF"),
            ("--log-bin=own", "--log-bin=own"),
        ] {
            assert_eq!(check(written), Ok(vec![passed.to_owned()]), "{written}");
        }
    }

    #[test]
    fn what_could_reach_production_is_refused_in_every_spelling() {
        for argument in [
            "--datadir=/var/lib/mysql",
            "--data=/var/lib/mysql",
            "--loose-datadir=x",
            "-h",
            "-h/var/lib/mysql",
            "/var/lib/mysql",
            "--",
            "--socket=s",
            "--port=3306",
            "--skip-skip-networking",
            "--event-scheduler=ON",
            "--enable-event-scheduler",
            "--wsrep-on",
            "--plugin-dir=x",
            "--init-file=x",
            "--defaults-file=/etc/my.cnf",
            "--bootstrap",
            "--user=root",
            "--log-bin=/srv/prod-bin",
            "--innodb-io-capacity=/x",
            "--innodb_page_size=4096",
            "--lc-time-names=de_DE",
            "--innodb_io_capaci=300",
        ] {
            assert!(check(argument).is_err(), "{argument}");
        }
    }

    #[test]
    fn the_last_line_of_defence_needs_no_list_of_variables() {
        assert!(danger("--datadir=x").is_some());
        assert!(danger("--innodb-undo-dir=x").is_some());
        assert_eq!(danger("--innodb-io-capacity=400"), None);
    }
}
