//! What no document is to blame for: a store that refuses us, a share that is not mounted, no free
//! descriptor. Work is held, readiness says why, and nothing is given up.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use serde_json::{Value, json};

use crate::fake_elasticsearch::FakeElasticsearch;
use crate::harness::{Server, Workspace, list, number, skip, text, wait_for};

fn dead_letters(server: &Server) -> Vec<Value> {
    list(&server.get("/v1/dead-letters").1, "/dead_letters").to_vec()
}

/// Waits until readiness says that the stage is held up, and returns what it says.
fn held(server: &Server, stage: &str) -> String {
    wait_for(&format!("readiness to name {stage}"), || {
        let (status, ready) = server.get("/health/readyz");
        let check = list(&ready, "/checks")
            .iter()
            .find(|check| text(check, "/name") == "stages")?
            .clone();
        (status == 503 && text(&check, "/detail").contains(stage))
            .then(|| text(&check, "/detail").to_owned())
    })
}

/// Waits until something of the stage is held up.
fn waits(server: &Server, stage: &str) {
    let idle = format!("tributary_stage_held{{stage=\"{stage}\"}} 0");
    wait_for(&format!("{stage} to wait"), || {
        let (_, metrics) = server.get("/metrics");
        let metrics = metrics.as_str()?;
        (metrics.contains("tributary_stage_held{") && !metrics.contains(&idle)).then_some(())
    });
}

#[test]
fn nobody_reads_the_log_lines_and_work_and_the_end_come_all_the_same() {
    let workspace = Workspace::new();
    let mut command = workspace.prepare(Command::new("sh"));
    // Every line fails to be written, as to a pipe whose reader is gone.
    command.args([
        "-c",
        "exec \"$@\" 2>/dev/full",
        "sh",
        env!("CARGO_BIN_EXE_tributary"),
        "run",
        "--listen",
        "127.0.0.1:0",
    ]);
    let mut server = Server::spawn(command, workspace.path("run.log"));
    let bad = server.publish(
        &json!({"source": "s", "source_path": "bad.pdf", "content_base64": "JVBERi0xLjcKJSVFT0YK"}),
    );
    let good = server.publish(
        &json!({"source": "s", "source_path": "good.md", "content": "# Tilt\n\nsix degrees"}),
    );
    assert_eq!(text(&server.settled(&bad), "/state"), "dead");
    assert_eq!(text(&server.settled(&good), "/state"), "indexed");
    server.signal("TERM");
    let (status, _) = server.ended();
    assert!(status.success(), "{status}");
}

fn impatient() -> Workspace {
    Workspace::new().with("store.worker.backoff_maximum_ms", "500")
}

#[test]
fn an_index_that_refuses_us_holds_documents_and_gives_none_up() {
    for (status, kind) in [
        (401, "security_exception"),
        (403, "security_exception"),
        (404, "index_not_found_exception"),
        (500, "node_closed_exception"),
    ] {
        let cluster = FakeElasticsearch::start();
        let workspace = impatient()
            .with("store.search_index.kind", "elasticsearch")
            .with(
                "store.search_index.elasticsearch.urls",
                &format!("[\"{}\"]", cluster.url),
            )
            .with("store.search_index.elasticsearch.retry_ms", "100");
        let server = workspace.start();
        let first = server
            .publish(&json!({"source": "s", "document_id": "first", "content": "# A\n\nfirst"}));
        assert_eq!(
            text(&server.settled(&first), "/state"),
            "indexed",
            "{}",
            server.log()
        );
        // The password was rotated, or a node closes.
        cluster.refuse(Some((status, kind)));
        let event = |number| json!({"source": "s", "document_id": format!("b{number}"), "content": format!("# B\n\ntext {number}")});
        let accepted: Vec<_> = (0..5)
            .map(|number| server.publish(&event(number)))
            .collect();
        waits(&server, "index");
        assert!(server.log().contains(kind), "{status}: {}", server.log());
        cluster.refuse(None);
        for document in &accepted {
            assert_eq!(
                text(&server.settled(document), "/state"),
                "indexed",
                "{status}: {}",
                server.log()
            );
        }
        assert_eq!(dead_letters(&server), [] as [Value; 0], "{status}");
        server.stop();
    }
}

#[test]
fn a_blob_store_that_is_away_is_waited_for_and_a_body_that_was_never_there_is_not() {
    let workspace = impatient();
    let (folder, away) = (workspace.path("mnt/blobs"), workspace.path("mnt/away"));
    let workspace = workspace
        .with("store.blobs.url", &format!("file://{}", folder.display()))
        .with("store.inline_limit_bytes", "20000");
    let server = workspace.start();
    let publish = |id: &str, content: &str| {
        server.try_post(
            "/v1/documents",
            &json!({"source": "s", "document_id": id, "content": content}),
        )
    };
    let absent = |id: &str| {
        let event = json!({"source": "s", "document_id": id, "content_url": format!("blob:{}", "ab".repeat(32))});
        server.publish(&event)
    };
    let large = "word ".repeat(10_000);
    // An unmounted share shows its empty mount point.
    fs::rename(&folder, &away).unwrap();
    fs::create_dir(&folder).unwrap();
    let waiting = absent("by-reference");
    let said = held(&server, "ingest");
    assert!(said.contains("blob store is away"), "{said}");
    let (status, refused) = publish("large", &large).unwrap();
    assert_eq!(status, 503, "{refused}");
    assert_eq!(dead_letters(&server), [] as [Value; 0]);
    assert!(
        fs::read_dir(&folder).unwrap().next().is_none(),
        "a body was put where nobody looks for it"
    );

    fs::remove_dir(&folder).unwrap();
    fs::rename(&away, &folder).unwrap();
    let dead = server.settled(&waiting);
    let reason = text(&dead, "/reason");
    assert!(
        text(&dead, "/state") == "dead" && reason.starts_with("not_found: "),
        "{dead}"
    );
    assert!(
        !reason.contains(workspace.path("").to_str().unwrap()),
        "a path of the server is told: {reason}"
    );
    let (_, accepted) = publish("large", &large).unwrap();
    let accepted = (
        text(&accepted, "/document_id").to_owned(),
        number(&accepted, "/version"),
    );
    assert_eq!(text(&server.settled(&accepted), "/state"), "indexed");
    wait_for("readiness", || {
        (server.get("/health/readyz").0 == 200).then_some(())
    });
    server.stop();
}

/// Sets how many descriptors a process may have open; whether that is possible here.
fn limit_descriptors(server: &Server, limit: u64) -> bool {
    let mut set = Command::new("prlimit");
    set.args([
        "--pid",
        &server.pid().to_string(),
        &format!("--nofile={limit}:"),
    ]);
    set.status().is_ok_and(|status| status.success())
}

#[test]
fn documents_that_meet_a_machine_without_free_descriptors_are_tried_again() {
    let workspace = impatient();
    let server = workspace.start();
    let event = |number: usize| {
        let words = format!("body {number} {}", "w ".repeat(50));
        json!({"source": "s", "document_id": format!("x{number}"), "content": format!("# T{number}\n\n{words}")})
    };
    let first = server.publish(&event(0));
    server.settled(&first);
    let Ok(open) = fs::read_dir(format!("/proc/{}/fd", server.pid())) else {
        return skip("no /proc here, so descriptors are not counted");
    };
    let open: BTreeSet<u64> = open
        .filter_map(|entry| entry.unwrap().file_name().to_str()?.parse().ok())
        .collect();
    // The limit is one of numbers: below the first free one there is none.
    let first_free = (0..).find(|number| !open.contains(number)).unwrap();
    if !limit_descriptors(&server, first_free) {
        return skip("no prlimit here, so descriptors cannot run out");
    }
    let mut accepted = Vec::new();
    for number in 1..20 {
        if let Ok((202, answer)) = server.try_post("/v1/documents", &event(number)) {
            accepted.push((
                text(&answer, "/document_id").to_owned(),
                self::number(&answer, "/version"),
            ));
        }
    }
    wait_for("descriptors to run out", || {
        server.log().contains("Too many open files").then_some(())
    });
    assert!(limit_descriptors(&server, 4096));
    for document in &accepted {
        assert_eq!(
            text(&server.settled(document), "/state"),
            "indexed",
            "{}",
            server.log()
        );
    }
    assert_eq!(dead_letters(&server), [] as [Value; 0], "{}", server.log());
    assert!(!accepted.is_empty(), "{}", server.log());
}
