//! Every way in which a reader can ask what documents hold.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{DOCUMENTS, id};
use crate::rights::door::rows;

/// Method, address and body.
pub(super) type Call = (&'static str, String, Option<Value>);

/// Routes of readers that are not asked here, and why each may be left out.
const NOT_ASKED: [(&str, &str, &str); 21] = [
    (
        "GET",
        "/v1/events",
        "it says that something changed, and has no end",
    ),
    (
        "GET",
        "/v1/ask/{id}",
        "own answers are asked for in the tests of conversations",
    ),
    ("DELETE", "/v1/ask/{id}", "it shows nothing"),
    ("GET", "/v1/report/{id}", "own reports, the same"),
    ("POST", "/v1/report/export", "it draws what it is sent"),
    ("POST", "/v1/rendered", "it draws what it is sent"),
    (
        "GET",
        "/v1/images/{id}",
        "asked in the tests of pictures: who sees the document",
    ),
    (
        "GET",
        "/v1/conversations/{id}",
        "own ones, asked in the tests of conversations",
    ),
    ("POST", "/v1/conversations", "it shows nothing"),
    (
        "PATCH",
        "/v1/conversations/{id}",
        "it shows a title of one's own",
    ),
    ("DELETE", "/v1/conversations/{id}", "it shows nothing"),
    ("GET", "/v1/conversations/{id}/turns", "own ones"),
    ("POST", "/v1/conversations/{id}/clear", "it shows nothing"),
    ("GET", "/v1/conversations/{id}/export", "own ones"),
    (
        "PUT",
        "/v1/conversations/{id}/turns/{turn}/feedback",
        "it shows nothing",
    ),
    (
        "DELETE",
        "/v1/conversations/{id}/turns/{turn}/feedback",
        "it shows nothing",
    ),
    ("DELETE", "/v1/missed-searches", "it shows nothing"),
    (
        "GET",
        "/v1/user-profiles/{user}",
        "what the user said of themselves",
    ),
    ("PUT", "/v1/user-profiles/{user}", "the same"),
    ("DELETE", "/v1/user-profiles/{user}", "it shows nothing"),
    ("GET", "/v1/models/{id}", "names of sets and workflows"),
];

fn tool(name: &str, arguments: Value) -> Call {
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": name, "arguments": arguments}});
    post("/mcp", call)
}

fn post(path: &str, body: Value) -> Call {
    ("POST", path.to_owned(), Some(body))
}

fn get(path: impl Into<String>) -> Call {
    ("GET", path.into(), None)
}

/// What is asked of all documents together.
pub(super) fn of_all() -> Vec<Call> {
    let question = "What is the secret budget of the plan?";
    let ids: Vec<String> = (0..DOCUMENTS).map(id).collect();
    let mut calls: Vec<Call> = [
        "/v1/documents",
        "/v1/documents?source=nowhere&tag=kanarienvogel",
        "/v1/facets",
        "/v1/tables",
        "/v1/knowledge-sets",
        "/v1/knowledge-sets/common",
        "/v1/conversations",
        "/v1/feedback",
        "/v1/missed-searches",
        "/v1/user-profiles",
        "/v1/models",
    ]
    .map(get)
    .into();
    calls.extend([
        post(
            "/v1/search",
            json!({"query": "secret budget plan remarks", "top_k": 40, "explain": true,
                "unfold": true, "parents": true, "neighbours": 2}),
        ),
        post(
            "/v1/search",
            json!({"query": "budget",
                "filter": {"tags": ["kanarienvogel"], "document_ids": ["wiki/kanarien"]}}),
        ),
        post("/v1/code/search", json!({"query": "budget"})),
        post("/v1/ask", json!({"question": question})),
        post("/v1/report", json!({"question": question})),
        post("/v1/tables/query", json!({"question": question})),
        post(
            "/v1/questions/explain",
            json!({"kind": "text", "question": "What is the secret budget?"}),
        ),
        post(
            "/v1/questions/judge",
            json!({"kind": "text", "question": "What is the secret budget?",
                "student_answer": "The plan."}),
        ),
        post("/v1/documents/states", json!({"document_ids": ids})),
        post(
            "/retrieval",
            json!({"knowledge_id": "common", "query": "secret budget plan",
                "retrieval_setting": {"top_k": 10, "score_threshold": 0.0}}),
        ),
        post(
            "/v1/chat/completions",
            json!({"model": "common", "messages": [{"role": "user", "content": question}]}),
        ),
        tool("search", json!({"query": "secret budget plan"})),
        tool("list_knowledge_sets", json!({})),
        post(
            "/mcp",
            json!({"jsonrpc": "2.0", "id": 1, "method": "resources/list"}),
        ),
    ]);
    calls
}

/// What is asked of one of them.
pub(super) fn of_document(number: usize) -> Vec<Call> {
    let id = id(number);
    vec![
        get(format!("/v1/documents/{id}?passages=true")),
        get(format!("/v1/documents/{id}/pages/1")),
        post(
            "/v1/search",
            json!({"query": "closed remarks on the secret budget of the plan",
                "neighbours": 3, "parents": true, "filter": {"document_ids": [id]}}),
        ),
        get(format!("/v1/documents/{id}/original")),
        get(format!("/v1/documents/wiki/kanarienvogel{number}v")),
        tool("get_document", json!({"document": id})),
    ]
}

/// Whether an address is one of a route of the table.
fn is_of(address: &str, route: &str) -> bool {
    let address = address.split('?').next().unwrap_or_default();
    // Ids of documents have a `/` of their own.
    let address = address
        .replace("/doc/", "/doc-")
        .replace("/wiki/", "/wiki-");
    let (address, route) = (address.split('/'), route.split('/'));
    address.clone().count() == route.clone().count()
        && address
            .zip(route)
            .all(|(part, wanted)| wanted.starts_with('{') || part == wanted)
}

#[test]
fn every_route_that_shows_what_documents_hold_is_asked() {
    let mut asked = of_all();
    asked.extend(of_document(0));
    asked.push(get("/v1/tables/0"));
    let is_asked = |method: &str, route: &str| {
        let mut calls = asked.iter();
        calls.any(|(by, address, _)| *by == method && is_of(address, route))
    };
    let of_readers = rows()
        .into_iter()
        .filter(|(_, _, who)| who.starts_with("reader"));
    let left_out: BTreeSet<(String, String)> = of_readers
        .map(|(method, route, _)| (method, route))
        .filter(|(method, route)| !is_asked(method, route))
        .collect();
    let named = NOT_ASKED.map(|(method, route, _)| (method.to_owned(), route.to_owned()));
    assert_eq!(left_out, BTreeSet::from(named));
}
