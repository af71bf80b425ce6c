//! What the knobs do: which share of a model's variance each one accounts for alone (functional analysis of variance),
//! which pairs act together, and the objective to be expected at each level of a knob, all with what is not known.
//!
//! Pure functions over the members of a model ([`Member`]); `bayes` provides them from its Gaussian processes.
//!
//! Source: Hooker, "Generalized functional ANOVA diagnostics", 2007; Hutter, Hoos and Leyton-Brown, "An efficient approach
//! for assessing hyperparameter importance", 2014. Shares are of the permitted part of the space, on the objective's own
//! scale. A knob that is active in a part of the space only accounts for what it moves there (as a nested factor does).

mod base;
mod level;
mod part;
mod two_way;

#[cfg(test)]
mod tests;

use rand_chacha::ChaCha8Rng;

use self::base::Base;
use self::level::{Level, Spread, fewer, levels};
use self::part::{Estimate, Part};
use super::contract::Goal;
use crate::space::{Point, Space, Value};

/// Levels of a numeric knob in its curve, at most.
const LEVELS: usize = 9;
/// Knobs whose pairs are looked at, the most important ones.
const PAIRED: usize = 5;
/// Levels of each knob of a pair, at most.
const PAIR_LEVELS: usize = 5;
/// Points of the space over which a knob's effect is averaged, and over which a pair's is.
const BASES: usize = 256;
const PAIR_BASES: usize = 64;
/// Fewer permitted points do not say what a knob does on average.
const FEWEST_BASES: usize = 4;
/// A model that explains no more than this of the variance between configurations knows nothing of the knobs.
const LEAST_EXPLAINED: f64 = 0.05;
/// Divided by the number of configurations, what a model explains by chance where the knobs do nothing: it was more in 3
/// of 70 searches of pure noise, with 8 to 60 configurations of 3 to 20 knobs.
const BY_CHANCE: f64 = 4.0;
/// How many standard deviations apart the best and the worst level of a knob have to be to be told apart.
///
/// With 2.5 one of 30 knobs that do nothing was told; with 2 one of 16.
const TOLD: f64 = 2.5;

/// One of the functions a model holds possible, with its weight.
pub(in crate::strategy) trait Member {
    /// Its weight; weights of all members add up to 1.
    fn weight(&self) -> f64;
    /// The objective it expects at each point, in the objective's unit; finite.
    fn means(&self, at: &[Point]) -> Vec<f64>;
    /// `count` functions drawn from what it holds possible, each at all points jointly; empty where it is one function.
    fn draws(&self, at: &[Point], count: usize, rng: &mut ChaCha8Rng) -> Vec<Vec<f64>>;
}

/// A share of variance with the range it lies in: 5 % of what the model holds possible is below, 5 % above.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Share {
    /// Of the function the model expects; between 0 and 1.
    pub share: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// The objective to be expected with a knob at one of its levels, whatever the others are.
#[derive(Debug, Clone, PartialEq)]
pub struct LevelEffect {
    /// The knob's value.
    pub value: Value,
    /// Mean of the objective over the space with it, in the objective's unit.
    pub mean: f64,
    /// The lower end of the 5 to 95 % range of that mean.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// What one knob does.
#[derive(Debug, Clone, PartialEq)]
pub struct KnobEffect {
    /// The knob.
    pub knob: String,
    /// The share of variance that it accounts for by itself.
    pub main: Share,
    /// Whether its best level can be told from its worst one; where not, it made no difference that can be told.
    pub told: bool,
    /// The objective at each of its levels, specials first, then ascending; in the order of categories.
    pub curve: Vec<LevelEffect>,
}

impl KnobEffect {
    /// A knob without any effect.
    fn none(knob: &str) -> Self {
        Self {
            knob: knob.to_owned(),
            main: Share::default(),
            told: false,
            curve: Vec::new(),
        }
    }

    /// The level with the best mean; none of a knob without a curve.
    pub fn best(&self, goal: Goal) -> Option<&LevelEffect> {
        let oriented = |level: &LevelEffect| goal.oriented(level.mean);
        self.curve
            .iter()
            .max_by(|a, b| oriented(a).total_cmp(&oriented(b)))
    }

    /// The level with the worst mean; none of a knob without a curve.
    pub fn worst(&self, goal: Goal) -> Option<&LevelEffect> {
        let oriented = |level: &LevelEffect| goal.oriented(level.mean);
        self.curve
            .iter()
            .min_by(|a, b| oriented(a).total_cmp(&oriented(b)))
    }
}

/// What two knobs do together beyond what each does by itself.
#[derive(Debug, Clone, PartialEq)]
pub struct PairEffect {
    /// The two, the more important one first.
    pub knobs: [String; 2],
    /// The share of variance that comes from acting together.
    pub together: Share,
}

/// What the knobs of a space do, as far as it was measured. No number is other than finite.
#[derive(Debug, Clone, PartialEq)]
pub enum Importance {
    /// It can be told.
    Measured(Effects),
    /// It cannot.
    NotMeasurable(NotMeasurable),
}

/// What the knobs do.
#[derive(Debug, Clone, PartialEq)]
pub struct Effects {
    /// The share of the variance between configurations that the model explains, each predicted without having been
    /// seen.
    pub explained: f64,
    /// Every knob of the space, the most important first.
    pub knobs: Vec<KnobEffect>,
    /// Pairs of the most important knobs, the strongest first.
    pub pairs: Vec<PairEffect>,
}

/// Why it cannot be told what the knobs do.
#[derive(Debug, Clone, PartialEq)]
pub struct NotMeasurable {
    /// In words.
    pub why: String,
    /// As in [`Effects`]; none where there was no model.
    pub explained: Option<f64>,
}

impl Importance {
    /// That it cannot be told, and why.
    pub(in crate::strategy) fn not_measurable(why: impl Into<String>) -> Self {
        Self::NotMeasurable(NotMeasurable {
            why: why.into(),
            explained: None,
        })
    }

    /// The same where the configurations are known to differ no more than runs of one do: nothing can be told then.
    pub fn without_difference(self) -> Self {
        match self {
            Self::Measured(effects) => Self::NotMeasurable(NotMeasurable {
                why: "configurations differ no more than runs of one configuration do".to_owned(),
                explained: Some(effects.explained),
            }),
            not => not,
        }
    }

    /// The share of the variance between configurations that the model explains; none where there was no model.
    pub fn explained(&self) -> Option<f64> {
        match self {
            Self::Measured(effects) => Some(effects.explained),
            Self::NotMeasurable(reason) => reason.explained,
        }
    }
}

/// What the effects are computed from.
pub(in crate::strategy) struct Analysis<'a> {
    /// The space.
    pub(in crate::strategy) space: &'a Space,
    /// What the model holds possible.
    pub(in crate::strategy) members: &'a [&'a dyn Member],
    /// The share of variance that it explains.
    pub(in crate::strategy) explained: f64,
    /// Places that were measured, one a configuration: they stand in where the space permits hardly any other.
    pub(in crate::strategy) measured: &'a [Point],
    /// Of the quasi-random points.
    pub(in crate::strategy) seed: u32,
}

impl Analysis<'_> {
    /// What the knobs do.
    pub(in crate::strategy) fn importance(&self, rng: &mut ChaCha8Rng) -> Importance {
        let explained = if self.explained > 0.0 {
            self.explained.min(1.0)
        } else {
            0.0
        };
        let not = |why: String| {
            Importance::NotMeasurable(NotMeasurable {
                why,
                explained: Some(explained),
            })
        };
        let least = LEAST_EXPLAINED.max(BY_CHANCE / self.measured.len().max(1) as f64);
        if explained <= least {
            return not(format!(
                "a model of the knobs explains {:.0} % of the differences between {} configurations, where it takes more \
                 than {:.0} % to tell them from the noise of single runs",
                100.0 * explained,
                self.measured.len(),
                100.0 * least
            ));
        }
        let knobs = self.space.knobs();
        let choices: Vec<Vec<Level>> = knobs
            .iter()
            .map(|knob| levels(knob, LEVELS, Spread::Ends))
            .collect();
        if choices.iter().all(|levels| levels.len() < 2) {
            return not("no knob of this space has two values".to_owned());
        }
        let base = Base::new(self.space, self.measured, BASES, self.seed);
        if base.len() < FEWEST_BASES {
            return not("the space permits hardly any configuration".to_owned());
        }
        let Some(total) = part::total(self.members, base.points()) else {
            return not("the model expects the same everywhere".to_owned());
        };
        let mut effects: Vec<(usize, KnobEffect)> = Vec::with_capacity(knobs.len());
        for (index, levels) in choices.iter().enumerate() {
            let effect = self.knob(&base, index, levels, total, rng);
            effects.push((index, effect));
        }
        effects.sort_by(|(_, a), (_, b)| b.main.share.total_cmp(&a.main.share));
        let pairs = self.pairs(&base, &effects, total, rng);
        Importance::Measured(Effects {
            explained,
            knobs: effects.into_iter().map(|(_, effect)| effect).collect(),
            pairs,
        })
    }

    fn knob(
        &self,
        base: &Base<'_>,
        index: usize,
        levels: &[Level],
        total: part::Total,
        rng: &mut ChaCha8Rng,
    ) -> KnobEffect {
        let name = &self.space.knobs()[index].name;
        if levels.len() < 2 {
            return KnobEffect::none(name);
        }
        let part = Part::of(base, &[(index, levels)], BASES);
        let Some(Estimate { share, curve, told }) = part.estimate(self.members, total, rng) else {
            return KnobEffect::none(name);
        };
        KnobEffect {
            knob: name.clone(),
            main: share,
            told: told >= TOLD,
            curve: levels
                .iter()
                .zip(curve)
                .filter_map(|(level, at)| {
                    let at = at?;
                    Some(LevelEffect {
                        value: level.value.clone(),
                        mean: at.share,
                        low: at.low,
                        high: at.high,
                    })
                })
                .collect(),
        }
    }

    fn pairs(
        &self,
        base: &Base<'_>,
        effects: &[(usize, KnobEffect)],
        total: part::Total,
        rng: &mut ChaCha8Rng,
    ) -> Vec<PairEffect> {
        let top: Vec<(usize, Vec<Level>)> = effects
            .iter()
            .take(PAIRED)
            .filter(|(_, effect)| effect.curve.len() > 1)
            .map(|(index, effect)| (*index, fewer(&self.space.knobs()[*index], effect, PAIR_LEVELS)))
            .collect();
        let mut pairs = Vec::new();
        for (place, (first, first_levels)) in top.iter().enumerate() {
            for (second, second_levels) in &top[place + 1..] {
                let part = Part::of(
                    base,
                    &[(*first, first_levels), (*second, second_levels)],
                    PAIR_BASES,
                );
                let Some(estimate) = part.estimate(self.members, total, rng) else {
                    continue;
                };
                let name = |index: usize| self.space.knobs()[index].name.clone();
                pairs.push(PairEffect {
                    knobs: [name(*first), name(*second)],
                    together: estimate.share,
                });
            }
        }
        pairs.sort_by(|a, b| b.together.share.total_cmp(&a.together.share));
        pairs
    }
}
