//! A test that cannot run here says so, and fails where everything has to be there.

use std::io::Write as _;

/// Tells that the running test is skipped, past the capture of test output. With `CI=true` nothing may be skipped.
#[track_caller]
pub(crate) fn skip(reason: &str) {
    assert!(
        std::env::var("CI").as_deref() != Ok("true"),
        "CI=true, and this test cannot run: {reason}"
    );
    skip_anywhere(reason);
}

/// As [`skip`], for what even a complete host need not allow (mounts, tracing).
pub(crate) fn skip_anywhere(reason: &str) {
    let test = std::thread::current().name().unwrap_or("a test").to_owned();
    // Standard error itself: what `println!` writes is shown for failed tests only.
    let _ = writeln!(std::io::stderr(), "skipped {test}: {reason}");
}
