//! The my.cnf of a private server: our own lines, what shapes the load in the user's file, the candidate. Pure.
//!
//! Nothing of production comes along: a setting of the user's reaches the private server only if it is on a reviewed
//! list; the rest is dropped and told.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use super::load_settings::{is_capacity_or_load, reason_to_drop};
use crate::space::Flavor;

/// One setting of the user's my.cnf.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// Its name as written.
    pub name: String,
    /// Its value; none for a bare name.
    pub value: Option<String>,
    /// `file:line`.
    pub place: String,
}

/// A line of the user's that does not reach the private server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dropped {
    /// The setting.
    pub setting: Setting,
    /// Why.
    pub reason: &'static str,
}

/// Where a private server keeps its things.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placement {
    /// Data directory.
    pub data: PathBuf,
    /// Folder for temporary files.
    pub tmp: PathBuf,
    /// Socket; the process id file lies beside it.
    pub socket: PathBuf,
    /// Loopback port, only where the load needs one.
    pub port: Option<u16>,
    /// `user=`, needed when the server is started as root.
    pub user: Option<String>,
    /// A server id that no other server has.
    pub server_id: u32,
}

/// A my.cnf for a private server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrivateCnf {
    /// The text.
    pub text: String,
    /// What of the user's file was left out.
    pub dropped: Vec<Dropped>,
}

/// The name of a setting as servers know it: lower case, `_` between words, without `loose_`.
pub fn canonical(name: &str) -> String {
    let name = name
        .trim_start_matches("--")
        .to_ascii_lowercase()
        .replace('-', "_");
    name.strip_prefix("loose_").map(str::to_owned).unwrap_or(name)
}

/// Builds the my.cnf. `candidate` holds variables by name with values as a my.cnf takes them; it wins over the baseline.
/// `of_space` tells which variables of the baseline a knob of the space writes; they pass, too.
pub fn private_cnf(
    flavor: Flavor,
    placement: &Placement,
    baseline: &[Setting],
    candidate: &BTreeMap<String, String>,
    of_space: impl Fn(&str) -> bool,
) -> PrivateCnf {
    let mut text = String::from(
        "# Written by Noctune for one trial; the server it is for is private and temporary.\n[mysqld]\n",
    );
    for (name, value) in own_lines(flavor, placement) {
        line(&mut text, name, value.as_deref());
    }
    let ours: BTreeSet<&str> = own_lines(flavor, placement)
        .iter()
        .map(|(name, _)| *name)
        .collect();
    let candidate: BTreeMap<String, &String> = candidate
        .iter()
        .map(|(name, value)| (canonical(name), value))
        .collect();

    let mut kept: BTreeMap<String, Option<&str>> = BTreeMap::new();
    let mut dropped = Vec::new();
    for setting in baseline {
        let name = canonical(&setting.name);
        let value = setting.value.as_deref();
        let reason = if ours.contains(name.as_str()) {
            Some("a private server has its own")
        } else if let Some(reason) = reason_to_drop(&name) {
            Some(reason)
        } else if !is_capacity_or_load(&name) && !of_space(&name) {
            Some("not on the list of settings that shape the load")
        } else if name != "log_bin" && value.is_some_and(|value| value.contains('/')) {
            Some("it holds a path")
        } else {
            None
        };
        match reason {
            Some(reason) => dropped.push(Dropped {
                setting: setting.clone(),
                reason,
            }),
            None => {
                kept.insert(name, value);
            }
        }
    }
    let binlog = candidate
        .get("log_bin")
        .map(|value| Some(value.as_str()))
        .or_else(|| kept.get("log_bin").copied());
    kept.remove("log_bin");
    text.push_str("# What shapes the load in the user's my.cnf.\n");
    for (name, value) in &kept {
        if !candidate.contains_key(name) {
            line(&mut text, name, *value);
        }
    }
    binlog_line(&mut text, flavor, binlog);
    text.push_str("# The candidate.\n");
    for (name, value) in candidate.iter().filter(|(name, _)| *name != "log_bin") {
        line(&mut text, name, Some(value));
    }
    PrivateCnf { text, dropped }
}

/// Production's binary log costs here what it costs there, but in the private data directory.
fn binlog_line(text: &mut String, flavor: Flavor, wanted: Option<Option<&str>>) {
    match wanted {
        Some(Some(value)) if ["0", "off", "false"].contains(&value.to_ascii_lowercase().as_str()) => {
            line(text, "skip_log_bin", None);
        }
        Some(_) => line(text, "log_bin", Some("noctune-bin")),
        // MySQL has one unless told otherwise, named after the host.
        None if flavor == Flavor::MySql => line(text, "log_bin", Some("noctune-bin")),
        None => {}
    }
}

fn own_lines(flavor: Flavor, placement: &Placement) -> Vec<(&'static str, Option<String>)> {
    let path = |path: &Path| Some(path.display().to_string());
    let mut lines = vec![
        ("datadir", path(&placement.data)),
        ("tmpdir", path(&placement.tmp)),
        ("socket", path(&placement.socket)),
        ("pid_file", path(&placement.socket.with_file_name("pid"))),
        ("server_id", Some(placement.server_id.to_string())),
        ("event_scheduler", Some("OFF".into())),
        ("skip_slave_start", None),
        ("skip_name_resolve", None),
        ("innodb_buffer_pool_load_at_startup", Some("OFF".into())),
        ("innodb_buffer_pool_dump_at_shutdown", Some("OFF".into())),
        ("general_log", Some("OFF".into())),
        ("slow_query_log", Some("OFF".into())),
    ];
    match placement.port {
        Some(port) => {
            lines.push(("bind_address", Some("127.0.0.1".into())));
            lines.push(("port", Some(port.to_string())));
        }
        None => lines.push(("skip_networking", None)),
    }
    if let Some(user) = &placement.user {
        lines.push(("user", Some(user.clone())));
    }
    match flavor {
        Flavor::MariaDb => lines.push(("loose_wsrep_on", Some("OFF".into()))),
        Flavor::MySql => {
            lines.push(("secure_file_priv", Some("NULL".into())));
            lines.push(("loose_mysqlx", Some("OFF".into())));
        }
    }
    lines
}

fn line(text: &mut String, name: &str, value: Option<&str>) {
    // Writing to a String cannot fail.
    let _ = match value {
        Some(value) if value.contains(['#', ';', ' ', '\'', '\\']) => {
            writeln!(
                text,
                "{name} = \"{}\"",
                value.replace('\\', "\\\\").replace('"', "\\\"")
            )
        }
        Some(value) => writeln!(text, "{name} = {value}"),
        None => writeln!(text, "{name}"),
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placement() -> Placement {
        Placement {
            data: "/study/data".into(),
            tmp: "/study/tmp".into(),
            socket: "/tmp/noctune-x/s".into(),
            port: None,
            user: None,
            server_id: 4_242,
        }
    }

    fn production() -> Vec<Setting> {
        [
            ("log-bin", Some("/srv/binlog/prod-bin")),
            ("wsrep_cluster_address", Some("gcomm://10.9.8.7,10.9.8.8")),
            ("wsrep_on", Some("ON")),
            ("port", Some("3307")),
            ("bind-address", Some("0.0.0.0")),
            ("server-id", Some("17")),
            ("report_host", Some("db7")),
            ("replicate-do-db", Some("shop")),
            ("plugin_load_add", Some("ha_spider")),
            ("init-connect", Some("INSERT INTO audit.log VALUES (1)")),
            ("init_file", Some("/etc/mysql/init.sql")),
            ("datadir", Some("/var/lib/mysql")),
            ("event_scheduler", Some("ON")),
            ("slow_query_log_file", Some("/var/log/slow.log")),
            ("character-set-server", Some("utf8mb4")),
            ("sql_mode", Some("STRICT_TRANS_TABLES,NO_ZERO_DATE")),
            ("binlog_format", Some("ROW")),
            ("innodb_buffer_pool_size", Some("4G")),
            ("innodb_data_home_dir", Some("/fast/ibdata")),
        ]
        .map(|(name, value)| Setting {
            name: name.into(),
            value: value.map(Into::into),
            place: "my.cnf:1".into(),
        })
        .to_vec()
    }

    #[test]
    fn nothing_of_production_comes_along_but_what_shapes_the_load() {
        let cnf = private_cnf(
            Flavor::MariaDb,
            &placement(),
            &production(),
            &BTreeMap::new(),
            |_| false,
        );
        for foreign in [
            "/srv", "10.9.8", "3307", "0.0.0.0", "= 17", "db7", "shop", "spider", "audit", "/etc", "/var",
            "/fast",
        ] {
            assert!(!cnf.text.contains(foreign), "{foreign} in\n{}", cnf.text);
        }
        for wanted in [
            "character_set_server = utf8mb4",
            "sql_mode = STRICT_TRANS_TABLES,NO_ZERO_DATE",
            "binlog_format = ROW",
            "log_bin = noctune-bin",
            "innodb_buffer_pool_size = 4G",
            "skip_networking\n",
            "event_scheduler = OFF",
        ] {
            assert!(cnf.text.contains(wanted), "{wanted} not in\n{}", cnf.text);
        }
    }

    #[test]
    fn every_line_that_was_left_out_is_told_with_a_reason() {
        let cnf = private_cnf(
            Flavor::MariaDb,
            &placement(),
            &production(),
            &BTreeMap::new(),
            |_| false,
        );
        let names: Vec<&str> = cnf
            .dropped
            .iter()
            .map(|dropped| dropped.setting.name.as_str())
            .collect();
        assert_eq!(
            names,
            [
                "wsrep_cluster_address",
                "wsrep_on",
                "port",
                "bind-address",
                "server-id",
                "report_host",
                "replicate-do-db",
                "plugin_load_add",
                "init-connect",
                "init_file",
                "datadir",
                "event_scheduler",
                "slow_query_log_file",
                "innodb_data_home_dir"
            ]
        );
        assert!(cnf.dropped.iter().all(|dropped| !dropped.reason.is_empty()));
    }

    #[test]
    fn the_candidate_wins_over_the_baseline_whatever_the_spelling() {
        let candidate = BTreeMap::from([("innodb_buffer_pool_size".to_owned(), "1G".to_owned())]);
        let baseline = [Setting {
            name: "loose-innodb-buffer-pool-size".into(),
            value: Some("4G".into()),
            place: "my.cnf:3".into(),
        }];
        let cnf = private_cnf(Flavor::MariaDb, &placement(), &baseline, &candidate, |_| true);
        assert!(cnf.text.contains("innodb_buffer_pool_size = 1G"));
        assert!(!cnf.text.contains("4G"));
    }

    #[test]
    fn a_value_that_a_my_cnf_would_cut_is_quoted() {
        let candidate = BTreeMap::from([("ft_boolean_syntax".to_owned(), "+ -><#".to_owned())]);
        let cnf = private_cnf(Flavor::MariaDb, &placement(), &[], &candidate, |_| false);
        assert!(
            cnf.text.contains("ft_boolean_syntax = \"+ -><#\""),
            "{}",
            cnf.text
        );
    }
}
