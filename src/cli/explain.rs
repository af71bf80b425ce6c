//! `noctune explain`: why a candidate was tried and what it did.

use super::open::OpenStudy;
use super::{Global, output};
use crate::error::{Error, Result};
use crate::handover::sizes;
use crate::plan::{Next, last_confirmed, next, standing};
use crate::report::{Explained, explain, explain_json};

/// Explains a trial; where none is named the recommended one, or the one that was compared with the baseline.
pub(super) async fn run(global: &Global, trial: Option<u64>, study: Option<&str>) -> Result<u8> {
    let study = OpenStudy::find(global, study).await?;
    let inputs = study.inputs();
    let number = match trial {
        Some(number) => number,
        None => match next(&inputs, &study.facts) {
            Next::Done(verdict) => {
                let claim = verdict.claim();
                claim.best.as_ref().map(|best| best.trial).or(claim.compared)
            }
            Next::Job(_) | Next::Wait => last_confirmed(&inputs, &study.facts)
                .and_then(|confirmed| confirmed.best)
                .map(|best| best.trial)
                .or_else(|| standing(&inputs, &study.facts).map(|standing| standing.trial)),
        }
        .ok_or_else(|| {
            Error::input("this study recommends no trial")
                .at(study.folder.display().to_string())
                .next("name a trial: noctune explain 3")
        })?,
    };
    let fact = study
        .facts
        .jobs
        .iter()
        .find(|fact| fact.number == number)
        .ok_or_else(|| {
            let last = study.facts.jobs.last().map_or(0, |fact| fact.number);
            Error::input(format!("this study has no trial {number}"))
                .at(study.folder.display().to_string())
                .next(format!("trials are numbered 1 to {last}"))
        })?;
    let record = study.store.record(&study.record.name, number).await?;
    let explained = Explained {
        fact,
        record: record.as_ref(),
        baseline: Some(inputs.baseline),
        sizes: &sizes(&study.frozen.space),
    };
    if global.json {
        output::print_json(&explain_json(&explained))?;
    } else {
        output::print(&explain(&explained))?;
    }
    Ok(0)
}
