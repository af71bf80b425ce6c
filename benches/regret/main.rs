//! How good a search strategy is: regret on generated tasks of the kinds that tuning a database server meets. Numbers do not
//! depend on the machine's speed.
//!
//! ```text
//! cargo bench --bench regret -- --seeds 30 --strategies bayes,sobol
//! ```
//!
//! A strategy is a preset by its name or a preset file; so two settings of one strategy are compared by two files. Each seed
//! is a task of its own: knobs, response, noise and default configuration differ. Regret is the percentage of the optimum that
//! the recommended configuration's true value lies short of it; an infeasible one counts as the default.

#![expect(clippy::print_stdout, reason = "a bench tells its result")]
#![expect(clippy::expect_used, reason = "a bench that cannot be set up has to stop")]

mod run;
mod table;
mod task;

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use clap::Parser;
use noctune::strategy::{Strategy, embedded, load};

use run::{Run, run};
use task::{Kind, Task};

/// Regret of search strategies on generated tasks.
#[derive(Debug, Parser)]
struct Arguments {
    /// Presets by name, or preset files (*.toml).
    #[arg(long, value_delimiter = ',', default_value = "bayes,sobol")]
    strategies: Vec<String>,
    /// Kinds of tasks.
    #[arg(long, value_delimiter = ',', default_value = "smooth,cliffs,plateaus")]
    kinds: Vec<String>,
    /// Tasks of each kind.
    #[arg(long, default_value_t = 4)]
    seeds: u64,
    /// The first seed; seeds that were looked at while tuning are no proof.
    #[arg(long, default_value_t = 0)]
    first: u64,
    /// Trials of each search.
    #[arg(long, default_value_t = 60)]
    trials: usize,
    /// Standard deviation of a trial, as a share of its value.
    #[arg(long, default_value_t = 0.03)]
    noise: f64,
    /// Searches at once.
    #[arg(long, default_value_t = 1)]
    jobs: usize,
    /// What `cargo bench` passes to every bench.
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() {
    let arguments = Arguments::parse();
    for name in &arguments.kinds {
        let kind = Kind::named(name).expect("a kind is smooth, cliffs or plateaus");
        let rows: Vec<(String, Vec<Run>)> = arguments
            .strategies
            .iter()
            .map(|strategy| (strategy.clone(), runs(&arguments, kind, strategy)))
            .collect();
        println!(
            "\n### {name}, {} tasks, noise {}",
            arguments.seeds, arguments.noise
        );
        println!("{}", table::table(&rows, arguments.trials));
    }
}

/// The searches of one strategy on every task of a kind, by seed.
fn runs(arguments: &Arguments, kind: Kind, strategy: &str) -> Vec<Run> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::new());
    let seeds: Vec<u64> = (arguments.first..arguments.first + arguments.seeds).collect();
    std::thread::scope(|scope| {
        for _ in 0..arguments.jobs.max(1) {
            scope.spawn(|| {
                let strategy = preset(strategy);
                while let Some(&seed) = seeds.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let task = Task::new(kind, seed, arguments.noise);
                    let run = run(&task, strategy.as_ref(), seed, arguments.trials);
                    done.lock()
                        .expect("no thread panics while it holds this")
                        .push((seed, run));
                }
            });
        }
    });
    let mut done = done.into_inner().expect("no thread panicked");
    done.sort_by_key(|(seed, _)| *seed);
    done.into_iter().map(|(_, run)| run).collect()
}

fn preset(name: &str) -> Box<dyn Strategy> {
    let is_file = Path::new(name)
        .extension()
        .is_some_and(|extension| extension == "toml");
    let text = if is_file {
        std::fs::read_to_string(name).expect("the preset file can be read")
    } else {
        embedded(name).expect("a preset of this name").to_owned()
    };
    load(&text).expect("a preset")
}
