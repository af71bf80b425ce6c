//! Bad input: a clear message and exit code 2 or 3 before any load starts.

use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use crate::bench::Bench;
use crate::study::Study;

/// Runs `tune` on the study and checks how it ends: the code, the words of the message, and that no load was started.
#[track_caller]
fn refused(bench: &Bench, study: &Study, code: i32, words: &[&str]) {
    refused_text(bench, &study.text(), code, words);
}

#[track_caller]
fn refused_text(bench: &Bench, study: &str, code: i32, words: &[&str]) {
    bench.write("study.toml", study);
    let run = bench.run(&["tune", "study.toml", "--shared-host"]);
    assert_eq!(run.code, Some(code), "{}", run.text());
    for word in words {
        assert!(run.stderr.contains(word), "no {word:?} in: {}", run.text());
    }
    assert!(!run.text().contains("panicked"), "{}", run.text());
    assert!(!bench.bin().join("runs").exists(), "a load was started");
    assert!(
        bench.is_quiet_within(Duration::from_secs(2)),
        "something still runs"
    );
}

#[test]
fn an_unknown_key_is_named_with_the_one_that_was_meant() {
    let study = Study::default().text().replace("threads = 2", "thraeds = 2");
    refused_text(&Bench::new(""), &study, 2, &["thraeds", "threads", "study.toml"]);
}

#[test]
fn an_unknown_key_of_a_knob_is_named_with_the_one_that_was_meant() {
    let mut study = Study::default();
    study.space += "\n[space.knob.innodb_lru_scan_depth]\nmin = 200\nmxa = 300";
    refused(
        &Bench::new(""),
        &study,
        2,
        &["\"mxa\"", "min, max, unit", "study.toml:16:1"],
    );
    let mut study = Study::default();
    study.space += "\n[space.knob.mode]\ntype = \"enum\"\nvalues.a = { wrties = { innodb_io_capacity = 3 } }";
    refused(
        &Bench::new(""),
        &study,
        2,
        &["\"wrties\"", "\"writes\"", "study.toml:16"],
    );
}

#[test]
fn a_study_that_is_no_toml_is_told_where() {
    let study = Study::default().text().replace("seed = 1", "seed = ");
    refused_text(&Bench::new(""), &study, 2, &["study.toml:4"]);
}

#[test]
fn a_study_file_that_is_missing_is_named() {
    let bench = Bench::new("");
    let run = bench.run(&["tune", "nowhere.toml"]);
    assert_eq!(run.code, Some(2), "{}", run.text());
    assert!(run.stderr.contains("nowhere.toml"), "{}", run.text());
}

#[test]
fn a_minimum_above_the_maximum_is_refused() {
    let mut study = Study::default();
    study.space += "\n[space.knob.innodb_lru_scan_depth]\nmin = 4000\nmax = 300";
    refused(
        &Bench::new(""),
        &study,
        2,
        &["innodb_lru_scan_depth", "4000", "300", "study.toml:14:13"],
    );
}

#[test]
fn an_expression_with_an_unknown_name_is_told_with_its_position() {
    let mut study = Study::default();
    study.space += "\n[[space.constraint]]\nname = \"room\"\nrequire = \"innodb_io_capacity <= 10 * corse\"";
    refused(
        &Bench::new(""),
        &study,
        2,
        &["corse", "cores", "study.toml:16:1", "at character 28"],
    );
}

#[test]
fn a_constraint_that_nothing_satisfies_is_refused() {
    let mut study = Study::default();
    study.space += "\n[[space.constraint]]\nname = \"never\"\nrequire = \"innodb_io_capacity < 1\"";
    refused(&Bench::new(""), &study, 2, &["never", "study.toml:16:1"]);
}

#[test]
fn a_workload_script_that_is_missing_is_named() {
    let mut study = Study::default();
    study.workload = study
        .workload
        .replace("\"oltp_read_write\"", "\"/nowhere/load.lua\"");
    refused(&Bench::new(""), &study, 2, &["/nowhere/load.lua"]);
}

#[test]
fn a_server_binary_that_is_missing_is_named() {
    let study = Study {
        server: "binary = \"/nowhere/mariadbd\"".to_owned(),
        ..Study::default()
    };
    refused(&Bench::new(""), &study, 3, &["/nowhere/mariadbd"]);
}

#[test]
fn a_server_binary_that_is_not_executable_is_named() {
    let bench = Bench::new("");
    let path = bench.write("mariadbd", "not a program");
    let study = Study {
        server: format!("binary = \"{}\"", path.display()),
        ..Study::default()
    };
    refused(&bench, &study, 3, &["executable", &path.display().to_string()]);
}

#[test]
fn a_program_that_is_no_server_is_named() {
    let bench = Bench::new("");
    let path = bench.write("mariadbd", "#!/bin/sh\necho hello\n");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    let study = Study {
        server: format!("binary = \"{}\"", path.display()),
        ..Study::default()
    };
    refused(&bench, &study, 3, &["--version", "hello"]);
}

#[test]
fn a_host_without_sysbench_is_told_what_to_install() {
    let bench = Bench::new("");
    std::fs::remove_file(bench.bin().join("sysbench")).unwrap();
    refused(&bench, &Study::default(), 3, &["sysbench", "install"]);
}

#[test]
fn a_results_folder_that_cannot_be_written_is_named() {
    let bench = Bench::new("");
    bench.write("study.toml", &Study::default().text());
    bench.write("file", "");
    let run = bench.run(&["tune", "study.toml", "--shared-host", "--results", "file/results"]);
    assert_eq!(run.code, Some(3), "{}", run.text());
    assert!(
        run.stderr.contains("file/results") && run.stderr.contains("--results"),
        "{}",
        run.text()
    );
    assert!(!bench.bin().join("runs").exists(), "a load was started");
}

#[test]
fn a_budget_too_short_for_baseline_and_confirmation_is_refused_with_what_it_takes() {
    let study = Study {
        budget: "time = \"20s\"".to_owned(),
        ..Study::default()
    };
    refused(&Bench::new(""), &study, 2, &["20s", "confirm"]);
}

#[test]
fn a_machine_class_larger_than_this_host_is_refused() {
    let bench = Bench::new("");
    let class = bench.write(
        "huge.toml",
        "format = 1\nname = \"huge\"\ncores = 4096\nram = \"64T\"\ndisk_free = \"900T\"\nstorage = \"ssd\"\n",
    );
    let study = Study {
        hardware: format!("class = \"{}\"", class.display()),
        ..Study::default()
    };
    refused(&bench, &study, 3, &["4096"]);
}

#[test]
fn an_unknown_preset_is_refused_with_those_there_are() {
    let study = Study {
        strategy: "preset = \"bayse\"".to_owned(),
        ..Study::default()
    };
    refused(&Bench::new(""), &study, 2, &["bayse", "bayes"]);
}

#[test]
fn another_database_server_on_the_host_is_a_reason_not_to_start() {
    let bench = Bench::new("");
    let other = Bench::new("");
    let data = other.path().join("data");
    std::fs::create_dir(&data).unwrap();
    let mut server = std::process::Command::new(other.bin().join("mariadbd"))
        .arg("--no-defaults")
        .arg(format!("--datadir={}", data.display()))
        .arg(format!("--socket={}", other.path().join("s").display()))
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    bench.write("study.toml", &Study::default().text());
    let run = bench.run(&["tune", "study.toml"]);
    server.kill().unwrap();
    server.wait().unwrap();
    assert_eq!(run.code, Some(3), "{}", run.text());
    assert!(
        run.stderr.contains("mariadbd") && run.stderr.contains("--shared-host"),
        "{}",
        run.text()
    );
    assert!(!bench.bin().join("runs").exists(), "a load was started");
}

#[test]
fn an_argument_that_leads_to_production_is_refused_with_its_line() {
    for argument in [
        "--datadir=/var/lib/mysql",
        "--data=/var/lib/mysql",
        "--event-scheduler=ON",
        "-P3306",
    ] {
        let study = Study {
            server: format!("binary = \"mariadbd\"\nargs = [\"{argument}\"]"),
            ..Study::default()
        };
        refused(
            &Bench::new(""),
            &study,
            2,
            &[argument, "study.toml:7:9", "[server] args"],
        );
    }
}

#[test]
fn an_argument_that_a_knob_writes_is_refused_with_its_line_and_the_knob() {
    let study = Study {
        server: "binary = \"mariadbd\"\nargs = [\"--innodb-io-capacity=400\"]".to_owned(),
        ..Study::default()
    };
    let bench = Bench::new("");
    let words = [
        "--innodb-io-capacity=400",
        "knob innodb_io_capacity",
        "study.toml:7:9",
    ];
    refused(&bench, &study, 2, &words);
    let checked = bench.run(&["check", "study.toml"]);
    assert_eq!(checked.code, Some(2), "{}", checked.text());
}

#[test]
fn a_data_directory_of_mysql_is_refused_before_it_is_looked_at() {
    let study = Study {
        more: "[template]\nfrom = \"/nowhere/mysql\"".to_owned(),
        ..Study::default()
    };
    let bench = Bench::new("[server]\nversion = \"8.0.36\"");
    refused(&bench, &study, 2, &["MySQL", "[template] from", "study.toml"]);
}

#[test]
fn a_system_tablespace_on_a_raw_device_is_refused_with_its_line() {
    let bench = Bench::new("");
    bench.write(
        "my.cnf",
        "[mysqld]\nkey_buffer_size = 8M\ninnodb_data_file_path = /dev/sdb1:3Gnewraw\n",
    );
    let study = Study {
        server: "binary = \"mariadbd\"\nbaseline = \"my.cnf\"".to_owned(),
        ..Study::default()
    };
    refused(&bench, &study, 2, &["raw device", "my.cnf:3", "/dev/sdb1"]);
}

#[test]
fn a_knob_that_would_undo_the_servers_isolation_is_refused() {
    let mut study = Study::default();
    study.space += "\n[space.knob.event_scheduler]\nvalues = [\"OFF\", \"ON\"]";
    refused(
        &Bench::new(""),
        &study,
        2,
        &["event_scheduler", "never tuned", "study.toml"],
    );
}

#[test]
fn a_constraint_that_cannot_be_read_is_told_with_its_line() {
    let mut study = Study::default();
    study.space += "\n[[space.constraint]]\nname = \"room\"\nrequire = \"innodb_io_capacity <= \"";
    refused(&Bench::new(""), &study, 2, &["room", "study.toml:16:1"]);
}

#[test]
fn a_bound_that_cannot_be_read_is_told_with_its_line() {
    let mut study = Study::default();
    study.space += "\n[space.knob.innodb_lru_scan_depth]\nmax = \"4 * (\"";
    refused(
        &Bench::new(""),
        &study,
        2,
        &["innodb_lru_scan_depth", "study.toml:14:13"],
    );
}
