//! The recommended my.cnf with its roll-back.

use std::collections::BTreeSet;

use crate::error::{IoContext as _, Result};
use crate::mycnf::{Durability, Effect, Gain, Recommended, RecommendedLine, render, rollback};
use crate::night::now;
use crate::plan::{Fact, Facts, Inputs, Standing, Verdict};
use crate::setup::{Frozen, StudyFolder, write_atomically};
use crate::space::{Configuration, Domain, Space};

/// A configuration to be handed over, with how sure we are.
#[derive(Debug, Clone)]
pub struct Recommendation {
    /// The configuration.
    pub configuration: Configuration,
    /// Its gain.
    pub gain: Gain,
}

impl Recommendation {
    /// What a finished study recommends; none where it recommends the baseline.
    pub fn of_verdict(verdict: &Verdict) -> Option<Self> {
        let best = verdict.best.as_ref()?;
        let gain = match verdict.gain {
            Some(ratio) => Gain::Confirmed {
                ratio,
                blocks: verdict.blocks,
            },
            None => Gain::Believed { ratio: None },
        };
        Some(Self {
            configuration: best.configuration.clone(),
            gain,
        })
    }

    /// What is believed best while the study runs; none where that is the baseline.
    pub fn of_standing(standing: &Standing, facts: &Facts) -> Option<Self> {
        if standing.is_baseline {
            return None;
        }
        let fact: &Fact = facts.jobs.iter().find(|fact| fact.number == standing.trial)?;
        Some(Self {
            configuration: fact.configuration().clone(),
            gain: Gain::Believed {
                ratio: standing.ratio.map(|[point, _, _]| point),
            },
        })
    }
}

/// Removes what an earlier belief wrote: nothing is recommended.
///
/// # Errors
/// What the file system says.
pub fn hand_over_nothing(folder: &StudyFolder) -> Result<()> {
    for path in [folder.my_cnf(), folder.drop_in(), folder.rollback()] {
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(error).context("cannot remove an outdated recommendation", &path);
            }
            _ => {}
        }
    }
    Ok(())
}

/// Names of knobs and variables whose whole numbers are sizes in bytes.
pub fn sizes(space: &Space) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for knob in space.knobs() {
        if matches!(knob.domain, Domain::Int { bytes: true, .. }) {
            names.insert(knob.name.clone());
            names.extend(knob.variables().into_iter().map(str::to_owned));
        }
    }
    names
}

/// Writes my.cnf and my.cnf.rollback; true when they were written, false where the recommendation changes nothing.
///
/// # Errors
/// What the file system says; a configuration that cannot be written as variables.
pub fn hand_over(
    recommendation: &Recommendation,
    frozen: &Frozen,
    inputs: &Inputs<'_>,
    trials: u64,
    folder: &StudyFolder,
) -> Result<bool> {
    let space = &frozen.space;
    let breach = |breach: crate::space::Breach| crate::error::Error::internal(breach.to_string());
    let sizes = sizes(space);
    let baseline = &space.ground().variables;
    let lines: Vec<RecommendedLine> = space
        .writes(&recommendation.configuration)
        .map_err(breach)?
        .into_iter()
        .filter(|(name, value)| baseline.get(name) != Some(value))
        .map(|(variable, value)| RecommendedLine {
            size: sizes.contains(&variable),
            baseline: baseline.get(&variable).cloned(),
            set_in_baseline: frozen
                .baseline_settings
                .iter()
                .any(|(name, _, _)| *name == variable),
            effect: Effect::Together,
            variable,
            value,
        })
        .collect();
    if lines.is_empty() {
        return Ok(false);
    }
    let class = space.durability(&recommendation.configuration).map_err(breach)?;
    let recommended = Recommended {
        server: frozen.facts.name(),
        machine_class: format!(
            "{}: {} cores, {} RAM",
            frozen.class.name,
            frozen.class.cores,
            frozen.class.ram.human()
        ),
        workload: frozen.workload.clone(),
        durability: Durability {
            class: class.name().to_owned(),
            can_be_lost: class.promise().to_owned(),
        },
        metric: inputs.objective.name().to_owned(),
        gain: recommendation.gain,
        trials,
        date: now(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        lines,
    };
    let text = render(&recommended);
    write_atomically(&folder.my_cnf(), &text)?;
    write_atomically(&folder.drop_in(), &text)?;
    write_atomically(&folder.rollback(), &rollback(&recommended))?;
    Ok(true)
}
