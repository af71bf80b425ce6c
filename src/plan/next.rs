//! Which job comes next.

use std::collections::BTreeSet;

use super::blame::{settled, streaks};
use super::budget::{self, BASELINES};
use super::confirm::{Stand, is_baseline};
use super::design::Design;
use super::ending::{baseline_failed, confirmation_failed, forgiven, hopeless, host_problem, measured};
use super::kept::{Kept, Start, start_job, start_with};
use super::no_time::{Missing, no_time};
use super::observe::{View, known_keys, searched};
use super::patience::is_out_of_patience;
use super::present::as_of_now;
use super::verdict::{Best, Verdict, VerdictKind};
use super::{Facts, Inputs, Job, Purpose, State};
use crate::space::Configuration;
use crate::strategy::{Proposal, ProposalPurpose, Recommendation, TrialNumber};

/// Runs that each leading configuration gets when there is nothing new to try.
const RUNS_OF_LEADERS: usize = 3;
/// Proposals asked for at once when the first ones are no news.
const MANY: usize = 16;

/// What is to be done next.
#[derive(Debug, Clone, PartialEq)]
pub enum Next {
    /// Run this job.
    Job(Job),
    /// Nothing until an open job ends.
    Wait,
    /// The study is over.
    Done(Verdict),
}

/// Which job comes next: a pure function of the inputs and the facts, whichever worker asks. Open jobs count as
/// pending. The stages follow one another: baseline, start, search, confirmation in blocks, start of the final my.cnf.
pub fn next(inputs: &Inputs<'_>, facts: &Facts) -> Next {
    let facts = &*settled(inputs, facts);
    let forgiven = forgiven(inputs, facts);
    let next = match stage(inputs, facts, forgiven) {
        Next::Done(verdict) => end(inputs, facts, verdict),
        next => next,
    };
    match next {
        Next::Job(job) => Next::Job(Job {
            forgives: forgiven,
            ..job
        }),
        next => next,
    }
}

/// The end of a study: what it confirmed before stays its claim, where the end itself confirms nothing.
fn end(inputs: &Inputs<'_>, facts: &Facts, verdict: Verdict) -> Next {
    if verdict.confirmed() {
        return Next::Done(verdict);
    }
    let Some(kept) = Kept::of(inputs, facts) else {
        return Next::Done(verdict);
    };
    match &kept.verdict.best {
        // The search went on before the server was started with it.
        Some(best) if !kept.started && !verdict.is_failure() => Next::Job(start_job(&best.configuration)),
        _ => Next::Done(verdict.keeping(kept.verdict)),
    }
}

fn stage(inputs: &Inputs<'_>, facts: &Facts, forgiven: TrialNumber) -> Next {
    if let Some((kind, number, problem)) = host_problem(inputs, &facts.jobs, forgiven) {
        return done(inputs, facts, kind, format!("trial {number}: {problem}"));
    }
    if let Some(next) = probe(inputs, facts, forgiven) {
        return next;
    }
    if let Some(stand) = Stand::of(inputs, facts).filter(Stand::is_current) {
        return confirmation(inputs, facts, &stand, forgiven);
    }
    if let Some(next) = baseline(inputs, facts, forgiven) {
        return next;
    }
    if hopeless(&facts.jobs, forgiven) {
        let detail = "the same failure again and again, and nothing measured: stopped early".to_owned();
        return done(inputs, facts, VerdictKind::EveryTrialFailed, detail);
    }
    let fits = budget::search_fits(inputs, facts);
    if fits && let Some(job) = start(inputs, facts) {
        return Next::Job(job);
    }
    let view = View::new(inputs, facts);
    if fits
        && !is_out_of_patience(inputs, facts, &view)
        && let Some(job) = explore(inputs, facts, &view)
    {
        return Next::Job(job);
    }
    if any_open(facts) {
        return Next::Wait;
    }
    begin_confirmation(inputs, facts, &view, fits)
}

fn done(inputs: &Inputs<'_>, facts: &Facts, kind: VerdictKind, detail: impl Into<Option<String>>) -> Next {
    Next::Done(Verdict::new(inputs, facts, kind, detail.into()))
}

fn any_open(facts: &Facts) -> bool {
    facts.jobs.iter().any(|fact| fact.state == State::Open)
}

fn search_job(inputs: &Inputs<'_>, purpose: Purpose, configuration: Configuration, why: String) -> Job {
    Job {
        purpose,
        configuration,
        length: inputs.settings.length,
        why,
        model: None,
        host: None,
        forgives: 0,
    }
}

/// One run of the baseline where the host failed again and again with one configuration: it tells whose fault that is.
fn probe(inputs: &Inputs<'_>, facts: &Facts, forgiven: TrialNumber) -> Option<Next> {
    let streaks = streaks(inputs, &facts.jobs);
    let suspect = streaks.iter().find(|streak| {
        streak.is_suspect()
            && streak.faults.iter().all(|fault| fault.number > forgiven)
            && streak.probe.is_none_or(|probe| probe.state == State::Open)
    })?;
    if suspect.probe.is_some() {
        return Some(Next::Wait);
    }
    let trials: Vec<_> = suspect.faults.iter().map(|fault| fault.number).collect();
    let why = format!(
        "the host failed in the trials {} with one configuration: does it fail with the baseline, too?",
        words(&trials)
    );
    let job = search_job(inputs, Purpose::Baseline, inputs.baseline.clone(), why);
    Some(Next::Job(job))
}

fn words(trials: &[TrialNumber]) -> String {
    let words: Vec<String> = trials.iter().map(u64::to_string).collect();
    words.join(" and ")
}

/// The baseline until it was measured three times; none when that is so.
fn baseline(inputs: &Inputs<'_>, facts: &Facts, forgiven: TrialNumber) -> Option<Next> {
    let measured = measured(&facts.jobs);
    if measured >= BASELINES {
        return None;
    }
    if let Some(detail) = baseline_failed(&facts.jobs, forgiven) {
        return Some(done(inputs, facts, VerdictKind::BaselineFailed, detail));
    }
    let runs = || {
        facts
            .jobs
            .iter()
            .filter(|fact| fact.job.purpose == Purpose::Baseline)
    };
    let open = runs().filter(|fact| fact.state == State::Open).count();
    if measured + open >= BASELINES {
        return Some(Next::Wait);
    }
    let why = format!(
        "the configuration to beat, run {} of {BASELINES}",
        measured + open + 1
    );
    Some(Next::Job(search_job(
        inputs,
        Purpose::Baseline,
        inputs.baseline.clone(),
        why,
    )))
}

/// The first of the rule of thumb and the user's candidates that has not run yet.
fn start(inputs: &Inputs<'_>, facts: &Facts) -> Option<Job> {
    let known = known_keys(facts);
    // Known trials are told as configurations of the space of now.
    let is_known = |configuration: &Configuration| {
        let now = as_of_now(inputs, &facts.past.gone, configuration);
        known.contains(&configuration.key()) || now.is_ok_and(|now| known.contains(&now.key()))
    };
    let rule = inputs
        .rule_of_thumb
        .map(|rule| (rule, "the rule of thumb of the machine class".to_owned()));
    let own = inputs
        .candidates
        .iter()
        .enumerate()
        .map(|(i, c)| (c, format!("your candidate {}", i + 1)));
    rule.into_iter()
        .chain(own)
        .find(|(configuration, _)| !is_known(configuration))
        .map(|(configuration, why)| search_job(inputs, Purpose::Start, configuration.clone(), why))
}

/// The strategy's next proposal that is news; with nothing new left, a labelled repeat of the leader until it ran
/// often enough.
fn explore(inputs: &Inputs<'_>, facts: &Facts, view: &View) -> Option<Job> {
    let known = known_keys(facts);
    let is_news = |proposal: &Proposal| match proposal.purpose {
        ProposalPurpose::Explore => !known.contains(&proposal.configuration.key()),
        ProposalPurpose::Repeat { .. } => true,
    };
    let search = view.search(inputs);
    let found = [1, MANY]
        .into_iter()
        .find_map(|n| inputs.strategy.propose(&search, n).into_iter().find(is_news));
    if let Some(proposal) = found {
        let purpose = match proposal.purpose {
            ProposalPurpose::Explore => Purpose::Explore,
            ProposalPurpose::Repeat { of } => Purpose::Repeat { of },
        };
        let job = search_job(inputs, purpose, proposal.configuration, proposal.why);
        return Some(Job {
            model: proposal.model,
            ..job
        });
    }
    let leader = inputs.strategy.recommend(&search)?;
    let runs = view
        .observations
        .iter()
        .filter(|seen| seen.configuration == leader.configuration)
        .count()
        + view
            .pending
            .iter()
            .filter(|pending| **pending == leader.configuration)
            .count();
    (runs < RUNS_OF_LEADERS).then(|| {
        let why = format!(
            "nothing new is left to try: the leader once more, run {}",
            runs + 1
        );
        search_job(
            inputs,
            Purpose::Repeat { of: leader.trial },
            leader.configuration,
            why,
        )
    })
}

/// The confirmation, or why there is none. `fits`: whether there was time for one more trial of the search.
fn begin_confirmation(inputs: &Inputs<'_>, facts: &Facts, view: &View, fits: bool) -> Next {
    let mut candidates = searched(facts)
        .filter(|(fact, _)| fact.job.purpose != Purpose::Baseline)
        .peekable();
    if candidates.peek().is_none() {
        return if fits {
            let detail = "the space holds no other configuration".to_owned();
            done(inputs, facts, VerdictKind::BaselineIsBest, detail)
        } else {
            let detail = no_time(inputs, facts, Missing::Candidate);
            done(inputs, facts, VerdictKind::NoTime, detail)
        };
    }
    if candidates.all(|(_, outcome)| outcome.measurement().is_none()) {
        return done(inputs, facts, VerdictKind::EveryTrialFailed, None);
    }
    let Some(best) = recommendation(inputs, view) else {
        return done(
            inputs,
            facts,
            VerdictKind::BaselineIsBest,
            "no candidate keeps the constraints".to_owned(),
        );
    };
    if is_baseline(inputs, facts, &best.configuration) {
        return done(inputs, facts, VerdictKind::BaselineIsBest, tried(facts));
    }
    match Design::plan(inputs, facts, &best) {
        Some(design) => first_run(inputs, facts, &design),
        None => {
            let detail = no_time(inputs, facts, Missing::Confirmation);
            let mut verdict = Verdict::new(inputs, facts, VerdictKind::NoTime, Some(detail));
            verdict.best = Some(Best {
                trial: best.trial,
                configuration: best.configuration,
            });
            Next::Done(verdict)
        }
    }
}

/// How many configurations were put to the baseline: the best of few is not the best there is.
fn tried(facts: &Facts) -> String {
    let others: BTreeSet<String> = searched(facts)
        .filter(|(fact, outcome)| fact.job.purpose != Purpose::Baseline && outcome.measurement().is_some())
        .map(|(fact, _)| fact.job.configuration.key())
        .collect();
    match others.len() {
        1 => "1 other configuration was measured".to_owned(),
        n => format!("{n} other configurations were measured"),
    }
}

/// The strategy's recommendation, where the trial that ran it keeps the constraints.
fn recommendation(inputs: &Inputs<'_>, view: &View) -> Option<Recommendation> {
    use crate::strategy::Seen;
    let best = inputs.strategy.recommend(&view.search(inputs))?;
    view.observations
        .iter()
        .any(|seen| {
            seen.configuration == best.configuration
                && matches!(seen.seen, Seen::Measured { feasible: true, .. })
        })
        .then_some(best)
}

fn first_run(inputs: &Inputs<'_>, facts: &Facts, design: &Design) -> Next {
    match Stand::new(design.clone()).next_run(inputs, !any_open(facts)) {
        Some(job) => Next::Job(job),
        None => Next::Wait,
    }
}

fn confirmation(inputs: &Inputs<'_>, facts: &Facts, stand: &Stand<'_>, forgiven: TrialNumber) -> Next {
    let open = any_open(facts);
    if let Some((number, reason)) = stand.best_failure() {
        if open {
            return Next::Wait;
        }
        return fall_back(inputs, facts, format!("trial {number}: {reason}"));
    }
    if confirmation_failed(&facts.jobs, forgiven) {
        let detail = "the baseline ran before, but failed again and again in the confirmation".to_owned();
        return done(inputs, facts, VerdictKind::BaselineFailed, detail);
    }
    if let Some(job) = stand.next_run(inputs, !open) {
        return Next::Job(job);
    }
    if open {
        return Next::Wait;
    }
    final_start(inputs, facts, stand)
}

/// The next best, confirmed anew where time allows.
fn fall_back(inputs: &Inputs<'_>, facts: &Facts, reason: String) -> Next {
    let view = View::new(inputs, facts);
    let design = recommendation(inputs, &view)
        .filter(|best| !is_baseline(inputs, facts, &best.configuration))
        .and_then(|best| Design::plan(inputs, facts, &best));
    match design {
        Some(design) => first_run(inputs, facts, &design),
        None => done(inputs, facts, VerdictKind::BestFailed, reason),
    }
}

/// The server's start with what is handed over, then the verdict.
fn final_start(inputs: &Inputs<'_>, facts: &Facts, stand: &Stand<'_>) -> Next {
    let mut verdict = Verdict::of_confirmation(inputs, facts, stand);
    let Some(best) = &verdict.best else {
        return Next::Done(verdict);
    };
    match start_with(facts, &best.configuration, stand.last_number()) {
        Start::Told(_, outcome) if outcome.measurement().is_some() => Next::Done(verdict),
        Start::Told(number, outcome) => {
            verdict.kind = VerdictKind::FinalRefused;
            verdict.best = None;
            verdict.detail = Some(format!(
                "trial {number}: {}",
                outcome.reason().unwrap_or_default()
            ));
            Next::Done(verdict)
        }
        Start::Prevented(..) | Start::NotTried => Next::Job(start_job(&best.configuration)),
    }
}
