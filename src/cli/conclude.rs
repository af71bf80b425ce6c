//! What follows a verdict: the recommendation, the user's command, what is printed. Whatever fails here, the verdict is
//! told.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::session::Session;
use super::tune::ended;
use super::{Global, output};
use crate::error::{Error, Problem, Result};
use crate::handover::{Recommendation, hand_over, hand_over_nothing};
use crate::host::{Child, Exit, Spawn};
use crate::night::Event;
use crate::plan::{Verdict, VerdictKind};
use crate::server::remove_data;
use crate::setup::{Frozen, StudySource};
use crate::store::Store;

/// How long the user's command at the end may take.
const FINISH: Duration = Duration::from_secs(600);

/// A study that has its verdict.
pub(super) struct Concluded<'a> {
    pub(super) session: &'a Session,
    pub(super) store: &'a dyn Store,
    pub(super) source: &'a StudySource,
    pub(super) frozen: &'a Frozen,
    /// The objective in words.
    pub(super) metric: &'a str,
}

impl Concluded<'_> {
    /// Hands over what the verdict recommends, tells the end, and runs the user's command. Why the recommendation could
    /// not be handed over, where it could not.
    pub(super) async fn conclude(&self, verdict: &Verdict) -> Option<Error> {
        let folder = &self.session.folder;
        // First, since it is what a full disk needs.
        if let Err(error) = remove_data(&folder.data()) {
            self.warn(error.to_string());
        }
        let (written, failure) = match self.hand_over(verdict).await {
            Ok(written) => (written, None),
            Err(error @ Error::Host(_)) => (
                false,
                Some(error.next(
                    "the study itself is done and stored: mend that place and run the same command again, which writes \
                     what is recommended and measures nothing",
                )),
            ),
            Err(error) => (false, Some(error)),
        };
        if let Some(error) = &failure {
            self.warn(format!("the recommendation is not handed over: {error}"));
        }
        self.session.events.send(&Event::StudyEnded {
            verdict: verdict.line(),
            details: verdict.details(),
            my_cnf: written.then(|| folder.my_cnf().display().to_string()),
        });
        let code = exit(verdict, failure.as_ref());
        if let Err(error) = self.finish(verdict, code).await {
            self.warn(error.to_string());
        }
        failure
    }

    /// Runs the user's command at the end, and waits for it until the user wants to stop; its failure is told and changes
    /// nothing.
    async fn finish(&self, verdict: &Verdict, code: u8) -> Result<()> {
        let command = &self.source.study.finish.run;
        if command.is_empty() {
            return Ok(());
        }
        let folder = self.session.folder.path();
        let child = Spawn::new("/bin/sh")
            .args(["-c", command.as_str()])
            .env("NOCTUNE_STUDY", &self.source.study.study.name)
            .env("NOCTUNE_FOLDER", folder)
            .env("NOCTUNE_VERDICT", verdict.line())
            .env("NOCTUNE_EXIT_CODE", code.to_string())
            .start();
        let why = match child {
            Ok(child) => match self.finished(child).await? {
                Ok(exit) if exit.success() => return Ok(()),
                Ok(exit) => format!("it ended with {exit}"),
                Err(why) => why,
            },
            Err(error) => error.to_string(),
        };
        Err(Error::host(format!(
            "the study is done, but the command at its end failed: {why}"
        ))
        .at("[finish] run")
        .next(format!("everything is in {}", folder.display())))
    }

    /// How the user's command ended, or why it was ended. Until then all it started ends with Noctune.
    async fn finished(&self, mut child: Child) -> Result<std::result::Result<Exit, String>> {
        let identity = child.identity().clone();
        self.session.guardian.watch(&identity)?;
        let exit = tokio::select! {
            exit = child.wait(FINISH) => exit.map_err(|error| error.to_string()),
            () = self.session.stop.cancelled() => Err("it was ended, as you wished".to_owned()),
        };
        match exit {
            // What it left in the background, e.g. to deliver a mail, is the user's.
            Ok(Some(_)) => child.release(),
            _ => drop(child),
        }
        self.session.guardian.forget(&identity)?;
        let late = || format!("it did not end within {} s and was ended", FINISH.as_secs());
        Ok(exit.and_then(|exit| exit.ok_or_else(late)))
    }

    async fn hand_over(&self, verdict: &Verdict) -> Result<bool> {
        let folder = &self.session.folder;
        let written = match Recommendation::of_verdict(verdict) {
            Some(best) => {
                let (facts, _) = self.store.facts(&self.source.study.study.name).await?;
                hand_over(&best, self.frozen, self.metric, ended(&facts), folder)?
            }
            None => false,
        };
        if !written {
            hand_over_nothing(folder)?;
        }
        Ok(written)
    }

    fn warn(&self, text: String) {
        self.session.events.send(&Event::Warning { text, next: None });
    }
}

/// What the process exits with.
fn exit(verdict: &Verdict, failure: Option<&Error>) -> u8 {
    match ended_by(verdict).as_ref().or(failure) {
        Some(error) => error.exit_code(),
        None => verdict.exit_code(),
    }
}

/// Prints what was found; the exit code of the verdict. Then what ended the study, or kept its recommendation from being
/// handed over.
pub(super) async fn tell(
    global: &Global,
    verdict: &Verdict,
    failure: Option<Error>,
    stop: &CancellationToken,
) -> Result<u8> {
    if !global.json {
        if stop.is_cancelled() {
            // The study was over by then; a second signal ends a print that nobody reads.
            output::print(&verdict.to_string())?;
        } else {
            output::print_until_stopped(verdict.to_string(), stop).await?;
        }
    }
    match ended_by(verdict).or(failure) {
        Some(error) => Err(error),
        None => Ok(verdict.exit_code()),
    }
}

/// The failure that ended the study, where one did.
fn ended_by(verdict: &Verdict) -> Option<Error> {
    match verdict.kind {
        VerdictKind::BaselineFailed | VerdictKind::EveryTrialFailed => Some(Error::EveryTrialFailed(
            problem(verdict, "look into trials/*/server.log of the study folder"),
        )),
        VerdictKind::LoadSetup => Some(Error::Input(problem(
            verdict,
            "correct [workload] in the study file; trials/*/load.log of the study folder holds the load's words",
        ))),
        VerdictKind::HostProblem => Some(Error::Host(problem(
            verdict,
            "`noctune doctor` tells what this host lacks",
        ))),
        _ => None,
    }
}

fn problem(verdict: &Verdict, next: &str) -> Problem {
    let problem = Problem::new(verdict.line()).next(next);
    match &verdict.detail {
        Some(detail) => problem.at(detail.clone()),
        None => problem,
    }
}
