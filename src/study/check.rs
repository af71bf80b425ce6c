//! Whether the values of a study file go together.

use super::document::nearest;
use super::file::FORMAT;
use super::{Document, Objective, Patience, Study, Time};
use crate::error::{Error, Result};

/// Names that exist outside the study file.
#[derive(Debug, Clone, Copy)]
pub struct Known<'a> {
    /// Families of the spaces.
    pub families: &'a [&'a str],
    /// Names of the strategy presets.
    pub presets: &'a [&'a str],
    /// Metrics that a trial of this workload measures.
    pub metrics: &'a [&'a str],
}

/// Whether a family, a machine class or a strategy is named by a path rather than by its name.
pub fn names_a_file(name: &str) -> bool {
    name.contains('/') || name.ends_with(".toml")
}

impl Study {
    /// What can be judged from the file alone.
    pub(super) fn check(&self, document: &Document<'_>) -> Result<()> {
        if self.format != FORMAT {
            return Err(document.problem(
                &["format"],
                format!(
                    "study file of format {}, this version reads format {FORMAT}",
                    self.format
                ),
                if self.format > FORMAT {
                    "use a newer noctune"
                } else {
                    "write format = 1"
                },
            ));
        }
        self.check_name(document)?;
        let measure = self.trial.measure;
        if measure.min > measure.max {
            return Err(document.problem(
                &["trial", "measure", "min"],
                format!(
                    "measure.min ({}) is longer than measure.max ({})",
                    measure.min, measure.max
                ),
                "exchange them",
            ));
        }
        if measure.min < Time::seconds(1) {
            return Err(document.problem(
                &["trial", "measure", "min"],
                format!("a window of {} measures nothing", measure.min),
                "measure for at least 1s; 20s and more tell something",
            ));
        }
        if self.workload.threads == 0 {
            return Err(document.problem(&["workload", "threads"], "no client threads", "write at least 1"));
        }
        self.check_shares(document)?;
        self.check_objective(document)
    }

    fn check_name(&self, document: &Document<'_>) -> Result<()> {
        let name = &self.study.name;
        let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if name.is_empty() || name.starts_with('.') || !name.chars().all(legal) {
            return Err(document.problem(
                &["study", "name"],
                format!("\"{name}\" cannot be the name of a study: it becomes the name of a folder"),
                "use letters, digits, - and _",
            ));
        }
        Ok(())
    }

    fn check_shares(&self, document: &Document<'_>) -> Result<()> {
        let confirm = &self.confirm;
        for (key, value, most) in [
            ("reserve", confirm.reserve, 0.9),
            ("min_gain", confirm.min_gain, 10.0),
            ("tolerance", confirm.tolerance, 1.0),
        ] {
            if !(0.0..=most).contains(&value) {
                return Err(document.problem(
                    &["confirm", key],
                    format!("confirm.{key} = {value} is no share between 0 and {most}"),
                    "write 0.25 for 25 %",
                ));
            }
        }
        if let Patience::On(rule) = self.budget.patience
            && !(rule.gain >= 0.0 && rule.gain.is_finite())
        {
            return Err(document.problem(
                &["budget", "patience", "gain"],
                format!("budget.patience.gain = {} is no share", rule.gain),
                "write 0.01 for 1 %, or patience = false",
            ));
        }
        Ok(())
    }

    fn check_objective(&self, document: &Document<'_>) -> Result<()> {
        let (first, more) = match self.objective.as_slice() {
            [] => {
                return Err(document.problem(
                    &["objective"],
                    "no objective: nothing says what is better",
                    "write [[objective]] with metric = \"tps\" and goal = \"maximize\"",
                ));
            }
            [first, more @ ..] => (first, more),
        };
        if !more.is_empty() {
            return Err(document.problem(
                &["objective", "1"],
                "this version tunes for one objective",
                "keep the one that matters most, and make the others [[constraint]]s",
            ));
        }
        Objective::new(first, &[])
            .map_err(|error| error.at(document.place(&["objective", "0", "metric"])))?;
        for (index, constraint) in self.constraint.iter().enumerate() {
            Objective::new(first, std::slice::from_ref(constraint))
                .map_err(|error| error.at(document.place(&["constraint", &index.to_string(), "require"])))?;
        }
        Ok(())
    }

    /// Whether families, preset and metrics exist. `text` and `file_name` as given to [`Study::parse`].
    ///
    /// # Errors
    /// The first name that does not exist, with its place and the name that was probably meant.
    pub fn check_names(&self, text: &str, file_name: &str, known: &Known<'_>) -> Result<()> {
        let document = Document::new(text, file_name);
        for (index, family) in self.space.families.iter().enumerate() {
            if !names_a_file(family) && !known.families.contains(&family.as_str()) {
                let path = ["space", "families", &index.to_string()];
                return Err(unknown(&document, &path, "family", family, known.families));
            }
        }
        let preset = &self.strategy.preset;
        if !names_a_file(preset) && !known.presets.contains(&preset.as_str()) {
            return Err(unknown(
                &document,
                &["strategy", "preset"],
                "strategy",
                preset,
                known.presets,
            ));
        }
        for metric in self.objective()?.metrics() {
            if !known.metrics.contains(&metric.as_str()) {
                return Err(unknown(
                    &document,
                    &["objective", "0", "metric"],
                    "metric",
                    &metric,
                    known.metrics,
                ));
            }
        }
        Ok(())
    }

    /// The objective with its constraints, ready to judge measurements.
    ///
    /// # Errors
    /// Never for a study that was parsed; otherwise as [`Objective::new`].
    pub fn objective(&self) -> Result<Objective> {
        let first = self
            .objective
            .first()
            .ok_or_else(|| Error::input("no objective"))?;
        Objective::new(first, &self.constraint)
    }
}

fn unknown(document: &Document<'_>, path: &[&str], what: &str, name: &str, known: &[&str]) -> Error {
    let next = match nearest(name, known.iter().copied()) {
        Some(meant) => format!("did you mean \"{meant}\"?"),
        None => format!("choose one of {}", known.join(", ")),
    };
    document.problem(path, format!("unknown {what} \"{name}\""), next)
}
