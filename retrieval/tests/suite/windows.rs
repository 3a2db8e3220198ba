//! Long chunks that only one of their windows tells apart.

use std::sync::Arc;

use serde_json::json;
use tributary_models::TextRole;
use tributary_retrieval::{Outcome, Principal, Retriever};
use tributary_schemas::{ChunkVectors, WindowVectors};
use tributary_store::search_index::{Operation, SearchIndex};

use crate::common::memory_index::MemoryIndex;
use crate::common::{self, Text};

const QUESTION: &str = "swap space on a zoned disk";

const fn page(id: &'static str) -> Text {
    Text {
        id,
        title: "Chapter",
        source: "book",
        knowledge_sets: &["kernel"],
        tags: &[],
        security_level: None,
        chunks: &["Memory, from the beginning to the end."],
    }
}

/// A page whose vector is that of its text, which says nothing of the question; `windows` are of
/// these texts.
fn with_windows(page: &Text, windows: &[&str]) -> Operation {
    let mut operation = common::replace(page, 1);
    let embedded = common::embedder()
        .embed(windows, TextRole::Passage)
        .unwrap();
    let of_tier_2 = |vectors: &ChunkVectors| {
        if vectors.fine.is_empty() {
            vectors.coarse.clone()
        } else {
            vectors.fine.clone()
        }
    };
    let windows: Vec<Vec<f32>> = embedded.iter().map(of_tier_2).collect();
    if let Operation::Replace { vectors, .. } = &mut operation {
        vectors[0].windows = WindowVectors::of(windows.iter().map(Vec::as_slice));
    }
    operation
}

async fn search(window_weight: f32) -> Outcome {
    let index = Arc::new(MemoryIndex::default());
    let pages = [page("book/1"), page("book/2"), page("book/3")];
    let beginning = "Memory, from the beginning";
    index.apply(vec![
        with_windows(&pages[0], &[beginning, "the end of it"]),
        with_windows(&pages[1], &[beginning, QUESTION]),
        common::replace(&pages[2], 1),
    ]);
    let mut config = common::config();
    config.window_weight = window_weight;
    let serving = common::serving(common::models(None));
    let index: Arc<dyn SearchIndex> = index;
    let retriever = Retriever::new(index, serving, common::knowledge_sets(), config).unwrap();
    let asked = json!({"query": QUESTION, "strategy": "semantic", "unfold": true, "explain": true});
    let asked = serde_json::from_value(asked).unwrap();
    let everyone = Principal::unrestricted();
    retriever.search(&asked, &everyone).await.unwrap()
}

#[tokio::test]
async fn the_page_comes_first_of_which_a_window_says_what_is_asked() {
    let outcome = search(0.5).await;
    let hits = &outcome.response.hits;
    assert_eq!(hits[0].document_id, "book/2");
    let window = hits[0].scores["nearest_window"];
    assert!(window > 0.99, "{:?}", hits[0].scores);
    let alone = search(0.0).await;
    let own = &alone.response.hits[0].scores;
    assert!(!own.contains_key("nearest_window"), "{own:?}");
    // All three pages have one text, so one cosine.
    let expected = (own["similarity"] + window) / 2.0;
    assert!((hits[0].scores["similarity"] - expected).abs() < 1e-5);
    let of_one_window = hits.iter().find(|hit| hit.document_id == "book/3").unwrap();
    assert!(!of_one_window.scores.contains_key("nearest_window"));
    assert_eq!(of_one_window.scores["similarity"], own["similarity"]);
    assert_eq!(outcome.response.plan.unwrap().window_weight, 0.5);
}
