//! Whether the budget of a study holds what every study needs: the baseline, one candidate, and the confirmation.

use super::{Document, Study, Time};
use crate::error::Result;

/// Measured runs of the baseline before the search.
pub const BASELINES: u32 = 3;
/// Fewest blocks of a confirmation.
pub const MIN_BLOCKS: u32 = 5;

/// Seconds a trial takes besides warm-up and measuring, before any was measured: reset, cool, start, stop.
const OVERHEAD_SECONDS: f64 = 8.0;
/// Seconds a load is expected to need until it is steady, before any was measured.
const STEADY_SECONDS: f64 = 15.0;

/// Seconds that trials take.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Lengths {
    /// One of the baseline or of the search.
    search: f64,
    /// One run of the confirmation.
    confirmation: f64,
}

/// The shortest budget, in seconds, of which `search` seconds of trials leave `confirmation` seconds, and the share
/// `reserve` of the budget, for the confirmation.
pub fn least_budget(search: f64, confirmation: f64, reserve: f64) -> f64 {
    (search + confirmation).max(search / (1.0 - reserve))
}

/// A duration for a study file: `seconds` in whole minutes, rounded up.
pub fn whole_minutes(seconds: f64) -> Time {
    Time::seconds(60 * (seconds / 60.0).ceil().max(1.0) as u64)
}

impl Study {
    /// What a trial of the search is expected to take before any was measured, in seconds.
    pub fn expected_trial_seconds(&self) -> f64 {
        self.expected().search
    }

    /// What a study expects before anything was measured: a load that is soon steady, and the shortest window.
    fn expected(&self) -> Lengths {
        let warmup = self.trial.warmup.cap().as_secs_f64().min(STEADY_SECONDS);
        self.lengths(warmup, self.trial.measure.min)
    }

    /// What a study takes where no load becomes steady and no interval narrow.
    fn longest(&self) -> Lengths {
        self.lengths(self.trial.warmup.cap().as_secs_f64(), self.trial.measure.max)
    }

    fn lengths(&self, warmup: f64, window: Time) -> Lengths {
        let beside = OVERHEAD_SECONDS + warmup;
        Lengths {
            search: beside + window.as_secs_f64(),
            confirmation: beside + self.confirm.length.unwrap_or(window).as_secs_f64(),
        }
    }

    /// Configurations that a confirmation compares.
    fn arms(&self) -> u32 {
        if self.strategy.rule_of_thumb { 3 } else { 2 }
    }

    /// Seconds that a study needs at the least, with the arithmetic.
    fn least(&self, lengths: Lengths) -> (f64, String) {
        let arms = self.arms();
        let (search, pairs) = (BASELINES + 1, MIN_BLOCKS * arms);
        let Lengths {
            search: trial,
            confirmation: pair,
        } = lengths;
        let (of_search, of_pairs) = (f64::from(search) * trial, f64::from(pairs) * pair);
        let mut arithmetic = format!("{BASELINES} baselines + 1 candidate + {MIN_BLOCKS} blocks of {arms}");
        arithmetic += &if self.confirm.length.is_none() {
            format!(
                " = {} trials of about {trial:.0} s = {:.0} s",
                search + pairs,
                of_search + of_pairs
            )
        } else {
            format!(
                " = {search} trials of about {trial:.0} s + {pairs} confirmation runs of about {pair:.0} s = {:.0} s",
                of_search + of_pairs
            )
        };
        let reserve = self.confirm.reserve;
        let needed = least_budget(of_search, of_pairs, reserve);
        if needed > of_search + of_pairs {
            arithmetic += &format!(
                ", and with {:.0} % kept for the confirmation {needed:.0} s",
                100.0 * reserve
            );
        }
        (needed, arithmetic)
    }

    /// Whether the budget suffices for the baseline, one candidate and the confirmation, as long as their trials are
    /// expected to take. `text` and `file_name` as given to [`Study::parse`].
    ///
    /// # Errors
    /// The arithmetic, where it does not.
    pub fn check_budget(&self, text: &str, file_name: &str) -> Result<()> {
        let document = Document::new(text, file_name);
        let (needed, arithmetic) = self.least(self.expected());
        if self.budget.time.as_secs_f64() < needed {
            return Err(document.problem(
                &["budget", "time"],
                format!(
                    "a budget of {} is shorter than the baseline and the confirmation: {arithmetic}",
                    self.budget.time
                ),
                format!(
                    "write time = \"{}\" or more, or shorten {}",
                    whole_minutes(needed),
                    self.shortened()
                ),
            ));
        }
        let arms = self.arms();
        let trials = BASELINES + 1 + MIN_BLOCKS * arms;
        if let Some(most) = self.budget.trials
            && most < u64::from(trials)
        {
            return Err(document.problem(
                &["budget", "trials"],
                format!(
                    "{most} trials are fewer than the baseline and the confirmation need: {BASELINES} baselines + 1 \
                     candidate + {MIN_BLOCKS} blocks of {arms} = {trials} trials"
                ),
                format!("write trials = {trials} or more, or leave it out"),
            ));
        }
        Ok(())
    }

    /// What to tell of a budget that suffices for trials of the expected length, but not for the longest the study
    /// allows: what, and what to do about it. None where it suffices for both.
    pub fn budget_warning(&self) -> Option<(String, String)> {
        let (needed, arithmetic) = self.least(self.longest());
        (self.budget.time.as_secs_f64() < needed).then(|| {
            let measure = self.trial.measure;
            (
                format!(
                    "where throughput varies, a trial warms up for up to {} and measures for up to {} instead of {}: \
                     then a budget of {} is too short ({arithmetic})",
                    self.trial.warmup.cap(),
                    measure.max,
                    measure.min,
                    self.budget.time
                ),
                format!(
                    "write time = \"{}\" or more under [budget], or shorten {}",
                    whole_minutes(needed),
                    self.shortened()
                ),
            )
        })
    }

    /// What makes trials shorter.
    fn shortened(&self) -> &'static str {
        if self.confirm.length.is_some() {
            "[trial] measure and [confirm] length"
        } else {
            "[trial] measure"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn study(text: &str) -> Study {
        Study::parse(&format!("format = 1\n{text}"), "study.toml").unwrap()
    }

    fn refused(text: &str) -> String {
        let text = format!("format = 1\n{text}");
        let study = Study::parse(&text, "study.toml").unwrap();
        study.check_budget(&text, "study.toml").unwrap_err().to_string()
    }

    #[test]
    fn a_budget_too_short_shows_the_arithmetic() {
        let wrong = refused("[budget]\ntime = \"5m\"\n");
        assert!(
            wrong.contains("3 baselines + 1 candidate + 5 blocks of 3 = 19 trials of about 43 s = 817 s"),
            "{wrong}"
        );
        assert!(
            wrong.contains("14m") && wrong.contains("study.toml:3:1"),
            "{wrong}"
        );
    }

    #[test]
    fn runs_of_the_confirmation_count_as_long_as_they_are() {
        // 4 trials of 43 s and 15 of 83 s are 1417 s; 19 of 43 s would be 817 s.
        let text = |time: &str| format!("[budget]\ntime = \"{time}\"\n[confirm]\nlength = \"60s\"\n");
        let wrong = refused(&text("20m"));
        assert!(
            wrong.contains("4 trials of about 43 s + 15 confirmation runs of about 83 s = 1417 s"),
            "{wrong}"
        );
        assert!(wrong.contains("24m"), "{wrong}");
        let enough = text("24m");
        assert!(study(&enough).check_budget(&enough, "study.toml").is_ok());
    }

    #[test]
    fn what_is_kept_for_the_confirmation_is_no_time_for_the_baseline() {
        let wrong = refused("[budget]\ntime = \"20m\"\n[confirm]\nreserve = 0.9\n");
        assert!(
            wrong.contains("with 90 % kept for the confirmation 1720 s"),
            "{wrong}"
        );
        assert!(wrong.contains("29m"), "{wrong}");
    }

    #[test]
    fn too_few_trials_are_refused_with_the_number_that_is_needed() {
        let wrong = refused("[strategy]\nrule_of_thumb = false\n[budget]\ntrials = 13\n");
        assert!(
            wrong.contains("5 blocks of 2 = 14 trials") && wrong.contains("trials = 14"),
            "{wrong}"
        );
    }

    #[test]
    fn a_budget_that_suffices_only_for_short_trials_is_told() {
        let text = "[budget]\ntime = \"15m\"\n";
        let short = study(text);
        short.check_budget(text, "study.toml").unwrap();
        let (text, next) = short.budget_warning().unwrap();
        assert!(
            text.contains("up to 1m") && text.contains("up to 2m instead of 20s"),
            "{text}"
        );
        assert!(text.contains("19 trials of about 188 s = 3572 s"), "{text}");
        assert!(next.contains("time = \"1h\""), "{next}");
        assert_eq!(study("").budget_warning(), None, "eight hours suffice");
    }
}
