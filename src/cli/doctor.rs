//! `noctune doctor`: what this host can do for trials, each shortcoming with its fix.

use std::path::Path;

use serde::Serialize;

use super::{Global, output};
use crate::error::Result;
use crate::host::{Cgroup, Fingerprint, Limits, existing};
use crate::server::{ServerBinary, ServerUser, supports_reflink_in};
use crate::setup::neighbours;
use crate::units::Bytes;
use crate::workload::{Workload as _, sysbench::Sysbench};

/// How good a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Grade {
    /// As it should be.
    Good,
    /// Works, with a loss that is told.
    Fair,
    /// No trial can run.
    Missing,
}

/// One finding.
#[derive(Debug, Serialize)]
struct Finding {
    what: &'static str,
    grade: Grade,
    found: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    fix: Option<String>,
}

fn good(what: &'static str, found: impl Into<String>) -> Finding {
    Finding {
        what,
        grade: Grade::Good,
        found: found.into(),
        fix: None,
    }
}

fn poor(what: &'static str, grade: Grade, found: impl Into<String>, fix: impl Into<String>) -> Finding {
    Finding {
        what,
        grade,
        found: found.into(),
        fix: Some(fix.into()),
    }
}

/// Looks at the host and prints what was found; exit code 3 where something needed is missing.
pub(super) async fn run(global: &Global, server: Option<&str>) -> Result<u8> {
    let folder = existing(&global.results);
    let host = Fingerprint::read(&folder);
    let mut findings = vec![find_server(server).await, find_load().await];
    findings.extend(memory(&host));
    findings.push(good("cores", format!("{} ({})", host.cores, host.cpu)));
    findings.extend(disk(&host, &folder));
    findings.extend(rights(&folder));
    findings.extend(kernel(&host));
    findings.push(others().await);
    let missing = findings.iter().any(|finding| finding.grade == Grade::Missing);
    if global.json {
        output::print_json(&serde_json::json!({ "format": 1, "findings": findings }))?;
    } else {
        output::print(&text(&findings))?;
    }
    Ok(if missing { 3 } else { 0 })
}

async fn find_server(wanted: Option<&str>) -> Finding {
    let names: Vec<&str> = wanted.map_or_else(|| vec!["mariadbd", "mysqld"], |name| vec![name]);
    let mut last = None;
    for name in names {
        match ServerBinary::find(name).await {
            Ok(binary) => {
                return match binary.install_tool() {
                    Ok(_) => good("server", format!("{} ({})", binary.banner, binary.path.display())),
                    Err(error) => poor(
                        "server",
                        Grade::Missing,
                        error.to_string(),
                        "install the server's tools",
                    ),
                };
            }
            Err(error) => last = Some(error.to_string()),
        }
    }
    poor(
        "server",
        Grade::Missing,
        last.unwrap_or_default(),
        "install one: apt-get install mariadb-server-core mariadb-client-core (no service is started), or name it with --server",
    )
}

async fn find_load() -> Finding {
    let found = match Sysbench::new("oltp_read_write", 1, []) {
        Ok(load) => load.preflight().await,
        Err(error) => Err(error),
    };
    match found {
        Ok(()) => good("load", "sysbench with its bundled scripts"),
        Err(error) => poor(
            "load",
            Grade::Missing,
            error.to_string(),
            "install it: apt-get install sysbench",
        ),
    }
}

fn memory(host: &Fingerprint) -> Vec<Finding> {
    let Some(memory) = &host.memory else {
        return vec![poor(
            "RAM",
            Grade::Missing,
            "the kernel does not tell",
            "mount /proc",
        )];
    };
    let limit = memory
        .cgroup_limit
        .map_or_else(String::new, |limit| format!(", cgroup limit {}", limit.human()));
    let found = format!(
        "{} in all, {} available{limit}: a study may use {}",
        memory.total.human(),
        memory.available.human(),
        memory.class_ram().human()
    );
    let ram = if memory.class_ram() >= Bytes::mib(512) {
        good("RAM", found)
    } else {
        poor(
            "RAM",
            Grade::Fair,
            found,
            "free some memory: less than 512 MiB leaves no room for a buffer pool",
        )
    };
    let swap = if memory.swap == Bytes(0) {
        good("swap", "none")
    } else {
        let found = format!(
            "{}, swappiness {}",
            memory.swap.human(),
            host.swappiness.map_or_else(|| "?".to_owned(), |s| s.to_string())
        );
        poor(
            "swap",
            Grade::Fair,
            found,
            "a trial that swaps much fails; swapoff -a keeps the night from it",
        )
    };
    vec![ram, swap]
}

fn disk(host: &Fingerprint, folder: &Path) -> Vec<Finding> {
    let mut findings = Vec::new();
    match &host.storage {
        Some(storage) => {
            let kind = match storage.rotational {
                Some(true) => "spinning",
                Some(false) => "solid state, or virtual",
                None => "of unknown kind",
            };
            let found = format!(
                "{} on {} ({}), {kind}, {} free",
                storage.file_system,
                storage.mount_point,
                storage.mount_options,
                storage.free.human()
            );
            findings.push(if storage.free < Bytes::gib(4) {
                poor(
                    "disk",
                    Grade::Fair,
                    found,
                    "free some space, or choose another disk with --results",
                )
            } else if storage.file_system == "tmpfs" {
                poor(
                    "disk",
                    Grade::Fair,
                    found,
                    "results on tmpfs do not carry over to a disk; choose one with --results",
                )
            } else {
                good("disk", found)
            });
        }
        None => findings.push(poor(
            "disk",
            Grade::Missing,
            "unknown",
            "choose a folder that exists with --results",
        )),
    }
    findings.push(if supports_reflink_in(folder) {
        good("reset", "by reflink: the data are back within a moment")
    } else {
        poor(
            "reset",
            Grade::Fair,
            "by copying changed pages: this file system has no reflink",
            "put --results on XFS (reflink=1) or btrfs for quicker resets of large data",
        )
    });
    findings
}

fn rights(folder: &Path) -> Vec<Finding> {
    let root = rustix::process::geteuid().is_root();
    let mut findings = vec![if root {
        good(
            "cache drop",
            "the trial's own files, and all caches where a study asks for it",
        )
    } else {
        poor(
            "cache drop",
            Grade::Fair,
            "the trial's own files only",
            "run as root for caches = { drop = \"all\" }",
        )
    }];
    let limits = Limits {
        memory: Some(Bytes::gib(1)),
        cores: Some(1),
    };
    findings.push(match Cgroup::create(&limits) {
        Ok(_) => good("cgroups", "a server can be limited to a machine class"),
        Err(error) => poor(
            "cgroups",
            Grade::Fair,
            format!("a server cannot be limited to a machine class: {error}"),
            "run as root; until then only class = \"probe\" is measured as it is",
        ),
    });
    let user = ServerUser::choose(folder);
    findings.push(match (&user.note, &user.run_as) {
        (Some(note), _) => poor(
            "user",
            Grade::Fair,
            note.text.clone(),
            note.next.clone().unwrap_or_else(|| "none needed".to_owned()),
        ),
        (None, Some(run_as)) => good("user", format!("private servers run as {}", run_as.name)),
        (None, None) => good("user", "private servers run as you"),
    });
    findings
}

fn kernel(host: &Fingerprint) -> Vec<Finding> {
    let mut findings = Vec::new();
    findings.push(match host.huge_pages.as_deref() {
        Some("always") => poor(
            "huge pages",
            Grade::Fair,
            "transparent huge pages are always on: memory use and stalls vary from run to run",
            "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled",
        ),
        Some(other) => good("huge pages", other),
        None => good("huge pages", "none"),
    });
    findings.push(match host.governor.as_deref() {
        Some(governor @ ("powersave" | "ondemand" | "conservative" | "schedutil")) => poor(
            "governor",
            Grade::Fair,
            format!("{governor}: the clock follows the load and ranks candidates by it"),
            "cpupower frequency-set -g performance",
        ),
        Some(other) => good("governor", other),
        None => good("governor", "none (a virtual machine, or a fixed clock)"),
    });
    findings.push(good("NUMA", format!("{} node(s)", host.numa_nodes)));
    let (used, allowed) = host.aio;
    findings.push(if allowed.saturating_sub(used) >= 16_384 {
        good("aio", format!("{used} of {allowed} slots in use"))
    } else {
        poor(
            "aio",
            Grade::Fair,
            format!("{used} of {allowed} slots in use"),
            "sysctl -w fs.aio-max-nr=1048576",
        )
    });
    let hard = host.open_files.1;
    findings.push(if hard.is_none_or(|hard| hard >= 16_384) {
        good(
            "open files",
            hard.map_or_else(|| "no limit".to_owned(), |hard| format!("up to {hard}")),
        )
    } else {
        poor(
            "open files",
            Grade::Fair,
            format!(
                "at most {}: servers shrink table_open_cache and max_connections silently",
                hard.unwrap_or(0)
            ),
            "raise the hard limit of nofile in /etc/security/limits.conf",
        )
    });
    findings
}

/// As `tune` judges it, so that what is free here is free there.
async fn others() -> Finding {
    let seen = neighbours().await;
    match seen.unfit {
        Some(found) if seen.others.servers.is_empty() => poor(
            "other load",
            Grade::Fair,
            format!(
                "{found}, and did each of the {} times it was looked at",
                seen.looks
            ),
            "measure when the host is free, or pass --shared-host",
        ),
        Some(found) => poor(
            "other load",
            Grade::Fair,
            found,
            "measure on a host of its own, or pass --shared-host",
        ),
        None => good(
            "other load",
            format!(
                "other programs use {:.0} % of the CPU and keep a disk busy {:.0} % of the time",
                100.0 * seen.others.cpu_share,
                100.0 * seen.others.disk_share
            ),
        ),
    }
}

fn text(findings: &[Finding]) -> String {
    let mut lines = Vec::new();
    for finding in findings {
        let mark = match finding.grade {
            Grade::Good => "ok  ",
            Grade::Fair => "fair",
            Grade::Missing => "MISS",
        };
        // What is found may be an error of several lines.
        let found = finding.found.replace('\n', "\n                  ");
        lines.push(format!("{mark}  {:<11} {found}", finding.what));
        if let Some(fix) = &finding.fix {
            lines.push(format!("      {:<11} fix: {fix}", ""));
        }
    }
    lines.join("\n")
}
