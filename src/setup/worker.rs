//! Who we are to the store, and whether another worker is gone.

use crate::host::{Fingerprint, Identity, boot_id};
use crate::store::WorkerId;

/// This process on the host of `environment`.
pub fn this_worker(environment: &Fingerprint) -> WorkerId {
    let pid = std::process::id();
    let started = i32::try_from(pid)
        .ok()
        .and_then(|pid| Identity::of(pid, ""))
        .map_or(0, |me| me.start_ticks);
    WorkerId {
        host: environment.hostname.clone(),
        boot: boot_id(),
        pid,
        started,
    }
}

/// Whether a worker of the host `host` is proved gone: of an earlier boot of this host, or its process is not there. Of
/// other hosts nothing can be proved; their leases end by themselves.
pub fn is_gone(worker: &WorkerId, host: &str) -> bool {
    if worker.host != host {
        return false;
    }
    if worker.boot != boot_id() {
        return true;
    }
    let alive = i32::try_from(worker.pid)
        .ok()
        .and_then(|pid| Identity::of(pid, ""))
        .is_some_and(|process| process.start_ticks == worker.started && process.is_alive());
    !alive
}

#[cfg(test)]
mod tests {
    use super::*;

    fn me() -> WorkerId {
        let pid = std::process::id();
        let started = Identity::of(i32::try_from(pid).unwrap(), "").unwrap().start_ticks;
        WorkerId {
            host: "h".into(),
            boot: boot_id(),
            pid,
            started,
        }
    }

    #[test]
    fn this_process_is_not_gone_and_another_with_its_number_is() {
        assert!(!is_gone(&me(), "h"));
        assert!(is_gone(
            &WorkerId {
                started: me().started + 1,
                ..me()
            },
            "h"
        ));
    }

    #[test]
    fn a_worker_of_an_earlier_boot_is_gone_and_one_of_another_host_is_never_judged() {
        let earlier = WorkerId {
            boot: "another".into(),
            ..me()
        };
        assert!(is_gone(&earlier, "h"));
        assert!(!is_gone(&earlier, "elsewhere"));
    }
}
