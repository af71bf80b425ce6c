//! Whether swapping spoiled a window.

use super::journal::Failure;
use crate::host::Swapping;
use crate::trial::{Cause, CauseKind, Outcome, Warning};
use crate::units::Bytes;

/// A server that lost more than this share of its memory to swap during the window had too little of it. Less than that is
/// what no server touches: code of its start, idle caches.
const SERVER_SHARE: f64 = 0.01;
/// Reading back more than this a second keeps a disk busy that the server may wait for: 256 pages of 4 KiB, which take a
/// tenth of a second or so on an SSD that does a read in half a millisecond. Any long-idle process that wakes up reads back
/// some pages; that is far below it.
const HOST_RATE: f64 = 1024.0 * 1024.0;

/// What the swapping of a window of so many seconds means: nothing; something a person should know; or that the trial says
/// nothing about speed. The server's own swapping is then too much memory, the host's is the host's fault.
pub(super) fn judge(seen: &Swapping, seconds: f64) -> Result<Option<Warning>, Failure> {
    // Bytes are never negative, and the sizes of memories.
    let human = |bytes: f64| Bytes(bytes as u64).human();
    if seen.server_out_bytes > SERVER_SHARE * seen.server_bytes {
        let text = format!(
            "{} of the server were swapped out while it was measured",
            human(seen.server_out_bytes)
        );
        let cause = Cause::new(CauseKind::Memory, text);
        return Err(Failure::Outcome(Outcome::OutOfMemory { cause }));
    }
    if seen.host_in_bytes > HOST_RATE * seconds {
        let text = format!(
            "the host swapped while the server was measured: {} were read back in {seconds:.0} s",
            human(seen.host_in_bytes)
        );
        let cause = Cause::new(CauseKind::Memory, text);
        return Err(Failure::Outcome(Outcome::HostFault { cause }));
    }
    let swapped = seen.server_out_bytes > 0.0 || seen.host_in_bytes > 0.0;
    Ok(swapped.then(|| Warning {
        text: "the host swapped a little while the server was measured, too little to disturb it".to_owned(),
        next: Some("swapoff -a keeps the night from it".to_owned()),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: f64 = 1024.0 * 1024.0;

    fn judged(host_in: f64, server_out: f64) -> Result<Option<Warning>, Failure> {
        let seen = Swapping {
            host_in_bytes: host_in,
            server_out_bytes: server_out,
            server_bytes: 200.0 * MIB,
        };
        judge(&seen, 10.0)
    }

    #[test]
    fn a_page_that_some_process_reads_back_is_told_and_fails_no_trial() {
        assert_eq!(judged(0.0, 0.0), Ok(None));
        assert!(matches!(judged(4096.0, 0.0), Ok(Some(_))));
        assert!(matches!(judged(9.0 * MIB, 0.0), Ok(Some(_))));
        assert!(matches!(judged(0.0, 1.0 * MIB), Ok(Some(_))));
    }

    #[test]
    fn a_host_that_keeps_swapping_is_at_fault_and_a_server_that_does_not_fit_is_out_of_memory() {
        assert!(matches!(
            judged(11.0 * MIB, 0.0),
            Err(Failure::Outcome(Outcome::HostFault { .. }))
        ));
        assert!(matches!(
            judged(11.0 * MIB, 3.0 * MIB),
            Err(Failure::Outcome(Outcome::OutOfMemory { .. }))
        ));
    }
}
