//! Coordinate descent: one knob at a time, in steps of the (logarithmic) unit range that a person can follow.

use serde_json::json;

use super::history::{self, Known};
use super::nelder_mead::first;
use super::replay::{Ledger, Results, beats, beginning, purpose};
use super::{Goal, Proposal, Recommendation, Search, Strategy};
use crate::space::{Configuration, Coordinate, Dimension, Knob, Space};
use crate::stats::t_critical;

/// Where a proposal's model holds this strategy's mark.
const TAG: &str = "coordinate";

/// One knob at a time: a step up, else a step down; the other categories in turn. A gain within the noise is measured
/// again. Steps halve after each pass over the knobs. Replayed from the recorded outcomes.
#[derive(Debug, Clone, Copy)]
pub struct Coordinates {
    /// First step, as a share of a knob's range.
    pub step: f64,
    /// Smallest step; the search ends after the pass with it.
    pub min_step: f64,
    /// Runs of one configuration at most, when differences lie within the noise.
    pub runs: usize,
    /// Confidence of the interval within which a difference counts as noise, in (0, 1).
    pub confidence: f64,
}

impl Strategy for Coordinates {
    fn propose(&self, search: &Search<'_>, n: usize) -> Vec<Proposal> {
        let mut ledger = Ledger::of(search);
        let Some(start) = beginning(search, TAG) else {
            return first(search, &Known::of(search)).into_iter().take(n).collect();
        };
        let mut proposals = Vec::new();
        while proposals.len() < n {
            let mut walk = Walk {
                strategy: self,
                search,
                ledger: &ledger,
                here: start.clone(),
                last: None,
            };
            let Err(Missing { configuration, next }) = walk.run() else {
                break;
            };
            let results = ledger.get(&configuration);
            let before = walk.last.map(|text| format!("{text}; ")).unwrap_or_default();
            proposals.push(Proposal {
                purpose: purpose(&results),
                why: format!("{before}next {next}"),
                model: history::remember(&configuration, Some((TAG, json!(true)))),
                configuration: configuration.clone(),
            });
            ledger.open(&configuration);
        }
        proposals
    }

    fn recommend(&self, search: &Search<'_>) -> Option<Recommendation> {
        history::best_by_mean(search)
    }
}

/// A result the walk needs and has not got.
struct Missing {
    configuration: Configuration,
    /// In words, what is to be tried.
    next: String,
}

/// Which of two configurations is to be measured again.
enum Again {
    Old,
    New,
}

/// A walk over recorded results.
struct Walk<'a> {
    strategy: &'a Coordinates,
    search: &'a Search<'a>,
    ledger: &'a Ledger,
    /// The best configuration so far.
    here: Configuration,
    /// What the last change did, in words.
    last: Option<String>,
}

impl Walk<'_> {
    /// Walks until a result is missing, or the smallest step was taken everywhere.
    fn run(&mut self) -> Result<(), Missing> {
        let mut step = self.strategy.step;
        let mut ups = vec![true; self.search.space.dimensions().len()];
        while step >= self.strategy.min_step {
            for (k, up) in ups.iter_mut().enumerate() {
                match self.search.space.dimensions()[k] {
                    Dimension::Category { count } => self.categories(k, count)?,
                    Dimension::Number { .. } => self.number(k, step, up)?,
                }
            }
            step /= 2.0;
        }
        Ok(())
    }

    fn categories(&mut self, k: usize, count: usize) -> Result<(), Missing> {
        for category in 0..count {
            if self.search.space.encode(&self.here).0[k] != Coordinate::Category(category) {
                self.attempt(k, Coordinate::Category(category))?;
            }
        }
        Ok(())
    }

    /// A step in the direction that last worked, on while it gains; else one in the other direction.
    fn number(&mut self, k: usize, step: f64, up: &mut bool) -> Result<(), Missing> {
        for _ in 0..2 {
            let mut gained = false;
            // No range is longer than this many steps.
            for _ in 0..=(1.0 / step) as usize {
                let Coordinate::Number(u) = self.search.space.encode(&self.here).0[k] else {
                    return Ok(());
                };
                let to = (u + if *up { step } else { -step }).clamp(0.0, 1.0);
                if !self.attempt(k, Coordinate::Number(to))? {
                    break;
                }
                gained = true;
            }
            if gained {
                return Ok(());
            }
            *up = !*up;
        }
        Ok(())
    }

    /// Tries one coordinate at another place; whether that was better and is kept.
    fn attempt(&mut self, k: usize, to: Coordinate) -> Result<bool, Missing> {
        let space = self.search.space;
        let mut point = space.encode(&self.here);
        point.0[k] = to;
        let there = space.decode(&point);
        if there == self.here || space.permits(&there).is_err() {
            return Ok(false);
        }
        let change = change(space, k, &self.here, &there);
        let (old, new) = (self.ledger.get(&self.here), self.ledger.get(&there));
        if new.runs() == 0 {
            if new.open > 0 {
                // Being measured: until its result is there the walk goes on as if it were no better.
                return Ok(false);
            }
            return Err(Missing {
                configuration: there,
                next: change,
            });
        }
        let Some(again) = self.doubtful(&old, &new) else {
            let kept = beats(self.search.goal, new.mean(), old.mean());
            self.last = Some(verdict(self.search.goal, &change, &old, &new, kept));
            if kept {
                self.here = there;
            }
            return Ok(kept);
        };
        let (again, results) = match again {
            Again::Old => (&self.here, &old),
            Again::New => (&there, &new),
        };
        if results.open > 0 {
            return Ok(false);
        }
        Err(Missing {
            configuration: again.clone(),
            next: format!("{change} once more, because the difference lies within the noise"),
        })
    }

    /// What is to be measured again, where the interval of the difference of two means holds zero. A gain is believed
    /// only beyond it: the one with fewer runs is measured again, while more are allowed. What looks worse is taken
    /// back without more ado, unless what it is compared with may just have been lucky once.
    fn doubtful(&self, old: &Results, new: &Results) -> Option<Again> {
        let (a, b) = (old.mean()?, new.mean()?);
        let error =
            self.ledger.noise * (1.0 / old.values.len() as f64 + 1.0 / new.values.len() as f64).sqrt();
        let half = t_critical(self.strategy.confidence, self.ledger.freedom).unwrap_or(0.0) * error;
        let apart = (a - b).abs() / a.abs().max(b.abs()).max(f64::MIN_POSITIVE);
        let gained = beats(self.search.goal, Some(b), Some(a));
        if apart >= half || old.runs().min(new.runs()) >= self.strategy.runs {
            None
        } else if gained {
            Some(if old.runs() < new.runs() {
                Again::Old
            } else {
                Again::New
            })
        } else {
            (old.runs() <= new.runs()).then_some(Again::Old)
        }
    }
}

/// The change in words: `innodb_io_capacity 200 -> 800`; with it what was illegal in the old one, which no step keeps.
fn change(space: &Space, k: usize, old: &Configuration, new: &Configuration) -> String {
    let knob = &space.knobs()[space.dimension_knob(k)];
    let show = |knob: &Knob, c: &Configuration| {
        c.get(&knob.name)
            .map_or_else(|| "none".to_owned(), |value| knob.domain.show(value))
    };
    let words = |knob: &Knob| format!("{} {} -> {}", knob.name, show(knob, old), show(knob, new));
    let mut text = words(knob);
    for other in space.knobs().iter().filter(|other| other.name != knob.name) {
        if let (Some(before), Some(after)) = (old.get(&other.name), new.get(&other.name))
            && before != after
        {
            text.push_str(", ");
            text.push_str(&words(other));
        }
    }
    text
}

fn verdict(goal: Goal, change: &str, old: &Results, new: &Results, kept: bool) -> String {
    let what = match (old.mean(), new.mean()) {
        (_, None) => "failed".to_owned(),
        (Some(old), Some(new)) if old != 0.0 => {
            format!("gave {:+.1} % ({})", 100.0 * (new - old) / old.abs(), word(goal))
        }
        _ => "ran".to_owned(),
    };
    format!("{change} {what}, {}", if kept { "kept" } else { "taken back" })
}

fn word(goal: Goal) -> &'static str {
    match goal {
        Goal::Maximize => "more is better",
        Goal::Minimize => "less is better",
    }
}
