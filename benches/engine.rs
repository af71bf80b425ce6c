//! How long the search engine takes: fitting, predicting, and a whole proposal with the search of the acquisition.

#![expect(missing_docs, reason = "criterion's macros write undocumented functions")]
#![expect(clippy::expect_used, reason = "a bench that cannot be set up has to stop")]

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use noctune::space::{Configuration, Dimension, Domain, Ground, Knob, Point, Scale, Space, Value};
use noctune::strategy::bayes::Prior;
use noctune::strategy::bayes::fit::Likelihood;
use noctune::strategy::bayes::gp::Posterior;
use noctune::strategy::bayes::kernel::Rows;
use noctune::strategy::{Goal, Observation, Search, Seen, embedded, load};

/// Knobs of the space; every fourth is a word.
const KNOBS: usize = 20;

fn space() -> Space {
    let knobs = (0..KNOBS)
        .map(|i| {
            let domain = if i % 4 == 3 {
                Domain::Enum {
                    values: vec!["a".to_owned(), "b".to_owned(), "c".to_owned()],
                }
            } else {
                Domain::Int {
                    min: 1,
                    max: 100_000,
                    unit: 1,
                    scale: Scale::Log,
                    special: Vec::new(),
                    bytes: false,
                }
            };
            Knob::new(format!("knob_{i}"), domain)
        })
        .collect();
    Space::new(knobs, Vec::new(), Ground::default()).expect("names differ and nothing is conditional")
}

/// A smooth response with a peak inside the space.
fn response(configuration: &Configuration) -> f64 {
    let loss: f64 = configuration
        .iter()
        .enumerate()
        .map(|(i, (_, value))| match value {
            Value::Int(n) => ((*n as f64).ln() / 11.5 - 0.6).powi(2) / (1 + i) as f64,
            other => 0.1 * f64::from(u8::from(other.to_string() == "a")),
        })
        .sum();
    1000.0 * (-loss).exp()
}

/// `n` observations by a quasi-random sequence.
fn observed(space: &Space, n: usize) -> Vec<Observation> {
    let sobol = load(embedded("sobol").expect("embedded")).expect("a preset");
    let search = Search {
        space,
        goal: Goal::Maximize,
        observations: &[],
        pending: &[],
        seed: 1,
    };
    (1..)
        .zip(sobol.propose(&search, n))
        .map(|(trial, proposal)| Observation {
            trial,
            seen: Seen::Measured {
                value: response(&proposal.configuration),
                variance: None,
                feasible: true,
            },
            configuration: proposal.configuration,
            model: None,
        })
        .collect()
}

fn rows(dimensions: &[Dimension], points: impl Iterator<Item = Point>) -> Rows {
    let mut rows = Rows::new(dimensions);
    points.for_each(|point| rows.push(&point));
    rows
}

fn engine(criterion: &mut Criterion) {
    let space = space();
    let bayes = load(embedded("bayes").expect("embedded")).expect("a preset");
    for n in [50, 60, 200] {
        let mut observations = observed(&space, n);
        let at = rows(
            space.dimensions(),
            observations.iter().map(|o| space.encode(&o.configuration)),
        );
        let labels: Vec<f64> = observations
            .iter()
            .map(|o| response(&o.configuration).ln() - 6.0)
            .collect();
        let variances = vec![0.0; n];
        let likelihood = Likelihood::new(&at, &labels, &variances, Prior::Flat);
        let mut start = vec![0.0; KNOBS];
        start.extend([0.0, -4.0]);
        criterion.bench_function(&format!("fit, one start, n = {n}"), |bencher| {
            bencher.iter(|| black_box(likelihood.minimize(std::slice::from_ref(&start), 60)));
        });
        let hyper = likelihood.minimize(&[start], 60);
        let posterior = Posterior::new(&at, &labels, &variances, &hyper).expect("finite labels");
        criterion.bench_function(&format!("predict {n} points, n = {n}"), |bencher| {
            bencher.iter(|| black_box(posterior.predict(&at, &at)));
        });
        let search = Search {
            space: &space,
            goal: Goal::Maximize,
            observations: &observations,
            pending: &[],
            seed: 1,
        };
        // As in a night: the last trial came from the model, whose hyper-parameters are warm.
        let model = bayes
            .propose(&search, 1)
            .into_iter()
            .next()
            .and_then(|proposal| proposal.model);
        if let Some(last) = observations.last_mut() {
            last.model = model;
        }
        let search = Search {
            space: &space,
            goal: Goal::Maximize,
            observations: &observations,
            pending: &[],
            seed: 1,
        };
        criterion.bench_function(&format!("propose, n = {n}"), |bencher| {
            bencher.iter(|| black_box(bayes.propose(&search, 1)));
        });
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(10);
    targets = engine
}
criterion_main!(benches);
