//! A line to standard error when nothing may wait any more.

use std::io::{self, Write as _};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// How long standard error may take to accept it.
const LIMIT: Duration = Duration::from_secs(2);

/// Writes a line to standard error, and waits for a reader at most two seconds: a stopped terminal must not keep the process.
pub fn last_words(text: &str) {
    let line = format!("{text}\n");
    let (alive, ended) = mpsc::channel::<()>();
    let copy = line.clone();
    let started = thread::Builder::new().spawn(move || {
        say(&copy);
        drop(alive);
    });
    match started {
        Ok(_) => {
            // Either it was written, or nobody reads it.
            let _ = ended.recv_timeout(LIMIT);
        }
        Err(_) => say(&line),
    }
}

fn say(line: &str) {
    // Nothing is left to be told when even standard error is gone.
    let _ = io::stderr().lock().write_all(line.as_bytes());
}
