//! `noctune engine`: the search engine for other programs, over standard input and output.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, ErrorKind, Write as _};
use std::path::Path;

use super::args::EngineArgs;
use crate::engine::{Session, Setup};
use crate::error::{Error, Result};
use crate::setup::strategy_named;
use crate::space::file::NamedFile;
use crate::space::{DurabilityRule, ResolveInputs, Space, resolve};
use crate::strategy::Goal;
use crate::study::{ConstraintSpec, Objective, ObjectiveSpec};

/// Name of the objective where only a direction was given.
const VALUE: &str = "value";
/// The longest line that is read; a longer one is no request but a mistake.
const LONGEST: usize = 16 << 20;

/// Answers requests until standard input ends.
///
/// # Errors
/// A space, strategy, objective or constraint that cannot be read; standard input or output that fails.
pub(super) fn run(arguments: &EngineArgs) -> Result<u8> {
    let mut session = Session::new(Setup {
        space: space(&arguments.space)?,
        strategy: strategy_named(&arguments.strategy)?,
        objective: objective(arguments)?,
        seed: arguments.seed,
    });
    let mut input = BufReader::new(std::io::stdin());
    let mut output = std::io::stdout().lock();
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = std::io::Read::take(&mut input, LONGEST as u64 + 1)
            .read_until(b'\n', &mut line)
            .map_err(|error| Error::host(format!("cannot read from standard input: {error}")))?;
        if read == 0 {
            return Ok(0);
        }
        if read > LONGEST {
            return Err(
                Error::input(format!("a line of more than {LONGEST} bytes is no request"))
                    .next("send one JSON object a line"),
            );
        }
        let text = String::from_utf8_lossy(&line);
        if text.trim().is_empty() {
            continue;
        }
        let reply = session.reply(text.trim());
        match writeln!(output, "{reply}").and_then(|()| output.flush()) {
            Ok(()) => {}
            // Nobody listens any more.
            Err(error) if error.kind() == ErrorKind::BrokenPipe => return Ok(0),
            Err(error) => return Err(Error::host(format!("cannot write to standard output: {error}"))),
        }
    }
}

fn read(path: &Path) -> Result<String> {
    std::fs::read_to_string(path)
        .map_err(|error| Error::input(format!("cannot be read: {error}")).at(path.display().to_string()))
}

/// The space of a file, for no server and no machine class.
fn space(path: &Path) -> Result<Space> {
    let name = path.display().to_string();
    let files = [NamedFile::parse(&read(path)?, &name)?];
    let resolution = resolve(ResolveInputs {
        files: &files,
        knobs: &BTreeMap::new(),
        constraints: &[],
        study_file: &name,
        class: None,
        server: None,
        baseline: &BTreeMap::new(),
        durability: DurabilityRule::Keep,
        allow: &[],
    })?;
    for left_out in &resolution.left_out {
        // Standard output is the protocol's; nothing is lost but a remark where standard error is gone.
        let _ = writeln!(
            std::io::stderr().lock(),
            "noctune engine: {} is left out: {}",
            left_out.knob,
            left_out.reason
        );
    }
    Ok(resolution.space)
}

fn objective(arguments: &EngineArgs) -> Result<Objective> {
    let (metric, goal) = match &arguments.objective {
        Some(objective) => {
            let (metric, goal) = objective.rsplit_once(':').unwrap_or((objective, ""));
            let goal = match goal {
                "max" => Goal::Maximize,
                "min" => Goal::Minimize,
                _ => {
                    return Err(
                        Error::input(format!("the objective \"{objective}\" has no direction"))
                            .next("write NAME:max or NAME:min, such as tps:max"),
                    );
                }
            };
            (metric, goal)
        }
        None if arguments.minimize => (VALUE, Goal::Minimize),
        None => (VALUE, Goal::Maximize),
    };
    let constraints: Vec<ConstraintSpec> = arguments
        .constraint
        .iter()
        .map(|require| ConstraintSpec {
            require: require.clone(),
        })
        .collect();
    let objective = ObjectiveSpec {
        metric: metric.to_owned(),
        goal,
    };
    Objective::new(&objective, &constraints)
}
