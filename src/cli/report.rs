//! `noctune report`: what a study found, and how sure it is.

use super::open::OpenStudy;
use super::{Global, output};
use crate::error::Result;
use crate::handover::sizes;
use crate::plan::{Facts, Next, importance, last_confirmed, next, run_noise, settled, standing};
use crate::report::{self, Conclusion, Input};
use crate::strategy::TrialNumber;
use crate::trial::PhaseTime;

/// Prints the report.
pub(super) async fn run(global: &Global, study: Option<&str>) -> Result<u8> {
    let study = OpenStudy::find(global, study).await?;
    let inputs = study.inputs();
    let conclusion = match next(&inputs, &study.facts) {
        Next::Done(verdict) => Conclusion::of(&verdict),
        Next::Job(_) | Next::Wait => Conclusion::under_way(
            last_confirmed(&inputs, &study.facts).as_ref(),
            standing(&inputs, &study.facts).as_ref(),
        ),
    };
    let phases = phases(&study, &study.facts).await?;
    let facts = settled(&inputs, &study.facts);
    let view = report::view(&Input {
        study: &study.record.name,
        objective: inputs.objective,
        facts: &facts,
        phases: &phases,
        conclusion: &conclusion,
        noise: run_noise(&inputs, &facts),
        sizes: &sizes(&study.frozen.space),
        importance: Some(&importance(&inputs, &study.facts)),
    });
    if global.json {
        output::print_json(&report::json(&view))?;
    } else {
        output::print(&report::text(&view))?;
    }
    Ok(0)
}

async fn phases(study: &OpenStudy, facts: &Facts) -> Result<Vec<(TrialNumber, Vec<PhaseTime>)>> {
    let mut all = Vec::new();
    for fact in facts.jobs.iter().filter(|fact| fact.outcome().is_some()) {
        if let Some(record) = study.store.record(&study.record.name, fact.number).await? {
            all.push((fact.number, record.phases));
        }
    }
    Ok(all)
}
