//! The recommended my.cnf with its roll-back.

use std::collections::BTreeSet;

use crate::error::{Error, IoContext as _, Result};
use crate::mycnf::{
    Durability, Effect, Gain, Recommended, RecommendedLine, render, render_section, rollback, same_value,
};
use crate::night::now;
use crate::plan::{Facts, Inputs, Standing, Verdict, VerdictKind, last_confirmed, standing};
use crate::setup::{Frozen, StudyFolder, write_atomically};
use crate::space::{Breach, Configuration, Domain, Space, Value};

/// A configuration to be handed over, with how sure we are.
#[derive(Debug, Clone)]
pub struct Recommendation {
    /// The configuration.
    pub configuration: Configuration,
    /// Its gain.
    pub gain: Gain,
    /// What else is to be said, a line each.
    pub notes: Vec<String>,
}

impl Recommendation {
    /// What a finished study recommends: what it confirmed, also where it went on after that and ended otherwise. None where
    /// it recommends the baseline.
    pub fn of_verdict(verdict: &Verdict) -> Option<Self> {
        let claim = verdict.claim();
        let best = claim.best.as_ref()?;
        let (blocks, burst) = (claim.blocks, claim.burst);
        let gain = match (claim.kind, claim.gain) {
            (VerdictKind::Confirmed, Some(ratio)) => Gain::Confirmed { ratio, blocks, burst },
            (VerdictKind::NotConfirmed, Some(ratio)) => Gain::NotConfirmed { ratio, blocks, burst },
            (VerdictKind::NoTime, None) => Gain::Untested,
            // Every other end recommends nothing, whatever was measured on the way.
            _ => return None,
        };
        Some(Self {
            configuration: best.configuration.clone(),
            gain,
            notes: verdict
                .since()
                .map(str::to_owned)
                .into_iter()
                .chain(claim.detail.clone())
                .collect(),
        })
    }

    /// What a study recommends that is not over: the last confirmed result, before there is one what is believed best.
    /// None where that is the baseline.
    pub fn so_far(inputs: &Inputs<'_>, facts: &Facts) -> Option<Self> {
        let Some(confirmed) = last_confirmed(inputs, facts) else {
            return Self::of_standing(&standing(inputs, facts)?);
        };
        let mut recommended = Self::of_verdict(&confirmed)?;
        recommended
            .notes
            .push("the study goes on; nothing better is confirmed so far".to_owned());
        Some(recommended)
    }

    /// What is believed best while the study runs; none where that is the baseline.
    fn of_standing(standing: &Standing) -> Option<Self> {
        (!standing.is_baseline).then(|| Self {
            configuration: standing.configuration.clone(),
            gain: Gain::Believed {
                ratio: standing.ratio.map(|ratio| ratio.point),
            },
            notes: Vec::new(),
        })
    }
}

/// Removes what an earlier belief wrote: nothing is recommended. What can be removed is, whatever else cannot.
///
/// # Errors
/// What the file system says of the first file that cannot be removed.
pub fn hand_over_nothing(folder: &StudyFolder) -> Result<()> {
    let removed =
        [folder.my_cnf(), folder.drop_in(), folder.rollback()].map(|path| {
            match std::fs::remove_file(&path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    Err(error).context("cannot remove an outdated recommendation", &path)
                }
                _ => Ok(()),
            }
        });
    removed.into_iter().collect()
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

/// The `[mysqld]` section of the my.cnf that [`hand_over`] writes for a configuration, byte for byte: what the server is
/// started with at the end of a study.
///
/// # Errors
/// A configuration that cannot be written as variables.
pub fn section(configuration: &Configuration, frozen: &Frozen) -> Result<String> {
    Ok(render_section(&lines(configuration, frozen)?))
}

fn internal(breach: &Breach) -> Error {
    Error::internal(breach.to_string())
}

/// What a configuration writes that the baseline does not have.
fn lines(configuration: &Configuration, frozen: &Frozen) -> Result<Vec<RecommendedLine>> {
    let space = &frozen.space;
    let sizes = sizes(space);
    let baseline = &space.ground().variables;
    let written = space.writes(configuration).map_err(|breach| internal(&breach))?;
    Ok(written
        .into_iter()
        .filter(|(name, value)| {
            // A number to the server may be a word of an enum to the space.
            let same = |before: &Value| same_value(&before.to_string(), &value.to_string());
            !baseline.get(name).is_some_and(same)
        })
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
        .collect())
}

/// Writes my.cnf and my.cnf.rollback; true when they were written, false where the recommendation changes nothing.
/// `metric` is the objective in words, `trials` how many ended.
///
/// # Errors
/// What the file system says; a configuration that cannot be written as variables.
pub fn hand_over(
    recommendation: &Recommendation,
    frozen: &Frozen,
    metric: &str,
    trials: u64,
    folder: &StudyFolder,
) -> Result<bool> {
    let lines = lines(&recommendation.configuration, frozen)?;
    if lines.is_empty() {
        return Ok(false);
    }
    let class = frozen
        .space
        .durability(&recommendation.configuration)
        .map_err(|breach| internal(&breach))?;
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
        metric: metric.to_owned(),
        gain: recommendation.gain,
        notes: recommendation.notes.clone(),
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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::host::Fingerprint;
    use crate::plan::Best;
    use crate::space::{DurabilityRule, ResolveInputs, ServerFacts, embedded, resolve};
    use crate::stats::Interval;

    /// A study on MariaDB 10.11 that tunes memory and I/O from the server's defaults.
    fn frozen(folder: &Path) -> Frozen {
        let facts = include_str!("../../tests/fixtures/server_facts/mariadb-10.11.json");
        let facts: ServerFacts = serde_json::from_str(facts).unwrap();
        let class = embedded::machine_class("4-cores-8g-ssd").unwrap();
        let effective = facts
            .variables
            .iter()
            .map(|(name, facts)| (name.clone(), facts.value.clone()))
            .collect();
        let resolution = resolve(ResolveInputs {
            files: &embedded::families(&["memory", "io"]).unwrap(),
            knobs: &std::collections::BTreeMap::new(),
            constraints: &[],
            study_file: "study.toml",
            class: Some(&class),
            server: Some(&facts),
            baseline: &effective,
            durability: DurabilityRule::Keep,
            allow: &[],
        });
        Frozen {
            format: 1,
            class,
            declared: None,
            tuned: BTreeSet::new(),
            data_key: None,
            build: String::new(),
            facts,
            environment: Fingerprint::read(folder),
            baseline_settings: Vec::new(),
            baseline_effective: effective,
            space: resolution.unwrap().space,
            gone: Vec::new(),
            rule_of_thumb: None,
            candidates: Vec::new(),
            workload: "a load".to_owned(),
            host: "here".to_owned(),
        }
    }

    #[test]
    fn what_is_as_in_the_baseline_is_not_written_whatever_its_type() {
        let scratch = tempfile::tempdir().unwrap();
        let frozen = frozen(scratch.path());
        let mut configuration = frozen.space.default_configuration();
        assert_eq!(configuration.get("innodb_flush_neighbors"), Some(&"1".into()));
        assert_eq!(lines(&configuration, &frozen).unwrap(), []);
        configuration.set("innodb_io_capacity", 2000);
        let section = section(&configuration, &frozen).unwrap();
        assert!(!section.contains("innodb_flush_neighbors"), "{section}");
    }

    #[test]
    fn what_the_last_trial_starts_with_is_the_end_of_each_file_that_is_handed_over() {
        let scratch = tempfile::tempdir().unwrap();
        let folder = StudyFolder::new(scratch.path(), "s").unwrap();
        folder.create().unwrap();
        let frozen = frozen(scratch.path());
        let configuration = frozen.space.rule_of_thumb().unwrap();
        let section = section(&configuration, &frozen).unwrap();
        assert!(section.contains("\ninnodb_buffer_pool_size = "), "{section}");
        for gain in [Gain::Untested, Gain::Believed { ratio: None }] {
            let recommended = Recommendation {
                configuration: configuration.clone(),
                gain,
                notes: Vec::new(),
            };
            assert!(hand_over(&recommended, &frozen, "tps", 25, &folder).unwrap());
            for path in [folder.my_cnf(), folder.drop_in()] {
                let file = std::fs::read_to_string(path).unwrap();
                assert!(file.ends_with(&format!("\n\n{section}")), "{section} in\n{file}");
            }
        }
    }

    fn ratio(low: f64, point: f64, high: f64) -> Interval {
        Interval {
            point,
            low,
            high,
            level: 0.95,
        }
    }

    fn verdict(kind: VerdictKind, gain: Option<Interval>) -> Verdict {
        Verdict {
            kind,
            best: Some(Best {
                trial: 7,
                configuration: Configuration::new(),
            }),
            compared: Some(7),
            no_difference: None,
            gain,
            gain_over_rule: None,
            rule_note: None,
            burst: None,
            blocks: 5,
            min_gain: 0.01,
            run_noise: None,
            resolution: None,
            metric: "tps".to_owned(),
            failures: Vec::new(),
            detail: None,
            kept: None,
        }
    }

    fn gain_of(kind: VerdictKind, gain: Option<Interval>) -> Option<Gain> {
        Recommendation::of_verdict(&verdict(kind, gain)).map(|recommended| recommended.gain)
    }

    #[test]
    fn only_a_confirmed_verdict_is_handed_over_as_confirmed() {
        let seen = ratio(0.98, 1.05, 1.4);
        assert_eq!(
            gain_of(VerdictKind::Confirmed, Some(seen)),
            Some(Gain::Confirmed {
                ratio: seen,
                blocks: 5,
                burst: None
            })
        );
        assert_eq!(
            gain_of(VerdictKind::NotConfirmed, Some(seen)),
            Some(Gain::NotConfirmed {
                ratio: seen,
                blocks: 5,
                burst: None
            })
        );
        assert_eq!(gain_of(VerdictKind::NoTime, None), Some(Gain::Untested));
    }

    #[test]
    fn an_end_that_keeps_the_baseline_hands_nothing_over() {
        for kind in [
            VerdictKind::BaselineIsBest,
            VerdictKind::BestFailed,
            VerdictKind::BreaksConstraint,
            VerdictKind::FinalRefused,
            VerdictKind::BaselineFailed,
            VerdictKind::EveryTrialFailed,
            VerdictKind::HostProblem,
            VerdictKind::LoadSetup,
        ] {
            assert_eq!(gain_of(kind, Some(ratio(1.2, 1.5, 1.9))), None, "{kind:?}");
        }
    }

    #[test]
    fn an_end_that_confirms_nothing_hands_over_what_was_confirmed_before() {
        let then = ratio(1.2, 1.5, 1.9);
        for kind in [
            VerdictKind::BaselineIsBest,
            VerdictKind::NotConfirmed,
            VerdictKind::NoTime,
            VerdictKind::BestFailed,
            VerdictKind::BreaksConstraint,
            VerdictKind::FinalRefused,
            VerdictKind::BaselineFailed,
            VerdictKind::EveryTrialFailed,
            VerdictKind::HostProblem,
            VerdictKind::LoadSetup,
        ] {
            let mut end = verdict(kind, Some(ratio(0.8, 0.9, 1.0)));
            end.kept = Some(Box::new(verdict(VerdictKind::Confirmed, Some(then))));
            let recommended = Recommendation::of_verdict(&end).unwrap();
            let expected = Gain::Confirmed {
                ratio: then,
                blocks: 5,
                burst: None,
            };
            assert_eq!(recommended.gain, expected, "{kind:?}");
            assert_eq!(recommended.notes.len(), 1, "{kind:?}: {:?}", recommended.notes);
            let told = end.line();
            assert!(
                told.contains("x 1.500") && !told.contains("keep the baseline") || end.is_failure(),
                "{told}"
            );
            assert_eq!(end.exit_code() == 0, !end.is_failure(), "{kind:?}");
        }
    }

    #[test]
    fn what_is_believed_is_the_point_of_its_interval() {
        let standing = Standing {
            trial: 7,
            configuration: Configuration::new(),
            value: 900.0,
            ratio: Some(ratio(1.1, 1.8, 3.5)),
            is_baseline: false,
        };
        let recommended = Recommendation::of_standing(&standing).unwrap();
        assert_eq!(recommended.gain, Gain::Believed { ratio: Some(1.8) });
    }
}
