//! Dify's external knowledge base: records of one knowledge set, and its errors.

use serde_json::{Value, json};

use crate::common::client::Server;

async fn retrieve(server: &Server, knowledge_id: &str, condition: Value) -> (u16, Value) {
    let body = json!({"knowledge_id": knowledge_id, "query": "ERR-1024",
        "retrieval_setting": {"top_k": 5, "score_threshold": 0.0}, "metadata_condition": condition});
    let answer = server.post("/retrieval", &body).await;
    (answer.status, answer.json())
}

fn condition(name: &str, operator: &str, value: Value) -> Value {
    json!({"conditions": [{"name": name, "comparison_operator": operator, "value": value}]})
}

#[tokio::test(flavor = "multi_thread")]
async fn records_are_those_of_the_set_with_relevance_as_score() {
    let server = Server::start().await;
    let (status, found) = retrieve(&server, "common", Value::Null).await;
    assert_eq!(status, 200, "{found}");
    let records = found["records"].as_array().unwrap();
    assert_eq!(records.len(), 5, "{found}");
    let search = json!({"query": "ERR-1024", "filter": {"knowledge_sets": ["common"]}, "top_k": 5});
    let search = server.post("/v1/search", &search).await.json();
    for (record, hit) in records.iter().zip(search["hits"].as_array().unwrap()) {
        assert_eq!(record["content"], hit["text"]);
        assert_eq!(record["score"], hit["relevance"]);
        assert_eq!(record["title"], hit["title"]);
        assert_eq!(record["metadata"]["document_id"], hit["document_id"]);
        assert!(record["metadata"]["link"].is_string(), "{record}");
    }
    let (_, radio) = retrieve(&server, "radio", Value::Null).await;
    let records = radio["records"].as_array().unwrap();
    assert!(
        records
            .iter()
            .all(|record| record["metadata"]["source"] == "wiki")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_threshold_is_one_of_relevance() {
    let server = Server::start().await;
    let body = json!({"knowledge_id": "common", "query": "ERR-1024",
        "retrieval_setting": {"top_k": 5, "score_threshold": 0.9999}});
    let answer = server.post("/retrieval", &body).await;
    assert_eq!(
        (answer.status, answer.json()),
        (200, json!({"records": []}))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_set_is_an_error_and_never_everything() {
    let server = Server::start().await;
    for id in ["nothing", "", "common,radio"] {
        let (status, refused) = retrieve(&server, id, Value::Null).await;
        assert_eq!(
            (status, &refused["error_code"]),
            (404, &json!(2001)),
            "{id}: {refused}"
        );
        assert!(!refused["error_msg"].as_str().unwrap().is_empty());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn conditions_narrow_or_are_refused() {
    let server = Server::start().await;
    let (_, found) = retrieve(&server, "common", condition("source", "is", json!("case"))).await;
    let records = found["records"].as_array().unwrap();
    assert!(!records.is_empty());
    assert!(
        records
            .iter()
            .all(|record| record["metadata"]["source"] == "case")
    );
    let (_, none) = retrieve(&server, "common", condition("category", "in", json!(["x"]))).await;
    assert_eq!(none, json!({"records": []}), "no document has it");
    let (status, refused) = retrieve(
        &server,
        "common",
        condition("source", "is not", json!("case")),
    )
    .await;
    assert_eq!(
        (status, &refused["error_code"]),
        (422, &json!(422)),
        "{refused}"
    );
    let (status, refused) = retrieve(&server, "common", json!({"conditions": [{}]})).await;
    assert_eq!(status, 400, "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_is_not_understood_is_refused() {
    let server = Server::start().await;
    let body = json!({"knowledge_id": "common", "query": "x", "retrieval_setting": {"top_k": 3},
        "metadata_filter": {"source": "case"}});
    let refused = server.post("/retrieval", &body).await;
    assert_eq!(
        (refused.status, &refused.json()["error_code"]),
        (400, &json!(400)),
        "{refused:?}"
    );
    let body = json!({"knowledge_id": "common", "query": "x", "retrieval_setting": {"top_k": 3}})
        .to_string();
    let json_type = ("Content-Type", "application/json");
    for (header, status) in [("Bearer key", 200), ("Basic a2V5", 403), ("Bearer", 403)] {
        let headers = [json_type, ("Authorization", header)];
        let answer = server
            .send("POST", "/retrieval", &headers, body.as_bytes())
            .await;
        assert_eq!(answer.status, status, "{header}: {answer:?}");
        if status != 200 {
            assert_eq!(answer.json()["error_code"], 1001);
        }
    }
}
