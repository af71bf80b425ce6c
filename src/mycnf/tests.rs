use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use proptest::prelude::*;

use super::*;

const MARIADB: Dialect = Dialect::MariaDb { major: 10, minor: 11 };
const MYSQL: Dialect = Dialect::MySql { major: 8, minor: 0 };

#[derive(Default)]
struct InMemory {
    files: BTreeMap<PathBuf, Vec<u8>>,
    world_writable: Vec<PathBuf>,
}

impl InMemory {
    fn with(files: &[(&str, &str)]) -> Self {
        let files = files
            .iter()
            .map(|(path, text)| (PathBuf::from(path), text.as_bytes().to_vec()))
            .collect();
        Self {
            files,
            ..Self::default()
        }
    }
}

impl Files for InMemory {
    fn read(&self, path: &Path) -> Result<Vec<u8>, Unread> {
        if self.world_writable.iter().any(|known| known == path) {
            return Err(Unread::WorldWritable);
        }
        self.files.get(path).cloned().ok_or(Unread::Missing)
    }

    fn list(&self, folder: &Path) -> Result<Vec<String>, Unread> {
        let names: Vec<String> = self
            .files
            .keys()
            .filter(|path| path.parent() == Some(folder))
            .filter_map(|path| path.file_name().map(|name| name.to_string_lossy().into_owned()))
            .rev()
            .collect();
        if names.is_empty() {
            Err(Unread::Missing)
        } else {
            Ok(names)
        }
    }
}

fn read(text: &str, dialect: Dialect) -> MyCnf {
    parse_text(Path::new("my.cnf"), text.as_bytes(), dialect)
}

/// Values in force, every name taken as an option.
fn in_force(cnf: &MyCnf) -> BTreeMap<String, Option<String>> {
    cnf.effective(|_| true)
        .into_iter()
        .map(|(name, (meaning, _))| (name, meaning.value))
        .collect()
}

fn value(cnf: &MyCnf, name: &str) -> Option<String> {
    in_force(cnf).get(name).cloned().flatten()
}

fn kinds(cnf: &MyCnf) -> Vec<&FindingKind> {
    cnf.findings.iter().map(|finding| &finding.kind).collect()
}

const VERSION_GROUPS: &str = "\
[mariadb-10.11]
innodb_buffer_pool_size = 6G
innodb-log-file-size = 1G

[mysqld]
innodb-buffer-pool-size = 2G
innodb_log_file_size = 256M
innodb_buffer_pool_size = 3G

[mysqld-8.0]
innodb_buffer_pool_size = 5G

[mariadb-11.4]
innodb_buffer_pool_size = 9G

[mariadb]
innodb_io_capacity = 2000

[mysqld_safe]
innodb_buffer_pool_size = 1G

[galera]
innodb_flush_log_at_trx_commit = 2
";

#[test]
fn the_last_setting_in_file_order_counts_over_all_groups_the_server_reads() {
    let cnf = read(VERSION_GROUPS, MARIADB);
    assert_eq!(value(&cnf, "innodb_buffer_pool_size").as_deref(), Some("3G"));
    assert_eq!(value(&cnf, "innodb_log_file_size").as_deref(), Some("256M"));
    assert_eq!(value(&cnf, "innodb_io_capacity").as_deref(), Some("2000"));
    assert_eq!(
        value(&cnf, "innodb_flush_log_at_trx_commit").as_deref(),
        Some("2")
    );
}

#[test]
fn a_mysql_server_reads_nothing_of_the_mariadb_groups() {
    let cnf = read(VERSION_GROUPS, MYSQL);
    assert_eq!(value(&cnf, "innodb_buffer_pool_size").as_deref(), Some("5G"));
    assert_eq!(value(&cnf, "innodb_log_file_size").as_deref(), Some("256M"));
    assert_eq!(in_force(&cnf).len(), 2);
}

#[test]
fn comments_quotes_and_empty_values_are_read_as_servers_do() {
    let cnf = read(
        "[mysqld]\n\
         innodb_buffer_pool_size=256M#was 128M\n\
         tmp_table_size = 64M   # raised on Monday ; see ticket\n\
         init_connect = 'SET NAMES utf8mb4; SET @app=1'   # runs for each client\n\
         ft_boolean_syntax = ' |-><()~*:\"\"&^'\n\
         report_host = \"db#7.example.internal\"\n\
         report_user = repl#user\n\
         secure_file_priv = \"\"\n\
         log_error = \"/srv/log dir/err.log\n\
         server_audit_note = it's\n\
         ; semicolon comment line\n\
         \t   # indented hash comment\n\
         \t join_buffer_size   =   1M   \n\
         sort_buffer_size\n",
        MARIADB,
    );
    let expected = [
        ("innodb_buffer_pool_size", Some("256M")),
        ("tmp_table_size", Some("64M")),
        ("init_connect", Some("SET NAMES utf8mb4; SET @app=1")),
        ("ft_boolean_syntax", Some(" |-><()~*:\"\"&^")),
        ("report_host", Some("db#7.example.internal")),
        ("report_user", Some("repl")),
        ("secure_file_priv", Some("")),
        ("log_error", Some("\"/srv/log dir/err.log")),
        ("server_audit_note", Some("it's")),
        ("join_buffer_size", Some("1M")),
        ("sort_buffer_size", None),
    ];
    let expected: BTreeMap<String, Option<String>> = expected
        .iter()
        .map(|(name, value)| ((*name).to_owned(), value.map(str::to_owned)))
        .collect();
    assert_eq!(in_force(&cnf), expected);
    let cut_or_open: Vec<(usize, &FindingKind)> = cnf
        .findings
        .iter()
        .map(|finding| (finding.line, &finding.kind))
        .collect();
    assert!(matches!(cut_or_open[0], (2, FindingKind::CutAtHash { .. })));
    assert!(
        matches!(cut_or_open[1], (7, FindingKind::CutAtHash { name, cut }) if name == "report_user" && cut == "#user")
    );
    assert!(matches!(cut_or_open[2], (9, FindingKind::UnbalancedQuote { name }) if name == "log_error"));
    assert!(matches!(
        cut_or_open[3],
        (10, FindingKind::UnbalancedQuote { .. })
    ));
    assert_eq!(cut_or_open.len(), 4);
}

#[test]
fn settings_in_groups_of_other_programs_are_told_apart() {
    let cnf = read(
        "[client]\nport = 3306\ninnodb_buffer_pool_size = 8G\n[mysqld_safe]\nopen_files_limit = 65535\n\
         [MYSQLD]\nmax_connections = 400\n[mysqld ]\ninnodb_io_capacity = 1500\n[mysqld]\nmax_allowed_packet = 64M\n",
        MARIADB,
    );
    assert_eq!(value(&cnf, "max_connections").as_deref(), Some("400"));
    assert_eq!(value(&cnf, "innodb_io_capacity").as_deref(), Some("1500"));
    assert_eq!(value(&cnf, "max_allowed_packet").as_deref(), Some("64M"));
    assert_eq!(in_force(&cnf).len(), 3);
    let unread: Vec<&str> = cnf.unread().map(|setting| setting.name.as_str()).collect();
    assert_eq!(unread, ["port", "innodb_buffer_pool_size", "open_files_limit"]);
}

#[test]
fn a_blank_before_the_group_name_makes_another_group() {
    assert!(in_force(&read("[ mysqld]\na=1\n", MARIADB)).is_empty());
}

#[test]
fn escapes_are_resolved_and_unknown_ones_kept() {
    let cnf = read(
        "[mysqld]\na=\"x\\ty\\sz\\q\\\\n\"\nb=\"x\\\"y#z\" # c\nc=x\\#y\n",
        MARIADB,
    );
    assert_eq!(value(&cnf, "a").as_deref(), Some("x\ty z\\q\\n"));
    assert_eq!(value(&cnf, "b").as_deref(), Some("x\"y#z"));
    assert_eq!(value(&cnf, "c").as_deref(), Some("x\\"));
}

#[test]
fn carriage_returns_are_blanks() {
    let cnf = read("[mysqld]\r\na=1\r\nb = \"x y\" \r\n", MARIADB);
    assert_eq!(value(&cnf, "a").as_deref(), Some("1"));
    assert_eq!(value(&cnf, "b").as_deref(), Some("x y"));
}

#[test]
fn what_stops_a_server_is_found_with_its_line_and_the_rest_is_still_read() {
    for (text, line, kind) in [
        ("\u{feff}[mysqld]\na=1\n", 1, FindingKind::ByteOrderMark),
        ("x=2\n[mysqld]\na=1\n", 1, FindingKind::OptionOutsideGroup),
        ("[mysqld]\na=1\n[oops\n", 3, FindingKind::BadGroup),
        ("[mysqld]\na=1\n!include\n", 3, FindingKind::MissingPath),
        ("[mysqld]\na=1\n=5\n", 3, FindingKind::MissingName),
    ] {
        let cnf = read(text, MARIADB);
        assert!(cnf.stops_a_server(), "{text}");
        assert_eq!(
            (cnf.findings[0].line, &cnf.findings[0].kind),
            (line, &kind),
            "{text}"
        );
        assert_eq!(value(&cnf, "a").as_deref(), Some("1"), "{text}");
        let told = cnf.findings[0].problem().to_string();
        assert!(
            told.contains(&format!("my.cnf:{line}")) && told.contains("next: "),
            "{told}"
        );
    }
}

#[test]
fn a_line_that_is_too_long_is_cut_and_its_tail_is_another_option() {
    let cnf = read(&format!("[mysqld]\na={}\nb=1\n", "x".repeat(5000)), MARIADB);
    assert_eq!(value(&cnf, "a").map(|a| a.len()), Some(4093));
    assert_eq!(in_force(&cnf).len(), 3);
    assert_eq!(kinds(&cnf), [&FindingKind::LongLine]);
}

#[test]
fn an_include_folder_is_read_in_the_order_of_names_and_what_is_passed_over_is_said() {
    let files = InMemory::with(&[
        (
            "my.cnf",
            "[client-server]\nsocket = /run/s\n[mysqld]\nmax_connections = 150\n!includedir ./c.d/\n\
             !include ./c.d/none.cnf\nsort_buffer_size = 512K\n",
        ),
        ("./c.d/10-base.cnf", "[mysqld]\nmax_connections = 200\n"),
        ("./c.d/50-team.cnf", "[mysqld]\nmax-connections = 210\n"),
        ("./c.d/90-tune.local.cnf", "[mysqld]\nmax_connections = 999\n"),
        ("./c.d/README", "[mysqld]\nmax_connections = 777\n"),
        ("./c.d/zz-old.cnf.bak", "[mysqld]\nmax_connections = 888\n"),
    ]);
    let cnf = parse(&files, Path::new("my.cnf"), MARIADB);
    let effective = cnf.effective(|_| true);
    let (meaning, setting) = &effective["max_connections"];
    assert_eq!(meaning.value.as_deref(), Some("999"));
    assert_eq!(setting.place(), "./c.d/90-tune.local.cnf:2");
    // Text after an include belongs to the last group of this file.
    assert_eq!(effective["sort_buffer_size"].0.value.as_deref(), Some("512K"));
    let passed_over: Vec<String> = cnf
        .findings
        .iter()
        .filter_map(|finding| match &finding.kind {
            FindingKind::NotRead { path } => Some(path.display().to_string()),
            _ => None,
        })
        .collect();
    assert_eq!(passed_over, ["./c.d/README", "./c.d/zz-old.cnf.bak"]);
    assert!(
        kinds(&cnf)
            .iter()
            .any(|kind| matches!(kind, FindingKind::MissingInclude { .. }))
    );
    assert!(
        kinds(&cnf)
            .iter()
            .any(|kind| matches!(kind, FindingKind::TwoDots { .. }))
    );
    assert!(!cnf.stops_a_server());
}

#[test]
fn a_missing_include_folder_stops_a_server_and_a_missing_include_file_does_not() {
    let files = InMemory::with(&[
        ("a.cnf", "[mysqld]\n!includedir none\n"),
        ("b.cnf", "[mysqld]\n!include none\n"),
    ]);
    assert!(parse(&files, Path::new("a.cnf"), MARIADB).stops_a_server());
    assert!(!parse(&files, Path::new("b.cnf"), MARIADB).stops_a_server());
}

#[test]
fn an_included_file_without_a_group_is_given_up_and_the_main_file_read_on() {
    let files = InMemory::with(&[
        ("my.cnf", "[mysqld]\n!include no-group.cnf\nz=1\n"),
        ("no-group.cnf", "x=9\n[mysqld]\ny=1\n"),
    ]);
    let cnf = parse(&files, Path::new("my.cnf"), MARIADB);
    assert_eq!(in_force(&cnf).keys().collect::<Vec<_>>(), ["z"]);
    assert_eq!(cnf.findings[0].severity, Severity::RestUnread);
}

#[test]
fn a_file_that_includes_itself_ends() {
    let files = InMemory::with(&[("my.cnf", "[mysqld]\na=1\n!include my.cnf\n")]);
    let cnf = parse(&files, Path::new("my.cnf"), MARIADB);
    assert_eq!(cnf.settings.len(), 11);
    assert!(matches!(kinds(&cnf)[0], FindingKind::TooDeep { .. }));
}

#[test]
fn a_baseline_that_servers_ignore_for_its_mode_is_refused() {
    let files = InMemory {
        world_writable: vec![PathBuf::from("my.cnf")],
        ..InMemory::with(&[("my.cnf", "[mysqld]\na=1\n")])
    };
    let cnf = parse(&files, Path::new("my.cnf"), MARIADB);
    assert!(cnf.stops_a_server() && cnf.settings.is_empty());
    assert!(cnf.findings[0].problem().to_string().contains("ignore"));
}

#[test]
fn prefixes_switch_limit_and_forgive_but_a_full_name_wins() {
    let known = |name: &str| ["skip_networking", "innodb_doublewrite", "max_connections"].contains(&name);
    let cnf = read(
        "[mysqld]\nskip-networking\nskip-innodb-doublewrite=1\nloose-max-connections=7\nmaximum-max_connections=9\n\
         loose_no_such=1\nenable_innodb_doublewrite\n",
        MARIADB,
    );
    let meanings: Vec<Meaning> = cnf
        .settings
        .iter()
        .map(|setting| setting.meaning(known))
        .collect();
    assert_eq!(
        (meanings[0].variable.as_str(), &meanings[0].value),
        ("skip_networking", &None)
    );
    assert_eq!(
        (meanings[1].variable.as_str(), meanings[1].value.as_deref()),
        ("innodb_doublewrite", Some("OFF"))
    );
    assert!(meanings[2].loose && meanings[2].known);
    assert!(meanings[3].maximum);
    assert!(meanings[4].loose && !meanings[4].known);
    assert_eq!(meanings[5].value.as_deref(), Some("ON"));
    assert_eq!(
        cnf.effective(known)["max_connections"].0.value.as_deref(),
        Some("7")
    );
}

#[test]
fn only_what_servers_take_as_different_is_a_difference() {
    let left = read("[mysqld]\na=1G\nb=on\nc=1\nd=0.50\ngone=1\nskip_e\n", MARIADB);
    let right = read("[mysqld]\na=1024M\nb=1\nc=2\nd=0.5\nnew\ne=0\n", MARIADB);
    let known = |name: &str| !name.starts_with("skip_");
    let changed: Vec<(String, Option<String>, Option<String>)> = diff(&left, &right, known)
        .into_iter()
        .map(|d| (d.variable, d.left, d.right))
        .collect();
    let text = |value: &str| Some(value.to_owned());
    assert_eq!(
        changed,
        [
            ("c".to_owned(), text("1"), text("2")),
            ("gone".to_owned(), text("1"), None),
            ("new".to_owned(), None, text("ON")),
        ]
    );
}

proptest! {
    #[test]
    fn reading_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..2000)) {
        let cnf = parse_text(Path::new("x"), &bytes, MARIADB);
        for finding in &cnf.findings {
            let _ = finding.problem().to_string();
        }
    }

    #[test]
    fn reading_text_of_the_characters_that_matter_never_panics(
        text in "(\\[mysqld\\]\n)?([ab=#;!'\"\\\\\\[\\] \t\r\n\u{a0}ü-]|include|includedir|loose_|skip-){0,60}"
    ) {
        let cnf = read(&text, MYSQL);
        prop_assert!(cnf.settings.iter().all(|setting| setting.line >= 1));
    }
}
