//! Dead letters from the command line: listed, shown, sent again after the cause is gone, dropped.

use serde_json::{Value, json};

use crate::harness::{Workspace, list, number, text};

fn letters(workspace: &Workspace) -> Vec<Value> {
    list(
        &workspace.json(["dead-letters", "list", "--format", "json"]),
        "/dead_letters",
    )
    .to_vec()
}

#[test]
fn dead_letters_are_listed_shown_replayed_and_dropped() {
    let workspace = Workspace::new().with("convert.maximum_body_bytes", "1000");
    let (small, large) = (
        format!("a margay {}", "sleeps ".repeat(10)),
        format!("a serval {}", "waits ".repeat(400)),
    );
    workspace.write("docs/small.txt", small);
    workspace.write("docs/large.txt", &large);
    workspace.write("docs/figure.eps", b"%!PS-Adobe-3.0 EPSF-3.0");
    let server = workspace.start();
    let run = workspace.run(["publish", "docs", "--wait", "--format", "json"]);
    assert_eq!((run.code, number(&run.json(), "/dead")), (3, 2), "{run:?}");

    let listed = letters(&workspace);
    assert_eq!(listed.len(), 2, "{listed:?}");
    let of = |kind: &str| {
        listed
            .iter()
            .find(|letter| text(letter, "/kind") == kind)
            .unwrap_or_else(|| panic!("no {kind} in {listed:?}"))
    };
    let (unsupported, invalid) = (text(of("unsupported"), "/id"), text(of("invalid"), "/id"));
    let shown = workspace.json(["dead-letters", "show", invalid, "--format", "json"]);
    assert!(shown.to_string().contains("serval"), "{shown}");
    let in_full = workspace.run(["dead-letters", "show", invalid]);
    assert!(in_full.stdout.contains("it begins:\n{"), "{in_full:?}");
    let of_those = |conditions: &[&str]| {
        let verb = ["dead-letters", "list", "--format", "json"];
        let found = workspace.json([&verb[..], conditions].concat());
        list(&found, "/dead_letters").len()
    };
    let all = ["--source", "files", "--stage", "ingest", "--limit", "5"];
    assert_eq!(of_those(&all), 2);
    assert_eq!(of_those(&["--kind", "invalid", "--source", "files"]), 1);
    assert_eq!(of_those(&["--reason", "MAXIMUM_BODY_BYTES"]), 1);
    assert_eq!(of_those(&["--source", "wiki"]), 0);
    assert_eq!(of_those(&["--stage", "index"]), 0);
    workspace
        .run(["dead-letters", "list", "--stage", "nope"])
        .refused(2, &["nope", "reindex"]);
    let first = workspace.run(["dead-letters", "list", "--limit", "1"]);
    assert!(
        first.stdout.contains("1 dead letter, and more"),
        "{first:?}"
    );
    workspace
        .run(["dead-letters", "drop", "--source", "files", invalid])
        .refused(2, &["--source"]);
    workspace
        .run(["dead-letters", "drop", "--reason", " "])
        .refused(2, &["it is empty"]);
    let none = [
        "dead-letters",
        "drop",
        "--source",
        "wiki",
        "--format",
        "json",
    ];
    assert_eq!(list(&workspace.json(none), "/dead_letters").len(), 0);
    assert_eq!(letters(&workspace).len(), 2, "only those of the source");
    workspace
        .run(["dead-letters", "show", "nothing"])
        .refused(1, &["nothing"]);
    workspace.run(["dead-letters", "replay"]).refused(2, &[]);
    let failed = workspace.run([
        "dead-letters",
        "drop",
        "nothing",
        unsupported,
        "--format",
        "json",
    ]);
    assert_eq!(failed.code, 3, "{failed:?}");
    assert_eq!(text(&failed.json(), "/dead_letters/1/outcome"), "dropped");
    assert_eq!(letters(&workspace).len(), 1);

    let again = workspace.json(["dead-letters", "replay", invalid, "--format", "json"]);
    assert_eq!(text(&again, "/dead_letters/0/outcome"), "replayed");
    let new = crate::harness::wait_for("a new letter", || {
        letters(&workspace)
            .into_iter()
            .find(|letter| text(letter, "/id") != invalid)
    });
    assert_eq!(text(&new, "/kind"), "invalid", "the cause is still there");
    let id = text(&new, "/id");
    let waited = workspace.run(["dead-letters", "replay", id, "--wait", "--format", "json"]);
    assert_eq!(waited.code, 1, "{waited:?}");
    assert_eq!(text(&waited.json(), "/dead_letters/0/outcome"), "replayed");
    assert_eq!(text(&waited.json(), "/dead_letters/0/state"), "dead");
    assert_eq!(letters(&workspace).len(), 1, "{waited:?}");
    server.stop();

    let raised = workspace.with("convert.maximum_body_bytes", "1000000");
    let of_kind = |kind| ["dead-letters", "replay", "--kind", kind, "--format", "json"];
    let others = raised.json(of_kind("timeout"));
    assert_eq!(list(&others, "/dead_letters").len(), 0);
    let again = raised.json(of_kind("invalid"));
    assert_eq!(list(&again, "/dead_letters").len(), 1);
    assert_eq!(text(&again, "/dead_letters/0/state"), "indexed", "{again}");
    let proof = raised.json(["documents", "reconcile", "--format", "json"]);
    assert_eq!(proof.get("ok"), Some(&json!(true)), "{proof}");
    assert_eq!(
        raised.found("serval").len(),
        1,
        "after the cause is gone it is indexed"
    );
    assert!(letters(&raised).is_empty());
}

#[test]
fn a_dead_update_leaves_the_searchable_version() {
    let workspace = Workspace::new();
    workspace.write("docs/note.md", "# Note\n\nThe jerboa jumps.");
    workspace.json(["publish", "docs", "--wait", "--format", "json"]);
    workspace.write("docs/note.md", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR");
    let run = workspace.run(["publish", "docs", "--wait", "--format", "json"]);
    assert_eq!(number(&run.json(), "/dead"), 1, "{run:?}");
    assert_eq!(
        workspace.found("jerboa").len(),
        1,
        "what was good stays until something good replaces it"
    );
    assert_eq!(
        workspace
            .json(["documents", "reconcile", "--format", "json"])
            .get("ok"),
        Some(&json!(true))
    );
}
