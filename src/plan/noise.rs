//! How much runs of one configuration differ.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{Facts, Inputs, observe::searched};

/// Run noise assumed before enough repeats tell it, as a share; it counts for [`PRIOR_DF`] degrees of freedom.
const PRIOR_CV: f64 = 0.05;
const PRIOR_DF: f64 = 2.0;

/// Run noise: the coefficient of variation between runs of one configuration, reset and restart between.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct RunNoise {
    /// Standard deviation of the log of the objective between equal runs, a share for small values.
    pub cv: f64,
    /// Degrees of freedom behind it.
    pub df: f64,
}

impl RunNoise {
    /// For planning: drawn towards an assumed noise while few repeats tell it. Never for reporting.
    pub fn for_planning(noise: Option<Self>) -> f64 {
        let (squares, df) = noise.map_or((0.0, 0.0), |noise| (noise.cv.powi(2) * noise.df, noise.df));
        ((squares + PRIOR_CV.powi(2) * PRIOR_DF) / (df + PRIOR_DF)).sqrt()
    }
}

/// Run noise from the repeats of equal effective configurations in the search, pooled on the log scale. None without
/// any repeat, or where the objective is not positive.
pub fn run_noise(inputs: &Inputs<'_>, facts: &Facts) -> Option<RunNoise> {
    let mut groups: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for (fact, outcome) in searched(facts) {
        let value = outcome.measurement().and_then(|m| inputs.objective.value(m));
        if let Some(value) = value
            && value.value > 0.0
        {
            groups
                .entry(fact.configuration().key())
                .or_default()
                .push(value.value.ln());
        }
    }
    let (mut squares, mut df) = (0.0, 0.0);
    for logs in groups.values().filter(|logs| logs.len() > 1) {
        let n = logs.len() as f64;
        let mean = logs.iter().sum::<f64>() / n;
        squares += logs.iter().map(|x| (x - mean).powi(2)).sum::<f64>();
        df += n - 1.0;
    }
    (df > 0.0).then(|| RunNoise {
        cv: (squares / df).sqrt(),
        df,
    })
}
