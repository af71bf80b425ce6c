//! A server that works: started, verified, reset, ended.

use std::collections::BTreeMap;

use noctune::server::{Backend, recovered_from_crash, server_facts, supports_reflink, verify};
use noctune::space::Value;

use crate::bench::{DEADLINE, bench};

#[tokio::test]
async fn a_private_server_answers_runs_what_was_asked_and_leaves_nothing() {
    let Some(bench) = bench().await else { return };
    bench.reset(None);
    let settings = [("innodb_buffer_pool_size", "64M"), ("innodb_io_capacity", "777")];
    let mut instance = bench.start(&settings, None).await.unwrap();
    let mut client = instance.client(DEADLINE).await.unwrap();
    let asked = BTreeMap::from([
        ("innodb_buffer_pool_size".to_owned(), Value::Int(64 << 20)),
        ("innodb_io_capacity".to_owned(), Value::Int(777)),
    ]);
    let read = client.global_variables().await.unwrap();
    let verified = verify(&asked, &read, |_| None);
    assert_eq!(verified.effective, asked);
    assert_eq!(read["skip_networking"], "ON");
    assert_eq!(read["event_scheduler"], "OFF");
    assert_eq!(read["log_bin"], "OFF");
    let events = client
        .rows("SELECT status FROM information_schema.events")
        .await
        .unwrap();
    assert_eq!(events, vec![vec![Some("DISABLED".to_owned())]]);
    assert!(!recovered_from_crash(&instance.log()), "{}", instance.log());
    let (identity, socket) = (instance.identity().clone(), instance.socket());
    assert_eq!(instance.kill().await.unwrap().unwrap().signal, Some(9));
    assert!(identity.is_gone());
    drop(instance);
    assert!(!socket.parent().unwrap().exists());
}

#[tokio::test]
async fn after_each_kind_of_reset_the_server_starts_from_the_template_without_recovery() {
    let Some(bench) = bench().await else { return };
    let mut backends = vec![Backend::Copy, Backend::Pages];
    if supports_reflink(&bench.template.data, &bench.data()) {
        backends.push(Backend::Reflink);
    }
    for backend in backends {
        bench.reset(Some(backend));
        let mut instance = bench.start(&[], None).await.unwrap();
        assert!(
            !recovered_from_crash(&instance.log()),
            "{backend:?}: {}",
            instance.log()
        );
        let mut client = instance.client(DEADLINE).await.unwrap();
        let count = client.rows("SELECT COUNT(*) FROM shop.item").await.unwrap();
        assert_eq!(count, vec![vec![Some("5000".to_owned())]], "{backend:?}");
        client.run("DELETE FROM shop.item").await.unwrap();
        client.run("CREATE DATABASE leftover").await.unwrap();
        instance.kill().await.unwrap();
    }
}

#[tokio::test]
async fn a_server_tells_the_types_and_limits_of_its_variables() {
    let Some(bench) = bench().await else { return };
    let facts = server_facts(&bench.server, bench.scratch.path(), None)
        .await
        .unwrap();
    assert!(facts.variables.len() > 300);
    let capacity = &facts.variables["innodb_io_capacity"];
    assert_eq!(capacity.default.as_deref(), Some("200"));
    assert!(capacity.dynamic);
}
