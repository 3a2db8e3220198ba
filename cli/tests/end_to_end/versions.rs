//! Versions of documents: what producers may give, what is not newer, and what comes late after a
//! deletion.

use std::fs;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use crate::harness::{Server, Workspace, list, number, text, wait_for};

fn now_ms() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_millis() as u64
}

fn publish(
    server: &Server,
    document_id: &str,
    content: &str,
    version: Option<u64>,
) -> (u16, Value) {
    let mut document = json!({"document_id": document_id, "source": "s", "content": content});
    if let Some(version) = version {
        document["version"] = json!(version);
    }
    server.post("/v1/documents", &document)
}

fn passages(server: &Server, document_id: &str) -> String {
    let (_, document) = server.get(&format!("/v1/documents/{document_id}?passages=true"));
    document["passages"].to_string()
}

#[test]
fn a_version_ahead_of_the_time_concerns_its_document_alone() {
    let workspace = Workspace::new();
    let server = workspace.start();
    let nanoseconds = now_ms() * 1_000_000;
    for strange in [nanoseconds, 1 << 63, u64::MAX - 1] {
        let (status, problem) = publish(&server, "strange", "a numbat", Some(strange));
        assert_eq!(status, 400, "{strange}: {problem}");
    }
    let (_, problem) = publish(&server, "strange", "a numbat", Some(nanoseconds));
    assert!(
        problem
            .to_string()
            .contains("store.maximum_version_ahead_hours"),
        "{problem}"
    );

    let ahead = now_ms() + 3_600_000;
    assert_eq!(publish(&server, "ahead", "a quoll", Some(ahead)).0, 202);
    let next = number(
        &publish(&server, "ahead", "a quoll again", None).1,
        "/version",
    );
    assert!(next > ahead, "{next}");
    let other = number(&publish(&server, "other", "a bilby", None).1, "/version");
    assert!(
        other < now_ms() + 60_000,
        "{other} follows the version of another document"
    );
    let (status, accepted) = publish(
        &server,
        "other",
        "a dunnart by the time",
        Some(now_ms() + 5_000),
    );
    assert_eq!(status, 202, "{accepted}");
    wait_for("the version that its producer gave", || {
        passages(&server, "other").contains("dunnart").then_some(())
    });
}

#[test]
fn a_version_that_is_not_newer_is_refused_at_the_door() {
    let workspace = Workspace::new();
    let server = workspace.start();
    assert_eq!(publish(&server, "d", "a potoroo", Some(7)).0, 202);
    server.settled(&("d".to_owned(), 7));
    for version in [6, 7] {
        let (status, problem) = publish(&server, "d", "a bettong", Some(version));
        assert_eq!(
            (status, text(&problem, "/code")),
            (409, "conflict"),
            "{problem}"
        );
        assert!(
            text(&problem, "/detail").contains("version 7, which is indexed"),
            "{problem}"
        );
    }
    assert_eq!(publish(&server, "d", "a bettong", Some(8)).0, 202);
    wait_for("the newer version", || {
        passages(&server, "d").contains("bettong").then_some(())
    });
}

/// Whether any file below a folder holds these bytes.
fn holds(folder: &Path, wanted: &str) -> bool {
    fs::read_dir(folder).unwrap().flatten().any(|entry| {
        let path = entry.path();
        if path.is_dir() {
            return holds(&path, wanted);
        }
        // Maintenance may take a file away meanwhile.
        fs::read(path).is_ok_and(|bytes| {
            bytes
                .windows(wanted.len())
                .any(|window| window == wanted.as_bytes())
        })
    })
}

/// The deletion is forgotten by the log, and the index is another one: only the document table
/// knows of it.
#[test]
fn a_deleted_document_stays_away_when_its_dead_letter_is_replayed() {
    let workspace = Workspace::new()
        .with("store.event_log.embedded.segment_bytes", "4096")
        .with("store.event_log.embedded.maintenance_interval_seconds", "1")
        .with("store.event_log.embedded.compaction_dirty_ratio", "0.0")
        .with("store.event_log.embedded.tombstone_retention_seconds", "0");
    let strict = workspace.with("convert.maximum_body_bytes", "2000");
    let server = strict.start();
    let long = format!("the resurrected thylacine {}", "sleeps ".repeat(1000));
    let published = server.publish(&json!({"document_id": "gone", "source": "s", "content": long}));
    assert_eq!(text(&server.settled(&published), "/state"), "dead");
    let version = number(
        &server.try_delete("/v1/documents/gone").unwrap().1,
        "/version",
    );
    wait_for("the deletion", || {
        (text(&server.get("/v1/documents/gone").1, "/state") == "deleted").then_some(())
    });
    server.stop();

    let generous = strict.with("convert.maximum_body_bytes", "1000000");
    let server = generous.start();
    let clean = generous
        .data()
        .join("log/topics/tributary.documents.clean.v1");
    let tombstone = format!("tributary.document.cleaned.v1/gone/{version}");
    let mut filler = 0;
    wait_for("compaction of the tombstone", || {
        for _ in 0..4 {
            publish(
                &server,
                &format!("filler{filler}"),
                &format!("filler {filler} {}", "word ".repeat(100)),
                None,
            );
            filler += 1;
        }
        std::thread::sleep(std::time::Duration::from_millis(300));
        (!holds(&clean, &tombstone)).then_some(())
    });
    assert_eq!(server.post("/v1/reindex", &json!({})).0, 202);
    wait_for("the new generation", || {
        let (_, overview) = server.get("/v1/reindex");
        (text(&overview, "/builds/0/report/state") == "promoted").then_some(())
    });
    let letters = server.get("/v1/dead-letters").1;
    let letter = list(&letters, "/dead_letters")
        .iter()
        .find(|letter| text(letter, "/document_id") == "gone")
        .unwrap()
        .clone();
    assert_eq!(
        server
            .post(
                &format!("/v1/dead-letters/{}/replay", text(&letter, "/id")),
                &json!({})
            )
            .0,
        204
    );
    let proof = wait_for("everything to be done", || {
        let (_, proof) = server.post("/v1/documents/reconcile", &json!({}));
        (number(&proof, "/in_flight") == 0 && number(&proof, "/waiting_records") == 0)
            .then_some(proof)
    });
    assert_eq!(proof.get("ok"), Some(&json!(true)), "{proof}");
    assert_eq!(
        text(&server.get("/v1/documents/gone").1, "/state"),
        "deleted"
    );
    let (_, found) = server.post(
        "/v1/search",
        &json!({"query": "resurrected thylacine", "filter": {"document_ids": ["gone"]}}),
    );
    assert!(list(&found, "/hits").is_empty(), "{found}");
}

#[test]
fn what_no_stage_has_read_yet_is_held_from_the_start() {
    let workspace = Workspace::new();
    let server = workspace.start_with(&["--services", "query"]);
    let held = |topic: &str, group: &str| {
        workspace
            .data()
            .join(format!(
                "log/topics/tributary.{topic}/groups/{group}.positions"
            ))
            .is_file()
    };
    assert!(
        held("documents.raw.v1", "ingest")
            && held("chunks.tagged.v1", "embed")
            && held("chunks.embedded.v1", "index")
    );
    assert!(held("documents.clean.v1", "chunk-g1"));
    server.stop();
}

#[test]
fn a_time_of_versions_far_ahead_makes_no_document_dead() {
    let workspace = Workspace::new();
    let server = workspace.start();
    let (id, first) =
        server.publish(&json!({"source": "s", "source_path": "a.md", "content": "A quoll."}));
    server.settled(&(id.clone(), first));
    server.stop();
    let file = workspace.data().join("manifest/given-time.json");
    std::fs::write(&file, "{\"format\": 1, \"up_to_ms\": 9999999999999999}").unwrap();

    let server = workspace.start();
    for (path, content) in [("a.md", "A numbat."), ("b.md", "A wombat.")] {
        let event = json!({"source": "s", "source_path": path, "content": content});
        let published = server.publish(&event);
        let state = server.settled(&published);
        assert_eq!(text(&state, "/state"), "indexed", "{state}");
        assert!(published.1 > first, "{path}: {published:?}");
    }
    assert!(
        server.log().contains("far ahead of the clock"),
        "{}",
        server.log()
    );
    let aside = file.with_file_name("given-time.implausible.json");
    assert!(
        std::fs::read_to_string(aside)
            .unwrap()
            .contains("9999999999999999")
    );
    server.stop();
}
