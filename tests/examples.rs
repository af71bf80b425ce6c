//! The study files of `examples/` say what this version reads.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};

use noctune::mycnf::{Dialect, parse_text};
use noctune::study::{Objective, Study};

fn examples() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .collect();
    files.sort();
    files
}

fn read(path: &Path) -> (String, Study) {
    let text = std::fs::read_to_string(path).unwrap();
    let study = Study::parse(&text, &path.display().to_string()).unwrap_or_else(|error| panic!("{error}"));
    (text, study)
}

#[test]
fn every_example_is_read_and_its_budget_suffices() {
    let examples = examples();
    assert!(examples.len() >= 4);
    for path in examples {
        let (text, study) = read(&path);
        let _: Objective = study.objective().unwrap_or_else(|error| panic!("{error}"));
        study
            .check_budget(&text, &path.display().to_string())
            .unwrap_or_else(|error| panic!("{error}"));
    }
}

#[test]
fn the_study_of_make_tune_is_the_short_one() {
    let (_, study) = read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/quick.toml"));
    assert_eq!(study.study.name, "quick");
    assert!(study.strategy.rule_of_thumb);
    assert_eq!(study.workload.threads, 16);
}

#[test]
fn the_planted_mistakes_are_read_and_the_rule_of_thumb_is_off() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let (_, study) = read(&folder.join("planted-bad.toml"));
    assert!(!study.strategy.rule_of_thumb);
    let baseline = study.server.baseline.unwrap();
    let text = std::fs::read(folder.join(&baseline)).unwrap();
    let cnf = parse_text(
        Path::new(&baseline),
        &text,
        Dialect::MariaDb { major: 10, minor: 11 },
    );
    assert!(cnf.findings.is_empty());
    let planted: Vec<(String, Option<String>)> = cnf
        .effective(|_| true)
        .into_iter()
        .map(|(name, (meaning, _))| (name, meaning.value))
        .collect();
    let expected = [
        ("innodb_buffer_pool_size", "64M"),
        ("innodb_io_capacity", "100"),
        ("innodb_log_file_size", "48M"),
        ("innodb_max_dirty_pages_pct", "5"),
    ];
    let expected: Vec<(String, Option<String>)> = expected
        .map(|(name, value)| (name.to_owned(), Some(value.to_owned())))
        .to_vec();
    assert_eq!(planted, expected);
}
