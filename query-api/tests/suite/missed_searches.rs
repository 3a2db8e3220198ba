//! Searches that were not answered are kept for who asked them, once each, and can be forgotten.

use serde_json::{Value, json};
use tributary_query_api::config::ServerConfig;
use tributary_store::keys::Grant;

use crate::common::client::Server;
use crate::common::{self, backend::Settings};
use crate::rights::Keyed;

const MISS: &str = "zebra quagga okapi";

/// The list once it has so many: a search does not wait until its question is kept.
async fn listed(get: impl AsyncFn() -> Value, count: usize) -> Vec<Value> {
    for _ in 0..200 {
        let list = get().await["missed_searches"].as_array().unwrap().clone();
        if list.len() == count {
            return list;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    panic!("never {count}: {}", get().await)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_miss_is_kept_once_and_what_was_answered_or_filtered_is_not() {
    let server = Server::start().await;
    let search = async |body: Value| {
        let found = server.post("/v1/search", &body).await;
        assert_eq!(found.status, 200, "{found:?}");
        found.json()
    };
    let answered = search(json!({"query": "scheduler", "minimum_relevance": 0.0})).await;
    assert!(!answered["hits"].as_array().unwrap().is_empty());
    search(json!({"query": MISS, "filter": {"sources": ["nowhere"]}})).await;
    for _ in 0..2 {
        let missed = search(json!({"query": MISS, "minimum_relevance": 1.0})).await;
        assert_eq!(missed["hits"], json!([]), "{missed}");
    }
    let get = async || server.get("/v1/missed-searches").await.json();
    let [one] = listed(get, 1).await.try_into().unwrap();
    assert_eq!(
        (&one["query"], &one["relevance"]),
        (&json!(MISS), &Value::Null)
    );
    let more = ["a", "b"].map(|word| format!("{MISS} {word}"));
    for query in &more {
        search(json!({"query": query, "minimum_relevance": 1.0})).await;
    }
    listed(get, 3).await;
    let first = server.get("/v1/missed-searches?limit=2").await.json();
    let next = first["next"].as_str().unwrap();
    let rest = server
        .get(&format!("/v1/missed-searches?limit=2&after={next}"))
        .await
        .json();
    assert_eq!(rest["missed_searches"].as_array().unwrap().len(), 1);
    assert_eq!(rest["next"], Value::Null);
    let forgotten = server
        .send("DELETE", "/v1/missed-searches", &[], b"")
        .await
        .json();
    assert_eq!(forgotten, json!({"forgotten": 3}));
    listed(get, 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn searches_belong_to_the_key_and_none_are_kept_where_the_operator_wants_none() {
    let keyed = Keyed::start().await;
    let (_, ann) = keyed.key(vec![Grant::Reader]);
    let (_, bob) = keyed.key(vec![Grant::Reader]);
    let body = json!({"query": MISS, "minimum_relevance": 1.0});
    keyed
        .send(&ann, "POST", "/v1/search", Some(body.clone()))
        .await;
    let of = async |key: &str| {
        keyed
            .send(key, "GET", "/v1/missed-searches", None)
            .await
            .json()
    };
    listed(async || of(&ann).await, 1).await;
    listed(async || of(&bob).await, 0).await;
    let forgotten = keyed
        .send(&bob, "DELETE", "/v1/missed-searches", None)
        .await
        .json();
    assert_eq!(forgotten, json!({"forgotten": 0}));
    listed(async || of(&ann).await, 1).await;

    let mut server: ServerConfig = common::server_config();
    server.missed_searches.maximum = 0;
    let settings = Settings {
        server,
        ..Settings::default()
    };
    let silent = Server::start_with_settings(common::models(None), settings).await;
    silent.post("/v1/search", &body).await;
    tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    listed(async || silent.get("/v1/missed-searches").await.json(), 0).await;
    assert!(!silent.kept.folder().join("missed-searches.jsonl").exists());
}
