//! What keeps a private server apart from production: settings that trials set themselves, settings that would reach other
//! hosts, files or servers, and values that lead out of the private data directory. One list for the user's my.cnf, for
//! start-up arguments and for knobs. Pure.

/// Settings that every private server has its own value of, by canonical name.
pub const OWN: &[&str] = &[
    "datadir",
    "tmpdir",
    "socket",
    "pid_file",
    "server_id",
    "event_scheduler",
    "skip_slave_start",
    "skip_name_resolve",
    "skip_networking",
    "innodb_buffer_pool_load_at_startup",
    "innodb_buffer_pool_dump_at_shutdown",
    "general_log",
    "slow_query_log",
    "bind_address",
    "port",
    "user",
    "wsrep_on",
    "secure_file_priv",
    "mysqlx",
];

const OWN_REASON: &str = "a private server has its own";

/// What begins with one of these never reaches a private server, and why.
const FAMILIES: &[(&str, &str)] = &[
    ("wsrep", "it would join production's cluster"),
    ("report_", "it would register at a primary"),
    ("replicate_", "it belongs to a replica"),
    ("slave_", "it belongs to a replica"),
    ("replica_", "it belongs to a replica"),
    ("relay_", "it belongs to a replica"),
    ("master_", "it belongs to a replica"),
    ("rpl_semi_sync", "it belongs to replication"),
    ("gtid_slave", "it belongs to a replica"),
    ("group_replication", "it would join production's group"),
    ("plugin_", "a private server loads no plugins"),
    ("early_plugin", "a private server loads no plugins"),
    ("init_", "it runs statements"),
    ("ssl", "it names files of production"),
    ("tls", "it names files of production"),
    ("admin_", "it opens an address"),
    ("mysqlx", "it opens an address"),
    ("proxy_protocol", "it opens an address"),
    ("extra_", "it opens an address"),
    ("feedback", "it sends data to other hosts"),
    ("spider_", "it reaches other servers"),
    ("federated", "it reaches other servers"),
    ("s3_", "it reaches other hosts"),
    ("daemon_memcached", "it opens an address"),
    ("server_audit", "it writes a log of its own"),
    ("audit_log", "it writes a log of its own"),
    ("general_log", "a private server has its own logs"),
    ("slow_query_log", "a private server has its own logs"),
    ("log_slow", "a private server has its own logs"),
    ("log_error", "a private server has its own logs"),
    ("log_output", "a private server has its own logs"),
    ("log_basename", "a private server has its own logs"),
    (
        "log_bin_",
        "the private server's binary log lies in its own data directory",
    ),
    ("log_tc", "it names a file"),
    ("tc_log", "it names a file"),
    ("core_file", "it writes files of its own"),
    ("debug", "it is for diagnosis"),
    ("encrypt_", "it needs production's keys"),
    ("file_key_management", "it needs production's keys"),
    ("aria_encrypt", "it needs production's keys"),
    ("innodb_encrypt", "it needs production's keys"),
    ("innodb_default_encryption", "it needs production's keys"),
    ("innodb_buffer_pool_load", "a trial starts cold"),
    ("innodb_buffer_pool_dump", "a trial starts cold"),
    ("innodb_buffer_pool_filename", "it names a file"),
    ("innodb_force_", "it is for repairs"),
    ("innodb_monitor", "it is for diagnosis"),
    ("innodb_ft_aux_table", "it names a table"),
    ("innodb_ft_server_stopword_table", "it names a table"),
    ("innodb_ft_user_stopword_table", "it names a table"),
    ("innodb_read_only", "the load writes"),
    // Servers take the beginning of a name for the name, so the beginning is what is looked at.
    ("aria_log_dir", "it names a folder of production"),
    ("innodb_data_home", "it names a folder of production"),
    ("innodb_log_group_home", "it names a folder of production"),
    ("innodb_undo_dir", "it names a folder of production"),
    ("innodb_temp_data_file", "it names files of production"),
    ("innodb_temp_tablespaces_dir", "it names a folder of production"),
    ("innodb_tmp", "it names a folder of production"),
    ("innodb_dir", "it names folders of production"),
    ("innodb_doublewrite_dir", "it names a folder of production"),
    ("innodb_redo_log_archive", "it names folders of production"),
];

/// Single settings that never reach a private server, and why.
const SINGLE: &[(&str, &str)] = &[
    ("basedir", "it names a folder of production"),
    ("chroot", "it names a folder of production"),
    ("character_sets_dir", "it names a folder"),
    ("lc_messages_dir", "it names a folder"),
    ("ft_stopword_file", "it names a file"),
    ("read_only", "the load writes"),
    ("super_read_only", "the load writes"),
    ("offline_mode", "the load could not connect"),
    (
        "skip_grant_tables",
        "it changes what a statement costs and is unsafe",
    ),
];

/// The name of a setting as servers know it: lower case, `_` between words, without `--` and `loose_`.
pub fn canonical(name: &str) -> String {
    let name = name
        .trim_start_matches("--")
        .to_ascii_lowercase()
        .replace('-', "_");
    name.strip_prefix("loose_").map(str::to_owned).unwrap_or(name)
}

/// Why a setting never reaches a private server, whatever modifier stands before its name; none where nothing speaks
/// against it.
pub fn reason_to_keep_out(name: &str) -> Option<&'static str> {
    let name = canonical(name);
    let mut rest = name.as_str();
    loop {
        let reason = OWN
            .contains(&rest)
            .then_some(OWN_REASON)
            .or_else(|| {
                SINGLE
                    .iter()
                    .find(|(single, _)| *single == rest)
                    .map(|(_, why)| *why)
            })
            .or_else(|| {
                FAMILIES
                    .iter()
                    .find(|(family, _)| rest.starts_with(family))
                    .map(|(_, why)| *why)
            });
        if reason.is_some() {
            return reason;
        }
        // Servers read these words before any name (MariaDB and MySQL manuals, "Program option modifiers").
        rest = ["loose_", "skip_", "disable_", "enable_", "maximum_"]
            .iter()
            .find_map(|modifier| rest.strip_prefix(modifier))?;
    }
}

/// Whether a value may lead out of the private data directory: it holds a path.
pub fn leads_out(value: &str) -> bool {
    value.contains('/') || value.contains("..")
}

/// Whether a name is one that a line of a my.cnf can set: letters, digits and `_`, after [`canonical`].
pub fn is_plain_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// Why no knob and no start-up argument may write `value` to `name`; none where nothing speaks against it. A binary log's
/// name is never taken over, so its path does no harm.
pub fn reason_to_refuse(name: &str, value: &str) -> Option<&'static str> {
    let name = canonical(name);
    if !is_plain_name(&name) {
        return Some("that is no name of a setting");
    }
    reason_to_keep_out(&name).or_else(|| {
        if value.contains(|c: char| c.is_control()) {
            Some("its value holds a line break or another control character")
        } else if name != "log_bin" && leads_out(value) {
            Some("its value holds a path, and a private server keeps to its own folder")
        } else {
            None
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_reach_production_is_kept_out_in_every_spelling() {
        for name in [
            "datadir",
            "--DataDir",
            "event-scheduler",
            "loose-event_scheduler",
            "enable-event-scheduler",
            "loose_skip_slave_start",
            "disable-general-log",
            "wsrep_cluster_address",
            "skip-wsrep_on",
            "report_host",
            "relay_log",
            "slave_load_tmpdir",
            "innodb_undo_dir",
            "innodb-data-home",
            "plugin_load_add",
            "init_file",
            "secure-file-priv",
            "general_log_file",
            "log_bin_index",
            "server_id",
            "maximum-server_id",
        ] {
            assert!(reason_to_keep_out(name).is_some(), "{name}");
        }
    }

    #[test]
    fn what_shapes_the_load_is_not_kept_out() {
        for name in [
            "innodb_buffer_pool_size",
            "skip_innodb_doublewrite",
            "log_bin",
            "max_connections",
            "innodb_undo_tablespaces",
            "innodb_undo_log_truncate",
            "innodb_data_file_path",
            "innodb_data_file_buffering",
            "innodb_log_file_size",
            "gtid_strict_mode",
            "binlog_format",
        ] {
            assert_eq!(reason_to_keep_out(name), None, "{name}");
        }
    }

    #[test]
    fn a_value_with_a_path_or_a_line_break_is_refused() {
        for (name, value) in [
            ("ft_boolean_syntax", "a/b"),
            ("innodb_x", ".."),
            ("innodb_io_capacity", "1\nport=3306"),
            ("innodb_x] ", "1"),
        ] {
            assert!(reason_to_refuse(name, value).is_some(), "{name} {value:?}");
        }
        assert_eq!(reason_to_refuse("log_bin", "/srv/bin"), None);
        assert_eq!(reason_to_refuse("innodb_io_capacity", "200"), None);
    }
}
