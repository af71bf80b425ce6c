//! What is to become better, and what must not become worse: from a measurement to a number and a verdict.

use std::collections::BTreeMap;

use super::{ConstraintSpec, ObjectiveSpec};
use crate::error::{Error, Result};
use crate::space::Value;
use crate::space::expr::Expr;
use crate::stats::Estimate;
use crate::strategy::Goal;
use crate::trial::Measurement;

/// Metrics by name, without errors: of the baseline, or means over several runs.
pub type Metrics = BTreeMap<String, f64>;

/// Prefix of a name that means the baseline's metric.
const BASELINE: &str = "baseline.";

/// The objective of a study with its constraints on metrics.
#[derive(Debug, Clone, PartialEq)]
pub struct Objective {
    metric: Expr,
    goal: Goal,
    constraints: Vec<Expr>,
}

impl Objective {
    /// From the words of the study file.
    ///
    /// # Errors
    /// An expression that cannot be read, or an objective that depends on the baseline.
    pub fn new(objective: &ObjectiveSpec, constraints: &[ConstraintSpec]) -> Result<Self> {
        let metric = expression(&objective.metric)?;
        if let Some(name) = metric.names().iter().find(|name| name.name.starts_with(BASELINE)) {
            return Err(Error::input(
                metric
                    .error_at(name.at, "an objective cannot look at the baseline")
                    .to_string(),
            ));
        }
        let constraints = constraints
            .iter()
            .map(|c| expression(&c.require))
            .collect::<Result<_>>()?;
        Ok(Self {
            metric,
            goal: objective.goal,
            constraints,
        })
    }

    /// Which way is better.
    pub fn goal(&self) -> Goal {
        self.goal
    }

    /// The objective's words, e.g. `tps`.
    pub fn name(&self) -> &str {
        self.metric.text()
    }

    /// The constraints' words.
    pub fn constraints(&self) -> impl Iterator<Item = &str> {
        self.constraints.iter().map(Expr::text)
    }

    /// Names of all metrics used, without `baseline.`, each once.
    pub fn metrics(&self) -> Vec<String> {
        let mut names: Vec<String> = std::iter::once(&self.metric)
            .chain(&self.constraints)
            .flat_map(Expr::names)
            .map(|name| name.name.strip_prefix(BASELINE).unwrap_or(name.name).to_owned())
            .collect();
        names.sort();
        names.dedup();
        names
    }

    /// The objective of a measurement, in its own unit and direction, with the standard error that comes from within
    /// the run (delta method, metrics taken as independent). None where a metric is missing or the value is not finite.
    pub fn value(&self, measurement: &Measurement) -> Option<Estimate> {
        let metrics = means(measurement);
        let value = self.value_of(&metrics)?;
        let mut variance = Some(0.0);
        for name in self.metric.names() {
            let estimate = measurement.metrics.get(name.name)?;
            let slope_times_error = match estimate.standard_error {
                Some(0.0) => Some(0.0),
                Some(error) => {
                    let mut moved = metrics.clone();
                    moved.insert(name.name.to_owned(), estimate.value + error);
                    self.value_of(&moved).map(|there| there - value)
                }
                None => None,
            };
            variance = variance
                .zip(slope_times_error)
                .map(|(sum, change)| sum + change * change);
        }
        Some(Estimate {
            value,
            standard_error: variance.map(f64::sqrt),
        })
    }

    /// The objective from plain metrics; none where one is missing or the value is not finite.
    pub fn value_of(&self, metrics: &Metrics) -> Option<f64> {
        self.metric
            .eval_number(&|name: &str| metrics.get(name).copied().map(Value::Float))
            .ok()
            .filter(|value| value.is_finite())
    }

    /// The first constraint that these metrics break against the baseline's; none where all hold. A constraint whose
    /// metric was not measured counts as broken: what cannot be shown to hold is not promised.
    pub fn broken(&self, metrics: &Metrics, baseline: &Metrics) -> Option<&str> {
        let scope = |name: &str| {
            let value = match name.strip_prefix(BASELINE) {
                Some(name) => baseline.get(name),
                None => metrics.get(name),
            };
            value.copied().map(Value::Float)
        };
        self.constraints
            .iter()
            .find(|c| !c.holds(&scope).unwrap_or(false))
            .map(Expr::text)
    }

    /// Whether a measurement keeps every constraint.
    pub fn feasible(&self, measurement: &Measurement, baseline: &Metrics) -> bool {
        self.broken(&means(measurement), baseline).is_none()
    }
}

fn means(measurement: &Measurement) -> Metrics {
    measurement
        .metrics
        .iter()
        .map(|(name, estimate)| (name.clone(), estimate.value))
        .collect()
}

fn expression(text: &str) -> Result<Expr> {
    Expr::parse(text).map_err(|error| Error::input(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::EndOfMeasuring;

    fn objective(metric: &str, constraints: &[&str]) -> Objective {
        let spec = ObjectiveSpec {
            metric: metric.to_owned(),
            goal: Goal::Maximize,
        };
        let constraints: Vec<_> = constraints
            .iter()
            .map(|c| ConstraintSpec {
                require: (*c).to_owned(),
            })
            .collect();
        Objective::new(&spec, &constraints).unwrap()
    }

    fn measured(metrics: &[(&str, f64, Option<f64>)]) -> Measurement {
        Measurement {
            metrics: metrics
                .iter()
                .map(|(name, value, error)| {
                    (
                        (*name).to_owned(),
                        Estimate {
                            value: *value,
                            standard_error: *error,
                        },
                    )
                })
                .collect(),
            window_seconds: 20.0,
            warmup_seconds: 5.0,
            steady: true,
            ended: EndOfMeasuring::Cap,
            debt: None,
            counters: BTreeMap::new(),
        }
    }

    #[test]
    fn a_ratio_of_metrics_has_the_error_of_both() {
        let value = objective("tps / p95_ms", &[])
            .value(&measured(&[
                ("tps", 1000.0, Some(30.0)),
                ("p95_ms", 10.0, Some(0.1)),
            ]))
            .unwrap();
        assert!((value.value - 100.0).abs() < 1e-9);
        let expected = (3.0f64.powi(2) + 0.99f64.powi(2)).sqrt();
        assert!((value.standard_error.unwrap() - expected).abs() < 0.01);
    }

    #[test]
    fn an_unknown_error_stays_unknown() {
        let value = objective("tps", &[])
            .value(&measured(&[("tps", 1000.0, None)]))
            .unwrap();
        assert_eq!(value.standard_error, None);
    }

    #[test]
    fn a_constraint_against_the_baseline_is_kept_or_broken() {
        let objective = objective("tps", &["p95_ms <= 1.1 * baseline.p95_ms"]);
        let baseline = Metrics::from([("p95_ms".to_owned(), 10.0)]);
        assert!(objective.feasible(
            &measured(&[("tps", 1.0, None), ("p95_ms", 10.9, None)]),
            &baseline
        ));
        assert!(!objective.feasible(
            &measured(&[("tps", 1.0, None), ("p95_ms", 11.2, None)]),
            &baseline
        ));
        assert!(
            !objective.feasible(&measured(&[("tps", 1.0, None)]), &baseline),
            "not measured is not kept"
        );
        assert_eq!(objective.metrics(), ["p95_ms", "tps"]);
    }

    #[test]
    fn a_division_by_zero_is_no_value() {
        assert_eq!(
            objective("tps / errors", &[]).value(&measured(&[("tps", 1.0, None), ("errors", 0.0, None)])),
            None
        );
    }

    #[test]
    fn an_objective_against_the_baseline_is_refused() {
        let spec = ObjectiveSpec {
            metric: "tps / baseline.tps".to_owned(),
            goal: Goal::Maximize,
        };
        assert!(
            Objective::new(&spec, &[])
                .unwrap_err()
                .to_string()
                .contains("baseline")
        );
    }
}
