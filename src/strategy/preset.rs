//! Presets: which strategy, with which parameters, as a TOML file of `strategies/` or the user's own.

use include_dir::{Dir, include_dir};
use serde::Deserialize;

use super::Strategy;
use super::bayes::{Bayes, Ensemble, Prior, Settings};
use super::coordinate::Coordinates;
use super::nelder_mead::NelderMead;
use super::random::Random;
use super::sobol::Sobol;
use crate::error::{Error, Problem, Result};

static EMBEDDED: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/strategies");

/// The format of preset files this build reads.
const FORMAT: u32 = 1;

/// A strategy with its parameters; the keys of the file are the fields, `kind` names the variant.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Preset {
    /// [`Bayes`].
    #[serde(rename_all = "kebab-case")]
    Bayes {
        /// Distinct configurations before the model proposes; at least 1.
        initial: usize,
        /// Beliefs about the hyper-parameters; at least one.
        priors: Vec<Prior>,
        /// Draws of the hyper-parameters under each belief, at most 64; 0 takes the most probable ones alone.
        draws: usize,
        /// Whether labels are warped.
        warp: bool,
        /// Whether proposals stay near what was tried while little is known.
        trust_region: bool,
    },
    /// [`Coordinates`].
    #[serde(rename_all = "kebab-case")]
    Coordinate {
        /// First step, as a share of a knob's range; above 0, at most 1.
        step: f64,
        /// Smallest step; above 0, at most `step`.
        min_step: f64,
        /// Runs of one configuration at most.
        runs: usize,
        /// Confidence with which a difference is more than noise; above 0, below 1.
        #[serde(default = "usual_confidence")]
        confidence: f64,
    },
    /// [`NelderMead`].
    #[serde(rename_all = "kebab-case")]
    NelderMead {
        /// First step, as a share of a knob's range; above 0, at most 1.
        step: f64,
        /// Steps of the simplex at most.
        iterations: u64,
    },
    /// [`Sobol`].
    Sobol,
    /// [`Random`].
    Random,
}

/// The confidence of a preset that names none.
fn usual_confidence() -> f64 {
    0.8
}

/// Every kind with its keys, for "did you mean".
const KEYS: [(&str, &[&str]); 5] = [
    ("bayes", &["initial", "priors", "draws", "warp", "trust-region"]),
    ("coordinate", &["step", "min-step", "runs", "confidence"]),
    ("nelder-mead", &["step", "iterations"]),
    ("sobol", &[]),
    ("random", &[]),
];

#[derive(Deserialize)]
struct File {
    format: u32,
    #[serde(flatten)]
    preset: Preset,
}

impl Preset {
    /// Reads a preset.
    ///
    /// # Errors
    /// [`Error::Input`] for anything that is no preset: syntax, another format, an unknown kind or key, a parameter out
    /// of its range.
    pub fn parse(text: &str) -> Result<Self> {
        let table: toml::Table =
            toml::from_str(text).map_err(|error| Error::Input(Problem::new(error.to_string())))?;
        check_keys(&table)?;
        let file: File = table
            .try_into()
            .map_err(|error: toml::de::Error| Error::input(error.message()))?;
        if file.format != FORMAT {
            return Err(
                Error::input(format!("this preset has format {}", file.format)).next(format!(
                    "write it in format {FORMAT}, the only one this version reads"
                )),
            );
        }
        file.preset.check()?;
        Ok(file.preset)
    }

    /// The strategy.
    pub fn strategy(&self) -> Box<dyn Strategy> {
        match *self {
            Self::Bayes {
                initial,
                ref priors,
                draws,
                warp,
                trust_region,
            } => Box::new(Bayes {
                settings: Settings {
                    ensemble: Ensemble {
                        priors: priors.clone(),
                        draws,
                    },
                    warp,
                },
                initial,
                trust_region,
            }),
            Self::Coordinate {
                step,
                min_step,
                runs,
                confidence,
            } => Box::new(Coordinates {
                step,
                min_step,
                runs,
                confidence,
            }),
            Self::NelderMead { step, iterations } => Box::new(NelderMead { step, iterations }),
            Self::Sobol => Box::new(Sobol),
            Self::Random => Box::new(Random),
        }
    }

    fn check(&self) -> Result<()> {
        let positive = |key: &str, holds: bool| {
            if holds {
                Ok(())
            } else {
                Err(Error::input(format!("\"{key}\" of the preset is out of its range"))
                    .next("steps lie above 0.001 and at most at 1, the smallest not above the first; a confidence lies between 0 and 1; counts are 1 or more, draws at most 64; priors name one or more"))
            }
        };
        match *self {
            Self::Bayes {
                initial,
                ref priors,
                draws,
                ..
            } => {
                positive("initial", initial >= 1)?;
                positive("priors", !priors.is_empty())?;
                positive("draws", draws <= 64)
            }
            Self::Coordinate {
                step,
                min_step,
                runs,
                confidence,
            } => {
                positive("step", (0.001..=1.0).contains(&step))?;
                positive("min-step", min_step >= 0.001 && min_step <= step)?;
                positive("confidence", confidence > 0.0 && confidence < 1.0)?;
                positive("runs", runs >= 1)
            }
            Self::NelderMead { step, iterations } => {
                positive("step", (0.001..=1.0).contains(&step))?;
                positive("iterations", iterations >= 1)
            }
            Self::Sobol | Self::Random => Ok(()),
        }
    }
}

/// Refuses unknown kinds and keys, with the likely meaning.
fn check_keys(table: &toml::Table) -> Result<()> {
    let kinds = || KEYS.iter().map(|(kind, _)| *kind);
    let Some(kind) = table.get("kind").and_then(toml::Value::as_str) else {
        return Err(Error::input("the preset has no \"kind\"").next(format!(
            "write kind = one of {}",
            kinds().collect::<Vec<_>>().join(", ")
        )));
    };
    let Some((_, keys)) = KEYS.iter().find(|(name, _)| *name == kind) else {
        return Err(unknown("kind", kind, kinds()));
    };
    for key in table.keys() {
        if key != "format" && key != "kind" && !keys.contains(&key.as_str()) {
            return Err(unknown(
                "key",
                key,
                ["format", "kind"].into_iter().chain(keys.iter().copied()),
            ));
        }
    }
    Ok(())
}

fn unknown<'a>(what: &str, word: &str, known: impl Iterator<Item = &'a str>) -> Error {
    let known: Vec<&str> = known.collect();
    let close = known
        .iter()
        .map(|candidate| (strsim::damerau_levenshtein(candidate, word), candidate))
        .min()
        .filter(|(distance, _)| *distance <= 3);
    let next = match close {
        Some((_, candidate)) => format!("did you mean \"{candidate}\"?"),
        None => format!("known are {}", known.join(", ")),
    };
    Error::input(format!("unknown {what} \"{word}\" in the preset")).next(next)
}

/// The strategy of a preset file's text.
///
/// # Errors
/// As [`Preset::parse`].
pub fn load(text: &str) -> Result<Box<dyn Strategy>> {
    Ok(Preset::parse(text)?.strategy())
}

/// The strategy whose model answers for those that have none.
///
/// # Errors
/// None in a build whose tests passed.
pub(super) fn model() -> Result<Box<dyn Strategy>> {
    load(embedded("bayes")?)
}

/// Names of the embedded presets, sorted.
pub fn names() -> Vec<&'static str> {
    let mut names: Vec<&str> = EMBEDDED
        .files()
        .filter_map(|file| file.path().to_str()?.strip_suffix(".toml"))
        .collect();
    names.sort_unstable();
    names
}

/// The text of an embedded preset.
///
/// # Errors
/// [`Error::Input`] for a name that is none, with the likely one.
pub fn embedded(name: &str) -> Result<&'static str> {
    EMBEDDED
        .get_file(format!("{name}.toml"))
        .and_then(|file| file.contents_utf8())
        .ok_or_else(|| unknown("strategy", name, names().into_iter()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_embedded_preset_is_a_strategy() {
        assert_eq!(names(), ["bayes", "coordinate", "nelder-mead", "random", "sobol"]);
        for name in names() {
            load(embedded(name).unwrap()).unwrap();
        }
    }

    #[test]
    fn an_unknown_key_names_the_likely_one() {
        let error = Preset::parse("format = 1\nkind = \"coordinate\"\nstp = 0.2\nmin-step = 0.1\nruns = 1\n")
            .unwrap_err();
        assert_eq!(error.exit_code(), 2);
        assert!(error.to_string().contains("did you mean \"step\"?"), "{error}");
    }

    #[test]
    fn an_unknown_name_names_the_likely_one() {
        let error = embedded("baies").unwrap_err().to_string();
        assert!(error.contains("did you mean \"bayes\"?"), "{error}");
    }

    #[test]
    fn parameters_out_of_range_and_other_formats_are_refused() {
        for text in [
            "format = 1\nkind = \"nelder-mead\"\nstep = 0.0\niterations = 10\n",
            "format = 1\nkind = \"coordinate\"\nstep = nan\nmin-step = 0.1\nruns = 1\n",
            "format = 2\nkind = \"sobol\"\n",
            "format = 1\nkind = \"anneal\"\n",
            "format = 1\n",
            "kind = ",
        ] {
            assert_eq!(Preset::parse(text).unwrap_err().exit_code(), 2, "{text}");
        }
    }
}
