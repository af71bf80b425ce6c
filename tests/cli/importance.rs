//! What the knobs do, as `report` tells it.

use serde_json::Value;

use crate::all_strategies::{THREE_KNOBS, WORLD};
use crate::bench::Bench;
use crate::nights::tuned;
use crate::study::Study;

#[test]
fn a_report_tells_which_knobs_matter_how_sure_that_is_and_the_levels_of_each() {
    let bench = Bench::new(WORLD);
    let study = Study {
        space: THREE_KNOBS.to_owned(),
        strategy: "preset = \"sobol\"".to_owned(),
        budget: "time = \"20m\"\ntrials = 43\npatience = false".to_owned(),
        ..Study::default()
    };
    let run = tuned(&bench, &study);
    assert_eq!(run.code, Some(0), "{}", run.text());
    let report = bench.run(&["report", "--json"]).stdout;
    let report: Value = serde_json::from_str(&report).unwrap();
    let importance = &report["importance"];
    assert_eq!(importance["measurable"], true, "{importance}");
    assert!(importance["explained"].as_f64().unwrap() > 0.3, "{importance}");
    let knobs = importance["knobs"].as_array().unwrap();
    assert_eq!(knobs.len(), 3, "{importance}");
    let pool = &knobs[0];
    assert_eq!(
        (&pool["knob"], &pool["told"]),
        (&"innodb_buffer_pool_size".into(), &true.into()),
        "{importance}"
    );
    let number = |of: &Value| of.as_f64().unwrap();
    assert!(
        number(&pool["low"]) <= number(&pool["share"]) && number(&pool["share"]) <= number(&pool["high"])
    );
    let level = |place: usize| number(&pool["levels"][place]["mean"]);
    assert!(
        level(1) > 1.3 * level(8),
        "a large pool halves the throughput: {importance}"
    );
    let text = bench.run(&["report"]).stdout;
    for words in [
        "What the knobs do",
        "share of variance explained: ",
        "innodb_buffer_pool_size",
    ] {
        assert!(text.contains(words), "no {words:?} in {text}");
    }
    assert!(!text.contains("NaN"), "{text}");
}
