//! What a report claims, or says is believed.

use super::format::{number, percent};
use crate::plan::{Burst, EACH_BY_ITSELF, NoDifference, Standing, Verdict};
use crate::stats::Interval;
use crate::strategy::TrialNumber;

/// What the plan concluded.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Conclusion {
    /// In words, one line or more.
    pub text: String,
    /// Confirmed ratio of the best to the baseline; above 1 is better.
    pub over_baseline: Option<Interval>,
    /// Confirmed ratio of the best to the rule of thumb; above 1 is better.
    pub over_rule_of_thumb: Option<Interval>,
    /// The write debt that the confirmation left unpaid, where it did.
    pub burst: Option<Burst>,
    /// Trial that ran the best configuration; none before anything was measured, and where the baseline is to be kept.
    pub best: Option<TrialNumber>,
    /// Trial whose configuration was compared with the baseline in blocks, recommended or not.
    pub compared: Option<TrialNumber>,
    /// How little the knobs did, where no difference was seen.
    pub no_difference: Option<NoDifference>,
}

impl Conclusion {
    /// Of a study that has ended.
    pub fn of(verdict: &Verdict) -> Self {
        let claim = verdict.claim();
        let mut text = verdict.line();
        for detail in verdict.details() {
            text.push_str(&format!("\n{detail}"));
        }
        if let Some(note) = &claim.rule_note {
            text.push_str(&format!("\nagainst the rule of thumb: {note}"));
        }
        if claim.gain.is_some() && claim.gain_over_rule.is_some() {
            text.push_str(&format!("\n{EACH_BY_ITSELF}"));
        }
        if let Some(resolution) = claim.resolution.filter(|resolution| resolution.is_finite()) {
            text.push_str(&format!(
                "\nthe {} blocks were expected to tell a gain of {}",
                claim.blocks,
                percent(resolution)
            ));
        }
        Self {
            text,
            over_baseline: claim.gain,
            over_rule_of_thumb: claim.gain_over_rule,
            burst: claim.burst,
            best: claim.best.as_ref().map(|best| best.trial),
            compared: claim.compared,
            no_difference: claim.no_difference.as_deref().cloned(),
        }
    }

    /// Of a study that is under way: what it has confirmed so far, and what is believed, called so.
    pub fn under_way(confirmed: Option<&Verdict>, standing: Option<&Standing>) -> Self {
        let believed = Self::believed(standing);
        match confirmed {
            Some(confirmed) => {
                let confirmed = Self::of(confirmed);
                Self {
                    text: format!("{}\nthe study goes on: {}", confirmed.text, believed.text),
                    ..confirmed
                }
            }
            None => believed,
        }
    }

    /// Of a study that is under way: what is believed, called so.
    pub fn believed(standing: Option<&Standing>) -> Self {
        let Some(standing) = standing else {
            return Self {
                text: "nothing is measured yet".to_owned(),
                ..Self::default()
            };
        };
        let ratio = standing.ratio.filter(Interval::is_finite);
        let text = match ratio {
            _ if standing.is_baseline => "the baseline is believed best so far".to_owned(),
            Some(ratio) => format!(
                "trial {} is believed best so far: × {} ({} to {}) against the baseline, not confirmed",
                standing.trial,
                number(ratio.point),
                number(ratio.low),
                number(ratio.high)
            ),
            None => format!("trial {} is believed best so far, not confirmed", standing.trial),
        };
        Self {
            text,
            best: Some(standing.trial),
            ..Self::default()
        }
    }
}
