//! Tier 3 by a language model: how sure it is decides, and where it says nothing of use the order of
//! tier 2 stands and the answer says so.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::runtime::Handle;
use tributary_models::chat::Role;
use tributary_models::prompts::Prompts;
use tributary_retrieval::prompts::PROMPTS;
use tributary_retrieval::{ChatReranker, Outcome, Principal};

use crate::common;
use crate::tiers::filled;
use crate::understand::scripted;

const QUESTION: &str = "completely fair scheduling of tasks";

/// What a search finds with a judge that follows a script, in its order.
async fn searched(script: Value) -> (Outcome, Vec<String>) {
    let (chat, _folder) = scripted(&script);
    let filled = filled().await;
    let reranker = ChatReranker::new(
        chat.role(Role::Judge).unwrap(),
        Arc::new(Prompts::load(&[&PROMPTS], None).unwrap()),
        Handle::current(),
        Duration::from_secs(20),
    );
    let retriever = common::retriever(filled.index.clone(), common::models(None))
        .with_reranker(Arc::new(reranker));
    let request = serde_json::from_value(json!({"query": QUESTION, "explain": true})).unwrap();
    let outcome = retriever
        .search(&request, &Principal::unrestricted())
        .await
        .unwrap();
    let hits = outcome.response.hits.iter();
    let found = hits.map(|hit| hit.document_id.clone()).collect();
    (outcome, found)
}

fn yes_of(contained: &str, probability: f64) -> Value {
    let (yes, no) = (probability.ln(), (1.0 - probability).ln());
    json!({"prompt": "rerank", "contains": contained, "reply": "yes", "logprobs": {"yes": yes, "no": no}})
}

#[tokio::test(flavor = "multi_thread")]
async fn the_surest_comes_first_with_what_the_model_gives_it() {
    let script = json!([
        yes_of("Completely fair", 0.25),
        yes_of("辅小区", 0.75),
        yes_of("", 0.125),
    ]);
    let (outcome, found) = searched(script).await;
    assert_eq!(outcome.response.degraded, Vec::<String>::new());
    let plan = outcome.response.plan.unwrap();
    assert_eq!(
        plan.reranker.as_deref(),
        Some("chat:"),
        "the script's model has no name"
    );
    let hits = &outcome.response.hits;
    let of = |text: &str| hits.iter().position(|hit| hit.text.contains(text)).unwrap();
    let (second, third) = (of("Completely fair"), of("辅小区"));
    assert!(third < second, "{found:?}");
    assert!((hits[third].scores["rerank"] - 0.75).abs() < 1e-4);
    assert!((hits[second].scores["rerank"] - 0.25).abs() < 1e-4);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_log_probabilities_its_word_counts() {
    let script = json!([
        {"prompt": "rerank", "contains": "辅小区", "reply": "是。"},
        {"prompt": "rerank", "reply": "No"},
    ]);
    let (outcome, _) = searched(script).await;
    assert!(outcome.response.hits[0].text.contains("辅小区"));
    assert_eq!(outcome.response.hits[0].scores["rerank"], 1.0);
    assert!(outcome.response.degraded.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_judgement_leaves_the_order_of_tier_2_and_is_named() {
    let useless = json!([{"prompt": "rerank", "reply": "I cannot say"}]);
    let (outcome, found) = searched(useless).await;
    assert_eq!(outcome.response.degraded, ["reranker"]);
    assert_eq!(found[0], "manual/scheduler");
    let away = json!([{"prompt": "rerank", "failure": "overloaded"}]);
    let (outcome, again) = searched(away).await;
    assert_eq!(
        (outcome.response.degraded, again),
        (vec!["reranker".to_owned()], found)
    );
}
