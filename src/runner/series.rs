//! The time series and counters that are kept of a trial.

use std::collections::BTreeMap;

use super::watch::StatusSample;
use crate::trial::{Second, Series};

/// Status variables kept over time; what explains a difference between two configurations most often.
const KEPT: [&str; 16] = [
    "innodb_checkpoint_age",
    "innodb_buffer_pool_bytes_dirty",
    "innodb_buffer_pool_pages_flushed",
    "innodb_buffer_pool_reads",
    "innodb_buffer_pool_read_requests",
    "innodb_buffer_pool_wait_free",
    "innodb_os_log_written",
    "innodb_os_log_fsyncs",
    "innodb_data_fsyncs",
    "innodb_data_written",
    "innodb_data_read",
    "innodb_log_waits",
    "innodb_row_lock_waits",
    "innodb_history_list_length",
    "created_tmp_disk_tables",
    "threads_running",
];

/// Status variables that tell a state, not a count: their last value is kept, not their growth.
const GAUGES: [&str; 9] = [
    "innodb_checkpoint_age",
    "innodb_buffer_pool_bytes_dirty",
    "innodb_buffer_pool_bytes_data",
    "innodb_buffer_pool_pages_dirty",
    "innodb_buffer_pool_pages_free",
    "innodb_history_list_length",
    "threads_running",
    "threads_connected",
    "open_tables",
];

/// The series of a trial: what the load did each second and what the server said every few seconds.
pub(super) fn series(seconds: &[Second], status: &[StatusSample]) -> Vec<Series> {
    let per_second = |name: &str, of: fn(&Second) -> Option<f64>| Series {
        name: name.to_owned(),
        at: seconds.iter().map(|second| second.at).collect(),
        values: seconds.iter().map(of).collect(),
    };
    let mut all = vec![
        per_second("tps", |second| Some(second.tps)),
        per_second("p95_ms", |second| second.p95_ms),
        per_second("errors", |second| Some(second.errors)),
    ];
    for name in KEPT {
        if status.iter().any(|sample| sample.values.contains_key(name)) {
            all.push(Series {
                name: name.to_owned(),
                at: status.iter().map(|sample| sample.at).collect(),
                values: status
                    .iter()
                    .map(|sample| sample.values.get(name).copied())
                    .collect(),
            });
        }
    }
    all
}

/// What the server counted between two samples: growth of counters that moved, last values of gauges.
pub(super) fn counters(first: &StatusSample, last: &StatusSample) -> BTreeMap<String, f64> {
    let mut counted = BTreeMap::new();
    for (name, end) in &last.values {
        if GAUGES.contains(&name.as_str()) {
            counted.insert(name.clone(), *end);
        } else if let Some(begin) = first.values.get(name)
            && end > begin
        {
            counted.insert(name.clone(), end - begin);
        }
    }
    counted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(at: f64, values: &[(&str, f64)]) -> StatusSample {
        StatusSample {
            host: crate::host::HostSample::default(),
            at,
            values: values
                .iter()
                .map(|(name, value)| ((*name).to_owned(), *value))
                .collect(),
        }
    }

    #[test]
    fn counters_grow_and_gauges_stand() {
        let first = sample(
            5.0,
            &[
                ("com_commit", 100.0),
                ("innodb_checkpoint_age", 9.0),
                ("uptime_since", 7.0),
            ],
        );
        let last = sample(
            15.0,
            &[
                ("com_commit", 160.0),
                ("innodb_checkpoint_age", 4.0),
                ("uptime_since", 7.0),
            ],
        );
        let counted = counters(&first, &last);
        assert_eq!(counted.get("com_commit"), Some(&60.0));
        assert_eq!(counted.get("innodb_checkpoint_age"), Some(&4.0));
        assert_eq!(counted.get("uptime_since"), None);
    }

    #[test]
    fn a_server_without_a_variable_has_no_series_of_it() {
        let names: Vec<String> = series(&[], &[sample(5.0, &[("innodb_log_waits", 1.0)])])
            .into_iter()
            .map(|s| s.name)
            .collect();
        assert!(names.contains(&"innodb_log_waits".to_owned()));
        assert!(!names.contains(&"innodb_checkpoint_age".to_owned()));
    }
}
