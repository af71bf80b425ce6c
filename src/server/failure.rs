//! Why a server did not start or died: its log and exit status to an outcome. Pure.
//!
//! During a start the *first* error line decides: a bad InnoDB number ends in "Unknown/unsupported storage engine" or even
//! in "unknown variable" (seen on MariaDB 10.3 and 10.11). Once the server is ready its exit decides: an error line of a
//! running server is often about one statement only. A kill (signal 9) comes from outside; no error line explains it.

use crate::space::isolation::canonical;
use crate::trial::{Cause, CauseKind, Outcome, Warning};

/// How a server process ended, and what the host saw.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Death {
    /// Exit code, where it ended by itself.
    pub code: Option<i32>,
    /// The signal, where one ended it.
    pub signal: Option<i32>,
    /// Kills for memory in the server's cgroup since its start; none where it has no cgroup.
    pub cgroup_kills: Option<u64>,
    /// Whether the kernel's log tells of a kill for memory of this process; none where it cannot be read.
    pub kernel_told: Option<bool>,
    /// Its limit of open files, where known.
    pub open_files: Option<u64>,
}

/// A server that answers says this.
const READY: &str = "ready for connections";
/// abort(3): a server that finds itself in trouble and says why before.
const ABORT: i32 = 6;

/// What the death of a server during a trial means: the outcome, with the cause as far as it can be known.
pub fn classify_death(log: &str, death: &Death) -> Outcome {
    if death.signal == Some(9) {
        return killed(log, death);
    }
    match log.split_once(READY) {
        None => failed_start(log, death),
        Some((_, running)) => failed_run(running, death),
    }
}

/// The server ended before it was ready.
fn failed_start(log: &str, death: &Death) -> Outcome {
    let first = errors(log).next();
    if let Some(line) = first
        && !says_signal(line)
    {
        let cause = with_exit(cause_of(line), death);
        return of_resource(&cause).unwrap_or(match death.signal {
            None => Outcome::ServerRefused { cause },
            signal => Outcome::Crashed { signal, cause },
        });
    }
    match death.signal {
        Some(signal) => crashed(signal, first),
        None => Outcome::ServerRefused {
            cause: Cause::new(CauseKind::Other, ended_by_itself(first, death)),
        },
    }
}

/// The server ended after it was ready; `log` is what it said since then.
fn failed_run(log: &str, death: &Death) -> Outcome {
    // Only a server that gives up by itself tells of what it lacked; any other signal comes without a reason.
    if matches!(death.signal, None | Some(ABORT))
        && let Some(outcome) = errors(log).find_map(|line| of_resource(&with_exit(cause_of(line), death)))
    {
        return outcome;
    }
    match death.signal {
        Some(signal) => crashed(signal, errors(log).find(|line| says_signal(line))),
        None => Outcome::Crashed {
            signal: None,
            cause: Cause::new(CauseKind::Other, ended_by_itself(errors(log).next(), death)),
        },
    }
}

fn crashed(signal: i32, line: Option<&str>) -> Outcome {
    let text = line.map_or_else(|| format!("killed by signal {signal}"), message);
    Outcome::Crashed {
        signal: Some(signal),
        cause: Cause::new(CauseKind::Signal, text),
    }
}

fn ended_by_itself(line: Option<&str>, death: &Death) -> String {
    match (line, death.code) {
        (Some(line), _) => with_exit(Cause::new(CauseKind::Other, message(line)), death).text,
        (None, Some(code)) => format!("the server ended with exit code {code} and no error in its log"),
        (None, None) => "the server ended without an error in its log".to_owned(),
    }
}

/// A cause with the exit code of the server that told it.
fn with_exit(cause: Cause, death: &Death) -> Cause {
    match death.code {
        Some(code) => Cause {
            text: format!("{} (exit code {code})", cause.text),
            ..cause
        },
        None => cause,
    }
}

/// The outcome of a cause that is about what the server was given to live in.
fn of_resource(cause: &Cause) -> Option<Outcome> {
    let cause = cause.clone();
    match cause.kind {
        CauseKind::Memory => Some(Outcome::OutOfMemory { cause }),
        CauseKind::DiskFull
        | CauseKind::Descriptors
        | CauseKind::AioSlots
        | CauseKind::Permission
        | CauseKind::Address
        | CauseKind::DataInUse => Some(Outcome::HostFault { cause }),
        _ => None,
    }
}

/// Limits above this make old servers allocate gigabytes for descriptors alone (seen with 2^30, MySQL 5.7).
const ABSURD_OPEN_FILES: u64 = 1 << 26;

fn killed(log: &str, death: &Death) -> Outcome {
    let before_ready = !log.contains(READY);
    let counted = death.kernel_told == Some(true) || death.cgroup_kills.is_some_and(|kills| kills > 0);
    if before_ready && !counted && death.open_files.is_some_and(|limit| limit >= ABSURD_OPEN_FILES) {
        let text = format!(
            "killed by signal 9 before it was ready; its limit of {} open files makes it allocate too much",
            death.open_files.unwrap_or_default()
        );
        return Outcome::HostFault {
            cause: Cause::new(CauseKind::Descriptors, text),
        };
    }
    let text = if counted {
        "killed for memory (signal 9, the kernel counted it)"
    } else if death.cgroup_kills == Some(0) {
        let text = "killed by signal 9, not for memory: the cgroup counted no kill";
        return Outcome::Crashed {
            signal: Some(9),
            cause: Cause::new(CauseKind::Signal, text),
        };
    } else if death.kernel_told == Some(false) {
        let text = "killed by signal 9, not for memory: the kernel's log tells of no such kill";
        return Outcome::Crashed {
            signal: Some(9),
            cause: Cause::new(CauseKind::Signal, text),
        };
    } else {
        "killed by signal 9, probably for memory"
    };
    Outcome::OutOfMemory {
        cause: Cause::new(CauseKind::Memory, text),
    }
}

/// What a log tells a person although the server started: limits that were changed behind our back, values that were
/// adjusted, settings that do nothing.
pub fn start_warnings(log: &str) -> Vec<Warning> {
    log.lines()
        .filter(|line| line.contains("[Warning]"))
        .filter_map(|line| {
            let text = message(line);
            if text.contains("Changed limits") || text.contains("max_open_files") {
                let next = "raise the limit of open files (ulimit -n, LimitNOFILE=) before starting Noctune";
                Some(Warning {
                    text,
                    next: Some(next.to_owned()),
                })
            } else if text.contains("adjusted to")
                || text.contains("does nothing")
                || text.contains("was removed")
            {
                Some(Warning { text, next: None })
            } else {
                None
            }
        })
        .collect()
}

/// Whether a start began with a recovery, which no trial on a clean template does.
pub fn recovered_from_crash(log: &str) -> bool {
    log.contains("Starting crash recovery") || log.contains("Database was not shutdown normally")
}

/// Lines that tell of an error, in any of the servers' forms.
fn errors(log: &str) -> impl Iterator<Item = &str> {
    log.lines().filter(|line| {
        line.contains("[ERROR]")
            || line.starts_with("InnoDB: Error")
            || (line.contains("(Errcode: ") && !line.contains("[Warning]"))
    })
}

fn says_signal(line: &str) -> bool {
    line.contains("got signal ")
}

/// The message of a log line without time, thread, level, code and subsystem.
fn message(line: &str) -> String {
    let mut rest = line;
    for level in ["[ERROR]", "[Warning]"] {
        if let Some((_, after)) = rest.split_once(level) {
            rest = after.trim_start();
        }
    }
    while let Some((_, after)) = rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        rest = after.trim_start();
    }
    rest.trim().to_owned()
}

fn cause_of(line: &str) -> Cause {
    let text = message(line);
    let (kind, variable, value) = kind_of(&text);
    Cause {
        kind,
        variable: variable.map(canonical),
        value: value.map(str::to_owned),
        text,
    }
}

type Found<'a> = (CauseKind, Option<&'a str>, Option<&'a str>);

fn kind_of(text: &str) -> Found<'_> {
    setting_at_fault(text).unwrap_or_else(|| (resource_at_fault(text), resource_variable(text), None))
}

/// Errors that name a setting.
fn setting_at_fault(text: &str) -> Option<Found<'_>> {
    if let Some(given) = between(text, "unknown variable '", "'") {
        let (name, value) = given
            .split_once('=')
            .map_or((given, None), |(name, value)| (name, Some(value)));
        return Some((CauseKind::UnknownVariable, Some(name), value));
    }
    if let Some(name) = between(text, "unknown option '", "'") {
        return Some((CauseKind::UnknownVariable, Some(name), None));
    }
    if let Some(value) = between(text, "Error while setting value '", "'") {
        return Some((CauseKind::BadValue, between(text, "' to '", "'"), Some(value)));
    }
    if text.contains("Unknown suffix") {
        return Some((
            CauseKind::BadValue,
            between(text, "for variable '", "'"),
            between(text, "(value '", "'"),
        ));
    }
    if text.starts_with("Incorrect ")
        && let Some((_, rest)) = text.split_once(" value: '")
        && let Some((value, name)) = rest.split_once("' for ")
    {
        return Some((
            CauseKind::BadValue,
            Some(name.trim().trim_matches('\'')),
            Some(value),
        ));
    }
    if let Some(name) = between(text, "option '", "' requires an argument") {
        return Some((CauseKind::BadValue, Some(name), None));
    }
    if text.contains("requires innodb_buffer_pool_size") {
        return Some((CauseKind::BadValue, Some("innodb_buffer_pool_size"), None));
    }
    None
}

/// Errors of what the server was given to live in; tried in order.
fn resource_at_fault(text: &str) -> CauseKind {
    let has = |parts: &[&str]| parts.iter().any(|part| text.contains(part));
    let table: [(CauseKind, &[&str]); 8] = [
        (
            CauseKind::Geometry,
            &["different size", "uses page size", "lower_case_table_names"],
        ),
        (
            CauseKind::DiskFull,
            &[
                "error 28",
                "errno 28",
                "errno: 28",
                "Errcode: 28",
                "error: 28",
                "No space left",
                "disk full",
                "Disk is full",
            ],
        ),
        (
            CauseKind::Memory,
            &[
                "errno 12",
                "Errcode: 12",
                "Cannot allocate memory",
                "Out of memory",
                "Cannot map innodb_buffer_pool",
            ],
        ),
        (CauseKind::AioSlots, &["io_setup()", "Cannot initialize AIO"]),
        (
            CauseKind::Descriptors,
            &["Too many open files", "errno: 24", "Errcode: 24"],
        ),
        (
            CauseKind::Permission,
            &[
                "errno: 13",
                "errno 13",
                "Errcode: 13",
                "Permission denied",
                "Could not open required defaults file",
            ],
        ),
        (
            CauseKind::Address,
            &[
                "socket file path is too long",
                "Address already in use",
                "Bind on TCP/IP",
                "Bind on unix socket",
                "Do you already have another",
            ],
        ),
        (
            CauseKind::DataInUse,
            &["Unable to lock ./", "Can't lock aria control file"],
        ),
    ];
    table
        .iter()
        .find(|(_, parts)| has(parts))
        .map_or(CauseKind::Other, |(kind, _)| *kind)
}

/// The variable behind an error that names a resource.
fn resource_variable(text: &str) -> Option<&'static str> {
    [
        ("ib_logfile", "innodb_log_file_size"),
        ("ibdata", "innodb_data_file_path"),
        ("buffer pool", "innodb_buffer_pool_size"),
        ("innodb_buffer_pool_size", "innodb_buffer_pool_size"),
    ]
    .iter()
    .find(|(sign, _)| text.contains(sign) && !text.contains("page size") && !text.contains("lock"))
    .map(|(_, variable)| *variable)
    .or_else(|| text.contains("page size").then_some("innodb_page_size"))
}

fn between<'a>(text: &'a str, before: &str, after: &str) -> Option<&'a str> {
    text.split_once(before)?
        .1
        .split_once(after)
        .map(|(found, _)| found)
}

#[cfg(test)]
#[path = "failure_tests.rs"]
mod tests;
