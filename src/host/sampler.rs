//! Counters of the host and of one server process, taken at both ends of a window and every few seconds.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::caches::DiskCounters;
use super::identity::Stat;
use super::others::CpuTicks;

/// Counters at one moment. Counters grow from boot or from the server's start; gauges are values of the moment.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HostSample {
    /// What only grows: `cpu_user_s`, `cpu_system_s`, `cpu_iowait_s`, `cpu_steal_s`, `cpu_idle_s` (seconds, all cores),
    /// `context_switches`, `disk_read_bytes`, `disk_written_bytes`, `disk_busy_s`, `swap_in_pages`, `swap_out_pages`,
    /// `server_cpu_s`, `server_read_bytes`, `server_written_bytes`, and of the load `load_cpu_s`.
    pub counters: BTreeMap<&'static str, f64>,
    /// Values of the moment: `server_rss_bytes`, `server_peak_rss_bytes`, `server_swap_bytes`.
    pub gauges: BTreeMap<&'static str, f64>,
}

/// What was swapped between two samples.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Swapping {
    /// Read back from swap for any process of the host, bytes.
    pub host_in_bytes: f64,
    /// How much more of the server lies in swap than before, bytes.
    pub server_out_bytes: f64,
    /// The server's memory, resident or swapped out, bytes.
    pub server_bytes: f64,
}

impl HostSample {
    /// Takes one. `server` is the server's process id, `data` a path on its disk.
    pub fn take(server: i32, data: &Path) -> Self {
        let mut sample = Self::default();
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        sample.add_cpu(
            &read("/proc/stat"),
            rustix::param::clock_ticks_per_second() as f64,
        );
        sample.add_cpu_of("server_cpu_s", server);
        sample.add_vmstat(&read("/proc/vmstat"));
        sample.add_process(
            &read(&format!("/proc/{server}/status")),
            &read(&format!("/proc/{server}/io")),
        );
        if let Some(disk) = DiskCounters::of(data) {
            sample.counters.insert("disk_read_bytes", disk.read_bytes as f64);
            sample
                .counters
                .insert("disk_written_bytes", disk.written_bytes as f64);
            sample
                .counters
                .insert("disk_busy_s", disk.busy_ms as f64 / 1000.0);
        }
        sample
    }

    /// Adds what the load generator uses, by its process id.
    #[must_use]
    pub fn with_load(mut self, load: i32) -> Self {
        self.add_cpu_of("load_cpu_s", load);
        self
    }

    fn add_cpu_of(&mut self, name: &'static str, pid: i32) {
        if let Some(stat) = Stat::of(pid) {
            let ticks_per_second = rustix::param::clock_ticks_per_second() as f64;
            self.counters
                .insert(name, stat.cpu_ticks as f64 / ticks_per_second);
        }
    }

    /// What happened between an earlier sample and this one: differences of counters, gauges of this one. A counter that
    /// one of them lacks is left out.
    pub fn since(&self, before: &Self) -> BTreeMap<String, f64> {
        let grown = self.counters.iter().filter_map(|(name, now)| {
            before
                .counters
                .get(name)
                .map(|then| ((*name).to_owned(), (now - then).max(0.0)))
        });
        let gauges = self.gauges.iter().map(|(name, now)| ((*name).to_owned(), *now));
        grown.chain(gauges).collect()
    }

    /// What was swapped since an earlier sample; counters and gauges that one of them lacks count as zero.
    pub fn swapping_since(&self, before: &Self) -> Swapping {
        let grown = |of: fn(&Self) -> &BTreeMap<&'static str, f64>, name| {
            let value = |sample| of(sample).get(name).copied().unwrap_or(0.0);
            (value(self) - value(before)).max(0.0)
        };
        let now = |name| self.gauges.get(name).copied().unwrap_or(0.0);
        Swapping {
            host_in_bytes: grown(|sample| &sample.counters, "swap_in_pages")
                * rustix::param::page_size() as f64,
            server_out_bytes: grown(|sample| &sample.gauges, "server_swap_bytes"),
            server_bytes: now("server_rss_bytes") + now("server_swap_bytes"),
        }
    }

    fn add_cpu(&mut self, stat: &str, ticks_per_second: f64) {
        if let Some(cpu) = CpuTicks::parse(stat) {
            for (name, ticks) in [
                ("cpu_user_s", cpu.user),
                ("cpu_system_s", cpu.system),
                ("cpu_iowait_s", cpu.iowait),
                ("cpu_steal_s", cpu.steal),
                ("cpu_idle_s", cpu.idle),
            ] {
                self.counters.insert(name, ticks as f64 / ticks_per_second);
            }
        }
        if let Some(switches) = field(stat, "ctxt", ' ') {
            self.counters.insert("context_switches", switches);
        }
    }

    fn add_vmstat(&mut self, vmstat: &str) {
        for (name, key) in [("swap_in_pages", "pswpin"), ("swap_out_pages", "pswpout")] {
            if let Some(pages) = field(vmstat, key, ' ') {
                self.counters.insert(name, pages);
            }
        }
    }

    fn add_process(&mut self, status: &str, io: &str) {
        for (name, key) in [
            ("server_rss_bytes", "VmRSS"),
            ("server_peak_rss_bytes", "VmHWM"),
            ("server_swap_bytes", "VmSwap"),
        ] {
            if let Some(kib) = field(status, key, ':') {
                self.gauges.insert(name, kib * 1024.0);
            }
        }
        for (name, key) in [
            ("server_read_bytes", "read_bytes"),
            ("server_written_bytes", "write_bytes"),
        ] {
            if let Some(bytes) = field(io, key, ':') {
                self.counters.insert(name, bytes);
            }
        }
    }
}

/// The first number after `key` and the separator on a line of a `/proc` text.
fn field(text: &str, key: &str, separator: char) -> Option<f64> {
    text.lines().find_map(|line| {
        let (name, rest) = line.split_once(separator)?;
        (name == key).then(|| rest.split_whitespace().next()?.parse().ok())?
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(swap_in: u32, swapped_kib: u32) -> HostSample {
        let mut sample = HostSample::default();
        sample.add_cpu("cpu  100 0 50 1000 7 0 0 3\nctxt 123456\n", 100.0);
        sample.add_vmstat(&format!("pgpgin 1\npswpin {swap_in}\npswpout 9\n"));
        sample.add_process(
            &format!(
                "Name:\tmariadbd\nVmHWM:\t  204800 kB\nVmRSS:\t  102400 kB\nVmSwap:\t {swapped_kib} kB\n"
            ),
            "rchar: 5\nread_bytes: 4096\nwrite_bytes: 8192\n",
        );
        sample
    }

    #[test]
    fn a_window_has_differences_of_counters_and_last_values_of_gauges() {
        let window = sample(10, 0).since(&sample(4, 0));
        assert_eq!(window["swap_in_pages"], 6.0);
        assert_eq!(window["context_switches"], 0.0);
        assert_eq!(window["server_peak_rss_bytes"], 204_800.0 * 1024.0);
    }

    #[test]
    fn only_what_was_swapped_since_the_earlier_sample_counts() {
        assert_eq!(sample(4, 12).swapping_since(&sample(4, 12)).server_out_bytes, 0.0);
        let seen = sample(5, 20).swapping_since(&sample(4, 12));
        assert_eq!(seen.host_in_bytes, rustix::param::page_size() as f64);
        assert_eq!(seen.server_out_bytes, 8.0 * 1024.0);
        assert_eq!(seen.server_bytes, (102_400.0 + 20.0) * 1024.0);
    }

    #[test]
    fn the_own_process_has_a_resident_size() {
        let own = i32::try_from(std::process::id()).unwrap();
        let sample = HostSample::take(own, Path::new("/")).with_load(own);
        assert!(sample.gauges["server_rss_bytes"] > 0.0);
        assert!(sample.counters["cpu_user_s"] > 0.0);
        assert!(sample.counters["server_cpu_s"] >= 0.0);
        assert!(sample.counters["load_cpu_s"] >= sample.counters["server_cpu_s"]);
    }
}
