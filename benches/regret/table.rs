//! The result as a table.

use std::fmt::Write as _;

use rand::{Rng as _, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::run::Run;

/// Resamples of the bootstrap.
const RESAMPLES: usize = 4_000;

/// Median and quartiles of the regret on the way, and the difference to the first strategy in pairs of the same task.
pub(crate) fn table(rows: &[(String, Vec<Run>)], trials: usize) -> String {
    let at: Vec<usize> = [20, 40, 60, 100, 200, 300]
        .into_iter()
        .filter(|&n| n < trials)
        .chain([trials])
        .collect();
    let mut text = String::from("| strategy |");
    for n in &at {
        // Writing to a String cannot fail.
        let _ = write!(text, " @{n} |");
    }
    text.push_str(" failed | seconds a proposal | median difference to the first at the end, 90 % |\n|---|");
    text.push_str(&"---|".repeat(at.len() + 3));
    for (name, runs) in rows {
        let _ = write!(text, "\n| {name} |");
        for n in &at {
            let regrets: Vec<f64> = runs.iter().map(|run| regret(run, *n)).collect();
            let _ = write!(
                text,
                " {:.1} ({:.1}-{:.1}) |",
                quantile(&regrets, 0.5),
                quantile(&regrets, 0.25),
                quantile(&regrets, 0.75)
            );
        }
        let count = runs.len() as f64;
        let failed = runs.iter().map(|run| run.failed as f64).sum::<f64>() / count;
        let seconds = runs.iter().map(|run| run.seconds).sum::<f64>() / count;
        let (low, middle, high) = difference(&rows[0].1, runs, trials);
        let _ = write!(
            text,
            " {failed:.1} | {seconds:.3} | {middle:+.1} [{low:+.1}, {high:+.1}] |"
        );
    }
    text
}

/// Regret after `n` trials; a search that ended earlier stays where it was.
fn regret(run: &Run, n: usize) -> f64 {
    let last = n.min(run.recommended.len());
    last.checked_sub(1)
        .and_then(|place| run.recommended.get(place))
        .copied()
        .unwrap_or(100.0)
}

/// Median of `b` less that of `a`, resampled by task: 5 %, as it is, 95 %.
fn difference(a: &[Run], b: &[Run], n: usize) -> (f64, f64, f64) {
    let pairs: Vec<(f64, f64)> = a
        .iter()
        .zip(b)
        .map(|(a, b)| (regret(a, n), regret(b, n)))
        .collect();
    let of = |pairs: &[(f64, f64)]| {
        let (a, b): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
        quantile(&b, 0.5) - quantile(&a, 0.5)
    };
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let resampled: Vec<f64> = (0..RESAMPLES)
        .map(|_| {
            let drawn: Vec<(f64, f64)> = (0..pairs.len())
                .map(|_| pairs[rng.random_range(0..pairs.len())])
                .collect();
            of(&drawn)
        })
        .collect();
    (quantile(&resampled, 0.05), of(&pairs), quantile(&resampled, 0.95))
}

/// The quantile between the nearest two; not a number of nothing.
fn quantile(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let place = share * (sorted.len().saturating_sub(1)) as f64;
    let (low, high) = (place.floor() as usize, place.ceil() as usize);
    match (sorted.get(low), sorted.get(high)) {
        (Some(a), Some(b)) => a + (b - a) * place.fract(),
        _ => f64::NAN,
    }
}
