//! What sysbench 1.0 and 1.1 print: interval lines, the summary in both layouts, and errors.

use std::collections::BTreeMap;

use crate::error::Problem;

/// One line of `--report-interval`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct IntervalLine {
    /// End of the interval, seconds since the threads started, rounded by sysbench.
    pub at: f64,
    /// Transactions per second.
    pub tps: f64,
    /// The one percentile that was asked for, milliseconds.
    pub percentile_ms: Option<f64>,
    /// Errors per second.
    pub errors: f64,
    /// Reconnects per second.
    pub reconnects: f64,
}

/// The summary at the end of a run; 1.1 prints another block than 1.0 and both are read.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Summary {
    /// Events of the whole run.
    pub events: u64,
    /// Time of the whole run, seconds.
    pub seconds: f64,
    /// Errors ignored.
    pub errors: u64,
    /// Reconnects.
    pub reconnects: u64,
    /// The one percentile that was asked for, over the whole run, milliseconds.
    pub percentile_ms: Option<f64>,
}

/// A `FATAL:` line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fatal {
    /// Its text without `FATAL: `.
    pub text: String,
    /// The server's or client library's error number in it.
    pub errno: Option<u32>,
    /// Times it was printed, with `(last message repeated N times)`.
    pub times: u64,
    /// Whether it only tells which function of the script failed, after the error itself was printed.
    pub echo: bool,
}

/// Everything read from one run's output.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Output {
    /// Version of sysbench: major, minor, patch.
    pub version: Option<(u32, u32, u32)>,
    /// Whether `Threads started!` was printed.
    pub started: bool,
    /// Interval lines, in order.
    pub intervals: Vec<IntervalLine>,
    /// The summary, where the run got that far.
    pub summary: Option<Summary>,
    /// `FATAL:` lines, in order.
    pub fatals: Vec<Fatal>,
    /// `invalid option:` line.
    pub invalid_option: Option<String>,
}

/// Fields of the summary as they come.
#[derive(Default)]
struct Partial {
    events: Option<u64>,
    transactions: Option<u64>,
    seconds: Option<f64>,
    errors: u64,
    reconnects: u64,
    percentile_ms: Option<f64>,
}

impl Output {
    /// Reads the output of one run. Unknown lines are passed over: scripts print what they like.
    ///
    /// # Errors
    /// A number with a decimal comma or otherwise unreadable, with its line: it is never guessed.
    pub fn parse(text: &str) -> Result<Self, Problem> {
        let mut output = Self::default();
        let mut partial = Partial::default();
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            output
                .line(line, &mut partial)
                .map_err(|problem| problem.at(format!("line {} of sysbench's output", index + 1)))?;
        }
        if let (Some(events), Some(seconds)) = (partial.events.or(partial.transactions), partial.seconds) {
            output.summary = Some(Summary {
                events,
                seconds,
                errors: partial.errors,
                reconnects: partial.reconnects,
                percentile_ms: partial.percentile_ms,
            });
        }
        Ok(output)
    }

    /// Mean of the interval lines and the summary's rate, events per second, where they differ by more than `share`: a
    /// warm-up counted in the totals, or a stall that only one of them saw.
    pub fn disagreement(&self, share: f64) -> Option<(f64, f64)> {
        let summary = self.summary?;
        if self.intervals.is_empty() || summary.seconds <= 0.0 {
            return None;
        }
        let mean = self.intervals.iter().map(|line| line.tps).sum::<f64>() / self.intervals.len() as f64;
        let rate = summary.events as f64 / summary.seconds;
        ((rate - mean).abs() > share * mean.max(rate)).then_some((mean, rate))
    }

    /// Times each error number was reported. The driver's own lines and the script's echoes tell of the same errors, so
    /// the larger count of the two is taken.
    pub fn errnos(&self) -> BTreeMap<u32, u64> {
        let mut counts: BTreeMap<u32, [u64; 2]> = BTreeMap::new();
        for fatal in &self.fatals {
            if let Some(errno) = fatal.errno {
                counts.entry(errno).or_default()[usize::from(fatal.echo)] += fatal.times;
            }
        }
        counts
            .into_iter()
            .map(|(errno, [driver, echo])| (errno, driver.max(echo)))
            .collect()
    }

    fn line(&mut self, line: &str, partial: &mut Partial) -> Result<(), Problem> {
        if let Some(text) = line.strip_prefix("FATAL: ") {
            self.fatals.push(fatal(text));
        } else if let Some(times) = repeated(line) {
            if let Some(last) = self.fatals.last_mut() {
                last.times += times;
            }
        } else if line.starts_with("invalid option: ") {
            self.invalid_option = Some(line.to_owned());
        } else if line == "Threads started!" {
            self.started = true;
        } else if line.starts_with('[') && line.contains("tps:") {
            self.intervals.push(interval(line)?);
        } else if let Some(rest) = line.strip_prefix("sysbench ") {
            self.version = self.version.or_else(|| version(rest));
        } else if let Some((key, value)) = line.split_once(':') {
            partial.field(key, value)?;
        }
        Ok(())
    }
}

impl Partial {
    fn field(&mut self, key: &str, value: &str) -> Result<(), Problem> {
        let first = value.split_whitespace().next().unwrap_or_default();
        match key {
            "transactions" => self.transactions = Some(count(first)?),
            "total number of events" => self.events = Some(count(first)?),
            "ignored errors" => self.errors = count(first)?,
            "reconnects" => self.reconnects = count(first)?,
            "total time" | "time elapsed" => self.seconds = Some(number(first.trim_end_matches('s'))?),
            _ if key.ends_with(" percentile") => self.percentile_ms = Some(number(first)?),
            _ => {}
        }
        Ok(())
    }
}

/// `1.0.20 (using ...)` or `1.1.0-3ceba0b (...)`.
pub(super) fn version(text: &str) -> Option<(u32, u32, u32)> {
    let number = text.split([' ', '-']).next()?;
    let mut parts = number.split('.').map(|part| part.parse().ok());
    match (parts.next()??, parts.next()??, parts.next().unwrap_or(Some(0))?) {
        version if parts.next().is_none() => Some(version),
        _ => None,
    }
}

/// `[ 5s ] thds: 8 tps: 810.20 qps: ... lat (ms,95%): 14.20 err/s: 0.00 reconn/s: 0.00`; tpcc's reporter leaves the colon
/// out after `err/s`.
fn interval(line: &str) -> Result<IntervalLine, Problem> {
    let after = |label: &str| -> Result<Option<f64>, Problem> {
        let Some((_, rest)) = line.split_once(label) else {
            return Ok(None);
        };
        let first = rest.trim_start_matches(':').split_whitespace().next();
        number(first.unwrap_or_default()).map(Some)
    };
    let at = line
        .trim_start_matches('[')
        .split(['s', ']'])
        .next()
        .unwrap_or_default();
    Ok(IntervalLine {
        at: number(at.trim())?,
        tps: after(" tps:")?.unwrap_or_default(),
        percentile_ms: after("%):")?,
        errors: after(" err/s")?.unwrap_or_default(),
        reconnects: after(" reconn/s")?.unwrap_or_default(),
    })
}

/// A `FATAL:` text with the error number in it. Spellings of 1.0.20: `returned error N (`, `MySQL error: N "`,
/// `error N: `, and as an echo `errno = N,`.
fn fatal(text: &str) -> Fatal {
    let digits_after = |label: &str| -> Option<u32> {
        let (_, rest) = text.split_once(label)?;
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        rest[..end].parse().ok()
    };
    let errno = ["returned error ", "MySQL error: ", "errno = ", "error "]
        .iter()
        .find_map(|label| digits_after(label));
    Fatal {
        text: text.to_owned(),
        errno,
        times: 1,
        echo: text.contains("' function failed"),
    }
}

/// N of `(last message repeated N times)`.
fn repeated(line: &str) -> Option<u64> {
    line.strip_prefix("(last message repeated ")?
        .strip_suffix(" times)")?
        .parse()
        .ok()
}

fn count(text: &str) -> Result<u64, Problem> {
    text.parse().map_err(|_| unreadable(text))
}

/// A finite number with a decimal point.
fn number(text: &str) -> Result<f64, Problem> {
    text.parse()
        .ok()
        .filter(|number: &f64| number.is_finite())
        .ok_or_else(|| unreadable(text))
}

fn unreadable(text: &str) -> Problem {
    let problem = Problem::new(format!("\"{text}\" is not a number"));
    if text.contains(',') {
        return problem.next(
            "numbers are read with a decimal point only; let the script print them in the C locale (LC_ALL=C)",
        );
    }
    problem
}

#[cfg(test)]
mod tests;
