//! Writes what takes a recommendation back.

use std::fmt::Write as _;

use super::render::{Recommended, comment, written};

/// The my.cnf.rollback: the baseline's values of every line the recommendation changes, and which lines to remove to get
/// the same without it. Ends with a line feed.
pub fn rollback(recommended: &Recommended) -> String {
    let mut out = String::new();
    for line in [
        "Takes back the my.cnf that Noctune wrote.".to_owned(),
        "Best: remove zz-noctune.cnf, or the lines named below, and restart the server.".to_owned(),
        "Or: put this file behind it in file order; it sets the baseline's values again.".to_owned(),
        String::new(),
        format!("server:      {}", recommended.server),
        format!(
            "written:     {} by noctune {}",
            recommended.date, recommended.version
        ),
    ] {
        comment(&mut out, &line);
    }
    out.push_str("\n[mysqld]\n");
    if recommended.lines.is_empty() {
        out.push_str("# Nothing to take back.\n");
    }
    for line in &recommended.lines {
        let remove = format!("remove: {} = {}", line.variable, written(&line.value, line.size));
        match &line.baseline {
            Some(value) => {
                let origin = if line.set_in_baseline {
                    "the baseline's my.cnf"
                } else {
                    "the server's default"
                };
                comment(&mut out, &format!("{remove}; below: {origin}"));
                // Writing to a String cannot fail.
                let _ = writeln!(out, "{} = {}", line.variable, written(value, line.size));
            }
            None => comment(
                &mut out,
                &format!("{remove}; its earlier value is not known, so nothing is set here"),
            ),
        }
    }
    out
}
