//! `newest_only` through the whole binary: of the versions of a document only the newest is found,
//! whatever came first, after a restart, a reindex and a deletion.

use std::fs;

use serde_json::{Value, json};

use super::harness::{Server, Workspace, list, number, text, wait_for};

const PROFILES: &str = r#"
[[source_profile]]
name = "design"
source = "design"
cleaners = [{ step = "version_from_file_name" }]
newest_only = { same = ["versionless_path"], version = "document_version" }
"#;

fn workspace() -> Workspace {
    let workspace = Workspace::new();
    let file = workspace.write("source-profiles.toml", PROFILES);
    workspace.with("taxonomy.source_profiles_file", file.to_str().unwrap())
}

fn publish(server: &Server, path: &str, word: &str) -> (String, Value) {
    let content = format!(
        "# Carrier aggregation\n\nThe {word} is described by this version of the zebrawood design.\n"
    );
    let event = json!({"source": "design", "source_path": path, "content": content, "media_type": "text/markdown"});
    let accepted = server.publish(&event);
    server.settled(&accepted);
    let shown = wait_for("the last word on the document", || {
        let (_, reconciled) = server.post("/v1/documents/reconcile", &json!({}));
        let is_still =
            number(&reconciled, "/in_flight") == 0 && number(&reconciled, "/waiting_records") == 0;
        is_still.then(|| server.get(&format!("/v1/documents/{}", accepted.0)).1)
    });
    (accepted.0, shown)
}

fn found(server: &Server) -> Vec<String> {
    let (status, answer) = server.post(
        "/v1/search",
        &json!({"query": "zebrawood design", "unfold": true}),
    );
    assert_eq!(status, 200, "{answer}");
    let mut paths: Vec<String> = list(&answer, "/hits")
        .iter()
        .map(|hit| text(hit, "/source_path").to_owned())
        .collect();
    paths.sort_unstable();
    paths.dedup();
    paths
}

/// Waits until everything agrees: what was found a moment ago may still have its position to
/// commit.
fn reconciled(server: &Server) {
    wait_for("everything to agree", || {
        let (_, found) = server.post("/v1/documents/reconcile", &json!({}));
        (found.get("ok") == Some(&json!(true))).then_some(())
    });
}

#[test]
fn only_the_newest_version_of_a_document_is_found_whatever_came_first() {
    let workspace = workspace();
    let mut server = workspace.start();
    publish(&server, "ca/Aggregation V2.1.md", "first");
    let (newest, shown) = publish(&server, "ca/Aggregation V10.md", "second");
    assert_eq!(text(&shown, "/state"), "indexed", "{shown}");
    let (_, late) = publish(&server, "ca/aggregation_v1.md", "third");
    assert_eq!(text(&late, "/state"), "skipped", "{late}");
    assert_eq!(
        text(&late, "/reason"),
        format!("superseded by edition 10 of the same work: {newest}")
    );
    let (_, repeated) = publish(&server, "ca/aggregation_v1.md", "third");
    assert_eq!(text(&repeated, "/state"), "skipped", "{repeated}");
    let reason = text(&repeated, "/reason");
    let why = "superseded by another edition of the same work; unchanged since version";
    assert!(reason.starts_with(why), "{reason}");
    assert_eq!(text(&repeated, "/superseded_by"), newest, "{repeated}");
    publish(&server, "ca/Other V1.md", "fourth");
    publish(&server, "ca/Aggregation.md", "fifth");
    let standing = [
        "ca/Aggregation V10.md",
        "ca/Aggregation.md",
        "ca/Other V1.md",
    ];
    assert_eq!(
        found(&server),
        standing,
        "a document without a version stands for itself"
    );
    reconciled(&server);
    let (_, facets) = server.get("/v1/facets");
    assert_eq!(
        number(&facets, "/documents"),
        3,
        "what can be found: {facets}"
    );

    server.kill();
    let server = workspace.start();
    assert_eq!(found(&server), standing);
    let (_, again) = publish(&server, "ca/Aggregation V2.1.md", "changed");
    assert_eq!(text(&again, "/state"), "skipped", "{again}");
    let built = workspace.run([
        "--server",
        &server.url,
        "knowledge-sets",
        "reindex",
        "--all",
        "--wait",
    ]);
    assert_eq!(built.code, 0, "{built:?}");
    assert_eq!(found(&server), standing, "the same in the new generation");
    reconciled(&server);

    let (_, accepted) = server
        .try_delete(&format!("/v1/documents/{newest}"))
        .unwrap();
    server.settled(&(newest, number(&accepted, "/version")));
    wait_for("the version before to come back", || {
        (found(&server)
            == [
                "ca/Aggregation V2.1.md",
                "ca/Aggregation.md",
                "ca/Other V1.md",
            ])
        .then_some(())
    });
    let (_, answer) = server.post(
        "/v1/search",
        &json!({"query": "changed", "strategy": "full_text"}),
    );
    assert!(
        list(&answer, "/hits")
            .iter()
            .any(|hit| text(hit, "/text").contains("changed")),
        "as it was last published: {answer}"
    );
    reconciled(&server);
    server.stop();
}

#[test]
fn a_damaged_record_of_an_older_edition_costs_that_edition_alone() {
    let workspace = workspace();
    let server = workspace.start();
    let (older, _) = publish(&server, "ca/Aggregation V2.1.md", "first");
    let (newest, _) = publish(&server, "ca/Aggregation V10.md", "second");
    // One bit of what was kept of the older edition rots.
    let mut damaged = 0;
    for shelf in fs::read_dir(workspace.data().join("blobs"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir())
    {
        for blob in fs::read_dir(shelf)
            .unwrap()
            .map(|entry| entry.unwrap().path())
        {
            let mut bytes = fs::read(&blob).unwrap();
            if String::from_utf8_lossy(&bytes).contains("The first") {
                let middle = bytes.len() / 2;
                bytes[middle] ^= 1;
                fs::write(&blob, bytes).unwrap();
                damaged += 1;
            }
        }
    }
    assert!(damaged > 0, "no record was kept");
    let (_, accepted) = server
        .try_delete(&format!("/v1/documents/{newest}"))
        .unwrap();
    server.settled(&(newest, number(&accepted, "/version")));
    for number in 0..5 {
        let event = json!({"source": "wiki", "document_id": format!("innocent{number}"), "content": format!("nothing to do with it {number}")});
        assert_eq!(
            text(&server.settled(&server.publish(&event)), "/state"),
            "indexed",
            "{}",
            server.log()
        );
    }
    let shown = wait_for("the damage to be reported", || {
        let (_, shown) = server.get(&format!("/v1/documents/{older}"));
        (text(&shown, "/state") == "dead").then_some(shown)
    });
    assert!(
        text(&shown, "/reason").contains("publish it again"),
        "{shown}"
    );
    let (_, again) = publish(&server, "ca/Aggregation V2.1.md", "first");
    assert_eq!(text(&again, "/state"), "indexed", "{again}");
    assert!(found(&server).contains(&"ca/Aggregation V2.1.md".to_owned()));
    reconciled(&server);
    server.stop();
}
