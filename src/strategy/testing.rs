//! Small spaces, responses and whole searches for tests of strategies.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::{Goal, Observation, Proposal, Search, Seen, Strategy};
use crate::space::expr::Expr;
use crate::space::{Configuration, Constraint, Domain, Ground, Knob, Scale, Space};

/// A knob of a test space.
pub(super) enum Spec {
    /// Whole numbers, logarithmic or not.
    Int(&'static str, i64, i64, bool),
    /// Whole numbers, with 0 as a special value.
    Special(&'static str, i64, i64),
    /// Numbers with a fraction.
    Float(&'static str, f64, f64),
    /// Words `v0`, `v1`, ...
    Enum(&'static str, usize),
}

/// The knobs of `specs`.
pub(super) fn knobs(specs: &[Spec]) -> Vec<Knob> {
    specs
        .iter()
        .map(|spec| {
            let whole = |min, max, scale, special| Domain::Int {
                min,
                max,
                unit: 1,
                scale,
                special,
                bytes: false,
            };
            let (name, domain) = match *spec {
                Spec::Int(name, min, max, true) => (name, whole(min, max, Scale::Log, Vec::new())),
                Spec::Int(name, min, max, false) => (name, whole(min, max, Scale::Linear, Vec::new())),
                Spec::Special(name, min, max) => (name, whole(min, max, Scale::Linear, vec![0])),
                Spec::Float(name, min, max) => {
                    let domain = Domain::Float {
                        min,
                        max,
                        unit: None,
                        scale: Scale::Linear,
                        special: Vec::new(),
                    };
                    (name, domain)
                }
                Spec::Enum(name, count) => {
                    let values = (0..count).map(|i| format!("v{i}")).collect();
                    (name, Domain::Enum { values })
                }
            };
            Knob::new(name, domain)
        })
        .collect()
}

/// A space of `specs` without constraints.
pub(super) fn space(specs: &[Spec]) -> Space {
    Space::new(knobs(specs), Vec::new(), Ground::default()).unwrap()
}

/// A space of `specs` with a constraint.
pub(super) fn ruled(specs: &[Spec], require: &str) -> Space {
    let constraint = Constraint {
        name: "rule".to_owned(),
        require: Expr::parse(require).unwrap(),
        only_with: None,
    };
    Space::new(knobs(specs), vec![constraint], Ground::default()).unwrap()
}

/// Six mixed knobs with a memory rule.
pub(super) fn mixed() -> Space {
    space(&MIXED)
}

/// The knobs of [`mixed`].
pub(super) const MIXED: [Spec; 6] = [
    Spec::Int("pool_mb", 64, 16384, true),
    Spec::Int("io", 100, 20000, true),
    Spec::Int("threads", 1, 64, true),
    Spec::Float("dirty", 0.0, 90.0),
    Spec::Enum("flush", 3),
    Spec::Enum("mode", 2),
];

/// Throughput of a configuration of [`mixed`]: the pool matters most, the best io depends on flush, threads on mode.
/// `None`: does not start. At most 1000.
pub(super) fn throughput(c: &Configuration) -> Option<f64> {
    let n = |knob: &str| c.get(knob).and_then(crate::space::Value::as_f64).unwrap();
    let is = |knob: &str, value: &str| c.get(knob).unwrap().to_string() == value;
    let share = |knob: &str, low: f64, high: f64| (n(knob) / low).ln() / (high / low).ln();
    let pool = share("pool_mb", 64.0, 16384.0);
    if n("pool_mb") > 12288.0 {
        return None;
    }
    let io = share("io", 100.0, 20000.0);
    let threads = share("threads", 1.0, 64.0);
    let mut loss = 1.2 * (1.0 - pool).powi(2) + 0.2 * (n("dirty") / 90.0 - 0.6).powi(2);
    loss += if is("flush", "v2") {
        (io - 0.8).powi(2)
    } else {
        0.2 + 0.5 * (io - 0.3).powi(2)
    };
    loss += if is("mode", "v1") {
        (threads - 0.8).powi(2)
    } else {
        0.15 + 0.4 * (threads - 0.4).powi(2)
    };
    Some(1000.0 * (-loss).exp())
}

/// A search under way: what was observed, and the response with its noise.
pub(super) struct Night<'a> {
    pub(super) space: &'a Space,
    pub(super) goal: Goal,
    pub(super) seed: u64,
    pub(super) noise: f64,
    pub(super) response: &'a dyn Fn(&Configuration) -> Option<f64>,
    pub(super) observations: Vec<Observation>,
}

impl<'a> Night<'a> {
    /// Nothing observed yet, more is better, no noise.
    pub(super) fn new(
        space: &'a Space,
        seed: u64,
        response: &'a dyn Fn(&Configuration) -> Option<f64>,
    ) -> Self {
        Self {
            space,
            goal: Goal::Maximize,
            seed,
            noise: 0.0,
            response,
            observations: Vec::new(),
        }
    }

    pub(super) fn search(&self) -> Search<'_> {
        Search {
            space: self.space,
            goal: self.goal,
            observations: &self.observations,
            pending: &[],
            seed: self.seed,
        }
    }

    /// Runs a configuration; the noise depends on the seed and the trial's number only.
    pub(super) fn observe(&mut self, configuration: Configuration, model: Option<serde_json::Value>) {
        use rand::Rng;
        let trial = self.observations.len() as u64 + 1;
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed * 1_000 + trial);
        let luck: f64 = (0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0;
        let seen = (self.response)(&configuration).map_or(Seen::Failed, |value| Seen::Measured {
            value: value * (self.noise * luck).exp(),
            variance: None,
            feasible: true,
        });
        self.observations.push(Observation {
            trial,
            configuration,
            seen,
            model,
        });
    }

    /// Lets `strategy` run `trials` trials, one at a time; stops where it has nothing to propose.
    pub(super) fn run(&mut self, strategy: &dyn Strategy, trials: usize) {
        for _ in 0..trials {
            let Some(Proposal {
                configuration, model, ..
            }) = strategy.propose(&self.search(), 1).into_iter().next()
            else {
                break;
            };
            assert!(self.space.permits(&configuration).is_ok());
            assert_eq!(configuration, self.space.snap(&configuration), "off its steps");
            self.observe(configuration, model);
        }
    }

    /// The true response of what `strategy` recommends; 0 for nothing or for what fails.
    pub(super) fn reached(&self, strategy: &dyn Strategy) -> f64 {
        strategy
            .recommend(&self.search())
            .and_then(|best| (self.response)(&best.configuration))
            .unwrap_or(0.0)
    }
}
