//! Reading a server's log, however long it is.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::Path;

/// How much is read of each end, bytes: a start tells at the beginning why it failed, a death at the end.
const END: u64 = 256 * 1024;

/// The log; of one longer than 512 KiB the beginning and the end. Empty where there is none.
pub(super) fn read_log(path: &Path) -> String {
    let mut bytes = Vec::new();
    // What was read before an error is still worth showing.
    let _ = read_ends(path, &mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

fn read_ends(path: &Path, bytes: &mut Vec<u8>) -> io::Result<()> {
    let mut file = File::open(path)?;
    file.by_ref().take(END).read_to_end(bytes)?;
    let rest = file.metadata()?.len().saturating_sub(END);
    if rest > END {
        bytes.extend_from_slice(b"\n[...]\n");
        file.seek(SeekFrom::End(-(END as i64)))?;
    }
    file.take(END).read_to_end(bytes)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_log_is_read_at_both_ends_and_a_short_one_as_it_is() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("server.log");
        assert_eq!(read_log(&path), "");
        for (lines, whole) in [(10, true), (10_000, true), (100_000, false)] {
            let text = format!("ready\n{}[ERROR] got signal 11\n", "some warning\n".repeat(lines));
            std::fs::write(&path, &text).unwrap();
            let read = read_log(&path);
            assert!(read.starts_with("ready\n") && read.ends_with("[ERROR] got signal 11\n"));
            assert_eq!(read == text, whole && text.len() as u64 <= 2 * END, "{lines}");
            assert!(read.len() as u64 <= 2 * END + 16);
        }
    }
}
