//! The surrogate: Gaussian processes over the same rows, one for each draw of the hyper-parameters.

use rand::Rng;

use super::fit::Likelihood;
use super::gp::{Posterior, Prediction, predict_all};
use super::kernel::{Hyper, Rows};
use super::prior::Prior;
use super::sample::sample;
use crate::space::Point;

/// Above this many rows the hyper-parameters are fitted on a subset of as many, and draws are left out: there is no doubt
/// about them any more that would be worth the time.
const FIT_ROWS: usize = 300;
/// Draws see at most this many rows.
const DRAWN_ROWS: usize = 120;
/// Steps of a full fit from each start, and of a warm one.
const ITERATIONS: (u64, u64) = (60, 10);

/// Rows with their labels (standardised), and each one's own variance in squared label units.
#[derive(Debug, Clone)]
pub(super) struct Labelled {
    /// Where.
    pub(super) rows: Rows,
    /// What was seen there.
    pub(super) labels: Vec<f64>,
    /// How uncertain each is by itself.
    pub(super) variances: Vec<f64>,
}

impl Labelled {
    /// At most `count` of them: the better half of these by label, the others evenly from the rest.
    fn subset(&self, count: usize) -> Self {
        let mut order: Vec<usize> = (0..self.labels.len()).collect();
        if order.len() > count {
            order.sort_by(|&a, &b| self.labels[b].total_cmp(&self.labels[a]).then(a.cmp(&b)));
            let rest = order.split_off(count / 2);
            let wanted = count - order.len();
            order.extend((0..wanted).map(|i| rest[i * rest.len() / wanted]));
        }
        self.picked(&order)
    }

    /// Those at some places.
    pub(super) fn picked(&self, order: &[usize]) -> Self {
        let mut rows = self.rows.emptied();
        order.iter().for_each(|&i| rows.push_row(&self.rows, i));
        let pick = |from: &[f64]| order.iter().map(|&i| from[i]).collect();
        Self {
            rows,
            labels: pick(&self.labels),
            variances: pick(&self.variances),
        }
    }
}

/// Which hyper-parameters a surrogate has.
#[derive(Debug, Clone, PartialEq)]
pub struct Ensemble {
    /// Beliefs about the hyper-parameters, each with its own fit and draws.
    pub priors: Vec<Prior>,
    /// Draws from the posterior of the hyper-parameters under each belief; 0 takes the most probable ones alone.
    pub draws: usize,
}

/// The most probable hyper-parameters under each belief, flat: where the next fit begins.
pub(super) type Anchors = Vec<Vec<f64>>;

/// What a surrogate is fitted with.
pub(super) struct Fitting<'a> {
    /// Beliefs and draws.
    pub(super) ensemble: &'a Ensemble,
    /// Where an earlier fit ended.
    pub(super) warm: Option<&'a Anchors>,
    /// Whether to fit from several starts; else a few steps from the warm one.
    pub(super) full: bool,
}

/// Gaussian processes over the same rows with equal weight.
#[derive(Debug)]
pub(super) struct Surrogate {
    pub(super) data: Labelled,
    pub(super) members: Vec<(Hyper, Posterior)>,
    anchors: Anchors,
}

impl Surrogate {
    /// Fitted to `data`; `None` where no member can be conditioned on it, which finite data do not reach.
    pub(super) fn fit(data: Labelled, fitting: &Fitting<'_>, rng: &mut impl Rng) -> Option<Self> {
        let subset = data.subset(FIT_ROWS);
        let fewer = data.subset(DRAWN_ROWS);
        let mut anchors = Anchors::new();
        let mut hypers = Vec::new();
        for (i, &prior) in fitting.ensemble.priors.iter().enumerate() {
            let warm = fitting.warm.and_then(|warm| warm.get(i));
            let anchor = most_probable(&subset, prior, warm, fitting.full, rng);
            anchors.push(anchor.flat());
            let draws = if data.labels.len() > FIT_ROWS {
                0
            } else {
                fitting.ensemble.draws
            };
            let likelihood = Likelihood::new(&fewer.rows, &fewer.labels, &fewer.variances, prior);
            let drawn = sample(&likelihood, &anchor, draws, rng);
            if drawn.is_empty() {
                hypers.push(anchor);
            } else {
                hypers.extend(drawn);
            }
        }
        let members: Vec<(Hyper, Posterior)> = hypers
            .into_iter()
            .filter_map(|hyper| {
                let posterior = Posterior::new(&data.rows, &data.labels, &data.variances, &hyper)?;
                Some((hyper, posterior))
            })
            .collect();
        (!members.is_empty()).then_some(Self {
            data,
            members,
            anchors,
        })
    }

    /// The most probable hyper-parameters, rounded so that they come back from JSON as they are.
    pub(super) fn anchors(&self) -> &Anchors {
        &self.anchors
    }

    /// Each member's variance between runs, in squared label units.
    pub(super) fn noises(&self) -> impl Iterator<Item = f64> {
        self.members.iter().map(|(hyper, _)| hyper.noise.exp())
    }

    /// The variance between runs, in squared label units.
    pub(super) fn noise(&self) -> f64 {
        self.noises().sum::<f64>() / self.members.len() as f64
    }

    /// Each member's predictions at every row of `at`.
    pub(super) fn predict(&self, at: &Rows) -> Vec<Vec<Prediction>> {
        let posteriors: Vec<&Posterior> = self.members.iter().map(|(_, posterior)| posterior).collect();
        predict_all(&posteriors, &self.data.rows, at)
    }

    /// Takes a point that is being measured as if it had come out at each member's mean.
    pub(super) fn expect(&mut self, point: &Point) {
        let mut there = self.data.rows.emptied();
        there.push(point);
        let predictions = self.predict(&there);
        self.data.rows.push(point);
        self.data.labels.push(0.0);
        self.data.variances.push(0.0);
        for ((hyper, posterior), predicted) in self.members.iter_mut().zip(predictions) {
            if let Some(label) = self.data.labels.last_mut() {
                *label = predicted[0].mean;
            }
            let data = &self.data;
            if let Some(next) = Posterior::new(&data.rows, &data.labels, &data.variances, hyper) {
                *posterior = next;
            }
        }
    }
}

/// What members believe together: the mean and spread of their mixture, for each row.
pub(super) fn mixture(members: &[Vec<Prediction>]) -> Vec<Prediction> {
    let share = 1.0 / members.len() as f64;
    let rows = members.first().map_or(0, Vec::len);
    (0..rows)
        .map(|row| {
            let mean = members.iter().map(|member| share * member[row].mean).sum::<f64>();
            let variance: f64 = members
                .iter()
                .map(|member| share * (member[row].sd.powi(2) + (member[row].mean - mean).powi(2)))
                .sum();
            Prediction {
                mean,
                sd: variance.sqrt(),
            }
        })
        .collect()
}

/// ln of the mean of what `logs` are the logarithms of; finite where one of them is.
pub(super) fn log_mean(logs: impl ExactSizeIterator<Item = f64> + Clone) -> f64 {
    let count = logs.len() as f64;
    let most = logs.clone().fold(f64::NEG_INFINITY, f64::max);
    most + (logs.map(|log| (log - most).exp()).sum::<f64>() / count).ln()
}

/// The most probable hyper-parameters: from several starts when `full`, else a few steps from the `warm` ones. Rounded to
/// six decimals, so that they come back from JSON as they were.
fn most_probable(
    data: &Labelled,
    prior: Prior,
    warm: Option<&Vec<f64>>,
    full: bool,
    rng: &mut impl Rng,
) -> Hyper {
    let likelihood = Likelihood::new(&data.rows, &data.labels, &data.variances, prior);
    let mut starts: Vec<Vec<f64>> = warm.into_iter().cloned().collect();
    let mut iterations = ITERATIONS.1;
    if full || starts.is_empty() {
        starts.extend(likelihood.starts(rng));
        iterations = ITERATIONS.0;
    }
    let flat = likelihood.minimize(&starts, iterations).flat();
    let rounded: Vec<f64> = flat.iter().map(|value| (value * 1e6).round() / 1e6).collect();
    Hyper::from_flat(&rounded).unwrap_or(Hyper {
        lengths: vec![0.0; data.rows.width()],
        signal: 0.0,
        noise: -4.0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mixture_is_as_wide_as_its_members_and_their_disagreement() {
        let at = |mean, sd| vec![Prediction { mean, sd }];
        let found = mixture(&[at(1.0, 0.5), at(3.0, 0.5)])[0];
        assert!((found.mean - 2.0).abs() < 1e-12);
        assert!((found.sd - 1.25f64.sqrt()).abs() < 1e-12);
    }

    #[test]
    fn the_mean_of_logarithms_survives_extremes() {
        let found = log_mean([-1000.0, -1000.0 + 3f64.ln()].into_iter());
        assert!((found - (-1000.0 + 2f64.ln())).abs() < 1e-9);
    }
}
