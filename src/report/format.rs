//! Numbers, values and tables for people.

use std::collections::BTreeSet;

use crate::space::Value;
use crate::stats::Interval;
use crate::units::Bytes;

/// What is printed where a number cannot be told.
pub(super) const NOT_MEASURABLE: &str = "not measurable";

/// Three significant digits or all before the point; [`NOT_MEASURABLE`] where it is not finite.
pub(super) fn number(x: f64) -> String {
    if !x.is_finite() {
        return NOT_MEASURABLE.to_owned();
    }
    match x.abs() {
        size if size >= 99.95 => format!("{x:.0}"),
        size if size >= 9.995 => format!("{x:.1}"),
        size if size >= 0.995 || x == 0.0 => format!("{x:.2}"),
        size if size >= 0.001 => format!("{x:.4}"),
        _ => format!("{x:.2e}"),
    }
}

/// [`number`], with [`NOT_MEASURABLE`] for none.
pub(super) fn maybe(x: Option<f64>) -> String {
    x.map_or_else(|| NOT_MEASURABLE.to_owned(), number)
}

/// A share in percent, e.g. `8.2 %`.
pub(super) fn percent(share: f64) -> String {
    // A finite share can be too large to be written in percent.
    let percent = share * 100.0;
    if percent.is_finite() {
        format!("{percent:.1} %")
    } else {
        NOT_MEASURABLE.to_owned()
    }
}

/// A length of time, e.g. `12.3 s`, `14 min`, `7 h 05 min`.
pub(super) fn duration(seconds: f64) -> String {
    if !seconds.is_finite() || seconds < 0.0 {
        return NOT_MEASURABLE.to_owned();
    }
    let minutes = (seconds / 60.0).round();
    if seconds < 99.95 {
        format!("{seconds:.1} s")
    } else if minutes < 100.0 {
        format!("{minutes:.0} min")
    } else {
        format!("{:.0} h {:02.0} min", (minutes / 60.0).floor(), minutes % 60.0)
    }
}

/// A ratio with its interval, e.g. `× 1.92 (95 % interval 1.75 to 2.11)`.
pub(super) fn ratio(interval: Option<&Interval>) -> String {
    match interval.filter(|interval| interval.is_finite()) {
        Some(interval) => format!(
            "× {} ({:.0} % interval {} to {})",
            number(interval.point),
            interval.level * 100.0,
            number(interval.low),
            number(interval.high)
        ),
        None => NOT_MEASURABLE.to_owned(),
    }
}

/// The value of a knob: sizes (knobs of `sizes`) as servers write them.
pub(super) fn value(knob: &str, value: &Value, sizes: &BTreeSet<String>) -> String {
    match value {
        Value::Int(n) if sizes.contains(knob) => {
            u64::try_from(*n).map_or_else(|_| n.to_string(), |bytes| Bytes(bytes).to_string())
        }
        Value::Float(x) if !x.is_finite() => NOT_MEASURABLE.to_owned(),
        other => other.to_string(),
    }
}

/// Numbers of trials, the first few of many: `3, 7, 9 and 12 more`.
pub(super) fn trials(numbers: &[u64]) -> String {
    const SHOWN: usize = 6;
    let mut text = numbers
        .iter()
        .take(SHOWN)
        .map(u64::to_string)
        .collect::<Vec<_>>()
        .join(", ");
    if numbers.len() > SHOWN {
        text.push_str(&format!(" and {} more", numbers.len() - SHOWN));
    }
    text
}

/// A table: columns as wide as their widest cell, two blanks between, numbers to the right where `right` says so.
pub(super) fn table(heads: &[&str], right: &[bool], rows: &[Vec<String>]) -> String {
    let width = |column: usize| {
        let cells = rows
            .iter()
            .filter_map(|row| row.get(column))
            .map(|cell| cell.chars().count());
        let head = heads.get(column).map_or(0, |head| head.chars().count());
        cells.chain([head]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..heads.len()).map(width).collect();
    let mut out = String::new();
    let heads: Vec<String> = heads.iter().map(|head| (*head).to_owned()).collect();
    for row in std::iter::once(&heads).chain(rows) {
        let mut line = String::new();
        for (column, cell) in row.iter().enumerate() {
            let pad = " ".repeat(widths[column].saturating_sub(cell.chars().count()));
            line.push_str("  ");
            if right.get(column).copied().unwrap_or(false) {
                line.push_str(&pad);
                line.push_str(cell);
            } else {
                line.push_str(cell);
                line.push_str(&pad);
            }
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}
