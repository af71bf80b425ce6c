//! Writes the recommendation as a my.cnf.

use std::fmt::Write as _;

use super::line::quoted;
use crate::plan::Burst;
use crate::space::Value;
use crate::stats::Interval;
use crate::units::{Bytes, UtcMillis};

/// What is known about the effect of one line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Effect {
    /// Only measured together with other lines.
    Together,
    /// The model's estimate of the ratio with the line to without it; not confirmed.
    Estimated {
        /// The ratio; 1 is no effect.
        ratio: f64,
    },
    /// Measured: the ratio with the line to without it.
    Measured(Interval),
}

/// One line of the recommendation.
#[derive(Debug, Clone, PartialEq)]
pub struct RecommendedLine {
    /// The server variable.
    pub variable: String,
    /// Its value.
    pub value: Value,
    /// Whether a whole number is a size in bytes.
    pub size: bool,
    /// The value it replaces; none where the baseline's is unknown.
    pub baseline: Option<Value>,
    /// Whether the baseline's my.cnf sets the variable (else the server's default was in force).
    pub set_in_baseline: bool,
    /// What is known about its effect.
    pub effect: Effect,
}

/// A durability class as the header tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Durability {
    /// Name of the class, e.g. `full`.
    pub class: String,
    /// What can be lost, in one line.
    pub can_be_lost: String,
}

/// The gain as the header tells it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Gain {
    /// Confirmed in pairs against the baseline: ratio above 1 is better.
    Confirmed {
        /// The ratio with its interval.
        ratio: Interval,
        /// In how many blocks.
        blocks: u32,
        /// The write debt its runs left unpaid, where they did.
        burst: Option<Burst>,
    },
    /// The confirmation was made and its interval does not clear the threshold: no claim.
    NotConfirmed {
        /// The ratio with its interval.
        ratio: Interval,
        /// In how many blocks.
        blocks: u32,
        /// The write debt its runs left unpaid, where they did.
        burst: Option<Burst>,
    },
    /// The study ended without a confirmation: no claim.
    Untested,
    /// The study goes on: not confirmed yet; what the search believes, where it believes something.
    Believed {
        /// The ratio; none where none can be told.
        ratio: Option<f64>,
    },
}

/// Everything the my.cnf says.
#[derive(Debug, Clone, PartialEq)]
pub struct Recommended {
    /// Server and version, e.g. `MariaDB 10.11.19`.
    pub server: String,
    /// Machine class, e.g. `2 cores, 23 GiB RAM`.
    pub machine_class: String,
    /// Workload, e.g. `sysbench oltp_read_write, 16 threads`.
    pub workload: String,
    /// Durability class.
    pub durability: Durability,
    /// The objective, e.g. `tps`.
    pub metric: String,
    /// The gain.
    pub gain: Gain,
    /// What else is to be said of it, a line each.
    pub notes: Vec<String>,
    /// Number of trials that ended.
    pub trials: u64,
    /// When it is written (UTC).
    pub date: UtcMillis,
    /// Version of Noctune.
    pub version: String,
    /// The lines that differ from the baseline, in the order they are to be written.
    pub lines: Vec<RecommendedLine>,
}

/// `value` as a my.cnf takes it: sizes with the largest suffix that divides them, texts in quotes where they need them.
pub fn written(value: &Value, size: bool) -> String {
    match value {
        Value::Int(n) if size => match u64::try_from(*n) {
            Ok(bytes) => Bytes(bytes).to_string(),
            Err(_) => n.to_string(),
        },
        Value::Text(text) => quoted(text),
        other => other.to_string(),
    }
}

/// The my.cnf; the same text works as a drop-in named `zz-noctune.cnf`. Ends with a line feed.
pub fn render(recommended: &Recommended) -> String {
    let mut out = String::new();
    header(&mut out, recommended);
    out.push('\n');
    out.push_str(&render_section(&recommended.lines));
    out
}

/// The `[mysqld]` section alone: the end of [`render`], byte for byte, whatever the header says. Ends with a line feed.
///
/// ```
/// use noctune::mycnf::{Effect, RecommendedLine, render_section};
/// use noctune::space::Value;
///
/// let line = RecommendedLine {
///     variable: "innodb_buffer_pool_size".to_owned(),
///     value: Value::Int(6 << 30),
///     size: true,
///     baseline: Some(Value::Int(128 << 20)),
///     set_in_baseline: false,
///     effect: Effect::Together,
/// };
/// let text = render_section(&[line]);
/// assert!(text.starts_with("[mysqld]\n# was 128M (the server's default)"), "{text}");
/// assert!(text.ends_with("\ninnodb_buffer_pool_size = 6G\n"), "{text}");
/// ```
pub fn render_section(lines: &[RecommendedLine]) -> String {
    let mut out = String::from("[mysqld]\n");
    if lines.is_empty() {
        out.push_str("# Nothing: no setting was found better than the baseline's.\n");
    }
    for line in lines {
        comment(&mut out, &effect(line));
        // Writing to a String cannot fail.
        let _ = writeln!(out, "{} = {}", line.variable, written(&line.value, line.size));
    }
    out
}

fn header(out: &mut String, recommended: &Recommended) {
    let Recommended {
        server,
        machine_class,
        workload,
        durability,
        metric,
        ..
    } = recommended;
    let mut lines = vec![
        "my.cnf by Noctune: only the settings that differ from the baseline.".to_owned(),
        "As a drop-in, name it zz-noctune.cnf: the last setting in file order counts.".to_owned(),
        String::new(),
        format!("server:      {server}"),
        format!("machine:     {machine_class}"),
        format!("workload:    {workload}"),
        format!("durability:  {}: {}", durability.class, durability.can_be_lost),
        format!("gain:        {}", gain(&recommended.gain, metric)),
    ];
    lines.extend(
        recommended
            .notes
            .iter()
            .map(|note| format!("note:        {note}")),
    );
    lines.push(format!("trials:      {}", recommended.trials));
    lines.push(format!(
        "written:     {} by noctune {}",
        recommended.date, recommended.version
    ));
    for line in lines {
        comment(out, &line);
    }
}

fn gain(gain: &Gain, metric: &str) -> String {
    match gain {
        Gain::Confirmed { ratio, blocks, burst } => match interval(ratio) {
            Some(text) => format!(
                "{metric} {text} against the baseline, in {blocks} paired blocks{}",
                after(*burst)
            ),
            None => format!("{metric} not measurable in {blocks} paired blocks"),
        },
        Gain::NotConfirmed { ratio, blocks, burst } => {
            let seen = interval(ratio).unwrap_or_else(|| "not measurable".to_owned());
            format!(
                "NOT CONFIRMED: {metric} {seen} against the baseline, in {blocks} paired blocks{}; the interval does \
                 not clear the threshold",
                after(*burst)
            )
        }
        Gain::Untested => "NOT CONFIRMED: no time was left for it".to_owned(),
        Gain::Believed { ratio } => match ratio.filter(|ratio| ratio.is_finite()) {
            Some(ratio) => format!("{metric} × {ratio:.2} believed by the search, NOT confirmed"),
            None => "not known yet".to_owned(),
        },
    }
}

fn after(burst: Option<Burst>) -> String {
    burst.map_or_else(String::new, |burst| format!("; {burst}"))
}

/// `× 1.92 (95 % interval 1.75 to 2.11)`; none where a number is not finite.
fn interval(ratio: &Interval) -> Option<String> {
    ratio.is_finite().then(|| {
        format!(
            "× {:.2} ({:.0} % interval {:.2} to {:.2})",
            ratio.point,
            ratio.level * 100.0,
            ratio.low,
            ratio.high
        )
    })
}

fn effect(line: &RecommendedLine) -> String {
    let was = match &line.baseline {
        Some(value) if line.set_in_baseline => format!("was {}", written(value, line.size)),
        Some(value) => format!("was {} (the server's default)", written(value, line.size)),
        None => "was not set".to_owned(),
    };
    let effect = match line.effect {
        Effect::Together => "effect measured only together with the other lines".to_owned(),
        Effect::Estimated { ratio } if ratio.is_finite() => {
            format!("effect × {ratio:.2} by the model's estimate, not confirmed")
        }
        Effect::Estimated { .. } => "effect not measurable".to_owned(),
        Effect::Measured(ratio) => match interval(&ratio) {
            Some(text) => format!("effect {text}"),
            None => "effect not measurable".to_owned(),
        },
    };
    format!("{was}; {effect}")
}

/// One comment line; whatever would end it early is replaced by a blank.
pub(super) fn comment(out: &mut String, text: &str) {
    let text: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    let line = format!("# {text}");
    out.push_str(line.trim_end());
    out.push('\n');
}
