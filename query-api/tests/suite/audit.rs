//! The audit record: every call leaves who, what and which documents, and no text or secret.

use std::time::Duration;

use serde_json::{Value, json};
use tributary_query_api::config::{NetworkAccess, ServerConfig};
use tributary_store::keys::Grant;

use crate::common;
use crate::common::client::Server;
use crate::rights::{Keyed, NOW};

const JSON: (&str, &str) = ("Content-Type", "application/json");
/// Words that must not be found in the record, wherever they are sent.
const CANARIES: [&str; 5] = [
    "canaryquestion",
    "canaryvalue",
    "canarytext",
    "canarytitle",
    "canaryname",
];

async fn recorded() -> Keyed {
    recorded_with(5).await
}

async fn recorded_with(documents_per_call: usize) -> Keyed {
    let mut config = ServerConfig {
        network_access: NetworkAccess::Authenticated,
        ..common::server_config()
    };
    config.audit.enabled = true;
    config.audit.documents_per_call = documents_per_call;
    Keyed::start_with(config).await
}

/// The calls that meet a query, once there are so many of them.
async fn calls(keyed: &Keyed, key: &str, query: &str, number: usize) -> Vec<Value> {
    calls_seen_by(keyed, || key.to_owned(), query, number).await
}

/// The same, each look with a key of its own: where a key may ask little, none could wait.
async fn calls_seen_by(
    keyed: &Keyed,
    key: impl Fn() -> String,
    query: &str,
    number: usize,
) -> Vec<Value> {
    for _ in 0..200 {
        let page = keyed
            .send(&key(), "GET", &format!("/v1/audit?{query}"), None)
            .await
            .json();
        let entries = page["entries"].as_array();
        let entries = entries.unwrap_or_else(|| panic!("{page}"));
        if entries.len() >= number {
            return entries.clone();
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    panic!("there are never {number} calls of {query}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_leaves_who_what_and_which_documents() {
    let keyed = recorded().await;
    let (id, key) = keyed.key(vec![Grant::Administrator]);
    let search = json!({"query": "tasks 任务", "filter": {"sources": ["manual", "wiki"]}});
    let answered = keyed.send(&key, "POST", "/v1/search", Some(search)).await;
    let hits = answered.json()["hits"].as_array().unwrap().clone();
    assert!(!hits.is_empty());
    let entry = calls(&keyed, &key, "route=/v1/search", 1).await.remove(0);
    assert_eq!(
        json!([
            entry["caller"],
            entry["key"],
            entry["name"],
            entry["address"]
        ]),
        json!(["key", id, "test", "127.0.0.1"])
    );
    assert_eq!(
        json!([entry["method"], entry["status"]]),
        json!(["POST", 200])
    );
    assert_eq!(entry["question_characters"], 8);
    assert_eq!(entry["filter"], json!({"sources": 2}));
    assert_eq!(entry["answer_bytes"], answered.body.len());
    assert_eq!(entry["trace_id"], "4bf92f3577b34da6a3ce929d0e0e4736");
    let mut shown: Vec<&Value> = hits.iter().map(|hit| &hit["document_id"]).collect();
    shown.dedup();
    let kept = entry["documents"].as_array().unwrap();
    assert!(
        shown.iter().all(|id| kept.contains(id)),
        "{shown:?} {entry}"
    );

    keyed
        .send(&key, "DELETE", "/v1/documents/case%2F42", None)
        .await;
    let entry = calls(&keyed, &key, "document=case/42&route=/v1/documents", 1)
        .await
        .remove(0);
    assert_eq!(
        json!([entry["method"], entry["route"]]),
        json!(["DELETE", "/v1/documents/{id}"])
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_picture_is_recorded_with_a_document_that_shows_it() {
    let keyed = recorded().await;
    let (_, key) = keyed.key(vec![Grant::Administrator]);
    let kept = &keyed.server.kept;
    let bytes = &b"\x89PNG\r\n\x1A\nsmall"[..];
    let picture = kept.blobs().put(bytes.into()).await.unwrap();
    kept.index.show_image("case/42", &picture);
    let path = picture.replace("blob:", "/v1/images/");
    assert_eq!(keyed.send(&key, "GET", &path, None).await.status, 200);
    let entry = calls(&keyed, &key, "document=case/42", 1).await.remove(0);
    assert_eq!(entry["route"], "/v1/images/{id}", "{entry}");
}

#[tokio::test(flavor = "multi_thread")]
async fn more_documents_than_are_kept_are_counted() {
    let keyed = recorded_with(2).await;
    let (_, key) = keyed.key(vec![Grant::Administrator]);
    let listed = keyed.send(&key, "GET", "/v1/documents", None).await.json();
    let listed = listed["documents"].as_array().unwrap().len();
    let entry = calls(&keyed, &key, "route=/v1/documents", 1)
        .await
        .remove(0);
    let kept = entry["documents"].as_array().unwrap().len();
    assert_eq!(kept, 2);
    assert!(
        listed > kept && entry["documents_left_out"].as_u64().unwrap() >= (listed - kept) as u64
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn refusals_are_recorded_with_their_code() {
    let keyed = recorded().await;
    let (_, key) = keyed.key(vec![Grant::Administrator]);
    let (reader_id, reader) = keyed.key(vec![Grant::Reader]);
    let (revoked_id, revoked) = keyed.key(vec![Grant::Reader]);
    keyed.file.revoke(&revoked_id, NOW).unwrap();
    for (shown, path, code, who) in [
        (
            reader.as_str(),
            "/v1/evaluations",
            "denied",
            json!(reader_id),
        ),
        (revoked.as_str(), "/v1/facets", "key_revoked", json!(null)),
        (
            "Bearer trb_nonsense",
            "/v1/facets",
            "unauthenticated",
            json!(null),
        ),
    ] {
        keyed.send(shown, "GET", path, None).await;
        let entry = calls(&keyed, &key, &format!("code={code}&status=4"), 1)
            .await
            .remove(0);
        assert_eq!(
            json!([entry["route"], entry["key"]]),
            json!([path, who]),
            "{code}"
        );
    }
    let missing = keyed
        .send(&reader, "GET", "/v1/documents/canaryname", None)
        .await;
    assert_eq!(missing.status, 404);
    let entry = calls(&keyed, &key, "code=document_not_found", 1)
        .await
        .remove(0);
    assert_eq!(
        entry["documents"],
        Value::Null,
        "what is not there has no id"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn no_text_and_no_secret_is_recorded() {
    let keyed = recorded().await;
    let (_, key) = keyed.key(vec![Grant::Administrator]);
    let wrong = format!("{}0000", key.get(..key.len() - 4).unwrap());
    let question = "what is canaryquestion?";
    let filter = json!({"tags": ["canaryvalue"], "attributes": {"canaryname": ["canaryvalue"]}});
    let chat = json!({"model": "general", "messages": [{"role": "user", "content": question}]});
    let tool = json!({"name": "search", "arguments": {"query": question}});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": tool});
    let dify = json!({"knowledge_id": "radio", "query": question,
        "retrieval_setting": {"top_k": 3, "score_threshold": 0.1}});
    let document = json!({"source": "wiki", "source_path": "a.md", "title": "canarytitle", "content": "canarytext"});
    let bodies = [
        ("/v1/search", json!({"query": question, "filter": filter})),
        ("/v1/code/search", json!({"query": question})),
        ("/v1/ask", json!({"question": question, "filter": filter})),
        ("/v1/documents", document),
        ("/v1/chat/completions", chat),
        ("/retrieval", dify),
        ("/mcp", call),
        (
            "/v1/rendered",
            json!({"markdown": ["canarytext"], "query": question}),
        ),
        ("/v1/search", json!({"canaryname": "canaryvalue"})),
        ("/v1/conversations", json!({"title": "canarytitle"})),
        ("/canarytext", json!({})),
    ];
    let number = bodies.len();
    for (path, body) in bodies {
        keyed.send(&key, "POST", path, Some(body.clone())).await;
        keyed.send(&wrong, "POST", path, Some(body)).await;
    }
    keyed.send(&key, "CANARYTEXT", "/canarytext", None).await;
    keyed
        .send(
            &key,
            "GET",
            "/v1/documents?title=canarytitle&text=canarytext",
            None,
        )
        .await;
    let all = calls(&keyed, &key, "limit=100", 2 * number + 2).await;
    for path in ["/v1/search", "/v1/ask", "/v1/chat/completions", "/mcp"] {
        let entry = all
            .iter()
            .find(|entry| entry["route"] == path && entry["status"] == 200);
        assert_eq!(
            entry.unwrap()["question_characters"],
            question.len(),
            "{path}"
        );
    }
    let text = serde_json::to_string(&all).unwrap();
    let secret = key
        .trim_start_matches("Bearer ")
        .rsplit('_')
        .next()
        .unwrap();
    assert!(
        secret.len() > 20 && !text.contains(secret.get(..20).unwrap()),
        "the secret is there"
    );
    for canary in CANARIES {
        let is_there = text.to_lowercase().contains(canary);
        assert!(!is_there, "{canary}: {text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_are_recorded_when_they_are_over_and_can_be_followed() {
    let keyed = recorded().await;
    let (_, key) = keyed.key(vec![Grant::Administrator]);
    let headers = [("Authorization", key.as_str())];
    // The topic is there once something was recorded.
    keyed.send(&key, "GET", "/v1/facets", None).await;
    calls(&keyed, &key, "route=/v1/facets", 1).await;
    let following = keyed
        .server
        .begin("GET", "/v1/audit?follow=true&route=/v1/ask", &headers, "")
        .await;
    assert_eq!(following.header("content-type"), "application/x-ndjson");
    let asked = json!({"question": "What does the scheduler pick?"});
    let stream = [headers[0], JSON, ("Accept", "text/event-stream")];
    let answer = keyed.server.open("/v1/ask", &stream, &asked).await;
    let written = answer.rest().await;
    let entry = calls(&keyed, &key, "route=/v1/ask", 1).await.remove(0);
    let documents = entry["documents"].as_array().unwrap();
    assert!(!documents.is_empty());
    assert!(
        documents
            .iter()
            .all(|id| written.contains(id.as_str().unwrap()))
    );
    keyed.stop().await;
    let lines = following.rest().await;
    assert!(lines.contains("\"route\":\"/v1/ask\""), "{lines}");
}

#[tokio::test(flavor = "multi_thread")]
async fn following_ends_with_the_key() {
    let keyed = recorded().await;
    let (_, key) = keyed.key(vec![Grant::Administrator]);
    let (id, follower) = keyed.key(vec![Grant::Administrator]);
    keyed.send(&key, "GET", "/v1/facets", None).await;
    calls(&keyed, &key, "route=/v1/facets", 1).await;
    let headers = [("Authorization", follower.as_str())];
    let following = keyed
        .server
        .begin("GET", "/v1/audit?follow=true", &headers, "")
        .await;
    keyed.file.revoke(&id, NOW).unwrap();
    keyed.send(&key, "GET", "/v1/knowledge-sets", None).await;
    let lines = following.rest().await;
    assert!(!lines.contains("/v1/knowledge-sets"), "{lines}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_asks_too_much_is_named_and_a_stranger_leaves_no_more_records() {
    let mut config = ServerConfig {
        network_access: NetworkAccess::Authenticated,
        ..common::server_config()
    };
    config.audit.enabled = true;
    (
        config.limits.request_burst,
        config.limits.requests_per_minute,
    ) = (3, 1);
    config.limits.wrong_keys_per_minute = 2;
    let keyed = Keyed::start_with(config).await;
    let (id, greedy) = keyed.key(vec![Grant::Reader]);
    for _ in 0..5 {
        keyed.send(&greedy, "GET", "/v1/facets", None).await;
        keyed
            .send("Bearer trb_nonsense", "GET", "/v1/facets", None)
            .await;
    }
    let administrator = || keyed.key(vec![Grant::Administrator]).1;
    let all = calls_seen_by(&keyed, administrator, "route=/v1/facets", 7).await;
    let of = |code: &str| -> Vec<&Value> { all.iter().filter(|one| one["code"] == code).collect() };
    let limited = of("rate_limited");
    assert_eq!(limited.len(), 2, "{all:?}");
    assert!(limited.iter().all(|one| one["key"] == json!(id)));
    assert_eq!(
        of("unauthenticated").len(),
        2,
        "beyond the limit nothing is kept"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_waits_is_written_before_the_server_ends_and_readiness_tells() {
    let keyed = recorded().await;
    let (_, key) = keyed.key(vec![Grant::Administrator]);
    for _ in 0..50 {
        keyed.send(&key, "GET", "/v1/facets", None).await;
    }
    let checks = keyed.send(&key, "GET", "/health/readyz", None).await.json();
    let audit = checks["checks"]
        .as_array()
        .unwrap()
        .iter()
        .find(|check| check["name"] == "audit");
    assert!(
        audit.unwrap()["detail"]
            .as_str()
            .unwrap()
            .contains("0 were left out")
    );
    let metrics = keyed.send(&key, "GET", "/metrics", None).await.body;
    assert!(
        metrics.contains("tributary_audit_calls_total{outcome=\"left_out\"} 0"),
        "{metrics}"
    );
    let kept = keyed.stop().await;
    let query = serde_json::from_value(json!({"route": "/v1/facets"})).unwrap();
    let page = kept.audit().newest(&query, 1000).await.unwrap();
    assert_eq!(page.entries.len(), 50);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_setting_nothing_is_recorded() {
    let server = Server::start().await;
    server.get("/v1/facets").await;
    let page = server.get("/v1/audit").await.json();
    assert_eq!(page, json!({"entries": [], "has_older": false}));
    let followed = server.get("/v1/audit?follow=true").await;
    assert_eq!(
        (followed.status, followed.code()),
        (404, "not_found".to_owned())
    );
    assert_eq!(
        server.get("/v1/audit?stat=4").await.code(),
        "invalid_parameter"
    );
}
