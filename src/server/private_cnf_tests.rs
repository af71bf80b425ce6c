//! What of production reaches a private my.cnf.

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
    )
    .unwrap();
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
    )
    .unwrap();
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
    let cnf = private_cnf(Flavor::MariaDb, &placement(), &baseline, &candidate, |_| true).unwrap();
    assert!(cnf.text.contains("innodb_buffer_pool_size = 1G"));
    assert!(!cnf.text.contains("4G"));
}

#[test]
fn a_value_that_a_my_cnf_would_cut_is_quoted() {
    let candidate = BTreeMap::from([("ft_boolean_syntax".to_owned(), "+ -><#".to_owned())]);
    let cnf = private_cnf(Flavor::MariaDb, &placement(), &[], &candidate, |_| false).unwrap();
    assert!(
        cnf.text.contains("ft_boolean_syntax = \"+ -><#\""),
        "{}",
        cnf.text
    );
}

#[test]
fn every_line_of_our_own_is_one_that_nobody_else_may_set() {
    for flavor in [Flavor::MariaDb, Flavor::MySql] {
        for port in [None, Some(4000)] {
            let placement = Placement {
                port,
                user: Some("mysql".into()),
                ..placement()
            };
            for (name, _) in own_lines(flavor, &placement) {
                assert!(reason_to_keep_out(name).is_some(), "{name}");
            }
        }
    }
}

#[test]
fn a_candidate_never_undoes_what_keeps_the_server_apart() {
    for (name, value) in [
        ("event_scheduler", "ON"),
        ("loose-Event-Scheduler", "ON"),
        ("datadir", "x"),
        ("server_id", "17"),
        ("wsrep_on", "ON"),
        ("report_host", "db7"),
        ("slave_load_tmpdir", "x"),
        ("secure_file_priv", ""),
        ("innodb_flush_method", "/dev/sdb"),
        ("innodb_flush_method", "x\nevent_scheduler=ON"),
        ("innodb_x = 1 #", "1"),
    ] {
        let candidate = BTreeMap::from([(name.to_owned(), value.to_owned())]);
        let refused = private_cnf(Flavor::MariaDb, &placement(), &[], &candidate, |_| true);
        assert_eq!(refused.unwrap_err().exit_code(), 2, "{name}");
    }
}

#[test]
fn files_of_the_system_tablespace_lie_in_the_private_data_directory() {
    for (value, expected) in [
        (
            "/fast/ibdata1:10M;../ibdata2:5M:autoextend",
            Some("\"ibdata1:10m;ibdata2:5m:autoextend\""),
        ),
        ("/dev/sdb1:3Gnewraw", None),
        ("sdb1:3Gnewraw", None),
    ] {
        let baseline = [Setting {
            name: "innodb-data-file-path".into(),
            value: Some(value.into()),
            place: "my.cnf:3".into(),
        }];
        let cnf = private_cnf(Flavor::MariaDb, &placement(), &baseline, &BTreeMap::new(), |_| {
            true
        });
        let cnf = cnf.unwrap();
        let line = cnf
            .text
            .lines()
            .find_map(|line| line.strip_prefix("innodb_data_file_path = "));
        assert_eq!(line, expected, "{value}");
        assert_eq!(cnf.dropped.len(), 1, "{value}");
    }
}

#[test]
fn what_is_handed_over_stands_byte_for_byte_between_the_users_lines_and_ours() {
    let section = "[mysqld]\n# was 4G; effect measured only together with the other lines\n\
                   innodb_buffer_pool_size = 1536M\nft_boolean_syntax = \"+ -><#\"\n";
    for flavor in [Flavor::MariaDb, Flavor::MySql] {
        let cnf = final_cnf(flavor, &placement(), &production(), section, |_| false).unwrap();
        let at = |part: &str| {
            cnf.text
                .find(part)
                .unwrap_or_else(|| panic!("{part} in\n{}", cnf.text))
        };
        let users = at("innodb_buffer_pool_size = 4G\n");
        assert!(users < at(section), "{}", cnf.text);
        for (name, _) in own_lines(flavor, &placement()) {
            assert!(at(section) + section.len() < at(&format!("\n{name}")), "{name}");
        }
        assert!(cnf.dropped.len() > 10);
    }
}

#[test]
fn the_last_trial_too_never_undoes_what_keeps_the_server_apart() {
    for lines in [
        "event_scheduler = ON",
        "loose-Event-Scheduler=ON",
        "datadir = x",
        "innodb_flush_method = /dev/sdb",
        "innodb_flush_method = \"x\\nevent_scheduler=ON\"",
        "[server]\nskip-event-scheduler",
    ] {
        let section = format!("[mysqld]\n{lines}\n");
        let refused = final_cnf(Flavor::MariaDb, &placement(), &[], &section, |_| true);
        assert_eq!(refused.unwrap_err().exit_code(), 2, "{lines}");
    }
    for lines in ["!include /etc/my.cnf", "!includedir /etc/mysql", "[server"] {
        let section = format!("[mysqld]\n{lines}\n");
        let refused = final_cnf(Flavor::MariaDb, &placement(), &[], &section, |_| true);
        assert_eq!(refused.unwrap_err().exit_code(), 1, "{lines}");
    }
}

#[test]
fn a_binary_log_that_is_handed_over_lies_in_the_private_data_directory() {
    for (value, last) in [
        ("/srv/binlog/prod-bin", "log_bin = noctune-bin\n"),
        ("OFF", "skip_log_bin\n"),
    ] {
        let section = format!("[mysqld]\nlog_bin = {value}\n");
        let cnf = final_cnf(Flavor::MariaDb, &placement(), &[], &section, |_| true).unwrap();
        let (_, behind) = cnf.text.split_once(&section).unwrap();
        assert!(behind.starts_with(last), "{}", cnf.text);
    }
}
