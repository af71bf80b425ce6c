//! The commands besides `tune`.

use crate::bench::Bench;
use crate::study::Study;

#[test]
fn help_lists_the_exit_codes() {
    let run = Bench::new("").run(&["--help"]);
    assert_eq!(run.code, Some(0));
    for code in ["0 ", "1 ", "2 ", "3 ", "4 ", "5 ", "130 "] {
        assert!(
            run.stdout.contains(&format!("\n  {code}")),
            "{code}: {}",
            run.stdout
        );
    }
}

#[test]
fn completions_and_the_manual_page_are_printed() {
    let bench = Bench::new("");
    for shell in ["bash", "zsh", "fish"] {
        let run = bench.run(&["completions", shell]);
        assert_eq!(run.code, Some(0));
        assert!(run.stdout.contains("noctune"), "{shell}");
    }
    let run = bench.run(&["man"]);
    assert_eq!(run.code, Some(0));
    assert!(run.stdout.contains(".TH"), "{}", run.stdout);
}

#[test]
fn an_unknown_flag_is_bad_usage() {
    let run = Bench::new("").run(&["tune", "--frobnicate"]);
    assert_eq!(run.code, Some(2));
    assert!(run.stderr.contains("--frobnicate"), "{}", run.stderr);
}

#[test]
fn what_init_writes_check_accepts_and_it_is_never_overwritten() {
    let bench = Bench::new("");
    let run = bench.run(&["init", "."]);
    assert_eq!(run.code, Some(0), "{}", run.text());
    let study = std::fs::read_to_string(bench.path().join("study.toml")).unwrap();
    assert!(study.contains("# ") && study.contains("[workload]"), "{study}");
    let run = bench.run(&["check", "study.toml"]);
    assert_eq!(run.code, Some(0), "{}", run.text());
    let run = bench.run(&["init", "."]);
    assert_eq!(run.code, Some(2), "{}", run.text());
    assert!(run.stderr.contains("--force"), "{}", run.text());
    assert!(!bench.bin().join("runs").exists(), "a load was started");
}

#[test]
fn check_shows_bounds_and_memory_and_runs_nothing() {
    let bench = Bench::new("");
    bench.write("study.toml", &Study::default().text());
    let run = bench.run(&["check", "study.toml"]);
    assert_eq!(run.code, Some(0), "{}", run.text());
    for word in [
        "innodb_io_capacity",
        "InnoDB buffer pool",
        "first candidates",
        "at most 24 trials",
        "9 for baseline and search, 15 kept for the confirmation",
    ] {
        assert!(run.stdout.contains(word), "no {word} in {}", run.stdout);
    }
    assert!(!bench.bin().join("runs").exists(), "a load was started");
}

#[test]
fn check_tells_of_a_my_cnf_what_the_server_makes_of_each_line() {
    let bench = Bench::new("");
    bench.write(
        "my.cnf",
        "[mysqld]\ninnodb_io_capacity = 5\nsort_buffer_size = 2M\n",
    );
    let run = bench.run(&["check", "my.cnf", "--json"]);
    for word in ["\"effective\":\"100\"", "\"ok\"", "my.cnf"] {
        assert!(run.stdout.contains(word), "no {word}: {}", run.text());
    }
    bench.write(
        "my.cnf",
        "[mysqld]\nuser = mysql\ninnodb_buffer_pol_size = 1G\nloose_shard = 3\n",
    );
    let run = bench.run(&["check", "my.cnf", "--json"]);
    assert_eq!(run.code, Some(1), "{}", run.text());
    assert!(
        run.text().contains("it has no innodb_buffer_pol_size"),
        "{}",
        run.text()
    );
    // An option without a variable.
    assert!(
        run.stdout.contains("\"name\":\"user\",\"verdict\":\"ok\""),
        "{}",
        run.text()
    );
    assert!(
        run.stdout
            .contains("\"line\":3,\"name\":\"innodb_buffer_pol_size\",\"verdict\":\"unknown\""),
        "{}",
        run.text()
    );
}

#[test]
fn doctor_names_the_server_and_the_load_and_how_to_get_what_is_missing() {
    let bench = Bench::new("");
    let run = bench.run(&["doctor"]);
    assert!(run.stdout.contains("10.11.19"), "{}", run.text());
    assert!(run.stdout.contains("sysbench"), "{}", run.text());
    std::fs::remove_file(bench.bin().join("sysbench")).unwrap();
    let run = bench.run(&["doctor"]);
    assert_eq!(run.code, Some(3), "{}", run.text());
    assert!(run.text().contains("install"), "{}", run.text());
}

#[test]
fn a_trial_takes_values_as_people_write_them_and_refuses_what_the_space_does_not_permit() {
    let bench = Bench::new("");
    bench.write("study.toml", &Study::default().text());
    let trial = |sets: &[&str]| {
        let mut arguments = vec!["trial", "study.toml", "--shared-host", "--json"];
        arguments.extend(sets.iter().flat_map(|set| ["--set", set]));
        bench.run(&arguments)
    };
    for set in [
        "innodb_io_capacity=5",
        "innodb-io-capacity=5",
        "innodb_io_capacity=",
    ] {
        let run = trial(&[set]);
        assert_eq!(run.code, Some(2), "{set}: {}", run.text());
        assert!(
            run.stderr.contains("no value the space permits"),
            "{}",
            run.text()
        );
    }
    let run = trial(&[
        "innodb-io-capacity=3000",
        "innodb_flush_neighbors=0",
        "innodb_max_dirty_pages_pct=50",
        "innodb_adaptive_flushing=off",
    ]);
    assert_eq!(run.code, Some(0), "{}", run.text());
    let told = run.events();
    let told = &told.last().unwrap()["configuration"];
    assert_eq!(told["innodb_io_capacity"], 3000, "{told}");
    assert_eq!(told["innodb_flush_neighbors"], "0", "{told}");
    assert_eq!(told["innodb_max_dirty_pages_pct"], 50.0, "{told}");
    assert_eq!(told["innodb_adaptive_flushing"], false, "{told}");
}

#[test]
fn status_report_and_explain_of_nothing_say_so() {
    let bench = Bench::new("");
    for command in ["status", "report", "explain"] {
        let run = bench.run(&[command]);
        assert_eq!(run.code, Some(2), "{command}: {}", run.text());
        assert!(run.stderr.contains("results"), "{command}: {}", run.text());
    }
}

#[test]
fn check_names_the_lines_of_a_my_cnf_that_trials_do_not_get() {
    let bench = Bench::new("");
    bench.write(
        "my.cnf",
        "[mysqld]\nslow_launch_time = 5\nnet_retry_count = 3\nkey_buffer_size = 16M\n",
    );
    let study = Study {
        server: "binary = \"mariadbd\"\nbaseline = \"my.cnf\"".to_owned(),
        space: "families = [\"io\"]\n[space.knob.net_retry_count]\nmin = 1\nmax = 9".to_owned(),
        ..Study::default()
    };
    bench.write("study.toml", &study.text());
    let run = bench.run(&["check", "study.toml"]);
    assert_eq!(run.code, Some(0), "{}", run.text());
    assert!(
        run.stderr.contains("my.cnf:2: slow_launch_time"),
        "{}",
        run.text()
    );
    assert!(!run.stderr.contains("net_retry_count"), "{}", run.text());

    let run = bench.run(&["trial", "study.toml", "--shared-host"]);
    assert_eq!(run.code, Some(0), "{}", run.text());
    let trials = bench.path().join("results/fake/trials");
    let trial = std::fs::read_dir(trials).unwrap().next().unwrap().unwrap().path();
    let cnf = std::fs::read_to_string(trial.join("my.cnf")).unwrap();
    assert!(!cnf.contains("slow_launch_time"), "{cnf}");
    assert!(
        cnf.contains("net_retry_count = 3") && cnf.contains("key_buffer_size"),
        "{cnf}"
    );
}

#[test]
fn check_adds_up_disk_and_memory_and_tells_of_a_baseline_that_takes_too_much() {
    let bench = Bench::new("");
    bench.write("my.cnf", "[mysqld]\ninnodb_buffer_pool_size = 3G\n");
    bench.write(
        "small.toml",
        "format = 1\nname = \"small\"\ncores = 1\nram = \"2G\"\ndisk_free = \"4G\"\nstorage = \"ssd\"\n",
    );
    let study = Study {
        server: "binary = \"mariadbd\"\nbaseline = \"my.cnf\"".to_owned(),
        hardware: "class = \"small.toml\"".to_owned(),
        space: "families = [\"memory\", \"redo\"]".to_owned(),
        ..Study::default()
    };
    bench.write("study.toml", &study.text());
    let run = bench.run(&["check", "study.toml"]);
    assert_eq!(run.code, Some(0), "{}", run.text());
    for word in ["a trial's copy of it", "redo log at its largest", "free on "] {
        assert!(run.stdout.contains(word), "no {word}: {}", run.text());
    }
    for word in [
        "the baseline may take",
        "the machine class has 2.00 GiB",
        "InnoDB buffer pool",
        "3.00 GiB",
    ] {
        assert!(run.stderr.contains(word), "no {word}: {}", run.text());
    }

    bench.write("my.cnf", "[mysqld]\ninnodb_buffer_pool_size = 9000G\n");
    let run = bench.run(&["check", "my.cnf"]);
    for word in ["memory on this host", "together"] {
        assert!(run.stdout.contains(word), "no {word}: {}", run.text());
    }
    assert!(
        run.stderr.contains("a server with this my.cnf may take 9."),
        "{}",
        run.text()
    );
}

#[test]
fn a_study_that_does_not_fit_on_the_disk_is_refused_before_anything_is_filled() {
    let bench = Bench::new("");
    let study = Study {
        workload:
            "script = \"oltp_read_write\"\nthreads = 2\noptions = { tables = 1000, table-size = 1000000000 }"
                .to_owned(),
        ..Study::default()
    };
    bench.write("study.toml", &study.text());
    for arguments in [
        &["check", "study.toml"][..],
        &["tune", "study.toml", "--shared-host"],
    ] {
        let run = bench.run(arguments);
        assert_eq!(run.code, Some(3), "{}", run.text());
        assert!(
            run.stderr.contains("does not fit on the disk") && run.stderr.contains("--results"),
            "{}",
            run.text()
        );
    }
    assert!(!bench.bin().join("runs").exists(), "a load was started");
}

#[test]
fn changed_data_of_the_user_are_not_taken_from_an_old_template() {
    let bench = Bench::new("");
    let data = bench.path().join("mine");
    let installed = std::process::Command::new(bench.bin().join("mariadb-install-db"))
        .arg("--no-defaults")
        .arg(format!("--datadir={}", data.display()))
        .stdout(std::process::Stdio::null())
        .status()
        .unwrap();
    assert!(installed.success());
    let study = Study {
        more: "[template]\nfrom = \"mine\"".to_owned(),
        ..Study::default()
    };
    bench.write("study.toml", &study.text());
    let key = || {
        let run = bench.run(&["trial", "study.toml", "--shared-host"]);
        assert_eq!(run.code, Some(0), "{}", run.text());
        let marker = bench.path().join("results/fake/template/data/.noctune-template");
        let marker: serde_json::Value = serde_json::from_slice(&std::fs::read(marker).unwrap()).unwrap();
        marker["key"].as_str().unwrap().to_owned()
    };
    let first = key();
    assert_eq!(key(), first);
    std::fs::write(data.join("undo001"), "more").unwrap();
    assert_ne!(key(), first);
}

#[test]
fn what_a_study_names_is_looked_up_as_a_path_then_in_the_users_configuration_folder_then_in_the_binary() {
    let bench = Bench::new("");
    for folder in [
        "config/noctune/spaces/hardware",
        "config/noctune/strategies",
        "files",
    ] {
        std::fs::create_dir_all(bench.path().join(folder)).unwrap();
    }
    let knob = |name: &str| format!("format = 1\n[knob.{name}]\ntype = \"int\"\nmin = 100\nmax = 900\n");
    bench.write("config/noctune/spaces/io.toml", &knob("innodb_lru_scan_depth"));
    bench.write("config/noctune/spaces/mine.toml", &knob("innodb_io_capacity"));
    bench.write("files/more.toml", &knob("table_open_cache"));
    bench.write(
        "config/noctune/spaces/hardware/tiny.toml",
        "format = 1\nname = \"tiny\"\ncores = 1\nram = \"1500M\"\ndisk_free = \"1G\"\nstorage = \"ssd\"\n",
    );
    bench.write(
        "config/noctune/strategies/even.toml",
        "format = 1\nkind = \"sobol\"\n",
    );
    let study = Study {
        hardware: "class = \"tiny\"".to_owned(),
        space: "families = [\"io\", \"mine\", \"files/more.toml\", \"redo\"]".to_owned(),
        strategy: "preset = \"even\"".to_owned(),
        ..Study::default()
    };
    bench.write("study.toml", &study.text());
    let run = bench.run(&["check", "study.toml"]);
    assert_eq!(run.code, Some(0), "{}", run.text());
    for word in [
        "class       tiny: 1 cores, 1.46 GiB RAM",
        "innodb_lru_scan_depth              100 .. 900",
        "innodb_io_capacity                 100 .. 900",
        "table_open_cache                   100 .. 900",
        "innodb_log_file_size ",
        "quasi-random sequence",
    ] {
        assert!(run.stdout.contains(word), "no {word}: {}", run.text());
    }
    assert!(!run.stdout.contains("innodb_flush_neighbors"), "{}", run.text());

    bench.write(
        "files/more.toml",
        "format = 1\n[knob.table_open_cache]\nmax = \"2 * coers\"\n",
    );
    let run = bench.run(&["check", "study.toml"]);
    assert_eq!(run.code, Some(2), "{}", run.text());
    assert!(
        run.stderr.contains("files/more.toml") && run.stderr.contains("\"cores\""),
        "{}",
        run.text()
    );
    let misspelt = study.text().replace("\"even\"", "\"evn\"");
    bench.write("study.toml", &misspelt);
    let run = bench.run(&["check", "study.toml"]);
    assert_eq!(run.code, Some(2), "{}", run.text());
    assert!(run.stderr.contains("did you mean \"even\""), "{}", run.text());
}
