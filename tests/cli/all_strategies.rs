//! Whole studies with every strategy: what each promises, whatever it finds. The longest of all tests, named to begin first.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::bench::{Bench, of_kind};
use crate::nights::tuned;
use crate::study::Study;

/// At its best with a capacity near 3000, neighbours left alone, and a small pool. A large pool is what every rule of thumb
/// begins with; here it halves the throughput.
pub(crate) const WORLD: &str = r#"[load]
tps = "300 * if(innodb_buffer_pool_size > 512M, 0.5, 1) * (2 - min(1, abs(ln(innodb_io_capacity / 3000)) / 3)) * if(innodb_flush_neighbors == 0, 1.15, 1)"
"#;

/// The best of [`WORLD`].
const OPTIMUM: f64 = 300.0 * 2.0 * 1.15;

/// What [`WORLD`] gives for a configuration.
fn truth(configuration: &Value) -> f64 {
    let number = |knob: &str| configuration[knob].as_f64().unwrap();
    let pool = if number("innodb_buffer_pool_size") > 536_870_912.0 {
        0.5
    } else {
        1.0
    };
    let capacity = 2.0 - ((number("innodb_io_capacity") / 3000.0).ln().abs() / 3.0).min(1.0);
    let neighbours = if configuration["innodb_flush_neighbors"] == "0" {
        1.15
    } else {
        1.0
    };
    300.0 * pool * capacity * neighbours
}

/// Few enough knobs that a dozen candidates suffice.
pub(crate) const THREE_KNOBS: &str = r#"families = []
[space.knob.innodb_io_capacity]
type = "int"
scale = "log"
min = 100
max = 8000
[space.knob.innodb_flush_neighbors]
type = "enum"
values = ["0", "1", "2"]
[space.knob.innodb_buffer_pool_size]
type = "bytes"
min = "64M"
max = "4G"
rule = "4G""#;

/// One study with a strategy, to its end.
struct Night {
    preset: &'static str,
    trials: u64,
    code: Option<i32>,
    events: Vec<Value>,
    my_cnf: String,
    report: Value,
}

impl Night {
    fn run(preset: &'static str, trials: u64) -> Self {
        let bench = Bench::new(WORLD);
        let study = Study {
            space: THREE_KNOBS.to_owned(),
            strategy: format!("preset = \"{preset}\""),
            budget: format!("time = \"20m\"\ntrials = {trials}\npatience = false"),
            ..Study::default()
        };
        let run = tuned(&bench, &study);
        Self {
            preset,
            trials,
            code: run.code,
            events: run.events(),
            my_cnf: std::fs::read_to_string(bench.path().join("results/fake/my.cnf")).unwrap_or_default(),
            report: serde_json::from_str(&bench.run(&["report", "--json"]).stdout).unwrap(),
        }
    }

    /// Configurations of the trials for a purpose.
    fn configurations(&self, purpose: &str) -> Vec<&Value> {
        self.jobs(purpose).map(|job| &job["configuration"]).collect()
    }

    fn jobs(&self, purpose: &str) -> impl Iterator<Item = &Value> {
        of_kind(&self.events, "trial-started")
            .map(|event| &event["job"])
            .filter(move |job| job["purpose"] == purpose)
    }

    /// What is handed over, by the last trial.
    fn best(&self) -> &Value {
        self.configurations("final")[0]
    }

    /// Before the pairs: configurations with the mean of what was measured, the best first.
    fn measured(&self) -> Vec<(&Value, f64)> {
        let mut values: BTreeMap<String, (&Value, Vec<f64>)> = BTreeMap::new();
        for started in of_kind(&self.events, "trial-started") {
            let job = &started["job"];
            if ["pair", "final"].contains(&job["purpose"].as_str().unwrap()) {
                continue;
            }
            let ended = of_kind(&self.events, "trial-ended").find(|ended| ended["trial"] == started["trial"]);
            let value = ended.unwrap()["value"].as_f64().unwrap();
            let configuration = &job["configuration"];
            let known = values.entry(configuration.to_string());
            known.or_insert((configuration, Vec::new())).1.push(value);
        }
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let mut means: Vec<_> = values
            .into_values()
            .map(|(configuration, values)| (configuration, mean(&values)))
            .collect();
        means.sort_by(|a, b| b.1.total_cmp(&a.1));
        means
    }

    /// What every strategy promises.
    fn check(&self) {
        let preset = self.preset;
        let explored = self.configurations("explore");
        let distinct: BTreeSet<String> = explored.iter().map(ToString::to_string).collect();
        assert_eq!(distinct.len(), explored.len(), "{preset} explores one twice");
        for known in [
            self.configurations("baseline")[0],
            self.configurations("start")[0],
        ] {
            assert!(!explored.contains(&known), "{preset} explores what is known");
        }
        // Three baselines, the rule of thumb and five blocks of three are not the search's.
        let searched = explored.len() + self.jobs("repeat").count();
        assert_eq!(
            searched as u64,
            self.trials - 19,
            "{preset} spends what it is given"
        );

        assert_eq!(self.code, Some(0), "{preset}: {:?}", self.events.last());
        let best = self.best();
        let arm: Vec<&Value> = self
            .jobs("pair")
            .filter(|job| job["arm"] == "best")
            .map(|job| &job["configuration"])
            .collect();
        assert_eq!(arm, [best; 5], "{preset} hands over what it confirmed");
        let baseline = truth(self.configurations("baseline")[0]);
        assert!(
            truth(best) > baseline,
            "{preset} hands over something worse: {best}"
        );
        let line = format!("innodb_io_capacity = {}\n", best["innodb_io_capacity"]);
        assert!(
            self.my_cnf.contains(&line),
            "{preset}: no {line} in {}",
            self.my_cnf
        );
    }
}

/// What the knobs do is told, or why it cannot be.
fn check_importance(preset: &str, importance: &Value) {
    let told = importance["measurable"] == true && importance["knobs"].as_array().unwrap().len() == 3;
    assert!(told || importance["why"].is_string(), "{preset}: {importance}");
}

#[test]
fn every_strategy_explores_nothing_twice_spends_its_budget_and_hands_over_the_best_it_confirmed() {
    let presets = [
        ("bayes", 32),
        ("coordinate", 30),
        ("sobol", 23),
        ("random", 23),
        ("nelder-mead", 23),
    ];
    let nights = std::thread::scope(|scope| {
        presets
            .map(|(preset, trials)| scope.spawn(move || Night::run(preset, trials)))
            .map(|night| night.join().unwrap())
    });
    for night in &nights {
        night.check();
        let (preset, best) = (night.preset, night.best());
        let measured = night.measured();
        let share = truth(best) / OPTIMUM;
        match preset {
            // Those that learn leave the bad rule of thumb, and come near the best there is.
            "bayes" | "coordinate" => assert!(share > 0.8, "{preset}: {share} of the optimum: {measured:?}"),
            // The others promise only the best of what they measured.
            _ => assert_eq!(best, measured[0].0, "{preset}: {measured:?}"),
        }
        check_importance(preset, &night.report["importance"]);
        let thumb = night.configurations("start")[0];
        assert!(
            truth(best) > 2.0 * truth(thumb),
            "{preset} stays at the rule of thumb"
        );
    }
}
