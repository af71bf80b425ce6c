//! When to stop searching although time is left.

use super::observe::{View, is_search};
use super::{Facts, Inputs, Purpose};

/// Whether the newest `patience.over` of searching gained less than `patience.gain`: the leader of now against the
/// leader of then, as the strategy believes them. Never before that much time was searched.
pub(super) fn is_out_of_patience(inputs: &Inputs<'_>, facts: &Facts, view: &View) -> bool {
    let Some(rule) = inputs.settings.patience else {
        return false;
    };
    let mut newest = 0.0;
    let cut = facts
        .jobs
        .iter()
        .rev()
        .filter(|fact| is_search(fact.job.purpose) && fact.job.purpose != Purpose::Baseline)
        .find(|fact| {
            newest += fact.seconds();
            newest >= rule.over.as_secs_f64()
        })
        .map(|fact| fact.number);
    let Some(cut) = cut else { return false };
    let before = View {
        observations: view
            .observations
            .iter()
            .filter(|seen| seen.trial < cut)
            .cloned()
            .collect(),
        pending: Vec::new(),
    };
    let then = inputs.strategy.recommend(&before.search(inputs));
    let now = inputs.strategy.recommend(&view.search(inputs));
    match (then, now) {
        (Some(then), Some(now)) if then.mean > 0.0 && now.mean > 0.0 => {
            now.configuration == then.configuration
                || inputs.objective.goal().oriented((now.mean / then.mean).ln()) < rule.gain.ln_1p()
        }
        _ => false,
    }
}
