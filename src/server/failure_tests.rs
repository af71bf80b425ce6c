use super::*;

fn log(name: &str) -> String {
    let path = format!(
        "{}/tests/fixtures/server_log/{name}.log",
        env!("CARGO_MANIFEST_DIR")
    );
    std::fs::read_to_string(path).unwrap()
}

fn after_exit(name: &str, code: i32) -> Outcome {
    classify_death(
        &log(name),
        &Death {
            code: Some(code),
            ..Death::default()
        },
    )
}

fn refused(name: &str, code: i32) -> Cause {
    match after_exit(name, code) {
        Outcome::ServerRefused { cause } => cause,
        other => panic!("{name}: {other:?}"),
    }
}

fn host_fault(name: &str) -> Cause {
    match after_exit(name, 1) {
        Outcome::HostFault { cause } => cause,
        other => panic!("{name}: {other:?}"),
    }
}

fn told(cause: &Cause) -> (CauseKind, Option<&str>, Option<&str>) {
    (cause.kind, cause.variable.as_deref(), cause.value.as_deref())
}

#[test]
fn an_unknown_variable_is_named_with_its_value_on_both_families() {
    assert_eq!(
        told(&refused("unknown_variable_mysql_8", 1)),
        (CauseKind::UnknownVariable, Some("query_cache_size"), Some("96M"))
    );
    assert_eq!(
        told(&refused("unknown_variable_mariadb", 7)),
        (
            CauseKind::UnknownVariable,
            Some("innodb_redo_log_capacity"),
            Some("3G")
        )
    );
}

#[test]
fn a_bad_value_is_named_by_the_first_error_and_not_by_the_misleading_last_one() {
    assert_eq!(
        told(&refused("bad_enum", 13)),
        (
            CauseKind::BadValue,
            Some("thread_handling"),
            Some("one-thread-per-core")
        )
    );
    assert_eq!(
        told(&refused("fraction_in_a_size", 1)),
        (CauseKind::BadValue, Some("innodb_buffer_pool_size"), Some("2.5G"))
    );
    assert_eq!(
        told(&refused("misleading_last_line", 7)),
        (CauseKind::BadValue, Some("innodb_buffer_pool_size"), Some("-8"))
    );
    assert_eq!(
        told(&refused("missing_argument", 5)),
        (CauseKind::BadValue, Some("sort_buffer_size"), None)
    );
    assert_eq!(
        told(&refused("pool_too_small_for_pages", 1)),
        (CauseKind::BadValue, Some("innodb_buffer_pool_size"), None)
    );
}

#[test]
fn the_first_error_and_the_exit_code_are_told_together() {
    for (name, code) in [("unknown_variable_mariadb", 7), ("bad_enum", 13)] {
        let text = refused(name, code).text;
        assert!(text.ends_with(&format!(" (exit code {code})")), "{text}");
    }
    let silent = classify_death(
        "",
        &Death {
            code: Some(5),
            ..Death::default()
        },
    );
    let text = silent.reason().unwrap();
    assert_eq!(text.matches("exit code 5").count(), 1, "{text}");
}

#[test]
fn a_data_directory_of_another_geometry_is_no_corruption() {
    for (name, variable) in [
        ("redo_of_another_size_5_5", "innodb_log_file_size"),
        ("system_tablespace_of_another_size", "innodb_data_file_path"),
        ("another_page_size", "innodb_page_size"),
    ] {
        assert_eq!(
            told(&refused(name, 1)),
            (CauseKind::Geometry, Some(variable), None),
            "{name}"
        );
    }
}

#[test]
fn a_pool_that_memory_cannot_hold_is_out_of_memory_in_either_wording() {
    for name in ["no_memory_mmap", "no_memory_mariadb"] {
        match after_exit(name, 1) {
            Outcome::OutOfMemory { cause } => assert_eq!(cause.kind, CauseKind::Memory),
            other => panic!("{name}: {other:?}"),
        }
    }
}

#[test]
fn a_kill_without_a_word_is_memory_when_the_kernel_counted_it_and_probably_so_when_it_cannot_be_seen() {
    let killed = |death: Death| {
        classify_death(
            &log("log_just_ends"),
            &Death {
                signal: Some(9),
                ..death
            },
        )
    };
    let text = |outcome: Outcome| match outcome {
        Outcome::OutOfMemory { cause } => cause.text,
        other => panic!("{other:?}"),
    };
    let counted = text(killed(Death {
        cgroup_kills: Some(1),
        ..Death::default()
    }));
    assert!(counted.contains("the kernel counted it"), "{counted}");
    let read = killed(Death {
        kernel_told: Some(false),
        ..Death::default()
    });
    assert!(
        matches!(&read, Outcome::Crashed { signal: Some(9), .. }),
        "somebody else killed it: {read:?}"
    );
    let unseen = text(killed(Death::default()));
    assert!(unseen.contains("signal 9, probably"), "{unseen}");
    assert!(matches!(
        killed(Death {
            cgroup_kills: Some(0),
            ..Death::default()
        }),
        Outcome::Crashed { signal: Some(9), .. }
    ));
}

#[test]
fn a_kill_before_ready_under_an_absurd_descriptor_limit_is_the_limits_fault() {
    let death = Death {
        signal: Some(9),
        open_files: Some(1_073_741_816),
        ..Death::default()
    };
    match classify_death(&log("killed_before_ready_huge_descriptor_limit"), &death) {
        Outcome::HostFault { cause } => assert_eq!(cause.kind, CauseKind::Descriptors),
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_the_host_lacks_is_a_host_fault_whatever_the_candidate() {
    for (name, kind) in [
        ("no_aio_slots", CauseKind::AioSlots),
        ("my_cnf_not_readable", CauseKind::Permission),
        ("data_outside_the_profile", CauseKind::Permission),
        ("tmp_denied", CauseKind::Permission),
        ("socket_path_too_long", CauseKind::Address),
        ("port_taken", CauseKind::Address),
        ("data_in_use", CauseKind::DataInUse),
        ("redo_larger_than_the_disk", CauseKind::DiskFull),
    ] {
        assert_eq!(host_fault(name).kind, kind, "{name}");
    }
    assert_eq!(
        host_fault("redo_larger_than_the_disk").variable.as_deref(),
        Some("innodb_log_file_size")
    );
}

#[test]
fn a_crash_keeps_its_signal() {
    let outcome = classify_death(
        &log("segfault"),
        &Death {
            signal: Some(11),
            ..Death::default()
        },
    );
    assert!(
        matches!(outcome, Outcome::Crashed { signal: Some(11), .. }),
        "{outcome:?}"
    );
}

#[test]
fn an_end_without_any_error_line_still_says_something() {
    let cause = match classify_death(
        "",
        &Death {
            code: Some(3),
            ..Death::default()
        },
    ) {
        Outcome::ServerRefused { cause } => cause,
        other => panic!("{other:?}"),
    };
    assert!(cause.text.contains("exit code 3"), "{}", cause.text);
}

#[test]
fn limits_changed_behind_our_back_are_told_with_the_way_out() {
    for (name, count) in [("limits_shrunk_mysql_5_7", 2), ("limits_kept_mariadb", 1)] {
        let warnings = start_warnings(&log(name));
        assert_eq!(warnings.len(), count, "{name}");
        assert!(
            warnings
                .iter()
                .all(|warning| warning.next.as_deref().unwrap().contains("ulimit -n"))
        );
    }
}

/// The log of a server that was ready, and then said this.
fn running(line: &str) -> String {
    format!(
        "2026-01-01  1:00:00 0 [ERROR] Could not open mysql.plugin table: \"Table 'mysql.plugin' doesn't exist\"\n\
         2026-01-01  1:00:00 0 [Note] mariadbd: ready for connections.\n{line}\n"
    )
}

fn with_signal(signal: i32) -> Death {
    Death {
        signal: Some(signal),
        ..Death::default()
    }
}

#[test]
fn a_kill_for_memory_is_one_whatever_the_log_said_before() {
    let kills = Death {
        cgroup_kills: Some(1),
        ..with_signal(9)
    };
    let told = Death {
        kernel_told: Some(true),
        ..with_signal(9)
    };
    for death in [kills, told] {
        for log in [
            running(""),
            running("[ERROR] mariadbd: Table './shop/item' is marked as crashed"),
            log("bad_enum"),
            log("redo_larger_than_the_disk"),
        ] {
            let outcome = classify_death(&log, &death);
            assert!(matches!(outcome, Outcome::OutOfMemory { .. }), "{outcome:?}");
        }
    }
}

#[test]
fn a_kill_by_somebody_is_not_explained_by_an_error_line() {
    let death = Death {
        cgroup_kills: Some(0),
        ..with_signal(9)
    };
    for log in [running(""), log("bad_enum")] {
        match classify_death(&log, &death) {
            Outcome::Crashed {
                signal: Some(9),
                cause,
            } => assert_eq!(cause.kind, CauseKind::Signal),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn errors_before_and_while_it_ran_do_not_hide_how_a_running_server_ended() {
    let log = running(
        "[ERROR] mariadbd: Permission denied (Errcode: 13) for one file\n[ERROR] mariadbd got signal 11 ;",
    );
    match classify_death(&log, &with_signal(11)) {
        Outcome::Crashed {
            signal: Some(11),
            cause,
        } => assert!(cause.text.contains("got signal 11"), "{cause:?}"),
        other => panic!("{other:?}"),
    }
    let ended = Death {
        code: Some(3),
        ..Death::default()
    };
    let outcome = classify_death(&running("[ERROR] InnoDB: Cannot continue operation."), &ended);
    match outcome {
        Outcome::Crashed { signal: None, cause } => assert!(cause.text.contains("Cannot continue")),
        other => panic!("a running server does not refuse a start: {other:?}"),
    }
}

#[test]
fn a_running_server_that_gives_up_for_what_it_lacks_says_so() {
    let full = running(
        "[ERROR] InnoDB: Write to file ./ib_logfile0 failed at offset 512, 512 bytes should have been written, error 28\n[ERROR] mysqld got signal 6 ;",
    );
    match classify_death(&full, &with_signal(6)) {
        Outcome::HostFault { cause } => assert_eq!(cause.kind, CauseKind::DiskFull),
        other => panic!("{other:?}"),
    }
    let memory =
        running("[ERROR] mysqld: Out of memory (Needed 134217728 bytes)\n[ERROR] mysqld got signal 6 ;");
    let outcome = classify_death(&memory, &with_signal(6));
    assert!(matches!(outcome, Outcome::OutOfMemory { .. }), "{outcome:?}");
}
