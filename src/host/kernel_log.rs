//! What the kernel's log says of a process that was killed for memory.

use std::fs::OpenOptions;
use std::io::Read as _;
use std::os::unix::fs::OpenOptionsExt as _;

/// A record of /dev/kmsg is never longer (kernel documentation, "dev-kmsg").
const LONGEST_RECORD: usize = 8192;
/// Records looked at, at the most; the kernel keeps fewer.
const MOST_RECORDS: usize = 200_000;

/// The first process id namespace of a kernel (PROC_PID_INIT_INO of its sources); in another one its log has other ids.
const FIRST_NAMESPACE: &str = "pid:[4026531836]";

/// Whether the kernel's log tells that it killed the process `pid` for memory. None where it does not and could not: the
/// log cannot be read (it needs root, or `kernel.dmesg_restrict = 0`), or its process ids are not ours (a container).
pub fn killed_for_memory(pid: i32) -> Option<bool> {
    let told = told(pid)?;
    let same_ids =
        || std::fs::read_link("/proc/self/ns/pid").is_ok_and(|link| link.as_os_str() == FIRST_NAMESPACE);
    (told || same_ids()).then_some(told)
}

fn told(pid: i32) -> Option<bool> {
    let opened = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NONBLOCK)
        .open("/dev/kmsg");
    let mut log = opened.ok()?;
    let mut record = vec![0; LONGEST_RECORD];
    for _ in 0..MOST_RECORDS {
        match log.read(&mut record) {
            // EPIPE: the record was overwritten while it was waited for; the next read goes on behind it.
            Err(error) if error.raw_os_error() == Some(libc::EPIPE) => {}
            Err(_) | Ok(0) => return Some(false),
            Ok(length) => {
                if tells_of_kill(&String::from_utf8_lossy(&record[..length]), pid) {
                    return Some(true);
                }
            }
        }
    }
    Some(false)
}

/// Whether a record is the kernel's line about killing `pid` for memory, e.g.
/// `Memory cgroup out of memory: Killed process 4242 (mariadbd) total-vm:...`.
fn tells_of_kill(record: &str, pid: i32) -> bool {
    let lower = record.to_lowercase();
    lower.contains("out of memory") && lower.contains(&format!("killed process {pid} "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_line_about_that_process_counts() {
        let line = "3,812,8121480199,-;Memory cgroup out of memory: Killed process 4242 (mariadbd) total-vm:15300000kB";
        assert!(tells_of_kill(line, 4242));
        assert!(!tells_of_kill(line, 424));
        assert!(!tells_of_kill("6,1,1,-;mariadbd[4242]: segfault at 0", 4242));
        assert!(tells_of_kill(
            "3,1,1,-;Out of memory: Killed process 7 (x), UID 0",
            7
        ));
    }

    #[test]
    fn looking_for_a_process_that_was_not_killed_finds_nothing() {
        assert_ne!(killed_for_memory(i32::MAX), Some(true));
    }
}
