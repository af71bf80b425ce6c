//! Earlier trials as the space of now sees them: a knob that joined it has the baseline's value, one that left it is dropped
//! where it had the baseline's value, and what the space does not hold any more is left out.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use super::blame::settled;
use super::facts::Past;
use super::observe::is_search;
use super::{Arm, Fact, Facts, Inputs, Job, Purpose, State};
use crate::space::{Breach, Configuration, Knob, Value, Writes};
use crate::strategy::TrialNumber;

/// Trials of the search that the space of now does not hold, by cause.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// Why.
    pub why: String,
    /// The trials, ascending.
    pub trials: Vec<TrialNumber>,
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let trials: Vec<String> = self.trials.iter().map(u64::to_string).collect();
        let (count, what) = match trials.len() {
            1 => (1, "trial is"),
            n => (n, "trials are"),
        };
        write!(
            f,
            "{count} earlier {what} left out of the search: {} ({})",
            self.why,
            trials.join(", ")
        )
    }
}

/// The trials that are left out since the space changed, by cause; empty where the space holds them all.
pub fn left_out(inputs: &Inputs<'_>, facts: &Facts) -> Vec<LeftOut> {
    settled(inputs, facts).left_out()
}

impl Facts {
    /// The trials that are left out, by cause: of settled facts.
    pub fn left_out(&self) -> Vec<LeftOut> {
        let mut all: Vec<LeftOut> = Vec::new();
        for (number, why) in &self.past.left_out {
            match all.iter_mut().find(|known| known.why == *why) {
                Some(known) => known.trials.push(*number),
                None => all.push(LeftOut {
                    why: why.clone(),
                    trials: vec![*number],
                }),
            }
        }
        all
    }
}

/// A job that was begun and is taken over, as a job of the space of now; as it was where that cannot be said: its check
/// then rejects it.
pub fn taken_over(inputs: &Inputs<'_>, facts: &Facts, job: Job) -> Job {
    let configuration = as_of_now(inputs, &gone(inputs, facts), &job.configuration);
    Job {
        configuration: configuration.unwrap_or_else(|_| job.configuration.clone()),
        ..job
    }
}

/// The facts as the space of now sees them.
pub(super) fn present<'a>(inputs: &Inputs<'_>, facts: &'a Facts) -> Cow<'a, Facts> {
    let mut past = Past {
        gone: gone(inputs, facts),
        left_out: BTreeMap::new(),
    };
    let mut now = Cow::Borrowed(facts);
    for (index, fact) in facts.jobs.iter().enumerate() {
        if let Purpose::Repeat { of } = fact.job.purpose
            && let Some(why) = past.left_out.get(&of).cloned()
        {
            past.left_out.insert(fact.number, why);
            continue;
        }
        match seen(inputs, &past.gone, fact) {
            Ok(seen) if seen.is_of(fact) => {}
            Ok(seen) => seen.put(&mut now.to_mut().jobs[index]),
            Err(why) if is_search(fact.job.purpose) => {
                past.left_out.insert(fact.number, why);
            }
            // What a confirmation is worth its arms tell.
            Err(_) => {}
        }
    }
    if past != facts.past {
        now.to_mut().past = past;
    }
    now
}

/// The baseline's values of every knob that ran with it and is not of the space of now.
fn gone(inputs: &Inputs<'_>, facts: &Facts) -> BTreeMap<String, Vec<Value>> {
    let mut gone = facts.past.gone.clone();
    let of_baseline = |purpose| {
        purpose == Purpose::Baseline
            || matches!(
                purpose,
                Purpose::Pair {
                    arm: Arm::Baseline,
                    ..
                }
            )
    };
    for fact in facts.jobs.iter().filter(|fact| of_baseline(fact.job.purpose)) {
        for configuration in [&fact.job.configuration, fact.configuration()] {
            for (name, value) in configuration.iter() {
                if inputs.space.knob(name).is_some() {
                    continue;
                }
                let values = gone.entry(name.to_owned()).or_default();
                if !values.contains(value) {
                    values.push(value.clone());
                }
            }
        }
    }
    gone
}

/// What a trial was asked for and ran with, in the space of now.
struct Seen {
    asked: Configuration,
    effective: Option<Configuration>,
}

impl Seen {
    fn is_of(&self, fact: &Fact) -> bool {
        self.asked == fact.job.configuration && self.effective.as_ref() == effective(fact)
    }

    fn put(self, fact: &mut Fact) {
        fact.job.configuration = self.asked;
        if let State::Ended { effective, .. } = &mut fact.state {
            *effective = self.effective;
        }
    }
}

fn effective(fact: &Fact) -> Option<&Configuration> {
    match &fact.state {
        State::Open => None,
        State::Ended { effective, .. } => effective.as_ref(),
    }
}

fn seen(inputs: &Inputs<'_>, gone: &BTreeMap<String, Vec<Value>>, fact: &Fact) -> Result<Seen, String> {
    let mut seen = Seen {
        asked: fact.job.configuration.clone(),
        effective: effective(fact).cloned(),
    };
    let mut all: Vec<&mut Configuration> = std::iter::once(&mut seen.asked)
        .chain(seen.effective.as_mut())
        .collect();
    drop_gone(inputs, gone, &mut all)?;
    for configuration in all {
        complete(inputs, configuration)?;
    }
    // What failed is still known to fail, and the baseline is what it is.
    let is_measured = fact
        .outcome()
        .is_some_and(|outcome| outcome.measurement().is_some());
    // A repeat runs what the server made of what was asked for first.
    if is_measured && matches!(fact.job.purpose, Purpose::Start | Purpose::Explore) {
        permitted(inputs, &seen.asked)?;
    }
    Ok(seen)
}

/// `configuration` with the knobs of the space of now. Whether that permits it is not looked at.
///
/// # Errors
/// Why it cannot be told so.
pub(super) fn as_of_now(
    inputs: &Inputs<'_>,
    gone: &BTreeMap<String, Vec<Value>>,
    configuration: &Configuration,
) -> Result<Configuration, String> {
    let mut now = configuration.clone();
    drop_gone(inputs, gone, &mut [&mut now])?;
    complete(inputs, &mut now)?;
    Ok(now)
}

/// Drops knobs that are not of the space of now, where one of the forms of a configuration has the baseline's value of it.
fn drop_gone(
    inputs: &Inputs<'_>,
    gone: &BTreeMap<String, Vec<Value>>,
    forms: &mut [&mut Configuration],
) -> Result<(), String> {
    let mut names: Vec<String> = forms
        .iter()
        .flat_map(|form| form.iter().map(|(name, _)| name.to_owned()))
        .filter(|name| inputs.space.knob(name).is_none())
        .collect();
    names.sort();
    names.dedup();
    for name in names {
        let at_baseline = forms.iter().filter_map(|form| form.get(&name)).any(|value| {
            gone.get(&name)
                .is_some_and(|of| of.iter().any(|of| same(of, value)))
        });
        if !at_baseline {
            return Err(format!(
                "{name} was taken out of the space, and they ran with another value of it than the baseline's"
            ));
        }
        for form in forms.iter_mut() {
            form.remove(&name);
        }
    }
    Ok(())
}

fn same(a: &Value, b: &Value) -> bool {
    a == b || matches!((a.as_f64(), b.as_f64()), (Some(a), Some(b)) if a == b)
}

/// Gives active knobs without a value the baseline's: knobs that joined the space after the trial, which therefore ran as
/// in the baseline. Not where such a knob computes what it writes from another that was not at the baseline.
fn complete(inputs: &Inputs<'_>, configuration: &mut Configuration) -> Result<(), String> {
    for (index, knob) in inputs.space.knobs().iter().enumerate() {
        if configuration.get(&knob.name).is_none()
            && let Some(value) = inputs.baseline.get(&knob.name)
            && inputs.space.is_active(index, configuration)
        {
            if let Some(other) = moved(inputs, knob, configuration) {
                return Err(format!(
                    "{} came in and computes what it writes from {other}, and they ran with another value of that than the \
                     baseline's",
                    knob.name
                ));
            }
            configuration.set(knob.name.clone(), value.clone());
        }
    }
    Ok(())
}

/// A knob that `knob` computes what it writes from, and that does not stand at the baseline.
fn moved<'a>(inputs: &Inputs<'a>, knob: &Knob, configuration: &Configuration) -> Option<&'a str> {
    let Writes::Expressions(expressions) = &knob.writes else {
        return None;
    };
    expressions
        .values()
        .flat_map(|expression| expression.names())
        .filter_map(|name| inputs.space.knob(name.name))
        .map(|other| other.name.as_str())
        .find(|other| {
            configuration
                .get(other)
                .is_some_and(|value| inputs.baseline.get(other).is_none_or(|of| !same(of, value)))
        })
}

/// Whether the space of now permits a configuration; the baseline always, and candidates of the user's whatever the bounds.
fn permitted(inputs: &Inputs<'_>, configuration: &Configuration) -> Result<(), String> {
    if configuration == inputs.baseline {
        return Ok(());
    }
    let permitted = if inputs.candidates.contains(configuration) {
        inputs.space.can_run(configuration)
    } else {
        inputs.space.permits(configuration)
    };
    permitted.map_err(|breach| why(&breach))
}

/// Words that are the same for every trial that is left out for the same cause.
fn why(breach: &Breach) -> String {
    let knob = breach.detail.split_whitespace().next().unwrap_or_default();
    match breach.constraint.as_str() {
        "bounds" | "steps" | "condition" => {
            format!("{knob} has other bounds, choices or conditions now, and they ran outside of them")
        }
        constraint => format!("they break what the space now requires ({constraint})"),
    }
}
