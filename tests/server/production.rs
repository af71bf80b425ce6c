//! A user's own data directory as the source of a template: read, never touched, stripped of what belongs to production.

use std::collections::BTreeMap;
use std::path::Path;

use noctune::server::{Client, Source, Template, reset};

use crate::bench::{DEADLINE, bench};

/// Names and contents of a folder's top level.
fn listing(folder: &Path) -> BTreeMap<String, u64> {
    std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| {
            let entry = entry.unwrap();
            (
                entry.file_name().into_string().unwrap(),
                entry.metadata().unwrap().len(),
            )
        })
        .collect()
}

#[tokio::test]
async fn a_users_data_are_copied_stripped_and_left_as_they_were() {
    let Some(bench) = bench().await else { return };
    let users = bench.scratch.path().join("production");
    reset(&bench.template.data, &users, None, bench.user.run_as.as_ref()).unwrap();
    for (name, text) in [
        (
            "auto.cnf",
            "[auto]\nserver-uuid=6f0c1d3e-0000-0000-0000-000000000001\n",
        ),
        (
            "master.info",
            "33\nprod-bin.000009\n4\n10.1.2.3\nrepl\nsecret\n3306\n",
        ),
        ("db7-relay-bin.000001", "relay"),
        ("mysqld-auto.cnf", "{}"),
    ] {
        std::fs::write(users.join(name), text).unwrap();
    }
    let before = listing(&users);
    let folder = bench.scratch.path().join("template");
    std::fs::create_dir(&folder).unwrap();
    let spec = bench.template_spec(&folder, "users", Source::UsersData(users.clone()));
    let template = Template::open_or_make(&spec, None, async |socket| {
        let mut client = Client::connect(socket, DEADLINE).await.unwrap();
        let count = client.rows("SELECT COUNT(*) FROM shop.item").await.unwrap();
        assert_eq!(count, vec![vec![Some("5000".to_owned())]]);
        assert!(
            client.rows("SHOW SLAVE STATUS").await.unwrap().is_empty(),
            "it is no replica any more"
        );
        Ok(())
    })
    .await
    .unwrap();
    assert_eq!(listing(&users), before);
    let stripped = listing(&template.data);
    for name in [
        "auto.cnf",
        "master.info",
        "db7-relay-bin.000001",
        "mysqld-auto.cnf",
        "ib_buffer_pool",
    ] {
        assert!(!stripped.contains_key(name), "{name}");
    }
    assert!(Template::open(&folder, &bench.server, "users").is_some());
    assert!(Template::open(&folder, &bench.server, "another load").is_none());
}

#[tokio::test]
async fn data_that_a_server_runs_on_are_refused() {
    let Some(bench) = bench().await else { return };
    bench.reset(None);
    let mut running = bench.start(&[], None).await.unwrap();
    let folder = bench.scratch.path().join("template");
    std::fs::create_dir(&folder).unwrap();
    let spec = bench.template_spec(&folder, "users", Source::UsersData(bench.data()));
    let error = Template::open_or_make(&spec, None, async |_| Ok(()))
        .await
        .unwrap_err();
    assert_eq!(error.exit_code(), 2);
    assert!(
        error.to_string().contains("runs on this data directory"),
        "{error}"
    );
    assert_eq!(
        running.try_exit().unwrap(),
        None,
        "the running server is left alone"
    );
    running.kill().await.unwrap();
}

#[tokio::test]
async fn what_cannot_be_stripped_fails_the_template_by_its_statement() {
    let Some(bench) = bench().await else { return };
    let folder = bench.scratch.path().join("template");
    std::fs::create_dir(&folder).unwrap();
    let spec = bench.template_spec(&folder, "odd", Source::Empty);
    let error = Template::open_or_make(&spec, None, async |socket: &Path| {
        let mut client = Client::connect(socket, DEADLINE).await.unwrap();
        client.run("DROP TABLE mysql.servers").await.unwrap();
        client
            .run("CREATE VIEW mysql.servers AS SELECT 1 AS a")
            .await
            .unwrap();
        client.close().await;
        Ok(())
    })
    .await
    .unwrap_err();
    assert!(error.to_string().contains("DELETE FROM mysql.servers"), "{error}");
    assert!(Template::open(&folder, &bench.server, "odd").is_none());
}

#[tokio::test]
async fn tables_of_an_engine_that_is_not_there_and_damaged_ones_are_named_and_refused() {
    let Some(bench) = bench().await else { return };
    let folder = bench.scratch.path().join("production");
    std::fs::create_dir(&folder).unwrap();
    let made = Template::open_or_make(
        &bench.template_spec(&folder, "made", Source::Empty),
        None,
        async |socket| {
            let mut client = Client::connect(socket, DEADLINE).await.unwrap();
            for statement in [
                "CREATE DATABASE odd",
                "CREATE TABLE odd.far (id INT) ENGINE=MyISAM",
                "CREATE TABLE odd.broken (id INT) ENGINE=MyISAM",
                "CREATE TABLE odd.fine (id INT) ENGINE=InnoDB PARTITION BY HASH (id) PARTITIONS 2",
                "CREATE VIEW odd.seen AS SELECT id FROM odd.fine",
            ] {
                client.run(statement).await.unwrap();
            }
            client.close().await;
            Ok(())
        },
    )
    .await
    .unwrap();
    let users = bench.scratch.path().join("users");
    reset(&made.data, &users, None, bench.user.run_as.as_ref()).unwrap();
    // As if its engine had been a plugin: the name of the engine, and its number among those of plugins.
    let far = users.join("odd/far.frm");
    let mut bytes = std::fs::read(&far).unwrap();
    let at = bytes.windows(6).position(|word| word == b"MyISAM").unwrap();
    bytes[at..at + 6].copy_from_slice(b"FARDB2");
    bytes[3] = 45;
    std::fs::write(&far, bytes).unwrap();
    let broken = users.join("odd/broken.frm");
    let bytes = std::fs::read(&broken).unwrap();
    std::fs::write(&broken, &bytes[..60]).unwrap();

    let folder = bench.scratch.path().join("template");
    std::fs::create_dir(&folder).unwrap();
    let error = Template::open_or_make(
        &bench.template_spec(&folder, "users", Source::UsersData(users)),
        None,
        async |_: &Path| Ok(()),
    )
    .await
    .unwrap_err();
    assert_eq!(error.exit_code(), 2, "{error}");
    let told = error.to_string();
    assert!(
        told.contains("odd.far (FARDB2)") && told.contains("odd.broken ("),
        "{told}"
    );
    assert!(
        !told.contains("fine") && !told.contains("seen") && !told.contains("mysql."),
        "{told}"
    );
}
