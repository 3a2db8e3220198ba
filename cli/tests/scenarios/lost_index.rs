//! The index is deleted under running processes, by somebody with rights on the cluster.

use serde_json::{Value, json};

use crate::harness::{Server, Workspace, wait_for};
use crate::runner::quiet;
use crate::stores::Stores;

const DOCUMENTS: usize = 5;

fn publish(server: &Server, number: usize, word: &str) {
    let content = format!("# Numbat {number}\n\nThe numbat{number} eats {word}.");
    server.publish(
        &json!({"source": "lost", "source_path": format!("{number}.md"), "content": content}),
    );
}

fn search(server: &Server, query: &str) -> (u16, Value) {
    server.post(
        "/v1/search",
        &json!({"query": query, "strategy": "full_text"}),
    )
}

fn reindex(workspace: &Workspace, arguments: &[&str]) -> Value {
    let verb = ["knowledge-sets", "reindex"];
    workspace.json([&verb, arguments, &["--format", "json"]].concat())
}

fn a_reindex_fills_a_new_one(stores: &Stores) {
    let workspace = stores.workspace();
    let server = workspace.start();
    for number in 0..DOCUMENTS {
        publish(&server, number, "termites");
    }
    publish(&server, 1, "ants");
    assert_eq!(quiet(&server).get("ok"), Some(&json!(true)));
    let (status, deleted) = server.try_delete("/v1/documents/lost%2F0.md").unwrap();
    assert_eq!(status, 202, "{deleted}");
    assert_eq!(quiet(&server).get("ok"), Some(&json!(true)));

    stores.delete(&stores.indexes());
    let (status, refused) = search(&server, "numbat2");
    assert_eq!(status, 503, "{refused}");
    // Ends, as the command waits for it.
    let built = reindex(&workspace, &["--all", "--wait"]);
    assert_eq!(built["report"]["state"], "promoted", "{built}");
    let overview = reindex(&workspace, &["--status"]);
    assert_eq!(
        overview["generations"].as_array().map(Vec::len),
        Some(1),
        "{overview}"
    );

    for number in 1..DOCUMENTS {
        let (status, found) = search(&server, &format!("numbat{number}"));
        assert_eq!(status, 200, "{found}");
        assert_eq!(
            found["hits"].as_array().map(Vec::len),
            Some(1),
            "{number}: {found}"
        );
    }
    assert_eq!(search(&server, "numbat0").1["hits"], json!([]));
    // What comes from now on is found, too.
    publish(&server, 9, "termites");
    wait_for("a new document", || {
        let (_, found) = search(&server, "numbat9");
        found["hits"]
            .as_array()
            .filter(|hits| !hits.is_empty())
            .map(drop)
    });
    assert_eq!(quiet(&server).get("ok"), Some(&json!(true)));
}

#[test]
fn a_deleted_index_comes_back_from_an_embedded_log_by_a_reindex() {
    if let Some(stores) = Stores::elasticsearch_alone() {
        a_reindex_fills_a_new_one(&stores);
    }
}

#[test]
fn a_deleted_index_comes_back_from_kafka_by_a_reindex() {
    if let Some(stores) = Stores::real() {
        a_reindex_fills_a_new_one(&stores);
    }
}

/// Which of the two is deleted while one is built beside the other.
#[derive(Clone, Copy, Debug)]
enum Deleted {
    Built,
    Serving,
    Both,
}

fn all_come_back(stores: &Stores, workspace: &Workspace, server: &Server, deleted: Deleted) {
    let before = stores.indexes();
    reindex(workspace, &["--all"]);
    let built = wait_for("an index that is built", || {
        let new = |name: &String| !before.contains(name);
        stores.indexes().into_iter().find(new)
    });
    let serving = before.into_iter().filter(|name| *name != built);
    match deleted {
        Deleted::Built => stores.delete(&[built]),
        Deleted::Serving => stores.delete(&serving.collect::<Vec<_>>()),
        Deleted::Both => stores.delete(&stores.indexes()),
    }
    // The build that lost its index may have ended without it.
    wait_for("a build that ends well", || {
        let verb = [
            "knowledge-sets",
            "reindex",
            "--all",
            "--wait",
            "--format",
            "json",
        ];
        let ended: Value = serde_json::from_str(&workspace.run(verb).stdout)
            .ok()
            .unwrap_or_default();
        (ended["report"]["state"] == "promoted").then_some(())
    });
    for number in 0..DOCUMENTS {
        let (_, found) = search(server, &format!("numbat{number}"));
        let hits = found["hits"].as_array().map(Vec::len);
        assert_eq!(hits, Some(1), "{deleted:?}, {number}: {found}");
    }
    assert_eq!(quiet(server).get("ok"), Some(&json!(true)), "{deleted:?}");
}

#[test]
fn indexes_deleted_during_a_build_come_back_by_the_next_one() {
    let Some(stores) = Stores::elasticsearch_alone() else {
        return;
    };
    let workspace = stores.workspace();
    let server = workspace.start();
    for number in 0..DOCUMENTS {
        publish(&server, number, "termites");
    }
    assert_eq!(quiet(&server).get("ok"), Some(&json!(true)));
    for deleted in [Deleted::Built, Deleted::Serving, Deleted::Both] {
        all_come_back(&stores, &workspace, &server, deleted);
    }
}
