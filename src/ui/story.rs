//! What the events so far amount to, in lines of text; pure, so that every view tells the same.

use super::spark::sparkline;
use super::words::{duration, number, one_line};
use crate::night::Event;
use crate::stats::Interval;
use crate::strategy::TrialNumber;
use crate::trial::Phase;

/// Seconds of load shown as a sparkline.
const SPARK: usize = 30;

/// What a view needs to know of the events so far.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Story {
    /// Whether each phase is told as it ends.
    verbose: bool,
    metric: String,
    /// Seconds of the study's budget; zero before it is known.
    pub(super) budget: f64,
    /// Seconds spent on trials that have ended.
    pub(super) spent: f64,
    /// Trials that have ended.
    pub(super) ended: u64,
    max_trials: Option<u64>,
    /// Seconds believed left when the trial under way began.
    pub(super) left: Option<f64>,
    trial: Option<Running>,
    standing: Option<String>,
    /// How the data were restored, until it is known that the reset did not fail.
    reset: Option<String>,
    /// The back end of the reset that was told last.
    told_backend: Option<String>,
}

/// The trial under way.
#[derive(Debug, Clone, PartialEq)]
struct Running {
    number: TrialNumber,
    purpose: String,
    phase: Option<Phase>,
    phases: Vec<(Phase, f64)>,
    tps: Vec<f64>,
}

/// How a line is meant, for colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tone {
    /// As any other.
    Plain,
    /// Something was reached.
    Good,
    /// Something failed, or should be known.
    Bad,
}

/// A line that stays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Told {
    pub(super) tone: Tone,
    pub(super) text: String,
}

fn told(tone: Tone, text: impl Into<String>) -> Vec<Told> {
    vec![Told {
        tone,
        text: text.into(),
    }]
}

impl Story {
    /// A story that has not begun; `verbose` tells each phase as it ends, with what was done.
    pub(super) fn new(verbose: bool) -> Self {
        Self {
            verbose,
            ..Self::default()
        }
    }

    /// Takes an event in; gives the lines that stay.
    pub(super) fn on(&mut self, event: &Event) -> Vec<Told> {
        match event {
            Event::Preparing { what } => told(Tone::Plain, format!("preparing: {}", one_line(what))),
            Event::StudyStarted {
                study,
                resumed,
                ended,
                spent_seconds,
                budget_seconds,
                max_trials,
                metric,
            } => {
                self.metric.clone_from(metric);
                self.budget = *budget_seconds;
                self.spent = *spent_seconds;
                self.ended = *ended;
                self.max_trials = *max_trials;
                let budget = duration(*budget_seconds);
                let text = if *resumed {
                    let spent = duration(*spent_seconds);
                    format!("study {study} goes on: {ended} trials done, {spent} of {budget} spent")
                } else {
                    let limit = max_trials.map_or_else(String::new, |n| format!(", at most {n} trials"));
                    format!("study {study} begins: {budget}{limit}")
                };
                told(Tone::Plain, one_line(&text))
            }
            Event::TrialStarted {
                trial,
                job,
                left_seconds,
            } => {
                self.left = Some(*left_seconds).filter(|left| left.is_finite());
                self.trial = Some(Running {
                    number: *trial,
                    purpose: job.purpose.name().to_owned(),
                    phase: None,
                    phases: Vec::new(),
                    tps: Vec::new(),
                });
                Vec::new()
            }
            Event::PhaseStarted { trial, phase, .. } => {
                if let Some(running) = self.running(*trial) {
                    running.phase = Some(*phase);
                }
                // A reset that failed is followed by no other phase than the stop; its trial tells why.
                let reset = self.reset.take().filter(|_| *phase != Phase::Stop);
                reset.map_or_else(Vec::new, |note| self.was_reset(&note))
            }
            Event::PhaseEnded {
                trial,
                phase,
                seconds,
                note,
            } => {
                if *phase == Phase::Reset {
                    self.reset.clone_from(note);
                }
                if let Some(running) = self.running(*trial) {
                    running.phase = None;
                    running.phases.push((*phase, *seconds));
                }
                if !self.verbose {
                    return Vec::new();
                }
                let note = note.as_ref().map_or_else(String::new, |note| format!(", {note}"));
                let text = format!("trial {trial} · {phase}: {}{note}", duration(*seconds));
                told(Tone::Plain, one_line(&text))
            }
            Event::Second { trial, second } => {
                if let Some(running) = self.running(*trial) {
                    running.tps.push(second.tps);
                    let surplus = running.tps.len().saturating_sub(SPARK);
                    running.tps.drain(..surplus);
                }
                Vec::new()
            }
            Event::TrialEnded {
                trial,
                outcome,
                value,
                reason,
                seconds,
            } => self.trial_ended(*trial, outcome, *value, reason.as_deref(), *seconds),
            Event::Standing {
                best_trial,
                best,
                ratio,
            } => {
                self.stands(*best_trial, *best, *ratio);
                Vec::new()
            }
            Event::Warning { text, next } => {
                let next = next
                    .as_ref()
                    .map_or_else(String::new, |next| format!("; next: {next}"));
                told(Tone::Bad, one_line(&format!("warning: {text}{next}")))
            }
            Event::StudyEnded { verdict, my_cnf, .. } => {
                self.trial = None;
                self.left = None;
                let file = my_cnf
                    .as_ref()
                    .map_or_else(String::new, |path| format!("; my.cnf: {path}"));
                told(Tone::Good, one_line(&format!("study ended: {verdict}{file}")))
            }
        }
    }

    /// Told once, and again where another back end had to be taken: it decides what a trial costs.
    fn was_reset(&mut self, note: &str) -> Vec<Told> {
        // The note begins with the back end's name; sizes follow, which differ from trial to trial.
        let backend = note.split(' ').next().unwrap_or_default();
        if self.told_backend.as_deref() == Some(backend) {
            return Vec::new();
        }
        self.told_backend = Some(backend.to_owned());
        told(Tone::Plain, one_line(&format!("the data are restored by {note}")))
    }

    fn running(&mut self, trial: TrialNumber) -> Option<&mut Running> {
        self.trial.as_mut().filter(|running| running.number == trial)
    }

    fn trial_ended(
        &mut self,
        trial: TrialNumber,
        outcome: &str,
        value: Option<f64>,
        reason: Option<&str>,
        seconds: f64,
    ) -> Vec<Told> {
        self.ended += 1;
        self.spent += seconds;
        let running = self.trial.take().filter(|running| running.number == trial);
        let (purpose, phases) = running.map_or_else(
            || (String::new(), String::new()),
            |running| (format!(" {}", running.purpose), phase_summary(&running.phases)),
        );
        let (tone, what) = match (value, reason) {
            (Some(value), _) => (Tone::Plain, format!("{} {}", number(value), self.metric)),
            (None, Some(reason)) => (Tone::Bad, format!("{outcome}: {reason}")),
            (None, None) => (Tone::Plain, outcome.to_owned()),
        };
        let text = format!("trial {trial}{purpose}: {what}, {}{phases}", duration(seconds));
        told(tone, one_line(&text))
    }

    fn stands(&mut self, trial: TrialNumber, best: f64, ratio: Option<Interval>) {
        let against = match ratio.filter(Interval::is_finite) {
            Some(ratio) => format!(
                "× {} ({} to {}) against the baseline, not confirmed",
                number(ratio.point),
                number(ratio.low),
                number(ratio.high)
            ),
            None => "not yet comparable with the baseline".to_owned(),
        };
        self.standing = Some(format!(
            "believed best: trial {trial}, {} {}, {against}",
            number(best),
            self.metric
        ));
    }

    /// The study in one line: trials, time, what is left after `elapsed` seconds of the trial under way.
    pub(super) fn study_line(&self, elapsed: f64) -> String {
        let trials = match self.max_trials {
            Some(most) => format!("{} of {most} trials", self.ended),
            None if self.ended == 1 => "1 trial".to_owned(),
            None => format!("{} trials", self.ended),
        };
        let left = self.left.map_or_else(String::new, |left| {
            format!(", about {} left", duration((left - elapsed).max(0.0)))
        });
        format!(
            "{trials}, {} of {}{left}",
            duration(self.spent + elapsed),
            duration(self.budget)
        )
    }

    /// The trial under way in one line; empty between trials.
    pub(super) fn trial_line(&self) -> String {
        let Some(running) = &self.trial else {
            return String::new();
        };
        let phase = running
            .phase
            .map_or_else(String::new, |phase| format!(" · {phase}"));
        // The sparkline is the load's; before it starts there is none.
        let load = running.tps.last().map_or_else(String::new, |tps| {
            format!(" · {} tps {}", number(*tps), sparkline(&running.tps, SPARK))
        });
        format!("trial {} {}{phase}{load}", running.number, running.purpose)
    }

    /// What is believed best, in one line; empty before anything is.
    pub(super) fn standing_line(&self) -> &str {
        self.standing.as_deref().unwrap_or("")
    }
}

/// ` (reset 0.7 s, start 1.1 s, ...)`: phases of at least a tenth of a second.
fn phase_summary(phases: &[(Phase, f64)]) -> String {
    let long: Vec<String> = phases
        .iter()
        .filter(|(_, seconds)| *seconds >= 0.1)
        .map(|(phase, seconds)| format!("{phase} {}", duration(*seconds)))
        .collect();
    if long.is_empty() {
        String::new()
    } else {
        format!(" ({})", long.join(", "))
    }
}
