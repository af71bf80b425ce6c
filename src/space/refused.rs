//! Variables that are never tuned, and those that are only with the user's explicit permission.

/// How a variable is kept out of the search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Guard {
    /// Never tuned.
    Refused,
    /// Tuned only where `allow` names it.
    Pinned,
    /// As pinned, and never below the baseline: it is a capacity that production needs.
    Capacity,
}

/// Words of `allow` besides names of pinned variables, with the variable whose unsafe values each one permits.
pub const UNSAFE_PERMISSIONS: [(&str, &str); 2] = [
    ("doublewrite-off", "innodb_doublewrite"),
    ("unsafe-flush-method", "innodb_flush_method"),
];

const RESULTS: &str = "it changes what queries return or accept";
const SECURITY: &str = "it is a matter of security, not of speed";
const TEMPLATE: &str = "it is fixed when the data directory is made; a changed value stops the server";
const LOGS: &str = "it decides what is logged or kept, which people rely on";
const IDENTITY: &str = "it belongs to this server's place among others";
const LIMIT: &str = "it is a limit that protects users from each other";
const INSTANCE: &str = "trials set it themselves, to stay apart from production";
const BINLOG: &str = "without the binlog, or with less in it, point-in-time recovery and replicas are lost";
const CAPACITY: &str = "it is a capacity that production needs, which a benchmark does not show";

/// Every guarded variable with its guard and the reason.
const GUARDED: &[(&str, Guard, &str)] = &[
    ("sql_mode", Guard::Refused, RESULTS),
    ("old_mode", Guard::Refused, RESULTS),
    ("div_precision_increment", Guard::Refused, RESULTS),
    ("group_concat_max_len", Guard::Refused, RESULTS),
    ("sql_select_limit", Guard::Refused, RESULTS),
    ("max_sort_length", Guard::Refused, RESULTS),
    ("default_week_format", Guard::Refused, RESULTS),
    ("time_zone", Guard::Refused, RESULTS),
    ("default_time_zone", Guard::Refused, RESULTS),
    ("explicit_defaults_for_timestamp", Guard::Refused, RESULTS),
    ("innodb_strict_mode", Guard::Refused, RESULTS),
    ("innodb_autoinc_lock_mode", Guard::Refused, RESULTS),
    ("innodb_snapshot_isolation", Guard::Refused, RESULTS),
    ("innodb_rollback_on_timeout", Guard::Refused, RESULTS),
    ("innodb_lock_wait_timeout", Guard::Refused, RESULTS),
    ("innodb_deadlock_detect", Guard::Refused, RESULTS),
    ("foreign_key_checks", Guard::Refused, RESULTS),
    ("unique_checks", Guard::Refused, RESULTS),
    ("default_storage_engine", Guard::Refused, RESULTS),
    ("character_set_server", Guard::Refused, RESULTS),
    ("character_set_client", Guard::Refused, RESULTS),
    ("character_set_connection", Guard::Refused, RESULTS),
    ("character_set_database", Guard::Refused, RESULTS),
    ("character_set_results", Guard::Refused, RESULTS),
    ("character_set_system", Guard::Refused, RESULTS),
    ("collation_server", Guard::Refused, RESULTS),
    ("collation_connection", Guard::Refused, RESULTS),
    ("collation_database", Guard::Refused, RESULTS),
    ("max_user_connections", Guard::Refused, LIMIT),
    ("max_statement_time", Guard::Refused, LIMIT),
    ("max_execution_time", Guard::Refused, LIMIT),
    ("max_allowed_packet", Guard::Refused, LIMIT),
    ("wait_timeout", Guard::Refused, LIMIT),
    ("interactive_timeout", Guard::Refused, LIMIT),
    ("max_connect_errors", Guard::Refused, LIMIT),
    ("skip_grant_tables", Guard::Refused, SECURITY),
    ("local_infile", Guard::Refused, SECURITY),
    ("secure_file_priv", Guard::Refused, SECURITY),
    ("secure_auth", Guard::Refused, SECURITY),
    ("old_passwords", Guard::Refused, SECURITY),
    ("require_secure_transport", Guard::Refused, SECURITY),
    ("skip_networking", Guard::Refused, SECURITY),
    ("general_log", Guard::Refused, LOGS),
    ("slow_query_log", Guard::Refused, LOGS),
    ("long_query_time", Guard::Refused, LOGS),
    ("log_error", Guard::Refused, LOGS),
    ("innodb_page_size", Guard::Refused, TEMPLATE),
    ("innodb_data_file_path", Guard::Refused, TEMPLATE),
    ("innodb_data_home_dir", Guard::Refused, TEMPLATE),
    ("innodb_undo_tablespaces", Guard::Refused, TEMPLATE),
    ("innodb_undo_directory", Guard::Refused, TEMPLATE),
    ("innodb_log_files_in_group", Guard::Refused, TEMPLATE),
    ("innodb_log_group_home_dir", Guard::Refused, TEMPLATE),
    ("innodb_checksum_algorithm", Guard::Refused, TEMPLATE),
    (
        "innodb_force_recovery",
        Guard::Refused,
        "it is for rescuing data, and makes the server refuse writes",
    ),
    ("lower_case_table_names", Guard::Refused, TEMPLATE),
    ("aria_block_size", Guard::Refused, TEMPLATE),
    ("datadir", Guard::Refused, INSTANCE),
    ("socket", Guard::Refused, INSTANCE),
    ("port", Guard::Refused, INSTANCE),
    ("bind_address", Guard::Refused, INSTANCE),
    ("pid_file", Guard::Refused, INSTANCE),
    ("tmpdir", Guard::Refused, INSTANCE),
    ("plugin_load", Guard::Refused, INSTANCE),
    ("plugin_load_add", Guard::Refused, INSTANCE),
    ("init_file", Guard::Refused, INSTANCE),
    ("init_connect", Guard::Refused, INSTANCE),
    ("log_bin", Guard::Pinned, BINLOG),
    ("binlog_format", Guard::Pinned, BINLOG),
    ("binlog_row_image", Guard::Pinned, BINLOG),
    ("expire_logs_days", Guard::Refused, LOGS),
    ("binlog_expire_logs_seconds", Guard::Pinned, LOGS),
    ("gtid_mode", Guard::Pinned, IDENTITY),
    ("gtid_strict_mode", Guard::Pinned, IDENTITY),
    ("gtid_domain_id", Guard::Pinned, IDENTITY),
    ("enforce_gtid_consistency", Guard::Pinned, IDENTITY),
    ("server_id", Guard::Refused, INSTANCE),
    ("tx_isolation", Guard::Pinned, RESULTS),
    ("transaction_isolation", Guard::Pinned, RESULTS),
    ("max_connections", Guard::Capacity, CAPACITY),
    ("back_log", Guard::Capacity, CAPACITY),
    ("thread_pool_max_threads", Guard::Capacity, CAPACITY),
    (
        "innodb_change_buffering",
        Guard::Pinned,
        "on MariaDB it is off by default because it corrupted data (MDEV-27734)",
    ),
    (
        "innodb_flush_log_at_timeout",
        Guard::Pinned,
        "it decides how many seconds of commits the classes os-1s and crash-1s lose",
    ),
];

/// The guard of a variable with its reason; none where it may be tuned.
pub fn guard(variable: &str) -> Option<(Guard, &'static str)> {
    let name = variable.to_ascii_lowercase().replace('-', "_");
    GUARDED
        .iter()
        .find(|(guarded, ..)| *guarded == name)
        .map(|(_, guard, reason)| (*guard, *reason))
}

/// All words that `allow` may hold.
pub fn permissions() -> Vec<&'static str> {
    let pinned = GUARDED
        .iter()
        .filter(|(_, guard, _)| *guard != Guard::Refused)
        .map(|(name, ..)| *name);
    UNSAFE_PERMISSIONS
        .iter()
        .map(|(word, _)| *word)
        .chain(pinned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_fixed_with_the_data_directory_is_never_tuned_in_any_spelling() {
        for variable in [
            "innodb_page_size",
            "innodb-data-file-path",
            "INNODB_UNDO_TABLESPACES",
            "lower_case_table_names",
            "aria_block_size",
        ] {
            assert_eq!(guard(variable), Some((Guard::Refused, TEMPLATE)), "{variable}");
        }
    }
}
