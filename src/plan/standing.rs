//! What is believed while a study runs. Never a claim: claims come from the confirmation.

use super::blame::settled;
use super::confirm::{LEVEL, is_baseline};
use super::observe::{View, baseline_metrics, searched};
use super::{Facts, Inputs, Purpose, noise::run_noise};
use crate::space::Configuration;
use crate::stats::{Interval, t_critical};
use crate::strategy::TrialNumber;

/// What is believed now.
#[derive(Debug, Clone, PartialEq)]
pub struct Standing {
    /// A trial of the configuration believed best.
    pub trial: TrialNumber,
    /// The configuration.
    pub configuration: Configuration,
    /// The objective it is believed to reach.
    pub value: f64,
    /// Ratio to the baseline (improvement above 1) with the ends of a 95 % interval from run noise; none before noise
    /// is known or where the objective is not positive. Picking the best of many makes it too hopeful.
    pub ratio: Option<Interval>,
    /// Whether it is the baseline itself.
    pub is_baseline: bool,
}

/// The configuration believed best now; none before anything was measured.
pub fn standing(inputs: &Inputs<'_>, facts: &Facts) -> Option<Standing> {
    let facts = &*settled(inputs, facts);
    let view = View::new(inputs, facts);
    let best = inputs.strategy.recommend(&view.search(inputs))?;
    let is_baseline = is_baseline(inputs, facts, &best.configuration);
    let ratio = if is_baseline {
        Some(Interval {
            point: 1.0,
            low: 1.0,
            high: 1.0,
            level: LEVEL,
        })
    } else {
        ratio(inputs, facts, &best.configuration, best.mean)
    };
    Some(Standing {
        trial: best.trial,
        configuration: best.configuration,
        value: best.mean,
        ratio,
        is_baseline,
    })
}

fn ratio(inputs: &Inputs<'_>, facts: &Facts, best: &Configuration, mean: f64) -> Option<Interval> {
    let baseline = inputs.objective.value_of(&baseline_metrics(facts))?;
    if baseline <= 0.0 || mean <= 0.0 {
        return None;
    }
    let noise = run_noise(inputs, facts)?;
    let measured = |which: &dyn Fn(&super::Fact) -> bool| {
        searched(facts)
            .filter(|(fact, o)| o.measurement().is_some() && which(fact))
            .count() as f64
    };
    let of_baseline = measured(&|fact| fact.job.purpose == Purpose::Baseline);
    let of_best = measured(&|fact| fact.configuration() == best).max(1.0);
    let half = t_critical(LEVEL, noise.df)? * noise.cv * (1.0 / of_baseline + 1.0 / of_best).sqrt();
    let log = inputs.objective.goal().oriented((mean / baseline).ln());
    Some(Interval {
        point: log.exp(),
        low: (log - half).exp(),
        high: (log + half).exp(),
        level: LEVEL,
    })
}
