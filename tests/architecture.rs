//! The direction of dependencies, read from the sources: who may use whom, what pure folders may not touch, and how long a
//! file may be. `ARCHITECTURE.md` tells why.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use syn::visit::Visit;

/// Modules of the crate in the order of dependencies, with the modules each may use besides itself.
///
/// `error` and `units` may be used by all. An entry with `::` allows only that path and what lies below it.
const EDGES: [(&str, &[&str]); 22] = [
    ("units", &[]),
    ("error", &[]),
    ("stats", &[]),
    ("space", &["stats"]),
    ("trial", &["stats", "space"]),
    ("strategy", &["stats", "space", "trial"]),
    ("study", &["stats", "space", "trial", "strategy"]),
    ("plan", &["stats", "space", "trial", "strategy", "study"]),
    ("engine", &["space", "strategy", "study"]),
    ("mycnf", PURE_MODULES),
    (
        "report",
        &["stats", "space", "trial", "strategy", "plan", "study", "mycnf"],
    ),
    (
        "store",
        &["stats", "space", "trial", "strategy", "plan", "study", "night"],
    ),
    ("night", NIGHT),
    ("host", ADAPTER),
    ("workload", ADAPTER),
    ("server", ADAPTER),
    ("runner", RUNNER),
    ("setup", SETUP),
    ("handover", HANDOVER),
    (
        "ui",
        &[
            "night::Event",
            "night::Events",
            "night::Listener",
            "night::event",
            "stats",
            "trial",
            "plan",
            "strategy",
            "space",
        ],
    ),
    ("cli", EVERYTHING),
    ("main", &["cli"]),
];

const PURE_MODULES: &[&str] = &["stats", "space", "trial", "strategy", "study", "plan"];
/// The night sees the store's contract, which is a port, and where results wait for a store; no store.
const NIGHT: &[&str] = &[
    "stats",
    "space",
    "trial",
    "strategy",
    "plan",
    "study",
    "store::Claim",
    "store::Claimed",
    "store::Delivery",
    "store::OpenJob",
    "store::Spool",
    "store::Store",
    "store::StoreError",
    "store::StudyRecord",
    "store::WorkerId",
];
const ADAPTER: &[&str] = &[
    "stats", "space", "trial", "strategy", "plan", "study", "night", "mycnf", "host",
];
const RUNNER: &[&str] = &[
    "stats", "space", "trial", "strategy", "plan", "study", "night", "mycnf", "host", "server", "workload",
];
/// From a study file to what trials need: everything but what shows it.
const SETUP: &[&str] = &[
    "stats", "space", "trial", "strategy", "plan", "study", "night", "mycnf", "host", "server", "workload",
    "runner", "store",
];
/// What a verdict puts into files: from stored facts, next to the study as it was set up.
const HANDOVER: &[&str] = &[
    "stats", "space", "trial", "plan", "study", "mycnf", "night", "setup",
];
const EVERYTHING: &[&str] = &[
    "stats", "space", "trial", "strategy", "plan", "study", "night", "mycnf", "report", "engine", "host",
    "server", "workload", "runner", "setup", "handover", "store", "ui",
];
const FOR_ALL: [&str; 2] = ["error", "units"];

/// Folders that compute and do nothing else.
const PURE: [&str; 10] = [
    "units", "stats", "space", "trial", "strategy", "study", "plan", "mycnf", "report", "engine",
];

/// What they may not touch.
const IMPURE: [&str; 11] = [
    "std::fs",
    "std::env",
    "std::net",
    "std::process",
    "std::thread",
    "std::time::SystemTime",
    "std::time::Instant",
    "tokio",
    "sqlx",
    "rustix",
    "rand::rng",
];

/// Longer files do more than one thing.
const MOST_LINES: usize = 500;

/// Every path a source names, `use` trees spelled out, tests left out.
#[derive(Default)]
struct Paths {
    found: BTreeSet<String>,
    macros: Vec<String>,
}

impl Paths {
    fn of(source: &str) -> syn::Result<Self> {
        let mut paths = Self::default();
        paths.visit_file(&syn::parse_file(source)?);
        Ok(paths)
    }

    fn tree(&mut self, before: &str, tree: &syn::UseTree) {
        let join = |name: String| match before {
            "" => name,
            before => format!("{before}::{name}"),
        };
        match tree {
            syn::UseTree::Path(path) => {
                let before = join(path.ident.to_string());
                self.tree(&before, &path.tree);
            }
            syn::UseTree::Name(name) if name.ident == "self" => {
                self.found.insert(before.to_owned());
            }
            syn::UseTree::Name(name) => {
                self.found.insert(join(name.ident.to_string()));
            }
            syn::UseTree::Rename(name) => {
                self.found.insert(join(name.ident.to_string()));
            }
            syn::UseTree::Glob(_) => {
                self.found.insert(join("*".to_owned()));
            }
            syn::UseTree::Group(group) => {
                for tree in &group.items {
                    self.tree(before, tree);
                }
            }
        }
    }
}

fn is_for_tests(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute
                .parse_args::<syn::Ident>()
                .is_ok_and(|argument| argument == "test")
    })
}

impl<'ast> Visit<'ast> for Paths {
    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        if !is_for_tests(&module.attrs) {
            syn::visit::visit_item_mod(self, module);
        }
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        if !is_for_tests(&item.attrs) {
            self.tree("", &item.tree);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names: Vec<String> = path
            .segments
            .iter()
            .map(|segment| segment.ident.to_string())
            .collect();
        self.found.insert(names.join("::"));
        syn::visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, invocation: &'ast syn::Macro) {
        // A macro's arguments are tokens, not syntax: their text is searched.
        let text: String = invocation.tokens.to_string().split_whitespace().collect();
        self.macros.push(text);
        syn::visit::visit_macro(self, invocation);
    }
}

fn is_below(path: &str, of: &str) -> bool {
    path.strip_prefix(of)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

/// What a source does against the rules; `module` is its folder or file directly below `src/`.
fn violations(module: &str, source: &str) -> Vec<String> {
    let paths = match Paths::of(source) {
        Ok(paths) => paths,
        Err(error) => return vec![format!("cannot be parsed: {error}")],
    };
    let Some((_, allowed)) = EDGES.iter().find(|(name, _)| *name == module) else {
        return vec![format!("the module {module} is not in the table of edges")];
    };
    let mut found = Vec::new();
    let mut check = |path: &str| {
        if let Some(inner) = path
            .strip_prefix("crate::")
            .or_else(|| path.strip_prefix("noctune::"))
        {
            let target = inner.split("::").next().unwrap_or_default();
            let fine = target == module
                || FOR_ALL.contains(&target)
                || allowed.iter().any(|allowed| is_below(inner, allowed));
            if !fine {
                found.push(format!("{module} may not use {path}"));
            }
        }
        if PURE.contains(&module)
            && let Some(impure) = IMPURE.iter().find(|impure| is_below(path, impure))
        {
            found.push(format!("{module} is pure and may not touch {impure} ({path})"));
        }
        // `use std::time;` or a glob would hide what is used of it.
        if PURE.contains(&module) && ["std::time", "std::time::*", "std::*", "std"].contains(&path) {
            found.push(format!("{module} is pure: name what it uses of {path}"));
        }
    };
    for path in &paths.found {
        check(path);
    }
    for text in &paths.macros {
        for (start, _) in text
            .match_indices("crate::")
            .chain(IMPURE.iter().flat_map(|i| text.match_indices(i)))
        {
            let boundary = text[..start]
                .chars()
                .last()
                .is_none_or(|c| !c.is_alphanumeric() && c != '_' && c != ':');
            let path: &str = text[start..]
                .split(|c: char| !c.is_alphanumeric() && c != '_' && c != ':')
                .next()
                .unwrap_or_default();
            if boundary && path.contains("::") {
                check(path.trim_end_matches(':'));
            }
        }
    }
    found
}

/// Every source with its module, other than the tests kept in files of their own.
fn sources() -> Vec<(PathBuf, String, String)> {
    fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(path);
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    walk(&root, &mut found);
    found.sort();
    found
        .into_iter()
        .map(|path| {
            let inner = path.strip_prefix(&root).unwrap();
            let first = inner
                .components()
                .next()
                .unwrap()
                .as_os_str()
                .to_string_lossy()
                .into_owned();
            let module = first.trim_end_matches(".rs").to_owned();
            let source = std::fs::read_to_string(&path).unwrap();
            (inner.to_owned(), module, source)
        })
        .collect()
}

fn is_test_file(path: &Path) -> bool {
    path.components().any(|part| {
        let part = part.as_os_str().to_string_lossy();
        let stem = part.trim_end_matches(".rs");
        stem == "tests" || stem.ends_with("_tests")
    })
}

#[test]
fn every_source_keeps_the_direction_of_dependencies() {
    let mut found = Vec::new();
    for (path, module, source) in sources() {
        if module == "lib" || is_test_file(&path) {
            continue;
        }
        for violation in violations(&module, &source) {
            found.push(format!("src/{}: {violation}", path.display()));
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn no_source_is_longer_than_one_task_needs() {
    let long: Vec<String> = sources()
        .iter()
        .map(|(path, _, source)| (path, source.lines().count()))
        .filter(|(_, lines)| *lines > MOST_LINES)
        .map(|(path, lines)| format!("src/{}: {lines} lines, at most {MOST_LINES}", path.display()))
        .collect();
    assert!(long.is_empty(), "{}", long.join("\n"));
}

#[test]
fn the_table_has_no_cycle_but_the_stores_contract() {
    // Whole modules only: the store's contract is the one port that the night takes from there.
    let whole = |module: &str| -> Vec<&str> {
        let (_, allowed) = EDGES.iter().find(|(name, _)| *name == module).unwrap();
        allowed
            .iter()
            .copied()
            .filter(|allowed| !allowed.contains("::") && *allowed != module)
            .collect()
    };
    for (start, _) in EDGES {
        let mut reached = BTreeSet::new();
        let mut next = whole(start);
        while let Some(module) = next.pop() {
            assert_ne!(module, start, "{start} depends on itself");
            if reached.insert(module) {
                next.extend(whole(module));
            }
        }
    }
}

#[test]
fn violations_are_found_however_they_are_written() {
    let cases = [
        ("space", "use crate::strategy::Strategy;"),
        ("trial", "use crate::{error::Error, plan::{Job, Facts}};"),
        ("stats", "fn f(x: crate::store::Claim) {}"),
        ("plan", "fn f() { g(crate::night::Event::new()) }"),
        ("plan", "mod inner { use crate::cli; }"),
        ("night", "use crate::store::SqliteStore;"),
        ("night", "use crate::store::*;"),
        ("ui", "use crate::night::RunTrial;"),
        ("runner", "use crate::store::Store;"),
        ("host", "use crate::server as s;"),
        ("stats", "fn f() { println!(\"{}\", crate::plan::x()); }"),
        ("space", "use std::fs;"),
        ("space", "use std::{fmt, fs::read as slurp};"),
        ("plan", "use std::time::{Duration, Instant};"),
        ("plan", "use std::time::*;"),
        ("plan", "fn f() { let _ = std::time::SystemTime::now(); }"),
        (
            "report",
            "fn f() -> String { format!(\"{:?}\", std::env::args()) }",
        ),
        ("mycnf", "async fn f() { tokio::spawn(g()).await; }"),
        ("strategy", "use sqlx::Row;"),
        ("nowhere", ""),
        ("stats", "use crate::"),
    ];
    for (module, source) in cases {
        assert!(!violations(module, source).is_empty(), "{module}: {source}");
    }
}

#[test]
fn what_is_allowed_is_not_reported() {
    let cases = [
        (
            "plan",
            "use crate::strategy::{Strategy, TrialNumber}; use std::time::Duration;",
        ),
        (
            "space",
            "use super::Value; use crate::units::Bytes; use crate::error::{Error, Problem};",
        ),
        ("night", "use crate::store::{Claim, Store};"),
        ("store", "use crate::plan::Job; use std::fs; use sqlx::Row;"),
        (
            "stats",
            "#[cfg(test)] mod tests { use std::fs; use crate::plan::Job; }",
        ),
        ("cli", "fn f() { std::env::args(); crate::store::open(); }"),
        ("units", "fn f() { let _ = std::time::UNIX_EPOCH; }"),
        ("stats", "fn f() { println!(\"{}\", \"a tokio of esteem\"); }"),
    ];
    for (module, source) in cases {
        assert_eq!(
            violations(module, source),
            Vec::<String>::new(),
            "{module}: {source}"
        );
    }
}
