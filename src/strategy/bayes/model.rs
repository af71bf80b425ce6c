//! The model of a search: what was observed, warped and conditioned on, with a second model of what fails.

use rand::Rng;
use serde_json::{Value, json};

use super::acquire::log_expected_improvement;
use super::feasibility::Feasibility;
use super::gp::Prediction;
use super::kernel::Rows;
use super::surrogate::{Anchors, Ensemble, Fitting, Labelled, Surrogate, log_mean, mixture};
use super::warp::{Scale, Warp};
use crate::space::{Configuration, Point};
use crate::strategy::history::{Arm, mean};
use crate::strategy::{Observation, Search, TrialNumber};

/// Where a proposal's model holds the hyper-parameters it came from.
pub(in crate::strategy) const TAG: &str = "bayes";
/// Up to this many rows every fit is a full one: it costs milliseconds.
const ALWAYS_FULL: usize = 24;
/// Power of the probability to run in the acquisition. Above 1 because a failure costs a trial and tells nothing of the
/// objective: with 2 a quarter fewer proposals failed near a border where the best lies, and as much was reached.
const FEASIBILITY_POWER: f64 = 2.0;

/// How the model is built.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Which hyper-parameters the model has.
    pub ensemble: Ensemble,
    /// Whether labels are warped (see [`Warp`]); false standardises them only.
    pub warp: bool,
}

/// Hyper-parameters as they are stored with a proposal, and what they were fitted on.
#[derive(Debug, Clone, PartialEq)]
struct Stored {
    objective: Anchors,
    feasibility: Option<Anchors>,
    /// Number of observations at the last full fit.
    full_at: usize,
}

impl Stored {
    /// The newest among the observations that fits `width` dimensions.
    fn newest(observations: &[Observation], width: usize) -> Option<Self> {
        observations.iter().rev().find_map(|observation| {
            let value = observation.model.as_ref()?.get(TAG)?;
            let anchors = |key: &str| -> Option<Anchors> {
                let anchors: Anchors = value
                    .get(key)?
                    .as_array()?
                    .iter()
                    .map(|flat| flat.as_array()?.iter().map(Value::as_f64).collect())
                    .collect::<Option<_>>()?;
                anchors
                    .iter()
                    .all(|flat| flat.len() == width + 2)
                    .then_some(anchors)
            };
            Some(Self {
                objective: anchors("objective")?,
                feasibility: anchors("feasibility"),
                full_at: usize::try_from(value.get("full_at")?.as_u64()?).ok()?,
            })
        })
    }

    fn json(&self) -> Value {
        json!({ "objective": self.objective, "feasibility": self.feasibility, "full_at": self.full_at })
    }
}

/// A measured configuration that may be recommended, with the model's belief.
#[derive(Debug, Clone)]
pub(super) struct Contender {
    /// Its first trial.
    pub(super) trial: TrialNumber,
    /// The configuration.
    pub(super) configuration: Configuration,
    /// Its place.
    pub(super) point: Point,
    /// Belief in label units.
    pub(super) belief: Prediction,
}

/// The model of a search.
#[derive(Debug)]
pub(super) struct Model {
    scale: Scale,
    warp: Warp,
    pub(super) surrogate: Surrogate,
    feasibility: Option<Feasibility>,
    contenders: Vec<Contender>,
    /// Each member's own best belief among the contenders, in label units.
    bests: Vec<f64>,
    tried: Rows,
    stored: Stored,
}

impl Model {
    /// Fits the model to a search; `arms` are its observations by configuration. `None` without a dimension or a
    /// measurement.
    pub(in crate::strategy) fn fit(
        search: &Search<'_>,
        arms: &[Arm],
        settings: &Settings,
        rng: &mut impl Rng,
    ) -> Option<Self> {
        let mut rows = Rows::new(search.space.dimensions());
        if rows.width() == 0 {
            return None;
        }
        let points: Vec<Point> = arms
            .iter()
            .map(|arm| search.space.encode(&arm.configuration))
            .collect();
        let values: Vec<f64> = arms
            .iter()
            .flat_map(|arm| arm.runs.iter().map(|run| run.value))
            .collect();
        if values.is_empty() {
            return None;
        }
        let scale = Scale::of(search.goal, &values);
        let means: Vec<f64> = arms
            .iter()
            .filter_map(|arm| mean(arm.runs.iter().map(|run| scale.forward(run.value))))
            .collect();
        let warp = Warp::new(&means, settings.warp);
        let (mut labels, mut variances) = (Vec::new(), Vec::new());
        for (arm, point) in arms.iter().zip(&points) {
            for run in &arm.runs {
                let scaled = scale.forward(run.value);
                let sd = warp.deviation(scaled, scale.deviation(run.value, run.variance.sqrt()));
                rows.push(point);
                labels.push(warp.forward(scaled));
                // A run that says nothing may not blow up the covariance either.
                variances.push(if sd.is_finite() { (sd * sd).min(1e3) } else { 1e3 });
            }
        }
        let mut tried = rows.emptied();
        points.iter().for_each(|point| tried.push(point));

        let warm = Stored::newest(search.observations, rows.width());
        let count = search.observations.len();
        let full = count <= ALWAYS_FULL || warm.as_ref().is_none_or(|warm| step(count) > step(warm.full_at));
        let fitting = |warm| Fitting {
            ensemble: &settings.ensemble,
            warm,
            full,
        };
        let data = Labelled {
            rows,
            labels,
            variances,
        };
        let surrogate = Surrogate::fit(data, &fitting(warm.as_ref().map(|warm| &warm.objective)), rng)?;
        let anchors = warm.as_ref().and_then(|warm| warm.feasibility.as_ref());
        let feasibility = Feasibility::fit(arms, &tried, &fitting(anchors), rng);
        let (contenders, bests) = contenders(arms, &points, &surrogate, &tried);
        let stored = Stored {
            objective: surrogate.anchors().clone(),
            feasibility: feasibility.as_ref().map(|model| model.anchors().clone()),
            full_at: match warm {
                Some(warm) if !full => warm.full_at,
                _ => count,
            },
        };
        let mut model = Self {
            scale,
            warp,
            surrogate,
            feasibility,
            contenders,
            bests,
            tried,
            stored,
        };
        for configuration in search.pending {
            model.expect(&search.space.encode(configuration));
        }
        Some(model)
    }

    /// Takes a point that is being measured as if it had come out at its mean.
    pub(super) fn expect(&mut self, point: &Point) {
        self.surrogate.expect(point);
        self.tried.push(point);
    }

    /// What is stored with a proposal.
    pub(super) fn stored(&self) -> Value {
        self.stored.json()
    }

    /// The configurations that may be recommended, in the order of their first trials.
    pub(super) fn contenders(&self) -> &[Contender] {
        &self.contenders
    }

    /// The contender with the highest belief.
    pub(super) fn incumbent(&self) -> Option<&Contender> {
        self.contenders
            .iter()
            .rev()
            .max_by(|a, b| a.belief.mean.total_cmp(&b.belief.mean))
    }

    /// Every configuration tried or being tried, one row each.
    pub(super) fn tried(&self) -> &Rows {
        &self.tried
    }

    /// ln of the expected improvement over what each member believes best, in the mean of the members, times a
    /// power of the probability to run, for each row.
    pub(super) fn acquisition(&self, at: &Rows) -> Vec<f64> {
        let members = self.surrogate.predict(at);
        let mut scores: Vec<f64> = (0..at.len())
            .map(|row| {
                log_mean(
                    members
                        .iter()
                        .zip(&self.bests)
                        .map(|(member, &best)| log_expected_improvement(member[row], best)),
                )
            })
            .collect();
        if let Some(feasibility) = &self.feasibility {
            for (score, log_probability) in scores.iter_mut().zip(feasibility.log_probability(at)) {
                *score += FEASIBILITY_POWER * log_probability;
            }
        }
        scores
    }

    /// Belief at a point in label units, and the probability that it runs.
    pub(super) fn belief(&self, point: &Point) -> (Prediction, f64) {
        let mut at = self.tried.emptied();
        at.push(point);
        let chance = self
            .feasibility
            .as_ref()
            .map_or(1.0, |model| model.log_probability(&at)[0].exp());
        (mixture(&self.surrogate.predict(&at))[0], chance)
    }

    /// A belief in the objective's unit: mean and standard deviation.
    pub(super) fn in_unit(&self, belief: Prediction) -> (f64, f64) {
        let scaled = self.warp.backward(belief.mean);
        let sd = self.warp.deviation_backward(belief.mean, belief.sd);
        (
            self.scale.backward(scaled),
            self.scale.deviation_backward(scaled, sd),
        )
    }

    /// The fitted standard deviation between runs at the incumbent, as a share of its value.
    pub(super) fn noise(&self) -> Option<f64> {
        let mean = self.incumbent()?.belief.mean;
        let sd = self.surrogate.noise().sqrt();
        let (value, in_unit) = self.in_unit(Prediction { mean, sd });
        let share = in_unit / value.abs();
        share.is_finite().then_some(share)
    }
}

/// The configurations that may be recommended, and the best belief of each member among them.
fn contenders(
    arms: &[Arm],
    points: &[Point],
    surrogate: &Surrogate,
    rows: &Rows,
) -> (Vec<Contender>, Vec<f64>) {
    let able = || arms.iter().zip(points).filter(|(arm, _)| arm.is_feasible());
    let mut at = rows.emptied();
    able().for_each(|(_, point)| at.push(point));
    let members = surrogate.predict(&at);
    let bests = members
        .iter()
        .map(|member| member.iter().map(|p| p.mean).fold(f64::MIN, f64::max))
        .collect();
    let contenders = able()
        .zip(mixture(&members))
        .filter_map(|((arm, point), belief)| {
            Some(Contender {
                trial: arm.runs.first()?.trial,
                configuration: arm.configuration.clone(),
                point: point.clone(),
                belief,
            })
        })
        .collect();
    (contenders, bests)
}

/// Counts at which a full fit is due lie a tenth apart.
fn step(count: usize) -> u64 {
    ((count.max(1) as f64).ln() / 1.1f64.ln()).floor() as u64
}
