//! Numbers and times in few characters.

/// A number with about three digits; `-` where it is not finite.
pub(super) fn number(x: f64) -> String {
    if !x.is_finite() {
        "-".to_owned()
    } else if x.abs() >= 99.95 {
        format!("{x:.0}")
    } else if x.abs() >= 9.995 {
        format!("{x:.1}")
    } else {
        format!("{x:.2}")
    }
}

/// A length of time: `9.4 s`, `52 s`, `14 min`, `7 h 05 min`; `-` where it is none.
pub(super) fn duration(seconds: f64) -> String {
    if !seconds.is_finite() || seconds < 0.0 {
        return "-".to_owned();
    }
    let minutes = (seconds / 60.0).round();
    if seconds < 9.95 {
        format!("{seconds:.1} s")
    } else if seconds < 99.5 {
        format!("{seconds:.0} s")
    } else if minutes < 100.0 {
        format!("{minutes:.0} min")
    } else {
        format!("{:.0} h {:02.0} min", (minutes / 60.0).floor(), minutes % 60.0)
    }
}

/// One line: control characters become blanks, so that no text of a server can move the cursor.
pub(super) fn one_line(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect()
}
