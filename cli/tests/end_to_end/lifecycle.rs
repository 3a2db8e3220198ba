//! A document's life as a script sees it: published, found, updated, unchanged, deleted; with a
//! running server and without one.

use serde_json::Value;

use crate::harness::{Workspace, has_fields, list, number, text};

const DOCUMENT_FIELDS: [&str; 8] = [
    "document_id",
    "version",
    "state",
    "reason",
    "source",
    "source_path",
    "title",
    "chunks",
];

fn publish(workspace: &Workspace) -> Value {
    workspace.json([
        "publish", "docs", "--source", "handbook", "--wait", "--format", "json",
    ])
}

fn states(workspace: &Workspace) -> Vec<(String, String)> {
    let listed = workspace.json(["documents", "list", "--format", "json"]);
    let row = |row: &Value| {
        (
            text(row, "/source_path").to_owned(),
            text(row, "/state").to_owned(),
        )
    };
    let mut rows: Vec<_> = list(&listed, "/documents").iter().map(row).collect();
    rows.sort();
    rows
}

/// From the first publication to the last deletion. Every verb is a process of its own.
fn live(workspace: &Workspace) {
    workspace.write(
        "docs/antenna.md",
        "# Antenna\n\nThe zebrawood mast carries the antenna.\n",
    );
    workspace.write(
        "docs/guides/power.md",
        "# Power\n\nA quillwort fuse protects the supply.\n\n## Limits\n\n48 V at most.\n",
    );
    workspace.write("docs/.hidden.md", "# Hidden\n\nnightjar\n");

    let report = publish(workspace);
    has_fields(
        &report,
        &[
            "published",
            "indexed",
            "skipped",
            "dead",
            "seconds",
            "documents",
        ],
    );
    assert_eq!(
        (
            number(&report, "/published"),
            number(&report, "/indexed"),
            number(&report, "/dead")
        ),
        (2, 2, 0),
        "{report}"
    );
    for document in list(&report, "/documents") {
        has_fields(document, &["document_id", "source_path", "state", "reason"]);
        assert_eq!(text(document, "/state"), "indexed");
    }

    let answer = workspace.json(["search", "zebrawood mast", "--format", "json"]);
    has_fields(&answer, &["query", "took_ms", "degraded", "tiers", "hits"]);
    for tier in ["coarse", "fine", "rerank"] {
        has_fields(
            answer.pointer(&format!("/tiers/{tier}")).unwrap(),
            &["candidates", "ms"],
        );
    }
    let hit_fields = [
        "rank",
        "score",
        "chunk_id",
        "document_id",
        "source",
        "source_path",
        "title",
        "section_path",
        "text",
        "url",
        "pages",
        "kind",
        "tags",
    ];
    list(&answer, "/hits")
        .iter()
        .for_each(|hit| has_fields(hit, &hit_fields));
    assert_eq!(
        (
            text(&answer, "/hits/0/source"),
            text(&answer, "/hits/0/source_path")
        ),
        ("handbook", "antenna.md")
    );
    assert!(
        workspace.found("nightjar").is_empty(),
        "hidden files are left out"
    );

    let listed = workspace.json(["documents", "list", "--format", "json"]);
    has_fields(&listed, &["documents", "next"]);
    list(&listed, "/documents")
        .iter()
        .for_each(|row| has_fields(row, &DOCUMENT_FIELDS));
    let first = workspace.json(["documents", "list", "--limit", "1", "--format", "json"]);
    let second = workspace.json([
        "documents",
        "list",
        "--limit",
        "1",
        "--after",
        text(&first, "/next"),
        "--format",
        "json",
    ]);
    assert_ne!(
        text(&first, "/documents/0/document_id"),
        text(&second, "/documents/0/document_id")
    );
    assert_eq!(second.get("next"), Some(&Value::Null));

    let id = text(&answer, "/hits/0/document_id");
    let shown = workspace.json(["documents", "show", id, "--format", "json"]);
    has_fields(
        &shown,
        &["document_id", "version", "state", "timeline", "passages"],
    );
    assert!(text(&shown, "/passages/0/text").contains("zebrawood"));

    let again = publish(workspace);
    assert_eq!(
        (number(&again, "/skipped"), number(&again, "/indexed")),
        (2, 0),
        "{again}"
    );
    assert!(
        text(&again, "/documents/0/reason").contains("unchanged"),
        "{again}"
    );
    assert_eq!(
        workspace.found("zebrawood").len(),
        1,
        "a skipped version leaves what is there"
    );

    workspace.write(
        "docs/antenna.md",
        "# Antenna\n\nThe ironbark mast carries the antenna.\n",
    );
    let updated = publish(workspace);
    assert_eq!(
        (number(&updated, "/skipped"), number(&updated, "/indexed")),
        (1, 1),
        "{updated}"
    );
    assert_eq!(workspace.found("ironbark").len(), 1);
    assert!(
        workspace.found("zebrawood").is_empty(),
        "the old text is gone"
    );

    let deleted = workspace.json(["documents", "delete", id, "--wait", "--format", "json"]);
    assert_eq!(text(&deleted, "/documents/0/state"), "deleted");
    assert!(workspace.found("ironbark").is_empty());
    let rows = [("antenna.md", "deleted"), ("guides/power.md", "skipped")];
    assert_eq!(
        states(workspace),
        rows.map(|(path, state)| (path.to_owned(), state.to_owned()))
    );

    let back = publish(workspace);
    assert_eq!(
        (number(&back, "/skipped"), number(&back, "/indexed")),
        (1, 1),
        "deleted documents can come back: {back}"
    );
    assert_eq!(workspace.found("ironbark").len(), 1);

    let proof = workspace.json(["documents", "reconcile", "--format", "json"]);
    let fields = [
        "accepted",
        "indexed",
        "skipped",
        "deleted",
        "dead",
        "in_flight",
        "missing",
        "orphan_chunks",
        "duplicate_chunks",
        "ok",
    ];
    has_fields(&proof, &fields);
    assert_eq!(proof.get("ok"), Some(&Value::Bool(true)), "{proof}");
    assert_eq!(
        (number(&proof, "/accepted"), number(&proof, "/in_flight")),
        (2, 0),
        "{proof}"
    );
}

#[test]
fn a_document_lives_without_a_server() {
    live(&Workspace::new());
}

#[test]
fn a_document_lives_with_a_server() {
    let workspace = Workspace::new();
    let server = workspace.start();
    let announced: Value =
        serde_json::from_slice(&std::fs::read(workspace.data().join("server.json")).unwrap())
            .unwrap();
    assert_eq!(
        (text(&announced, "/url"), number(&announced, "/pid")),
        (server.url.as_str(), u64::from(server.pid()))
    );
    live(&workspace);
    let counted = server.get("/metrics").1;
    assert!(
        counted.as_str().unwrap().contains("tributary_"),
        "the verbs talked to this server: {counted}"
    );
    server.stop();
    assert!(!workspace.data().join("server.json").exists());
}

#[test]
fn two_files_are_never_silently_one_document() {
    let workspace = Workspace::new();
    workspace.write("left/note.md", "the left loris");
    workspace.write("right/note.md", "the right loris");
    workspace
        .run(["publish", "left/note.md", "right/note.md"])
        .refused(1, &["left/note.md and right/note.md", "`note.md`", "hint:"]);
    let twice = workspace.json([
        "publish",
        "left",
        "left/note.md",
        "--wait",
        "--format",
        "json",
    ]);
    assert_eq!(
        number(&twice, "/published"),
        1,
        "the same file named twice is one: {twice}"
    );
    workspace.json([
        "publish", "right", "--source", "other", "--wait", "--format", "json",
    ]);
    assert_eq!(workspace.found("loris").len(), 2);
}
