//! `noctune supervise`: started by noctune itself; ends what a dead noctune left running.

use crate::error::Result;

/// Supervises until standard input ends.
pub(super) fn run() -> Result<u8> {
    crate::host::supervise(std::io::stdin().lock());
    Ok(0)
}
