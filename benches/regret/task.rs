//! Generated tasks: spaces and responses such as database servers have, each another one by its seed.
//!
//! A response is 1000 exp(-loss). The loss adds up: valleys and saturations of the few knobs that matter, weak effects of the
//! others, words that move the valley of a number, pairs of numbers that have to fit together.

use noctune::space::{Configuration, Coordinate, Dimension, Domain, Ground, Knob, Scale, Space, Value};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// What makes a kind of tasks hard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Nothing but its many knobs.
    Smooth,
    /// What takes too much of a resource fails, and the best lies beside it.
    Cliffs,
    /// Levels and steps instead of slopes.
    Plateaus,
}

impl Kind {
    /// By its name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        match name {
            "smooth" => Some(Self::Smooth),
            "cliffs" => Some(Self::Cliffs),
            "plateaus" => Some(Self::Plateaus),
            _ => None,
        }
    }
}

/// How one knob acts.
#[derive(Debug, Clone)]
enum Effect {
    /// weight × (u - centre)².
    Valley { weight: f64, centre: f64 },
    /// weight × how far u lies below where more no longer helps, to the power of 1.5.
    Saturation { weight: f64, end: f64 },
    /// weight where u lies outside of a range.
    Level { weight: f64, low: f64, high: f64 },
    /// A loss for each word.
    Words(Vec<f64>),
}

/// How two knobs act together.
#[derive(Debug, Clone)]
enum Pair {
    /// Each word has its own valley of a number: (weight, centre).
    Moves {
        word: usize,
        number: usize,
        valleys: Vec<(f64, f64)>,
    },
    /// weight × (u + v - sum)².
    Fit {
        a: usize,
        b: usize,
        weight: f64,
        sum: f64,
    },
}

/// A space with a response.
#[derive(Debug)]
pub(crate) struct Task {
    /// What may be tuned; knobs have the default configuration as their default.
    pub(crate) space: Space,
    effects: Vec<Effect>,
    pairs: Vec<Pair>,
    /// Shares of a resource per dimension; above the limit nothing runs. Empty where nothing fails.
    demand: Vec<(usize, f64)>,
    noise: f64,
    optimum: f64,
}

impl Task {
    /// The task of a seed, with noise as a share of the value.
    pub(crate) fn new(kind: Kind, seed: u64, noise: f64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed.wrapping_mul(3).wrapping_add(kind as u64));
        let knobs: Vec<Knob> = (0..rng.random_range(8..=24)).map(|i| knob(i, &mut rng)).collect();
        let space = Space::new(knobs, Vec::new(), Ground::default()).expect("names differ");
        let dimensions = space.dimensions().to_vec();
        let strong = rng.random_range(4..=7);
        let order = shuffled(dimensions.len(), &mut rng);
        let mut effects: Vec<Effect> = Vec::new();
        for (k, dimension) in dimensions.iter().enumerate() {
            let is_strong = order[..strong.min(order.len())].contains(&k);
            let weight = if is_strong {
                rng.random_range(0.3..1.2)
            } else {
                rng.random_range(0.0..0.06)
            };
            effects.push(effect(kind, dimension, weight, &mut rng));
        }
        let pairs = pairs(&dimensions, &order, &mut rng);
        let demand = if kind == Kind::Cliffs {
            demand(&dimensions, &mut effects, &order, &mut rng)
        } else {
            Vec::new()
        };
        let mut task = Self {
            space,
            effects,
            pairs,
            demand,
            noise,
            optimum: 0.0,
        };
        task.optimum = task.climb(&mut rng);
        task
    }

    /// The true value of a configuration; none where it fails.
    pub(crate) fn value(&self, configuration: &Configuration) -> Option<f64> {
        let point = self.space.encode(configuration);
        let number = |k: usize| match point.0[k] {
            Coordinate::Number(u) => u,
            Coordinate::Category(_) | Coordinate::Inactive => 0.0,
        };
        let word = |k: usize| match point.0[k] {
            Coordinate::Category(index) => index,
            Coordinate::Number(_) | Coordinate::Inactive => 0,
        };
        // Resources are taken exponentially in the place on a logarithmic scale.
        let taken: f64 = self
            .demand
            .iter()
            .map(|(k, share)| share * (5.0 * (number(*k) - 1.0)).exp())
            .sum();
        if taken > 1.0 {
            return None;
        }
        let mut loss = 0.0;
        for (k, effect) in self.effects.iter().enumerate() {
            loss += match effect {
                Effect::Valley { weight, centre } => weight * (number(k) - centre).powi(2),
                Effect::Saturation { weight, end } => weight * (end - number(k)).max(0.0).powf(1.5),
                Effect::Level { weight, low, high } => {
                    let inside = (*low..=*high).contains(&number(k));
                    if inside { 0.0 } else { *weight }
                }
                Effect::Words(losses) => losses[word(k)],
            };
        }
        for pair in &self.pairs {
            loss += match pair {
                Pair::Moves {
                    word: w,
                    number: n,
                    valleys,
                } => {
                    let (weight, centre) = valleys[word(*w)];
                    weight * (number(*n) - centre).powi(2)
                }
                Pair::Fit { a, b, weight, sum } => weight * (number(*a) + number(*b) - sum).powi(2),
            };
        }
        Some(1000.0 * (-loss).exp())
    }

    /// What a trial shows.
    pub(crate) fn measure(&self, configuration: &Configuration, rng: &mut impl Rng) -> Option<f64> {
        let noise = 1.0 + self.noise * normal(rng);
        Some(self.value(configuration)? * noise.max(0.05))
    }

    /// Percent of the optimum that the true value lies short of it; of the default's where it fails.
    pub(crate) fn regret(&self, configuration: &Configuration) -> f64 {
        let value = self
            .value(configuration)
            .or_else(|| self.value(&self.space.default_configuration()))
            .unwrap_or(0.0);
        100.0 * (self.optimum - value) / self.optimum
    }

    /// The best value found by climbing from many places.
    fn climb(&self, rng: &mut impl Rng) -> f64 {
        let dimensions = self.space.dimensions();
        let at = |shares: &[f64]| {
            let point = shares
                .iter()
                .zip(dimensions)
                .map(|(&u, dimension)| match dimension {
                    Dimension::Number { .. } => Coordinate::Number(u),
                    Dimension::Category { count } => {
                        Coordinate::Category(((u * *count as f64) as usize).min(count - 1))
                    }
                })
                .collect();
            let configuration = self.space.decode(&noctune::space::Point(point));
            self.value(&configuration).unwrap_or(0.0)
        };
        let mut best = 0.0f64;
        for _ in 0..8 {
            let drawn = (0..400).map(|_| -> Vec<f64> { dimensions.iter().map(|_| rng.random()).collect() });
            let mut here = drawn.fold((0.0, Vec::new()), |(value, here), shares| {
                let found = at(&shares);
                if found > value || here.is_empty() {
                    (found, shares)
                } else {
                    (value, here)
                }
            });
            for step in 0..3_000 {
                let length = 0.3 * (-f64::from(step) / 700.0).exp();
                let mut shares = here.1.clone();
                for _ in 0..rng.random_range(1..=2) {
                    let k = rng.random_range(0..shares.len());
                    shares[k] = match dimensions[k] {
                        Dimension::Category { .. } => rng.random(),
                        Dimension::Number { .. } => (shares[k] + length * normal(rng)).clamp(0.0, 1.0),
                    };
                }
                let found = at(&shares);
                if found >= here.0 {
                    here = (found, shares);
                }
            }
            best = best.max(here.0);
        }
        best
    }
}

/// A knob such as servers have, its default where servers have it: on the small side.
fn knob(index: usize, rng: &mut impl Rng) -> Knob {
    let whole = |min, max, scale| Domain::Int {
        min,
        max,
        unit: 1,
        scale,
        special: Vec::new(),
        bytes: false,
    };
    let domain = match rng.random_range(0..10) {
        0..5 => whole(
            rng.random_range(1..200),
            10i64.pow(rng.random_range(4..7)),
            Scale::Log,
        ),
        5 | 6 => whole(1, rng.random_range(8..100), Scale::Linear),
        7 => Domain::Float {
            min: 0.0,
            max: 99.0,
            unit: None,
            scale: Scale::Linear,
            special: Vec::new(),
        },
        8 => Domain::Bool,
        _ => Domain::Enum {
            values: (0..rng.random_range(2..=5)).map(|i| format!("w{i}")).collect(),
        },
    };
    let default = domain.decode(
        &domain
            .dimensions()
            .iter()
            .map(|dimension| match dimension {
                Dimension::Number { .. } => Coordinate::Number(rng.random_range(0.05..0.5)),
                Dimension::Category { .. } => Coordinate::Category(0),
            })
            .collect::<Vec<_>>(),
    );
    Knob {
        default: default.or(Some(Value::Int(0))),
        ..Knob::new(format!("knob_{index:02}"), domain)
    }
}

fn effect(kind: Kind, dimension: &Dimension, weight: f64, rng: &mut impl Rng) -> Effect {
    match dimension {
        Dimension::Category { count } => {
            let mut losses: Vec<f64> = (0..*count).map(|_| 0.6 * weight * rng.random::<f64>()).collect();
            // One of them costs nothing.
            let free = rng.random_range(0..losses.len());
            losses[free] = 0.0;
            Effect::Words(losses)
        }
        Dimension::Number { .. } if kind == Kind::Plateaus => {
            let low = rng.random_range(0.2..0.7);
            let high = low + rng.random_range(0.15..0.5);
            Effect::Level {
                weight: 0.5 * weight,
                low,
                high,
            }
        }
        Dimension::Number { .. } if rng.random::<f64>() < 0.4 => Effect::Saturation {
            weight,
            end: rng.random_range(0.6..1.0),
        },
        Dimension::Number { .. } => Effect::Valley {
            weight,
            centre: rng.random_range(0.1..0.9),
        },
    }
}

/// Two to four pairs, among the strong knobs where they are of the right type.
fn pairs(dimensions: &[Dimension], order: &[usize], rng: &mut impl Rng) -> Vec<Pair> {
    let of = |is_word: bool| -> Vec<usize> {
        order
            .iter()
            .copied()
            .filter(|&k| matches!(dimensions[k], Dimension::Category { .. }) == is_word)
            .collect()
    };
    let (words, numbers) = (of(true), of(false));
    let mut pairs = Vec::new();
    for (i, &word) in words.iter().take(2).enumerate() {
        let (Some(&number), Dimension::Category { count }) = (numbers.get(i), &dimensions[word]) else {
            continue;
        };
        let valleys = (0..*count)
            .map(|_| (rng.random_range(0.2..1.5), rng.random_range(0.1..0.9)))
            .collect();
        pairs.push(Pair::Moves {
            word,
            number,
            valleys,
        });
    }
    for two in numbers.chunks_exact(2).take(2) {
        pairs.push(Pair::Fit {
            a: two[0],
            b: two[1],
            weight: rng.random_range(0.1..0.8),
            sum: rng.random_range(0.6..1.4),
        });
    }
    pairs
}

/// Two or three numbers that share a resource; more of the first is better, up to where nothing runs any more.
fn demand(
    dimensions: &[Dimension],
    effects: &mut [Effect],
    order: &[usize],
    rng: &mut impl Rng,
) -> Vec<(usize, f64)> {
    let numbers: Vec<usize> = order
        .iter()
        .copied()
        .filter(|&k| matches!(dimensions[k], Dimension::Number { .. }))
        .take(rng.random_range(2..=3))
        .collect();
    if let Some(&first) = numbers.first() {
        effects[first] = Effect::Saturation {
            weight: rng.random_range(0.6..1.2),
            end: 1.0,
        };
    }
    let mut shares: Vec<(usize, f64)> = Vec::new();
    for (i, &k) in numbers.iter().enumerate() {
        let share = if i == 0 {
            rng.random_range(1.2..2.0)
        } else {
            rng.random_range(0.3..1.0)
        };
        shares.push((k, share));
    }
    shares
}

fn shuffled(count: usize, rng: &mut impl Rng) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    for i in (1..count).rev() {
        order.swap(i, rng.random_range(0..=i));
    }
    order
}

/// A standard normal number (Box and Muller).
fn normal(rng: &mut impl Rng) -> f64 {
    let radius = (-2.0 * (1.0 - rng.random::<f64>()).ln()).sqrt();
    radius * (std::f64::consts::TAU * rng.random::<f64>()).cos()
}
