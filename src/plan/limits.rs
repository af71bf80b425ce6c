//! What seems to limit a load, from what its trials recorded of server and host.

use crate::trial::Measurement;

/// From this share of its time on, the CPU counts as busy.
const CPU_BUSY: f64 = 0.85;
/// CPU time of other programs that is told apart, a share of all.
const OTHERS: f64 = 0.05;
/// From this share of its time on, with requests under way, a disk counts as busy.
const DISK_BUSY: f64 = 0.8;
/// CPU time taken by the hypervisor that matters, a share.
const STOLEN: f64 = 0.05;
/// Page requests answered without the disk from which on the data count as being in memory, a share.
const IN_MEMORY: f64 = 0.999;
/// Sessions that wait for a row lock on average from which on locks matter.
const WAITING: f64 = 1.0;

/// Sums over the windows of trials.
struct Windows<'a> {
    trials: Vec<&'a Measurement>,
    seconds: f64,
}

impl Windows<'_> {
    /// Growth of a counter per second of all windows; none where no trial has it.
    fn rate(&self, name: &str) -> Option<f64> {
        let grown: Vec<f64> = self
            .trials
            .iter()
            .filter_map(|trial| trial.counters.get(name).copied())
            .collect();
        (!grown.is_empty() && self.seconds > 0.0).then(|| grown.iter().sum::<f64>() / self.seconds)
    }

    /// The same; a counter that never moved is not recorded.
    fn rate_or_zero(&self, name: &str) -> f64 {
        self.rate(name).unwrap_or(0.0)
    }
}

/// What seems to limit a load, in words with the figures; `cores` are those of the machine class. Only what the trials
/// recorded is told: empty where that tells nothing.
pub(super) fn limits<'a>(trials: impl Iterator<Item = &'a Measurement>, cores: Option<u32>) -> Vec<String> {
    let trials: Vec<&Measurement> = trials.collect();
    let seconds = trials.iter().map(|trial| trial.window_seconds).sum();
    let windows = Windows { trials, seconds };
    let mut found: Vec<String> = [
        cpu(&windows),
        class(&windows, cores),
        disk(&windows),
        locks(&windows),
    ]
    .into_iter()
    .flatten()
    .collect();
    if found.is_empty() {
        found.extend(idle(&windows));
    }
    found.extend(memory(&windows));
    found
}

/// Cores in use, cores there are, and cores the hypervisor took.
fn cores(windows: &Windows<'_>) -> Option<(f64, f64, f64)> {
    let used = windows.rate("cpu_user_s")? + windows.rate("cpu_system_s")?;
    let stolen = windows.rate_or_zero("cpu_steal_s");
    let idle = windows.rate("cpu_idle_s")? + windows.rate_or_zero("cpu_iowait_s");
    let all = used + stolen + idle;
    (all > 0.0).then_some((used, all, stolen))
}

fn cpu(windows: &Windows<'_>) -> Option<String> {
    let (used, all, stolen) = cores(windows)?;
    let busy = (used + stolen) / all >= CPU_BUSY;
    let robbed = stolen / all >= STOLEN;
    if !busy && !robbed {
        return None;
    }
    let mut words = if busy {
        format!("the CPU: {used:.1} of {all:.0} cores were in use")
    } else {
        "the CPU".to_owned()
    };
    if robbed {
        words += &format!(
            ", {:.0} % of it taken by other virtual machines",
            100.0 * stolen / all
        );
    }
    if busy && let Some(server) = windows.rate("server_cpu_s") {
        words += &users(used, all, server, windows.rate("load_cpu_s"));
    }
    Some(words)
}

/// Who used the CPU, and what to do where it was not the server.
fn users(used: f64, all: f64, server: f64, load: Option<f64>) -> String {
    let rest = (used - server - load.unwrap_or(0.0)).max(0.0);
    let mut words = format!(", {server:.1} by the server");
    match load {
        Some(load) if rest >= OTHERS * all => {
            words += &format!(", {load:.1} by the load generator and {rest:.1} by others");
        }
        Some(load) => words += &format!(" and {load:.1} by the load generator"),
        None => words += &format!(" and {rest:.1} by the load generator and others"),
    }
    let load = load.unwrap_or(0.0);
    if rest > server.max(load) {
        words += ": whatever else runs on this host leaves the server little";
    } else if load > server {
        words += ": the load generator leaves the server little; run it with fewer threads, or on more cores";
    }
    words
}

fn class(windows: &Windows<'_>, cores_of_class: Option<u32>) -> Option<String> {
    let server = windows.rate("server_cpu_s")?;
    let allowed = f64::from(cores_of_class?);
    let (used, all, _) = cores(windows)?;
    // A busy host is told by itself.
    (server >= CPU_BUSY * allowed && used < CPU_BUSY * all).then(|| {
        format!("the cores of the machine class: the server used {server:.1} of the {allowed:.0} it may use")
    })
}

fn disk(windows: &Windows<'_>) -> Option<String> {
    let busy = windows.rate("disk_busy_s")?;
    (busy >= DISK_BUSY).then(|| {
        format!(
            "the disk: busy {:.0} % of the time, {:.1} MB/s read and {:.1} MB/s written",
            100.0 * busy.min(1.0),
            windows.rate_or_zero("disk_read_bytes") / 1e6,
            windows.rate_or_zero("disk_written_bytes") / 1e6
        )
    })
}

fn locks(windows: &Windows<'_>) -> Option<String> {
    let waiting = windows.rate("innodb_row_lock_time")? / 1000.0;
    (waiting >= WAITING).then(|| {
        format!("row locks: {waiting:.1} sessions waited for one on average, which is the load's own doing")
    })
}

/// Where nothing that was recorded is at its limit.
fn idle(windows: &Windows<'_>) -> Option<String> {
    let (used, all, _) = cores(windows)?;
    let cpu = format!("{used:.1} of {all:.0} cores in use");
    let idle = match windows.rate("disk_busy_s") {
        Some(disk) => format!(
            "neither the CPU ({cpu}) nor the disk (busy {:.0} % of the time) was at its limit",
            100.0 * disk.min(1.0)
        ),
        None => format!("the CPU was not at its limit ({cpu})"),
    };
    Some(format!(
        "{idle}, so the load may ask for no more: try more [workload] threads"
    ))
}

/// Why a larger buffer pool can do nothing.
fn memory(windows: &Windows<'_>) -> Option<String> {
    let requests = windows.rate("innodb_buffer_pool_read_requests")?;
    let reads = windows.rate_or_zero("innodb_buffer_pool_reads");
    let hits = 1.0 - reads / requests;
    (requests > 0.0 && hits >= IN_MEMORY).then(|| {
        format!(
            "the data are in memory already: {:.2} % of the page requests needed no disk",
            100.0 * hits
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::EndOfMeasuring;

    /// What is said of a window of 10 s with these counters on a class of two cores.
    fn said(counters: &[(&str, f64)]) -> Vec<String> {
        let trial = Measurement {
            metrics: std::collections::BTreeMap::new(),
            window_seconds: 10.0,
            warmup_seconds: 1.0,
            steady: true,
            ended: EndOfMeasuring::Cap,
            debt: None,
            counters: counters
                .iter()
                .map(|(name, value)| ((*name).to_owned(), *value))
                .collect(),
        };
        // Two trials that saw the same say the same as one.
        let once = limits([&trial].into_iter(), Some(2));
        assert_eq!(limits([&trial, &trial].into_iter(), Some(2)), once);
        once
    }

    const IDLE: [(&str, f64); 4] = [
        ("cpu_user_s", 4.0),
        ("cpu_system_s", 1.0),
        ("cpu_idle_s", 15.0),
        ("disk_busy_s", 1.0),
    ];

    fn idle_but(counters: &[(&str, f64)]) -> Vec<String> {
        let kept = IDLE
            .into_iter()
            .filter(|(name, _)| !counters.iter().any(|(other, _)| other == name));
        said(&kept.chain(counters.iter().copied()).collect::<Vec<_>>())
    }

    #[test]
    fn nothing_recorded_is_nothing_said() {
        assert!(said(&[]).is_empty());
        assert!(limits(std::iter::empty(), None).is_empty());
    }

    #[test]
    fn a_busy_cpu_is_told_with_who_used_it() {
        let busy = [("cpu_user_s", 15.0), ("cpu_system_s", 4.0), ("cpu_idle_s", 1.0)];
        let told = idle_but(&busy);
        assert_eq!(told, ["the CPU: 1.9 of 2 cores were in use"]);
        let with = |more: &[(&'static str, f64)]| idle_but(&[&busy[..], more].concat()).remove(0);
        let was = "the CPU: 1.9 of 2 cores were in use, ";
        for (server, load, told) in [
            (
                12.0,
                None,
                "1.2 by the server and 0.7 by the load generator and others",
            ),
            (12.0, Some(7.0), "1.2 by the server and 0.7 by the load generator"),
            (
                12.0,
                Some(4.0),
                "1.2 by the server, 0.4 by the load generator and 0.3 by others",
            ),
            (
                6.0,
                Some(13.0),
                "0.6 by the server and 1.3 by the load generator: the load generator leaves the server little; run it \
                 with fewer threads, or on more cores",
            ),
            (
                1.0,
                Some(2.0),
                "0.1 by the server, 0.2 by the load generator and 1.6 by others: whatever else runs on this host \
                 leaves the server little",
            ),
        ] {
            let load = load.map(|load| ("load_cpu_s", load));
            let counters: Vec<_> = [("server_cpu_s", server)].into_iter().chain(load).collect();
            assert_eq!(with(&counters), format!("{was}{told}"));
        }
    }

    #[test]
    fn cores_that_others_take_are_told() {
        let told = idle_but(&[("cpu_steal_s", 4.0), ("cpu_idle_s", 11.0)]);
        assert_eq!(told, ["the CPU, 20 % of it taken by other virtual machines"]);
    }

    #[test]
    fn a_server_at_the_limit_of_its_class_on_an_idle_host_is_told() {
        let told = idle_but(&[("cpu_user_s", 18.0), ("cpu_idle_s", 60.0), ("server_cpu_s", 19.0)]);
        assert_eq!(
            told,
            ["the cores of the machine class: the server used 1.9 of the 2 it may use"]
        );
    }

    #[test]
    fn a_busy_disk_and_row_locks_are_told_with_their_figures() {
        let told = idle_but(&[
            ("disk_busy_s", 9.5),
            ("disk_written_bytes", 123e6),
            ("innodb_row_lock_time", 25_000.0),
        ]);
        assert_eq!(
            told,
            [
                "the disk: busy 95 % of the time, 0.0 MB/s read and 12.3 MB/s written",
                "row locks: 2.5 sessions waited for one on average, which is the load's own doing",
            ]
        );
    }

    #[test]
    fn where_nothing_is_busy_the_load_may_ask_for_no_more_and_data_in_memory_are_told() {
        let told = idle_but(&[
            ("innodb_buffer_pool_read_requests", 1e6),
            ("innodb_buffer_pool_reads", 200.0),
        ]);
        assert_eq!(told.len(), 2, "{told:?}");
        assert!(told[0].contains("0.5 of 2 cores in use") && told[0].contains("more [workload] threads"));
        assert!(told[1].contains("99.98 %"), "{told:?}");
        let told = idle_but(&[
            ("innodb_buffer_pool_read_requests", 1e6),
            ("innodb_buffer_pool_reads", 2e4),
        ]);
        assert_eq!(told.len(), 1, "{told:?}");
    }
}
