//! The API description: committed as generated, and what the server answers follows it.

use serde_json::{Value, json};
use tributary_query_api::openapi;
use tributary_store::conversations::{NewTurn, TurnEnd};

use crate::common::client::{Answer, Server};
use crate::evaluations::keep_run;
use crate::terms::discovered;

#[test]
fn the_committed_description_is_the_generated_one() {
    let generated = serde_json::to_string_pretty(&openapi::description()).unwrap() + "\n";
    if std::env::var_os("TRIBUTARY_UPDATE").is_some() {
        std::fs::write(
            concat!(env!("CARGO_MANIFEST_DIR"), "/openapi.json"),
            &generated,
        )
        .unwrap();
    }
    let committed =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/openapi.json")).unwrap();
    assert!(
        committed == generated,
        "openapi.json is not as generated: run again with TRIBUTARY_UPDATE=1 and look at the difference"
    );
}

/// One call of every operation of the description that succeeds.
const CALLS: &[(&str, &str, &str, Option<&str>)] = &[
    (
        "post",
        "/v1/documents",
        "/v1/documents",
        Some(r#"{"source": "wiki", "source_path": "a.md", "content": "a"}"#),
    ),
    (
        "get",
        "/v1/documents",
        "/v1/documents?limit=1&state=indexed&searchable=true&source=manual&tag=os&title=a&sort=title&descending=true",
        None,
    ),
    (
        "get",
        "/v1/documents/{id}",
        "/v1/documents/manual%2Fscheduler?passages=true",
        None,
    ),
    (
        "delete",
        "/v1/documents/{id}",
        "/v1/documents/case%2F42",
        None,
    ),
    (
        "post",
        "/v1/documents/states",
        "/v1/documents/states",
        Some(r#"{"document_ids": ["case/42", "unknown"]}"#),
    ),
    (
        "post",
        "/v1/documents/reconcile",
        "/v1/documents/reconcile",
        None,
    ),
    (
        "post",
        "/v1/search",
        "/v1/search",
        Some(r#"{"query": "tasks", "explain": true, "parents": true, "neighbours": 2}"#),
    ),
    (
        "post",
        "/v1/ask",
        "/v1/ask",
        Some(r#"{"question": "What does the scheduler pick?", "explain": true}"#),
    ),
    (
        "post",
        "/v1/report",
        "/v1/report",
        Some(
            r#"{"question": "What does the scheduler pick?", "depth": "deep", "report_id": "r-1"}"#,
        ),
    ),
    ("get", "/v1/report/{id}", "/v1/report/r-1", None),
    ("get", "/v1/tables", "/v1/tables", None),
    (
        "post",
        "/v1/tables/query",
        "/v1/tables/query",
        Some(r#"{"question": "how many rows are there"}"#),
    ),
    (
        "post",
        "/v1/questions/judge",
        "/v1/questions/judge",
        Some(
            r#"{"kind": "single", "question": "What does the scheduler pick?", "options": ["tasks", "ports"], "student_answer": "A", "correct_answer": "A"}"#,
        ),
    ),
    (
        "post",
        "/v1/questions/explain",
        "/v1/questions/explain",
        Some(r#"{"kind": "text", "question": "What does the scheduler pick?"}"#),
    ),
    (
        "post",
        "/v1/code/search",
        "/v1/code/search",
        Some(r#"{"query": "tasks", "files": 5, "top_k": 3}"#),
    ),
    ("get", "/v1/facets", "/v1/facets", None),
    (
        "get",
        "/v1/missed-searches",
        "/v1/missed-searches?limit=5",
        None,
    ),
    ("delete", "/v1/missed-searches", "/v1/missed-searches", None),
    (
        "post",
        "/v1/rendered",
        "/v1/rendered",
        Some(r#"{"markdown": ["*tasks* of a scheduler"], "query": "tasks"}"#),
    ),
    ("get", "/v1/knowledge-sets", "/v1/knowledge-sets", None),
    (
        "get",
        "/v1/knowledge-sets/status",
        "/v1/knowledge-sets/status",
        None,
    ),
    (
        "get",
        "/v1/knowledge-sets/{id}",
        "/v1/knowledge-sets/radio",
        None,
    ),
    (
        "get",
        "/v1/knowledge-sets/{id}/status",
        "/v1/knowledge-sets/radio/status",
        None,
    ),
    (
        "post",
        "/v1/conversations",
        "/v1/conversations",
        Some(r#"{"title": "ticks"}"#),
    ),
    (
        "get",
        "/v1/conversations",
        "/v1/conversations?title=t&limit=5",
        None,
    ),
    (
        "get",
        "/v1/conversations/{id}",
        "/v1/conversations/CONVERSATION",
        None,
    ),
    (
        "patch",
        "/v1/conversations/{id}",
        "/v1/conversations/CONVERSATION",
        Some(r#"{"title": "节拍"}"#),
    ),
    (
        "get",
        "/v1/conversations/{id}/turns",
        "/v1/conversations/CONVERSATION/turns?limit=5&newest_first=true",
        None,
    ),
    (
        "put",
        "/v1/conversations/{id}/turns/{turn}/feedback",
        "/v1/conversations/CONVERSATION/turns/TURN/feedback",
        Some(r#"{"helpful": true, "reason": "short"}"#),
    ),
    (
        "get",
        "/v1/conversations/{id}/export",
        "/v1/conversations/CONVERSATION/export?format=markdown",
        None,
    ),
    (
        "delete",
        "/v1/conversations/{id}/turns/{turn}/feedback",
        "/v1/conversations/CONVERSATION/turns/TURN/feedback",
        None,
    ),
    (
        "post",
        "/v1/conversations/{id}/clear",
        "/v1/conversations/CONVERSATION/clear",
        None,
    ),
    (
        "delete",
        "/v1/conversations/{id}",
        "/v1/conversations/CONVERSATION",
        None,
    ),
    ("get", "/v1/feedback", "/v1/feedback?limit=5", None),
    (
        "put",
        "/v1/user-profiles/{user}",
        "/v1/user-profiles/anna",
        Some(r#"{"tag_weights": {"5G": 2.0}, "preferred_sets": ["radio"]}"#),
    ),
    (
        "get",
        "/v1/user-profiles",
        "/v1/user-profiles?limit=5",
        None,
    ),
    (
        "get",
        "/v1/user-profiles/{user}",
        "/v1/user-profiles/anna",
        None,
    ),
    (
        "delete",
        "/v1/user-profiles/{user}",
        "/v1/user-profiles/anna",
        None,
    ),
    ("get", "/v1/dead-letters", "/v1/dead-letters?limit=5", None),
    (
        "get",
        "/v1/dead-letters/{id}",
        "/v1/dead-letters/documents.raw.v1-0-7",
        None,
    ),
    (
        "post",
        "/v1/dead-letters/{id}/replay",
        "/v1/dead-letters/documents.raw.v1-0-7/replay",
        None,
    ),
    (
        "delete",
        "/v1/dead-letters/{id}",
        "/v1/dead-letters/documents.raw.v1-0-9",
        None,
    ),
    ("delete", "/v1/dead-letters", "/v1/dead-letters", None),
    ("get", "/v1/evaluations", "/v1/evaluations?limit=5", None),
    (
        "get",
        "/v1/evaluations/{id}",
        "/v1/evaluations/before?verdict=none&step=fine&limit=1",
        None,
    ),
    (
        "get",
        "/v1/evaluations/{id}/comparison",
        "/v1/evaluations/later/comparison?with=before&limit=1",
        None,
    ),
    ("get", "/v1/terms", "/v1/terms?state=open&limit=1", None),
    (
        "post",
        "/v1/terms/verdicts",
        "/v1/terms/verdicts",
        Some(r#"{"term": "tick", "verdict": "yes"}"#),
    ),
    ("get", "/health/livez", "/health/livez", None),
    ("get", "/health/readyz", "/health/readyz", None),
    ("get", "/metrics", "/metrics", None),
    ("get", "/version", "/version", None),
    ("get", "/v1/session", "/v1/session", None),
    ("post", "/v1/session", "/v1/session", None),
    ("delete", "/v1/session", "/v1/session", None),
    ("get", "/v1/work", "/v1/work", None),
    ("get", "/v1/audit", "/v1/audit?limit=5&status=4", None),
    (
        "post",
        "/v1/knowledge-sets/{id}/reindex",
        "/v1/knowledge-sets/radio/reindex",
        None,
    ),
    (
        "post",
        "/v1/reindex",
        "/v1/reindex",
        Some(r#"{"knowledge_sets": ["common", "radio"]}"#),
    ),
    ("post", "/v1/repair", "/v1/repair", None),
    ("get", "/v1/repair", "/v1/repair", None),
    ("get", "/v1/reindex", "/v1/reindex", None),
    ("delete", "/v1/reindex", "/v1/reindex", None),
    ("post", "/v1/reindex/rollback", "/v1/reindex/rollback", None),
    (
        "post",
        "/mcp",
        "/mcp",
        Some(r#"{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}"#),
    ),
    (
        "post",
        "/v1/chat/completions",
        "/v1/chat/completions",
        Some(
            r#"{"model": "general", "messages": [{"role": "user", "content": "What is a task?"}]}"#,
        ),
    ),
    ("get", "/v1/models", "/v1/models", None),
    ("get", "/v1/models/{id}", "/v1/models/general@radio", None),
    (
        "post",
        "/retrieval",
        "/retrieval",
        Some(
            r#"{"knowledge_id": "radio", "query": "tasks", "retrieval_setting": {"top_k": 3, "score_threshold": 0.1}}"#,
        ),
    ),
    // No set is there afterwards.
    (
        "put",
        "/v1/knowledge-sets",
        "/v1/knowledge-sets",
        Some(r#"{"knowledge_sets": []}"#),
    ),
    ("get", "/openapi.json", "/openapi.json", None),
    ("get", "/", "/", None),
];

#[tokio::test(flavor = "multi_thread")]
async fn every_operation_answers_as_described() {
    let server = Server::start().await;
    let description = server.get("/openapi.json").await.json();
    let mut described: Vec<(String, String)> = Vec::new();
    for (path, methods) in description["paths"].as_object().unwrap() {
        described.extend(
            methods
                .as_object()
                .unwrap()
                .keys()
                .map(|method| (method.clone(), path.clone())),
        );
    }
    // Their answers are files: an archive, which the tests of the command line restore, a picture
    // and tables; or have no end. Other tests look at them.
    let elsewhere = [
        "/v1/backup",
        "/v1/images/{id}",
        "/v1/tables/{id}",
        "/v1/documents/{id}/original",
        "/v1/documents/{id}/pages/{number}",
        "/v1/events",
        "/v1/ask/{id}",
        "/v1/report/export",
    ];
    described.retain(|(_, path)| !elsewhere.contains(&path.as_str()));
    let mut called: Vec<(String, String)> = CALLS
        .iter()
        .map(|(method, path, _, _)| ((*method).to_owned(), (*path).to_owned()))
        .collect();
    described.sort();
    called.sort();
    assert_eq!(called, described, "every operation is called once");
    let (conversation, turn) = asked(&server).await;
    keep_run(&server, "before", 1);
    keep_run(&server, "later", 2);
    discovered(&server, &[("tick", 0.5)]);
    for (method, path, address, body) in CALLS {
        let address = address
            .replace("CONVERSATION", &conversation)
            .replace("TURN", &turn);
        let headers: &[(&str, &str)] = if body.is_some() {
            &[("Content-Type", "application/json")]
        } else {
            &[]
        };
        let answer = server
            .send(
                &method.to_uppercase(),
                &address,
                headers,
                body.unwrap_or_default().as_bytes(),
            )
            .await;
        check(&description, &description["paths"][path][method], &answer);
    }
    let problem = server.get("/v1/documents/unknown").await;
    let schema = &description["paths"]["/v1/documents/{id}"]["get"]["responses"]["default"]["content"]
        ["application/problem+json"]["schema"];
    validate(&description, schema, &problem.json());
}

/// Ids of a conversation and of a turn of it that has ended.
async fn asked(server: &Server) -> (String, String) {
    let conversations = &server.kept.conversations;
    let id = conversations.create(None, "").await.unwrap().id;
    let question = NewTurn {
        question: "what is a tick?",
        idempotency_key: None,
        fingerprint: None,
    };
    let begun = conversations.begin_turn(None, &id, question).await.unwrap();
    let turn_id = begun.turn.id;
    let failure = json!({"code": "unavailable", "detail": "the model is away"});
    let end = TurnEnd::Failed(serde_json::from_value(failure).unwrap());
    conversations
        .finish_turn(None, &id, &turn_id, end)
        .await
        .unwrap();
    (id, turn_id)
}

fn check(description: &Value, operation: &Value, answer: &Answer) {
    let response = &operation["responses"][answer.status.to_string()];
    assert!(
        response.is_object(),
        "{} is not described: {answer:?}",
        answer.status
    );
    let Some(content) = response["content"].as_object() else {
        return assert_eq!(answer.body, "");
    };
    let found = answer.header("content-type").unwrap_or_default();
    let (media_type, content) = content.iter().next().unwrap();
    assert!(
        found.starts_with(media_type.as_str()),
        "{found} is not {media_type}"
    );
    if media_type == "application/json" {
        validate(description, &content["schema"], &answer.json());
    }
}

fn validate(description: &Value, schema: &Value, value: &Value) {
    let mut root = schema.clone();
    root["components"] = description["components"].clone();
    let validator = jsonschema::draft202012::new(&root).unwrap();
    let errors: Vec<String> = validator
        .iter_errors(value)
        .map(|error| format!("{} at {}", error, error.instance_path()))
        .collect();
    assert!(errors.is_empty(), "{errors:#?}\n{value:#}");
}
