//! What the knobs do, by the model: its members as functions of the space, and how much they explain.

use rand_chacha::ChaCha8Rng;

use super::gp::{Posterior, Prediction};
use super::joint::groups;
use super::kernel::Rows;
use super::model::{Model, Settings};
use super::surrogate::{Fitting, Surrogate, mixture};
use crate::space::Point;
use crate::strategy::history::{Arm, arms, mean};
use crate::strategy::importance::{Analysis, Importance, Member};
use crate::strategy::{Search, rng};

/// Fewer configurations that were measured do not tell the knobs apart.
const FEWEST: usize = 8;
/// Parts of the configurations that are predicted by the others.
const FOLDS: usize = 8;
/// Up to this many configurations the others' models are fitted from the beginning; above that from the whole model's.
const FEW: usize = 120;
/// Values that differ by less than this share of the largest are equal.
const EQUAL: f64 = 1e-9;

/// What the knobs do, by a model of `settings` fitted to a search.
pub(super) fn importance(search: &Search<'_>, settings: &Settings) -> Importance {
    // What is being measured says nothing yet.
    let search = &Search {
        pending: &[],
        ..*search
    };
    let mut arms = arms(search.observations);
    // Neither does what failed: not of the objective.
    arms.retain(|arm| !arm.runs.is_empty());
    if arms.is_empty() {
        return Importance::not_measurable("nothing was measured yet");
    }
    if arms.len() > 1 && are_equal(&arms) {
        return Importance::not_measurable("every configuration gave the same: the knobs made no difference");
    }
    if arms.len() < FEWEST {
        return Importance::not_measurable(format!(
            "too few configurations were measured: {}, and it takes {FEWEST}",
            arms.len()
        ));
    }
    let mut rng = rng::generator(search, 0, "importance");
    let Some(model) = Model::fit(search, &arms, settings, &mut rng) else {
        return Importance::not_measurable("this space has no knob to search");
    };
    let explained = explained(&model.surrogate, settings, &mut rng);
    let members: Vec<GaussianProcess<'_>> = (0..model.surrogate.members.len())
        .map(|index| GaussianProcess { model: &model, index })
        .collect();
    let members: Vec<&dyn Member> = members.iter().map(|member| member as &dyn Member).collect();
    let measured: Vec<Point> = arms
        .iter()
        .map(|arm| search.space.encode(&arm.configuration))
        .collect();
    Analysis {
        space: search.space,
        members: &members,
        explained,
        measured: &measured,
        seed: rng::study_seed(search.seed, "importance"),
    }
    .importance(&mut rng)
}

fn are_equal(arms: &[Arm]) -> bool {
    let means = || {
        arms.iter()
            .filter_map(|arm| mean(arm.runs.iter().map(|run| run.value)))
    };
    let (least, most) = means().fold((f64::MAX, f64::MIN), |(a, b), value| (a.min(value), b.max(value)));
    // By halves, which cannot overflow.
    0.5 * most - 0.5 * least <= 0.5 * EQUAL * most.abs().max(least.abs())
}

/// The share of the variance of labels between configurations that the model explains, each configuration predicted by
/// models that never saw it; below zero where the mean of the others predicts better. Leave-one-out residuals in closed
/// form would keep hyper-parameters that saw every label: they "explain" 20 to 80 % of pure noise.
fn explained(surrogate: &Surrogate, settings: &Settings, rng: &mut ChaCha8Rng) -> f64 {
    let data = &surrogate.data;
    let groups = groups(&data.rows);
    let few = groups.len() <= FEW;
    let fitting = Fitting {
        ensemble: &settings.ensemble,
        warm: (!few).then(|| surrogate.anchors()),
        full: few,
    };
    let labels: Vec<f64> = groups
        .iter()
        .map(|group| group.iter().map(|&row| data.labels[row]).sum::<f64>() / group.len() as f64)
        .collect();
    let (mut left, mut all) = (0.0, 0.0);
    for fold in 0..FOLDS {
        let is_out = |index: usize| index % FOLDS == fold;
        let kept: Vec<usize> = (0..groups.len()).filter(|&i| !is_out(i)).collect();
        let out: Vec<usize> = (0..groups.len()).filter(|&i| is_out(i)).collect();
        if kept.is_empty() || out.is_empty() {
            continue;
        }
        let rows: Vec<usize> = kept.iter().flat_map(|&i| groups[i].iter().copied()).collect();
        let Some(model) = Surrogate::fit(data.picked(&rows), &fitting, rng) else {
            continue;
        };
        let mut at = data.rows.emptied();
        out.iter().for_each(|&i| at.push_row(&data.rows, groups[i][0]));
        let middle = kept.iter().map(|&i| labels[i]).sum::<f64>() / kept.len() as f64;
        for (&i, predicted) in out.iter().zip(mixture(&model.predict(&at))) {
            left += (labels[i] - predicted.mean).powi(2);
            all += (labels[i] - middle).powi(2);
        }
    }
    if all > 0.0 { 1.0 - left / all } else { 0.0 }
}

/// One Gaussian process of a model.
struct GaussianProcess<'a> {
    model: &'a Model,
    index: usize,
}

impl GaussianProcess<'_> {
    fn posterior(&self) -> &Posterior {
        &self.model.surrogate.members[self.index].1
    }

    fn rows(&self) -> &Rows {
        &self.model.surrogate.data.rows
    }

    fn at(&self, points: &[Point]) -> Rows {
        let mut at = self.rows().emptied();
        points.iter().for_each(|point| at.push(point));
        at
    }

    /// Labels in the objective's unit.
    fn in_unit(&self, labels: Vec<f64>) -> Vec<f64> {
        labels
            .into_iter()
            .map(|mean| self.model.in_unit(Prediction { mean, sd: 0.0 }).0)
            .collect()
    }
}

impl Member for GaussianProcess<'_> {
    fn weight(&self) -> f64 {
        1.0 / self.model.surrogate.members.len() as f64
    }

    fn means(&self, at: &[Point]) -> Vec<f64> {
        self.in_unit(self.posterior().means(self.rows(), &self.at(at)))
    }

    fn draws(&self, at: &[Point], count: usize, rng: &mut ChaCha8Rng) -> Vec<Vec<f64>> {
        self.posterior()
            .draws(self.rows(), &self.at(at), count, rng)
            .into_iter()
            .map(|labels| self.in_unit(labels))
            .collect()
    }
}
