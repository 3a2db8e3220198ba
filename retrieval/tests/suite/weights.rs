//! The weight of the vector side adapts to what was found, the plan says so, and what is replayed
//! offline is what a search does.

use crate::common;
use crate::tiers::filled;

use serde_json::{Value, json};
use tributary_retrieval::{FEATURES, Outcome, Principal, Retriever, WeightKind};
use tributary_schemas::search::{QueryPlan, SearchRequest};
use tributary_store::search_index::SharedSearchIndex;

fn request(value: Value) -> SearchRequest {
    serde_json::from_value(value).unwrap()
}

fn retriever(index: SharedSearchIndex, kind: WeightKind) -> Retriever {
    let mut config = common::config();
    config.vector_weight.kind = kind;
    let serving = common::serving(common::models(None));
    Retriever::new(index, serving, common::knowledge_sets(), config).unwrap()
}

async fn search(retriever: &Retriever, value: Value) -> Outcome {
    let asked = request(value);
    let principal = Principal::unrestricted();
    retriever.search(&asked, &principal).await.unwrap()
}

async fn plan(retriever: &Retriever, mut value: Value) -> QueryPlan {
    value["explain"] = json!(true);
    search(retriever, value).await.response.plan.unwrap()
}

#[tokio::test]
async fn the_plan_says_what_the_weight_adapted_to() {
    let filled = filled().await;
    let adaptive = retriever(filled.index.clone(), WeightKind::Adaptive);
    for query in ["completely fair scheduling of tasks", "辅小区激活失败"] {
        let found = plan(&adaptive, json!({"query": query})).await;
        let names: Vec<&str> = found.weight_features.keys().map(String::as_str).collect();
        let mut expected = FEATURES;
        expected.sort_unstable();
        assert_eq!(names, expected);
        let features = FEATURES.map(|name| found.weight_features[name]);
        let weight = common::config().vector_weight.adaptive.weight(&features);
        assert_eq!(found.vector_weight, weight, "{query}");
        let shifted = json!({"query": query, "user_profile": {"vector_weight_shift": -0.1}});
        let shifted = plan(&adaptive, shifted).await;
        assert!((shifted.vector_weight - weight + 0.1).abs() < 1e-6);
    }
}

#[tokio::test]
async fn a_given_weight_and_a_single_signal_do_not_adapt() {
    let filled = filled().await;
    let adaptive = retriever(filled.index.clone(), WeightKind::Adaptive);
    let fixed = retriever(filled.index.clone(), WeightKind::Fixed);
    let query = "completely fair scheduling of tasks";
    let table = [
        (
            &adaptive,
            json!({"query": query, "vector_weight": 0.3}),
            0.3,
        ),
        (
            &adaptive,
            json!({"query": query, "strategy": "full_text"}),
            0.0,
        ),
        (
            &adaptive,
            json!({"query": query, "strategy": "semantic"}),
            1.0,
        ),
        (&fixed, json!({"query": query}), 0.5),
    ];
    for (retriever, asked, expected) in table {
        let found = plan(retriever, asked).await;
        assert_eq!(found.vector_weight, expected);
        assert!(found.weight_features.is_empty());
    }
}

#[tokio::test]
async fn evidence_orders_as_a_search_of_that_weight_does() {
    let filled = filled().await;
    let retriever = retriever(filled.index.clone(), WeightKind::Length);
    for query in [
        "completely fair scheduling of tasks",
        "ERR-1024",
        "辅小区激活失败",
    ] {
        let asked = request(json!({"query": query}));
        let principal = Principal::unrestricted();
        let evidence = retriever.evidence(&asked, &principal, &[]).await.unwrap();
        let [evidence] = evidence.as_slice() else {
            panic!("no other numbers were asked for: {evidence:?}");
        };
        for weight in [0.0, 0.4, 1.0] {
            let found = search(&retriever, json!({"query": query, "vector_weight": weight})).await;
            let found: Vec<_> = found.fine.iter().map(|chunk| chunk.chunk_id).collect();
            assert_eq!(evidence.order(weight), found, "{query} {weight}");
        }
    }
}
