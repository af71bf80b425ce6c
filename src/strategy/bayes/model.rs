//! The model of a search: what was observed, warped and conditioned on, with a second model of what fails.

use rand::Rng;
use serde_json::{Value, json};

use super::acquire::{log_expected_improvement, log_normal_cdf};
use super::fit::{Likelihood, Prior};
use super::gp::{Posterior, Prediction};
use super::kernel::{Hyper, Rows};
use super::warp::{Scale, Warp};
use crate::space::{Configuration, Point};
use crate::strategy::history::{Arm, mean};
use crate::strategy::{Observation, Search, TrialNumber};

/// Where a proposal's model holds the hyper-parameters it came from.
pub(in crate::strategy) const TAG: &str = "bayes";
/// Up to this many rows every fit is a full one: it costs milliseconds.
const ALWAYS_FULL: usize = 24;
/// Above this many rows the hyper-parameters are fitted on a subset of as many.
const FIT_ROWS: usize = 300;
/// Steps of a full fit from each start, and of a warm one.
const ITERATIONS: (u64, u64) = (60, 10);

/// How the model is built.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// Belief about the hyper-parameters.
    pub prior: Prior,
    /// Whether labels are warped (see [`Warp`]); false standardises them only.
    pub warp: bool,
}

/// Hyper-parameters as they are stored with a proposal, and what they were fitted on.
#[derive(Debug, Clone, PartialEq)]
struct Stored {
    objective: Vec<f64>,
    feasibility: Option<Vec<f64>>,
    /// Number of observations at the last full fit.
    full_at: usize,
}

impl Stored {
    /// The newest among the observations that fits `width` dimensions.
    fn newest(observations: &[Observation], width: usize) -> Option<Self> {
        observations.iter().rev().find_map(|observation| {
            let value = observation.model.as_ref()?.get(TAG)?;
            let numbers = |key: &str| -> Option<Vec<f64>> {
                let numbers: Vec<f64> = value
                    .get(key)?
                    .as_array()?
                    .iter()
                    .map(Value::as_f64)
                    .collect::<Option<_>>()?;
                (numbers.len() == width + 2).then_some(numbers)
            };
            Some(Self {
                objective: numbers("objective")?,
                feasibility: numbers("feasibility"),
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
    hyper: Hyper,
    rows: Rows,
    labels: Vec<f64>,
    variances: Vec<f64>,
    posterior: Posterior,
    feasibility: Option<Feasibility>,
    contenders: Vec<Contender>,
    tried: Rows,
    stored: Stored,
}

impl Model {
    /// Fits the model to a search; `arms` are its observations by configuration. `None` without a dimension or a
    /// measurement.
    pub(in crate::strategy) fn fit(
        search: &Search<'_>,
        arms: &[Arm],
        settings: Settings,
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
        let objective = warm.as_ref().map(|warm| warm.objective.clone());
        let hyper = fit(&rows, &labels, &variances, settings.prior, objective, full, rng);
        let posterior = Posterior::new(&rows, &labels, &variances, &hyper)?;
        let warm_feasibility = warm.as_ref().and_then(|warm| warm.feasibility.clone());
        let feasibility = Feasibility::fit(arms, &tried, settings.prior, warm_feasibility, full, rng);
        let contenders = contenders(arms, &points, &posterior, &rows);
        let stored = Stored {
            objective: hyper.flat(),
            feasibility: feasibility.as_ref().map(|model| model.hyper.flat()),
            full_at: match warm {
                Some(warm) if !full => warm.full_at,
                _ => count,
            },
        };
        let mut model = Self {
            scale,
            warp,
            hyper,
            rows,
            labels,
            variances,
            posterior,
            feasibility,
            contenders,
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
        let mut there = self.rows.emptied();
        there.push(point);
        let label = self.posterior.predict(&there)[0].mean;
        self.rows.push(point);
        self.tried.push(point);
        self.labels.push(label);
        self.variances.push(0.0);
        if let Some(posterior) = Posterior::new(&self.rows, &self.labels, &self.variances, &self.hyper) {
            self.posterior = posterior;
        }
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

    /// ln of the expected improvement over `best` times the probability to run, for each row.
    pub(super) fn acquisition(&self, at: &Rows, best: f64) -> Vec<f64> {
        let mut scores: Vec<f64> = self
            .posterior
            .predict(at)
            .into_iter()
            .map(|prediction| log_expected_improvement(prediction, best))
            .collect();
        if let Some(feasibility) = &self.feasibility {
            for (score, log_probability) in scores.iter_mut().zip(feasibility.log_probability(at)) {
                *score += log_probability;
            }
        }
        scores
    }

    /// Belief at a point in label units, and the probability that it runs.
    pub(super) fn belief(&self, point: &Point) -> (Prediction, f64) {
        let mut at = self.rows.emptied();
        at.push(point);
        let chance = self
            .feasibility
            .as_ref()
            .map_or(1.0, |model| model.log_probability(&at)[0].exp());
        (self.posterior.predict(&at)[0], chance)
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
        let sd = (0.5 * self.hyper.noise).exp();
        let (value, in_unit) = self.in_unit(Prediction { mean, sd });
        let share = in_unit / value.abs();
        share.is_finite().then_some(share)
    }
}

/// The model of which configurations run at all.
#[derive(Debug)]
struct Feasibility {
    posterior: Posterior,
    hyper: Hyper,
    centre: f64,
    spread: f64,
}

impl Feasibility {
    /// Of +1 for what ran and -1 for what did not, one row a configuration; `None` where nothing, or everything, failed.
    fn fit(
        arms: &[Arm],
        rows: &Rows,
        prior: Prior,
        warm: Option<Vec<f64>>,
        full: bool,
        rng: &mut impl Rng,
    ) -> Option<Self> {
        let signs: Vec<f64> = arms
            .iter()
            .map(|arm| if arm.is_feasible() { 1.0 } else { -1.0 })
            .collect();
        let centre = signs.iter().sum::<f64>() / signs.len().max(1) as f64;
        // Of values that are +1 or -1.
        let spread = (1.0 - centre * centre).sqrt();
        if spread <= 0.0 {
            return None;
        }
        let labels: Vec<f64> = signs.iter().map(|sign| (sign - centre) / spread).collect();
        let variances = vec![0.0; labels.len()];
        let hyper = fit(rows, &labels, &variances, prior, warm, full, rng);
        Some(Self {
            posterior: Posterior::new(rows, &labels, &variances, &hyper)?,
            hyper,
            centre,
            spread,
        })
    }

    /// ln of the probability that each row runs.
    fn log_probability(&self, at: &Rows) -> Vec<f64> {
        let noise = self.hyper.noise.exp();
        self.posterior
            .predict(at)
            .into_iter()
            .map(|p| {
                let sd = self.spread * (p.sd * p.sd + noise).sqrt();
                log_normal_cdf((p.mean * self.spread + self.centre) / sd)
            })
            .collect()
    }
}

fn contenders(arms: &[Arm], points: &[Point], posterior: &Posterior, rows: &Rows) -> Vec<Contender> {
    let able = || arms.iter().zip(points).filter(|(arm, _)| arm.is_feasible());
    let mut at = rows.emptied();
    able().for_each(|(_, point)| at.push(point));
    able()
        .zip(posterior.predict(&at))
        .filter_map(|((arm, point), belief)| {
            Some(Contender {
                trial: arm.runs.first()?.trial,
                configuration: arm.configuration.clone(),
                point: point.clone(),
                belief,
            })
        })
        .collect()
}

/// Counts at which a full fit is due lie a tenth apart.
fn step(count: usize) -> u64 {
    ((count.max(1) as f64).ln() / 1.1f64.ln()).floor() as u64
}

/// Fits hyper-parameters: from several starts when `full`, else a few steps from the `warm` ones. Rounded to six
/// decimals, so that they come back from JSON as they were.
fn fit(
    rows: &Rows,
    labels: &[f64],
    variances: &[f64],
    prior: Prior,
    warm: Option<Vec<f64>>,
    full: bool,
    rng: &mut impl Rng,
) -> Hyper {
    let (rows, labels, variances) = subset(rows, labels, variances);
    let likelihood = Likelihood::new(&rows, &labels, &variances, prior);
    let mut starts: Vec<Vec<f64>> = warm.into_iter().collect();
    let mut iterations = ITERATIONS.1;
    if full || starts.is_empty() {
        starts.extend(likelihood.starts(rng));
        iterations = ITERATIONS.0;
    }
    let flat = likelihood.minimize(&starts, iterations).flat();
    let rounded: Vec<f64> = flat.iter().map(|value| (value * 1e6).round() / 1e6).collect();
    Hyper::from_flat(&rounded).unwrap_or(Hyper {
        lengths: vec![0.0; rows.width()],
        signal: 0.0,
        noise: -4.0,
    })
}

/// At most [`FIT_ROWS`] of the rows: the better half of them by label, the others evenly from the rest.
fn subset(rows: &Rows, labels: &[f64], variances: &[f64]) -> (Rows, Vec<f64>, Vec<f64>) {
    let mut order: Vec<usize> = (0..labels.len()).collect();
    if order.len() > FIT_ROWS {
        order.sort_by(|&a, &b| labels[b].total_cmp(&labels[a]).then(a.cmp(&b)));
        let rest = order.split_off(FIT_ROWS / 2);
        let wanted = FIT_ROWS - order.len();
        order.extend((0..wanted).map(|i| rest[i * rest.len() / wanted]));
    }
    let mut chosen = rows.emptied();
    order.iter().for_each(|&i| chosen.push_row(rows, i));
    let pick = |from: &[f64]| order.iter().map(|&i| from[i]).collect();
    (chosen, pick(labels), pick(variances))
}
