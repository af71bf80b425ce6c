//! What runs as it is: candidates of one's own off the steps or out of the bounds, and what a server makes of a proposal.

use crate::bench::{Bench, of_kind};
use crate::nights::tuned;
use crate::study::Study;

/// Steps of 10 up to 4000, as proposed.
const SPACE: &str = "families = []\n[space.knob.innodb_io_capacity]\ntype = \"int\"\nscale = \"log\"\nmin = 100\nmax = 4000\nunit = 10";

fn study() -> Study {
    Study {
        space: SPACE.to_owned(),
        strategy: "preset = \"sobol\"\nrule_of_thumb = false".to_owned(),
        budget: "time = \"10m\"\ntrials = 19\npatience = false".to_owned(),
        ..Study::default()
    }
}

#[test]
fn a_candidate_of_ones_own_is_measured_confirmed_and_handed_over_at_its_exact_value() {
    for (value, best) in [
        ("777", "innodb_io_capacity == 777"),
        ("9001", "innodb_io_capacity > 9000"),
    ] {
        let bench = Bench::new(&format!("[load]\ntps = \"300 * if({best}, 2, 1)\"\n"));
        let study = Study {
            more: format!("[[candidate]]\ninnodb_io_capacity = {value}"),
            ..study()
        };
        let run = tuned(&bench, &study);
        assert_eq!(run.code, Some(0), "{}", run.text());
        let my_cnf = std::fs::read_to_string(bench.path().join("results/fake/my.cnf")).unwrap();
        assert!(
            my_cnf.contains(&format!("\ninnodb_io_capacity = {value}\n")),
            "{my_cnf}"
        );
    }
}

#[test]
fn what_a_server_makes_of_a_proposal_is_confirmed_and_handed_over() {
    // Whatever is asked for from 3000 on runs as 3333, which is on no step.
    let bench = Bench::new(
        "[load]\ntps = \"300 * if(innodb_io_capacity == 3333, 2, 1)\"\n\
         [[server.fault]]\nwhen = \"innodb_io_capacity >= 3000\"\nhappens = \"not-applied\"\n\
         variable = \"innodb_io_capacity\"\nvalue = \"3333\"\n",
    );
    let study = Study {
        more: "[[candidate]]\ninnodb_io_capacity = 3300".to_owned(),
        ..study()
    };
    let run = tuned(&bench, &study);
    assert_eq!(run.code, Some(0), "{}", run.text());
    let events = run.events();
    assert_eq!(
        of_kind(&events, "trial-ended")
            .filter(|event| event["outcome"] == "rejected")
            .count(),
        0,
        "{}",
        run.text()
    );
    let my_cnf = std::fs::read_to_string(bench.path().join("results/fake/my.cnf")).unwrap();
    assert!(my_cnf.contains("\ninnodb_io_capacity = 3333\n"), "{my_cnf}");
}
