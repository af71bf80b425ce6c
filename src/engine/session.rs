//! A session: what was asked, what was told, what comes next.

use serde_json::{Value as Json, json};

use super::reply;
use super::request::{Envelope, OPERATIONS, Outcome, Request, Told, configuration};
use crate::space::{Configuration, Space};
use crate::strategy::{Observation, Proposal, ProposalPurpose, Search, Seen, Strategy, TrialNumber};
use crate::study::{Metrics, Objective};

/// Version of the protocol: operations and keys may be added to it, never changed.
pub const PROTOCOL: u32 = 1;

/// What a session needs.
pub struct Setup {
    /// What may be tuned.
    pub space: Space,
    /// How to search.
    pub strategy: Box<dyn Strategy>,
    /// Which metric counts, which way, and what has to hold.
    pub objective: Objective,
    /// Decides every random choice.
    pub seed: u64,
}

/// A search in the hands of another program.
pub struct Session {
    setup: Setup,
    trials: Vec<Trial>,
}

/// A trial; its id is its place, from 1.
struct Trial {
    configuration: Configuration,
    model: Option<Json>,
    state: State,
}

enum State {
    /// Proposed, not told yet.
    Pending,
    /// What came of it.
    Told(Seen),
    /// Given up.
    Dropped,
}

impl Session {
    /// A session that knows nothing yet.
    pub fn new(setup: Setup) -> Self {
        Self {
            setup,
            trials: Vec::new(),
        }
    }

    /// The reply to one line. A line that is no request gets `{"error": ...}` and changes nothing.
    pub fn reply(&mut self, line: &str) -> Json {
        let Envelope { seq, request } = Envelope::read(line);
        let mut reply = match request.and_then(|request| self.answer(request)) {
            Ok(reply) => reply,
            Err(problem) => json!({ "error": problem }),
        };
        if let Some(seq) = seq {
            reply["seq"] = seq;
        }
        reply
    }

    fn answer(&mut self, request: Request) -> Result<Json, String> {
        match request {
            Request::Hello => Ok(json!({ "protocol": PROTOCOL, "capabilities": OPERATIONS })),
            Request::Ask(n) => Ok(self.ask(n)),
            Request::Tell(id, told) => self.tell(id, &told),
            Request::Add(told) => self.add(&told),
            Request::Drop(id) => {
                self.pending(id)?.state = State::Dropped;
                Ok(json!({ "ok": true }))
            }
            Request::Recommend => self.recommend(),
            Request::Importance => {
                let importance = self.searching(|search, strategy| strategy.importance(search));
                Ok(reply::importance(&self.setup.space, &importance))
            }
        }
    }

    fn ask(&mut self, n: usize) -> Json {
        let mut asked = Vec::new();
        if let Some(first) = self.first() {
            asked.push(self.take(first));
        }
        let proposals = self.searching(|search, strategy| strategy.propose(search, n - asked.len()));
        asked.extend(proposals.into_iter().map(|proposal| self.take(proposal)));
        if asked.is_empty() {
            json!({ "trials": asked, "exhausted": true })
        } else {
            json!({ "trials": asked })
        }
    }

    /// The default configuration, as long as nothing was tried and the space has one that may run.
    fn first(&self) -> Option<Proposal> {
        let space = &self.setup.space;
        let has_default = space.knobs().iter().any(|knob| knob.default.is_some());
        if !self.trials.is_empty() || !has_default {
            return None;
        }
        let configuration = space.default_configuration();
        space.permits(&space.snap(&configuration)).ok()?;
        Some(Proposal {
            configuration,
            purpose: ProposalPurpose::Explore,
            why: "the default configuration".to_owned(),
            model: None,
        })
    }

    /// Makes a proposal a pending trial.
    fn take(&mut self, proposal: Proposal) -> Json {
        let id = self.trials.len() as TrialNumber + 1;
        let reply = reply::trial(id, &proposal.configuration, proposal.purpose, &proposal.why);
        self.trials.push(Trial {
            configuration: proposal.configuration,
            model: proposal.model,
            state: State::Pending,
        });
        reply
    }

    fn tell(&mut self, id: TrialNumber, told: &Told) -> Result<Json, String> {
        self.pending(id)?;
        let seen = self.seen(told)?;
        let effective = told
            .config
            .as_ref()
            .map(|fields| configuration(&self.setup.space, fields))
            .transpose()?;
        // A host fault says nothing of the candidate: it stays pending, to be told again.
        if let Some(seen) = seen {
            let trial = self.pending(id)?;
            trial.state = State::Told(seen);
            if let Some(effective) = effective {
                trial.configuration = effective;
            }
        }
        Ok(json!({ "ok": true }))
    }

    fn add(&mut self, told: &Told) -> Result<Json, String> {
        let fields = told.config.as_ref().ok_or("add: \"config\" is missing")?;
        let configuration = configuration(&self.setup.space, fields)?;
        let seen = self
            .seen(told)?
            .ok_or("add: a trial that the host spoiled says nothing; leave it out")?;
        self.trials.push(Trial {
            configuration,
            model: None,
            state: State::Told(seen),
        });
        Ok(json!({ "id": self.trials.len() }))
    }

    fn recommend(&self) -> Result<Json, String> {
        self.searching(|search, strategy| strategy.recommend(search))
            .map(|recommendation| reply::recommendation(&recommendation))
            .ok_or_else(|| "nothing was measured yet that may be recommended".to_owned())
    }

    /// The trial `id`, where it is pending.
    fn pending(&mut self, id: TrialNumber) -> Result<&mut Trial, String> {
        let known = self.trials.len();
        let trial = usize::try_from(id)
            .ok()
            .and_then(|id| id.checked_sub(1))
            .and_then(|place| self.trials.get_mut(place))
            .ok_or_else(|| format!("there is no trial {id}; {known} are known, from 1"))?;
        match trial.state {
            State::Pending => Ok(trial),
            State::Told(_) => Err(format!("trial {id} was told already")),
            State::Dropped => Err(format!("trial {id} was given up")),
        }
    }

    /// What was told, as a strategy sees it; none for a host fault.
    fn seen(&self, told: &Told) -> Result<Option<Seen>, String> {
        match told.outcome {
            Outcome::HostFault => Ok(None),
            Outcome::Measured => self.measured(told).map(Some),
            Outcome::Rejected
            | Outcome::Refused
            | Outcome::Crashed
            | Outcome::OutOfMemory
            | Outcome::TimedOut => Ok(Some(Seen::Failed)),
        }
    }

    fn measured(&self, told: &Told) -> Result<Seen, String> {
        let objective = &self.setup.objective;
        let mut metrics: Metrics = told.values.clone();
        metrics.extend(told.value.map(|value| (objective.name().to_owned(), value)));
        let value = objective.value_of(&metrics).ok_or_else(|| {
            format!(
                "a measured trial needs \"value\", or \"values\" with {}",
                objective.name()
            )
        })?;
        let variance = told
            .variance
            .or_else(|| told.variances.get(objective.name()).copied());
        if let Some(variance) = variance.filter(|variance| *variance < 0.0) {
            return Err(format!("a variance is not negative: {variance}"));
        }
        Ok(Seen::Measured {
            value,
            variance,
            feasible: objective.broken(&metrics, &Metrics::new()).is_none(),
        })
    }

    /// Runs the strategy over what is known now.
    fn searching<T>(&self, run: impl FnOnce(&Search<'_>, &dyn Strategy) -> T) -> T {
        let mut observations = Vec::new();
        let mut pending = Vec::new();
        for (number, trial) in (1..).zip(&self.trials) {
            match trial.state {
                State::Pending => pending.push(trial.configuration.clone()),
                State::Told(seen) => observations.push(Observation {
                    trial: number,
                    configuration: trial.configuration.clone(),
                    seen,
                    model: trial.model.clone(),
                }),
                State::Dropped => {}
            }
        }
        let search = Search {
            space: &self.setup.space,
            goal: self.setup.objective.goal(),
            observations: &observations,
            pending: &pending,
            seed: self.setup.seed,
        };
        run(&search, self.setup.strategy.as_ref())
    }
}
