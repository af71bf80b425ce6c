//! The last confirmed result: what a study has proved and does not lose, whatever comes after.

use super::blame::settled;
use super::confirm::{Stand, same_effect};
use super::observe::is_hidden;
use super::verdict::{Verdict, VerdictKind};
use super::{Facts, Inputs, Job, Length, Purpose};
use crate::space::Configuration;
use crate::strategy::TrialNumber;
use crate::trial::Outcome;

/// The newest result that is confirmed, with its own interval and blocks: the space of now holds it, its interval clears the
/// threshold of now, the server was not seen to refuse its my.cnf, and no later confirmation of the same configuration spoke
/// against it. None before there is one.
pub fn last_confirmed(inputs: &Inputs<'_>, facts: &Facts) -> Option<Verdict> {
    Kept::of(inputs, &settled(inputs, facts)).map(|kept| kept.verdict)
}

/// The trial of a result that would be confirmed, newer than any that is, if the space of now held its configuration.
pub fn no_longer_held(inputs: &Inputs<'_>, facts: &Facts) -> Option<TrialNumber> {
    let facts = &*settled(inputs, facts);
    for stand in Stand::all(inputs, facts).iter().rev() {
        if Kept::from(inputs, facts, stand).is_some() {
            return None;
        }
        if !stand.holds()
            && stand.is_complete()
            && stand.best_failure().is_none()
            && Verdict::of_confirmation(inputs, facts, stand).kind == VerdictKind::Confirmed
        {
            return Some(stand.design.trial);
        }
    }
    None
}

/// A confirmed result that stands.
pub(super) struct Kept {
    pub(super) verdict: Verdict,
    /// Whether the server was seen to start with its my.cnf.
    pub(super) started: bool,
}

impl Kept {
    /// The newest; of settled facts.
    pub(super) fn of(inputs: &Inputs<'_>, facts: &Facts) -> Option<Self> {
        let mut later: Vec<Stand<'_>> = Vec::new();
        for stand in Stand::all(inputs, facts).into_iter().rev() {
            if let Some(kept) = Self::from(inputs, facts, &stand)
                && !later
                    .iter()
                    .any(|later| speaks_against(inputs, facts, later, &stand))
            {
                return Some(kept);
            }
            later.push(stand);
        }
        None
    }

    fn from(inputs: &Inputs<'_>, facts: &Facts, stand: &Stand<'_>) -> Option<Self> {
        if !stand.holds() || !stand.is_complete() || stand.best_failure().is_some() {
            return None;
        }
        let mut verdict = Verdict::of_confirmation(inputs, facts, stand);
        if verdict.kind != VerdictKind::Confirmed {
            return None;
        }
        let best = verdict.best.as_ref()?;
        let started = match start_with(facts, &best.configuration, stand.last_number()) {
            Start::Told(_, outcome) if outcome.measurement().is_some() => true,
            Start::Told(..) => return None,
            Start::Prevented(number, reason) => {
                verdict.detail = Some(format!(
                    "the server's start with this my.cnf could not be tried: trial {number}: {reason}"
                ));
                false
            }
            Start::NotTried => {
                verdict.detail =
                    Some("the server's start with this my.cnf has not been tried yet".to_owned());
                false
            }
        };
        Some(Self { verdict, started })
    }
}

/// Whether a later confirmation of the same configuration takes the earlier one's claim back: the configuration failed in it,
/// broke a constraint, or showed to gain no more than the threshold.
fn speaks_against(inputs: &Inputs<'_>, facts: &Facts, later: &Stand<'_>, earlier: &Stand<'_>) -> bool {
    let (Some(now), Some(then)) = (later.best(), earlier.best()) else {
        return false;
    };
    if !same_effect(facts, now, then) {
        return false;
    }
    if later.best_failure().is_some() {
        return true;
    }
    if !later.is_complete() {
        return false;
    }
    let verdict = Verdict::of_confirmation(inputs, facts, later);
    let shows_less = verdict
        .gain
        .is_some_and(|gain| gain.high <= 1.0 + inputs.settings.min_gain);
    verdict.kind == VerdictKind::BreaksConstraint || shows_less
}

/// What is known of the server's start with a my.cnf that is handed over.
pub(super) enum Start<'a> {
    /// A trial told.
    Told(TrialNumber, &'a Outcome),
    /// The host did not let it be tried.
    Prevented(TrialNumber, String),
    /// No trial was made, or it has not ended.
    NotTried,
}

/// What the newest trial tells of the server's start with `configuration`, made after the trial `after`.
pub(super) fn start_with<'a>(
    facts: &'a Facts,
    configuration: &Configuration,
    after: TrialNumber,
) -> Start<'a> {
    let tried = || {
        facts
            .jobs
            .iter()
            .rev()
            .filter(|fact| fact.job.purpose == Purpose::Final && fact.number > after)
            .filter(|fact| fact.job.configuration == *configuration)
            .filter_map(|fact| Some((fact.number, fact.outcome()?)))
    };
    if let Some((number, outcome)) = tried().find(|(_, outcome)| !is_hidden(outcome)) {
        return Start::Told(number, outcome);
    }
    match tried().next() {
        Some((number, outcome)) => Start::Prevented(number, outcome.reason().unwrap_or_default()),
        None => Start::NotTried,
    }
}

/// The job that starts the server with what is handed over.
pub(super) fn start_job(configuration: &Configuration) -> Job {
    Job {
        purpose: Purpose::Final,
        configuration: configuration.clone(),
        length: Length {
            warmup_cap: 0.0,
            measure_min: 0.0,
            measure_max: 0.0,
        },
        why: "the server's start with the final my.cnf".to_owned(),
        model: None,
        host: None,
        forgives: 0,
    }
}

/// What is said where a later confirmation of the same configuration was less sure of it, without speaking against it.
pub(super) const TRIED_ANEW: &str =
    "the same configuration was compared anew since, and that interval does not clear the threshold";

/// How a study ended that went on after a confirmed result, in words that follow that result's.
pub(super) fn since(kind: VerdictKind) -> &'static str {
    match kind {
        VerdictKind::Confirmed => "confirmed anew",
        VerdictKind::BaselineIsBest => "the search went on since and found nothing better",
        VerdictKind::NotConfirmed => {
            "the search went on since, and what it found then was not confirmed to be better than the baseline"
        }
        VerdictKind::NoTime => "the search went on since, and no time was left to confirm what it found then",
        VerdictKind::BestFailed => {
            "the search went on since, and what it found then failed in its confirmation"
        }
        VerdictKind::BreaksConstraint => {
            "the search went on since, and what it found then broke a constraint in its confirmation"
        }
        VerdictKind::FinalRefused => {
            "the search went on since, and the server does not start with what was confirmed then"
        }
        VerdictKind::BaselineFailed => "then the baseline did not run any more",
        VerdictKind::EveryTrialFailed => "the search went on since, and every new candidate failed",
        VerdictKind::HostProblem => "then the host could not run the trials any more",
        VerdictKind::LoadSetup => "then the load was set up wrongly",
    }
}
