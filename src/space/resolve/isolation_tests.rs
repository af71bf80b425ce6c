//! Spaces that would reach out of a private server.

use super::tests::Case;

#[test]
fn a_knob_that_would_undo_the_servers_isolation_is_refused_with_its_place() {
    for knob in [
        "event_scheduler",
        "server_id",
        "slave_compressed_protocol",
        "relay_log_recovery",
        "report_host",
        "general_log_file",
        "wsrep_on",
        "plugin_dir",
        "innodb_undo_directory",
        "secure_file_priv",
    ] {
        let mut case = Case::shipped("10.11", "4-cores-8g-ssd");
        let spec = toml::from_str("type = \"enum\"\nvalues = [\"a\", \"b\"]").unwrap();
        case.knobs.insert(knob.to_owned(), spec);
        let error = case.resolve().unwrap_err();
        assert_eq!(error.exit_code(), 2);
        let text = error.to_string();
        assert!(text.contains(knob) && text.contains("study.toml"), "{text}");
    }
}

#[test]
fn a_value_that_leads_out_of_the_servers_folder_is_refused_wherever_it_is_written() {
    for spec in [
        "values = [\"fsync\", \"/dev/sdb\"]",
        "type = \"enum\"\nvalues.a = { writes = { innodb_flush_method = \"../x\" } }\nvalues.b = { writes = { innodb_flush_method = \"fsync\" } }",
        "fix = \"/dev/sdb\"",
    ] {
        let mut case = Case::shipped("10.11", "4-cores-8g-ssd");
        case.knobs
            .insert("innodb_flush_method".to_owned(), toml::from_str(spec).unwrap());
        let text = case.error();
        assert!(
            text.contains("path") && text.contains("innodb_flush_method"),
            "{text}"
        );
    }
}
