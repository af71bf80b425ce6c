//! Bayesian optimisation behind the contract of strategies.

use super::model::{Model, Settings, TAG};
use super::search::{Found, maximize};
use crate::space::{Configuration, Domain, Point, Space, Value};
use crate::strategy::history::{self, Known, arms};
use crate::strategy::unit::any_left;
use crate::strategy::{Importance, Proposal, ProposalPurpose, Recommendation, Search, Strategy, rng, sobol};
use crate::units::Bytes;

/// Exact Gaussian processes with expected improvement, and further ones for what fails.
#[derive(Debug, Clone)]
pub struct Bayes {
    /// How the model is built.
    pub settings: Settings,
    /// Distinct configurations before the model proposes, the baseline and first guesses among them.
    pub initial: usize,
    /// Whether proposals stay near what was tried while little is known.
    pub trust_region: bool,
}

impl Bayes {
    fn model(&self, search: &Search<'_>) -> Option<Model> {
        let mut rng = rng::generator(search, 0, "fit");
        Model::fit(search, &arms(search.observations), &self.settings, &mut rng)
    }

    /// Whether the model takes over: enough distinct configurations, and at least one that may be recommended.
    fn is_ready(&self, search: &Search<'_>) -> bool {
        let arms = arms(search.observations);
        arms.len() >= self.initial && arms.iter().any(history::Arm::is_feasible)
    }
}

impl Strategy for Bayes {
    fn propose(&self, search: &Search<'_>, n: usize) -> Vec<Proposal> {
        let mut known = Known::of(search);
        let mut model = if n > 0 && self.is_ready(search) {
            self.model(search)
        } else {
            None
        };
        let mut proposals = Vec::new();
        while proposals.len() < n {
            let modelled = model
                .as_mut()
                .and_then(|model| self.modelled(search, model, &known, proposals.len()));
            let proposal = match modelled {
                Some(proposal) => Some(proposal),
                None => sobol::next(search, &mut known).map(|(place, proposal)| Proposal {
                    why: format!("{place}: too little is known for a model"),
                    ..proposal
                }),
            };
            let Some(proposal) = proposal else { break };
            known.add(&proposal.configuration);
            proposals.push(proposal);
        }
        proposals
    }

    fn recommend(&self, search: &Search<'_>) -> Option<Recommendation> {
        let Some(model) = self.model(search) else {
            return history::best_by_mean(search);
        };
        let incumbent = model.incumbent()?;
        let (mean, sd) = model.in_unit(incumbent.belief);
        Some(Recommendation {
            trial: incumbent.trial,
            configuration: incumbent.configuration.clone(),
            mean,
            sd: Some(sd),
        })
    }

    fn fitted_noise(&self, search: &Search<'_>) -> Option<f64> {
        self.model(search)?.noise()
    }

    fn importance(&self, search: &Search<'_>) -> Importance {
        super::effects::importance(search, &self.settings)
    }
}

impl Bayes {
    /// The point with the highest acquisition; the model then expects it.
    fn modelled(
        &self,
        search: &Search<'_>,
        model: &mut Model,
        known: &Known,
        asked: usize,
    ) -> Option<Proposal> {
        let incumbent = model.incumbent()?.clone();
        let mut rng = rng::generator(search, asked, "acquire");
        let best = incumbent.belief.mean;
        let found = maximize(search.space, model, known, self.trust_region, &mut rng).or_else(|| {
            let configuration = any_left(search.space, known)?;
            Some(Found {
                point: search.space.encode(&configuration),
                configuration,
            })
        })?;
        let why = why(
            search.space,
            model,
            &found.point,
            &found.configuration,
            &incumbent.configuration,
            best,
        );
        model.expect(&found.point);
        Some(Proposal {
            model: history::remember(&found.configuration, Some((TAG, model.stored()))),
            configuration: found.configuration,
            purpose: ProposalPurpose::Explore,
            why,
        })
    }
}

/// Knobs that are named in a reason; more are counted.
const NAMED: usize = 6;

/// What the model expects there, and what differs from the best.
fn why(
    space: &Space,
    model: &Model,
    point: &Point,
    new: &Configuration,
    old: &Configuration,
    best: f64,
) -> String {
    let (belief, chance) = model.belief(point);
    let (mean, sd) = model.in_unit(belief);
    let (best, _) = model.in_unit(super::gp::Prediction { mean: best, sd: 1e-9 });
    let mut changed: Vec<String> = new
        .iter()
        .filter(|(knob, value)| old.get(knob) != Some(value))
        .map(|(knob, value)| format!("{knob} = {}", shown(space, knob, value)))
        .collect();
    changed.extend(
        old.iter()
            .filter(|(knob, _)| new.get(knob).is_none())
            .map(|(knob, _)| format!("no {knob}")),
    );
    let more = changed.len().saturating_sub(NAMED);
    changed.truncate(NAMED);
    let more = if more > 0 {
        format!(" and {more} more")
    } else {
        String::new()
    };
    format!(
        "expected {} \u{b1} {} where the best is believed at {}, runs with a chance of {:.0} %; differs from the best \
         in {}{more}",
        digits(mean),
        digits(sd),
        digits(best),
        100.0 * chance,
        changed.join(", ")
    )
}

/// A value as people write it: sizes with their suffix.
fn shown(space: &Space, knob: &str, value: &Value) -> String {
    let is_size = space
        .knob(knob)
        .is_some_and(|knob| matches!(knob.domain, Domain::Int { bytes: true, .. }));
    match value {
        Value::Int(n) if is_size => {
            u64::try_from(*n).map_or_else(|_| n.to_string(), |n| Bytes(n).to_string())
        }
        other => other.to_string(),
    }
}

/// About three significant digits.
fn digits(x: f64) -> String {
    match x.abs() {
        a if a >= 100.0 => format!("{x:.0}"),
        a if a >= 10.0 => format!("{x:.1}"),
        a if a >= 1.0 => format!("{x:.2}"),
        _ => format!("{x:.3}"),
    }
}
