//! Descriptions of source code by a language model from the outside.

use serde_json::{Value, json};

use crate::chat_server::ChatServer;
use crate::harness::{Server, Workspace, list, number, text, wait_for};

const POOL: &str = "\
/* A pool of items. */

/* Takes a free item. */
int pool_take(struct pool *pool)
{
	while (!pool->free)
		wait_for(pool);
	return pool->free--;
}

/* Gives an item back. */
void pool_give(struct pool *pool)
{
	pool->free++;
	wake_up(pool);
}
";

const PROFILES: &str = "[[source_profile]]\nname = \"code\"\nsource = [\"code\"]\nchunker = \"code\"\n\n\
    [[source_profile]]\nname = \"default\"\n";

fn workspace(chat: &ChatServer) -> Workspace {
    let workspace = chat.of(Workspace::new());
    let profiles = workspace.write("profiles.toml", PROFILES);
    let profiles = profiles.to_str().unwrap().to_owned();
    workspace
        .with("taxonomy.source_profiles_file", &profiles)
        .with("enrich.descriptions.patience_seconds", "2")
}

fn indexed(server: &Server, content: &str) -> Value {
    let event = json!({"source": "code", "source_path": "mm/pool.c", "content": content, "media_type": "text/x-c"});
    let state = server.settled(&server.publish(&event));
    assert_eq!(text(&state, "/state"), "indexed", "{state}");
    state
}

/// What is said of code, by name.
fn described(server: &Server, kind: &str) -> Vec<(String, String)> {
    let body = json!({"query": "Takes a free item from the pool", "filter": {"kinds": [kind]}});
    let (status, answer) = server.post("/v1/search", &body);
    assert_eq!(status, 200, "{answer}");
    let hits = list(&answer, "/hits").iter();
    let said = hits.map(|hit| {
        assert_eq!(text(hit, "/kind"), kind);
        let of = |field: &str| text(hit, &format!("/code/{field}")).to_owned();
        (of("name"), of("description"))
    });
    said.collect()
}

#[test]
fn a_changed_function_is_described_anew_and_its_file_with_it() {
    let chat = ChatServer::start();
    let workspace = workspace(&chat);
    let mut server = workspace.start();
    indexed(&server, POOL);
    assert_eq!(chat.calls(), 3, "two functions and their file");
    for kind in ["code_function", "code_file"] {
        for (name, description) in described(&server, kind) {
            assert!(
                description.starts_with("Parrotword"),
                "{name}: {description}"
            );
        }
    }
    assert_eq!(described(&server, "code_function").len(), 2);
    assert!(described(&server, "faq").is_empty());

    indexed(&server, &POOL.replace("pool->free++", "pool->free += 1"));
    assert_eq!(chat.calls(), 5);
    server.kill();
    let server = workspace.start();
    let build = workspace.json([
        "knowledge-sets",
        "reindex",
        "--all",
        "--wait",
        "--format",
        "json",
    ]);
    assert_eq!(text(&build, "/report/state"), "promoted", "{build}");
    assert_eq!(chat.calls(), 5);
    server.stop();
}

#[test]
fn descriptions_that_a_model_owes_are_made_up_for() {
    let chat = ChatServer::start();
    let workspace = workspace(&chat);
    let server = workspace.start();
    chat.set_away(true);
    let state = indexed(&server, POOL);
    assert_eq!(state["lineage"]["degraded"], json!(["description"]));
    let said = described(&server, "code_function");
    assert!(said[0].1.starts_with("Takes a free item."), "{said:?}");

    chat.set_away(false);
    let repaired = workspace.run(["documents", "repair", "--degraded"]);
    assert_eq!(repaired.code, 0, "{repaired:?}");
    wait_for("no document to be degraded", || {
        let listed = workspace.json(["documents", "list", "--degraded", "--format", "json"]);
        (number(&listed, "/total") == 0).then_some(())
    });
    wait_for("what the model wrote to be found", || {
        let said = described(&server, "code_function");
        let all = said.iter().all(|(_, said)| said.starts_with("Parrotword"));
        (said.len() == 2 && all).then_some(())
    });
    server.stop();
}
