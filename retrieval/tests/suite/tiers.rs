//! The three tiers over a real index: what is found, in which order, and what happens when a part
//! fails.

use crate::common;
use crate::common::memory_index::MemoryIndex;

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tributary_models::rerankers::lexical::LexicalReranker;
use tributary_models::{DualEmbedder, Embedder, Reranker, TextRole};
use tributary_retrieval::{Models, Outcome, Principal, Retriever, SearchError, Serving};
use tributary_schemas::search::{Hit, SearchRequest};
use tributary_schemas::{Error, ErrorKind, Result};
use tributary_store::search_index::embedded::{Config, EmbeddedIndex};
use tributary_store::search_index::{Operation, SharedSearchIndex};

fn request(value: Value) -> SearchRequest {
    serde_json::from_value(value).unwrap()
}

/// The embedded index in a folder that lives as long as it, filled with the test texts.
pub struct Filled {
    pub index: SharedSearchIndex,
    _folder: tempfile::TempDir,
}

pub async fn filled() -> Filled {
    let folder = tempfile::tempdir().unwrap();
    let config = Config {
        writer_memory_mib: 16,
        pending_memory_mib: 16,
        search_threads: 1,
        prefilter_from_chunks: 100_000,
    };
    let index: SharedSearchIndex = Arc::new(EmbeddedIndex::open(folder.path(), config).unwrap());
    common::fill(index.as_ref()).await;
    Filled {
        index,
        _folder: folder,
    }
}

async fn search(retriever: &Retriever, value: Value) -> Outcome {
    retriever
        .search(&request(value), &Principal::unrestricted())
        .await
        .unwrap()
}

fn ids(outcome: &Outcome) -> Vec<String> {
    outcome
        .response
        .hits
        .iter()
        .map(|hit| hit.chunk_id.to_string())
        .collect()
}

#[tokio::test]
async fn a_document_leaves_places_to_others_and_the_rest_is_counted() {
    let filled = filled().await;
    let retriever = common::retriever(filled.index.clone(), common::models(None));
    let asked = async |more: Value| {
        let mut request = json!({"query": "载波聚合 辅小区 ERR-1024"});
        request
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().cloned().unwrap());
        search(&retriever, request).await.response.hits
    };
    let all = asked(json!({})).await;
    let of = |document: &str, hits: &[Hit]| {
        let hits = hits.iter().filter(|hit| hit.document_id == document);
        hits.map(|hit| hit.chunk_id).collect::<Vec<_>>()
    };
    assert!(of("wiki/载波聚合", &all).len() > 1, "{all:?}");
    let asked_for = async |most: usize, top_k: usize| {
        asked(json!({"per_document": most, "top_k": top_k})).await
    };
    let found: HashSet<&str> = all.iter().map(|hit| hit.document_id.as_str()).collect();
    // As many as there are documents: one of each.
    let some = asked_for(1, found.len()).await;
    for document in found.iter().copied() {
        let of_all = of(document, &all);
        assert_eq!(of(document, &some), of_all[..1], "the best one");
        let first = some.iter().find(|hit| hit.document_id == document);
        assert_eq!(first.unwrap().more_in_document, of_all.len() - 1);
    }
    assert!(
        some.iter().map(|hit| hit.rank).eq(1..=some.len()),
        "{some:?}"
    );
    // One place more than there are: the best of those that were left out takes it, in its order.
    let more = asked_for(1, found.len() + 1).await;
    let is_first = |hit: &&Hit| of(&hit.document_id, &all)[0] == hit.chunk_id;
    let second = all.iter().find(|hit| !is_first(hit)).unwrap();
    let expected = all
        .iter()
        .filter(|hit| is_first(hit) || hit.chunk_id == second.chunk_id);
    let ids = |hits: &[Hit]| hits.iter().map(|hit| hit.chunk_id).collect::<Vec<_>>();
    assert_eq!(
        ids(&more),
        expected.map(|hit| hit.chunk_id).collect::<Vec<_>>()
    );
    // Places for all.
    assert_eq!(ids(&asked_for(1, 40).await), ids(&all));
    let none = request(json!({"query": "载波聚合", "per_document": 0}));
    let refused = retriever.search(&none, &Principal::unrestricted()).await;
    assert!(matches!(refused, Err(SearchError::Invalid(_))));
}

#[tokio::test]
async fn a_question_finds_its_chunk_by_either_signal_and_by_both() {
    let filled = filled().await;
    let retriever = common::retriever(filled.index.clone(), common::models(None));
    for strategy in ["hybrid", "full_text", "semantic"] {
        let outcome = search(
            &retriever,
            json!({"query": "completely fair scheduling of tasks", "strategy": strategy}),
        )
        .await;
        let first = &outcome.response.hits[0];
        assert!(
            first.text.starts_with("Completely fair"),
            "{strategy}: {first:?}"
        );
        assert_eq!(
            (first.rank, first.document_id.as_str(), first.url.as_str()),
            (
                1,
                "manual/scheduler",
                "https://example.org/manual/scheduler"
            )
        );
        assert!(outcome.response.degraded.is_empty());
        assert!((0.0..=1.0).contains(&first.score));
    }
    let outcome = search(&retriever, json!({"query": "ERR-1024"})).await;
    assert!(
        outcome
            .response
            .hits
            .iter()
            .take(2)
            .all(|hit| hit.text.contains("ERR-1024"))
    );
}

#[tokio::test]
async fn a_search_outlives_the_generation_that_it_began_with() {
    let memory = Arc::new(MemoryIndex::default());
    common::fill(memory.as_ref()).await;
    let index: SharedSearchIndex = memory.clone();
    let serving = common::serving(common::models(None));
    let (sets, config) = (common::knowledge_sets(), common::config());
    let retriever = Retriever::new(index, serving.clone(), sets, config).unwrap();
    let request: SearchRequest =
        serde_json::from_value(json!({"query": "completely fair scheduling of tasks"})).unwrap();
    let everybody = Principal::unrestricted();
    memory.remove_before_fetch(|| {});
    let failed = retriever.search(&request, &everybody).await.unwrap_err();
    assert!(
        matches!(&failed, SearchError::Failed(error) if error.kind() == ErrorKind::NotFound),
        "the same generation serves: {failed}"
    );
    let next = Serving {
        generation: Some("2".to_owned()),
        ..Serving::clone(&serving.current())
    };
    memory.remove_before_fetch(move || serving.replace(next));
    let found = retriever.search(&request, &everybody).await.unwrap();
    assert!(!found.response.hits.is_empty());
}

/// A document as its next version, with another chunk than any before.
fn replaced(version: u64) -> Vec<Operation> {
    let chunk = format!("Completely fair scheduling keeps tasks in tree {version}.");
    let chunks: &'static [&'static str] = Vec::leak(vec![&*String::leak(chunk)]);
    let text = common::Text {
        id: "manual/scheduler",
        title: "The scheduler",
        source: "manual",
        knowledge_sets: &[],
        tags: &[],
        security_level: None,
        chunks,
    };
    vec![common::replace(&text, version)]
}

#[tokio::test]
async fn a_search_that_a_new_version_overtakes_finds_that_one() {
    let memory = Arc::new(MemoryIndex::default());
    common::fill(memory.as_ref()).await;
    let retriever = common::retriever(memory.clone(), common::models(None));
    let asked = json!({"query": "completely fair scheduling of tasks",
        "filter": {"document_ids": ["manual/scheduler"]}});
    let before = search(&retriever, asked.clone()).await;
    assert!(!before.response.hits.is_empty());
    memory.change_before_fetch(vec![replaced(100)]);
    let found = search(&retriever, asked.clone()).await.response;
    assert_eq!(found.hits.len(), 1, "{found:?}");
    assert_eq!(found.hits[0].version, 100);
    assert!(found.degraded.is_empty(), "{found:?}");

    // Again and again: what is found is said to be less than there is.
    let changes = (101..160).map(replaced).collect();
    memory.change_before_fetch(changes);
    let found = search(&retriever, asked).await.response;
    assert_eq!(found.degraded, ["overtaken"], "{found:?}");
}

#[tokio::test]
async fn tiers_are_counted_and_explained() {
    let filled = filled().await;
    let retriever = common::retriever(
        filled.index.clone(),
        common::models(Some(Arc::new(LexicalReranker))),
    );
    let outcome = search(
        &retriever,
        json!({"query": "辅小区激活失败", "explain": true, "top_k": 2}),
    )
    .await;
    let response = &outcome.response;
    assert_eq!(response.tiers["coarse"].candidates, outcome.coarse.len());
    assert_eq!(response.tiers["fine"].candidates, outcome.fine.len());
    assert_eq!(outcome.coarse.len(), 8);
    let names: Vec<&str> = response
        .traces
        .as_ref()
        .unwrap()
        .iter()
        .map(|trace| trace.tier.as_str())
        .collect();
    assert_eq!(names, ["coarse", "fine", "rerank"]);
    let plan = response.plan.as_ref().unwrap();
    assert_eq!(
        (plan.top_k, plan.reranker.is_some(), plan.query_tokens),
        (2, true, plan.tokens.len())
    );
    assert_eq!(response.hits.len(), 2);
    assert!(
        ["keyword", "vector", "fine", "rerank"]
            .iter()
            .all(|name| response.hits[0].scores.contains_key(*name))
    );
    assert_eq!(response.hits[0].score, response.hits[0].scores["rerank"]);
}

#[tokio::test]
async fn top_k_cuts_the_order_and_never_changes_it() {
    for reranker in [None, Some(Arc::new(LexicalReranker) as Arc<dyn Reranker>)] {
        let filled = filled().await;
        let retriever = common::retriever(filled.index.clone(), common::models(reranker));
        let all = ids(&search(
            &retriever,
            json!({"query": "载波聚合 辅小区 tasks", "top_k": 80}),
        )
        .await);
        assert_eq!(all.len(), 8);
        for top_k in 1..8 {
            let some = ids(&search(
                &retriever,
                json!({"query": "载波聚合 辅小区 tasks", "top_k": top_k}),
            )
            .await);
            assert_eq!(some, all[..top_k]);
        }
    }
}

#[tokio::test]
async fn the_minimum_is_compared_with_the_final_score() {
    for reranker in [None, Some(Arc::new(LexicalReranker) as Arc<dyn Reranker>)] {
        let filled = filled().await;
        let retriever = common::retriever(filled.index.clone(), common::models(reranker));
        let all = search(&retriever, json!({"query": "辅小区激活失败"}))
            .await
            .response
            .hits;
        let middle = all[3].score;
        let some = search(
            &retriever,
            json!({"query": "辅小区激活失败", "minimum_score": middle}),
        )
        .await
        .response
        .hits;
        assert_eq!(
            some.len(),
            all.iter().filter(|hit| hit.score >= middle).count()
        );
        assert!(some.len() < all.len() && some.iter().all(|hit| hit.score >= middle));
    }
}

#[tokio::test]
async fn a_profile_moves_its_tags_up() {
    let filled = filled().await;
    let retriever = common::retriever(filled.index.clone(), common::models(None));
    let first = |outcome: Outcome| outcome.response.hits[0].document_id.clone();
    assert_eq!(
        first(
            search(
                &retriever,
                json!({"query": "ERR-1024", "profile": {"5G": 0.1}})
            )
            .await
        ),
        "case/42"
    );
    assert_eq!(
        first(
            search(
                &retriever,
                json!({"query": "ERR-1024", "profile": {"LTE": 0.1}})
            )
            .await
        ),
        "wiki/载波聚合"
    );
    let scores: Vec<f32> = search(
        &retriever,
        json!({"query": "ERR-1024", "profile": {"5G": 50.0}}),
    )
    .await
    .response
    .hits
    .iter()
    .map(|hit| hit.score)
    .collect();
    assert!(
        scores.iter().all(|score| (0.0..=1.0).contains(score)),
        "{scores:?}"
    );
}

#[tokio::test]
async fn a_filter_holds_in_tier_1_and_an_empty_one_finds_nothing() {
    let filled = filled().await;
    let retriever = common::retriever(filled.index.clone(), common::models(None));
    let table = [
        (json!({"knowledge_sets": ["radio"]}), 3),
        (json!({"knowledge_sets": []}), 0),
        (json!({"sources": ["case", "manual"]}), 5),
        (json!({"tags": ["5G"], "sources": ["case"]}), 0),
        (json!({"max_security_level": 0}), 3),
        (json!({"max_security_level": 9}), 5),
    ];
    for (filter, expected) in table {
        let outcome = search(
            &retriever,
            json!({"query": "辅小区 tasks", "filter": filter}),
        )
        .await;
        assert_eq!(
            (outcome.coarse.len(), outcome.response.hits.len()),
            (expected, expected),
            "{filter}"
        );
    }
}

#[tokio::test]
async fn odd_questions_have_defined_answers() {
    let filled = filled().await;
    let retriever = common::retriever(filled.index.clone(), common::models(None));
    for nothing in ["???", "「」", "()[]{}", "\"\"", "🙂", "----", "\u{0}"] {
        let outcome = search(&retriever, json!({"query": nothing})).await;
        assert_eq!(
            (outcome.response.hits.len(), outcome.coarse.len()),
            (0, 0),
            "{nothing}"
        );
        assert!(outcome.response.degraded.is_empty());
    }
    for something in [
        "the",
        "\"tasks",
        "(tasks) AND OR NOT",
        "title:tasks*",
        "tasks\u{0}tree",
        "辅小区！",
    ] {
        let outcome = search(&retriever, json!({"query": something})).await;
        assert!(!outcome.response.hits.is_empty(), "{something}");
    }
    let refused = async |value: Value| {
        retriever
            .search(&request(value), &Principal::unrestricted())
            .await
            .err()
    };
    assert_eq!(
        refused(json!({"query": " \n\t"})).await,
        Some(SearchError::EmptyQuery)
    );
    assert_eq!(
        refused(json!({"query": "x".repeat(8193)})).await,
        Some(SearchError::QueryTooLong {
            bytes: 8193,
            maximum: 8192
        })
    );
    for bad in [
        json!({"top_k": 0}),
        json!({"top_k": 81}),
        json!({"neighbours": 6}),
        json!({"minimum_score": 1.5}),
        json!({"profile": {"a": -1}}),
    ] {
        let mut value = bad.clone();
        value["query"] = "x".into();
        assert!(
            matches!(refused(value).await, Some(SearchError::Invalid(_))),
            "{bad}"
        );
    }
}

#[tokio::test]
async fn parents_and_neighbours_come_on_request() {
    let filled = filled().await;
    let retriever = common::retriever(filled.index.clone(), common::models(None));
    let plain = search(&retriever, json!({"query": "virtual run time tree"}))
        .await
        .response
        .hits
        .remove(0);
    assert!(plain.parent.is_none() && plain.neighbours.is_empty());
    let hit = search(
        &retriever,
        json!({"query": "virtual run time tree", "parents": true, "neighbours": 5}),
    )
    .await
    .response
    .hits
    .remove(0);
    assert!(hit.parent.unwrap().text.starts_with("The scheduler picks"));
    assert_eq!(
        hit.neighbours
            .iter()
            .map(|passage| passage.ordinal)
            .collect::<Vec<_>>(),
        [0, 2]
    );
}

#[tokio::test]
async fn a_deleted_document_is_not_found_again() {
    let filled = filled().await;
    let retriever = common::retriever(filled.index.clone(), common::models(None));
    filled
        .index
        .write(
            common::GENERATION,
            vec![Operation::Delete {
                document_id: "manual/scheduler".into(),
                version: 2,
            }],
        )
        .await
        .unwrap();
    filled.index.flush(common::GENERATION).await.unwrap();
    let outcome = search(&retriever, json!({"query": "completely fair scheduling"})).await;
    assert!(
        outcome
            .response
            .hits
            .iter()
            .all(|hit| hit.document_id != "manual/scheduler")
    );
}

/// Fails, or sleeps, as a model does that lacks memory or time.
struct Broken {
    sleep: Option<Duration>,
}

impl Embedder for Broken {
    fn name(&self) -> &str {
        "broken"
    }

    fn dimensions(&self) -> usize {
        common::DIMENSIONS
    }

    fn embed(&self, _: &[&str], _: TextRole) -> Result<Vec<Vec<f32>>> {
        Err(Error::new(ErrorKind::Unavailable, "model is away"))
    }
}

impl Reranker for Broken {
    fn name(&self) -> &str {
        "broken"
    }

    fn score(&self, _: &str, passages: &[&str]) -> Result<Vec<f32>> {
        let Some(sleep) = self.sleep else {
            return Err(Error::new(ErrorKind::Internal, "model is broken"));
        };
        std::thread::sleep(sleep);
        Ok(vec![0.5; passages.len()])
    }
}

#[tokio::test]
async fn without_its_embedder_a_search_answers_by_keywords_and_says_so() {
    let embedder = Arc::new(DualEmbedder::shared(Arc::new(Broken { sleep: None })));
    let filled = filled().await;
    let retriever = common::retriever(
        filled.index.clone(),
        Models {
            embedder,
            reranker: None,
            degraded: Vec::new(),
        },
    );
    for strategy in ["hybrid", "semantic"] {
        let outcome = search(
            &retriever,
            json!({"query": "completely fair scheduling", "strategy": strategy, "explain": true}),
        )
        .await;
        assert_eq!(outcome.response.degraded, ["embedder"]);
        assert!(
            outcome.response.hits[0].text.starts_with("Completely fair"),
            "{strategy}"
        );
    }
    let outcome = search(
        &retriever,
        json!({"query": "completely fair scheduling", "strategy": "full_text"}),
    )
    .await;
    assert!(
        outcome.response.degraded.is_empty(),
        "keywords alone need no embedder"
    );
}

#[tokio::test]
async fn a_reranker_that_fails_or_is_late_leaves_the_fused_order_and_is_named() {
    let filled = filled().await;
    let index = &filled.index;
    let fused = ids(&search(
        &common::retriever(index.clone(), common::models(None)),
        json!({"query": "辅小区激活失败"}),
    )
    .await);
    for sleep in [None, Some(Duration::from_millis(400))] {
        let mut config = common::config();
        config.rerank.deadline_ms = 50;
        let models = common::models(Some(Arc::new(Broken { sleep })));
        let retriever = Retriever::new(
            index.clone(),
            common::serving(models),
            common::knowledge_sets(),
            config,
        )
        .unwrap();
        let outcome = search(&retriever, json!({"query": "辅小区激活失败"})).await;
        assert_eq!(outcome.response.degraded, ["reranker"], "{sleep:?}");
        assert_eq!(ids(&outcome), fused);
        let off = search(
            &retriever,
            json!({"query": "辅小区激活失败", "rerank": false}),
        )
        .await;
        assert!(off.response.degraded.is_empty());
    }
}

#[tokio::test]
async fn the_document_that_a_question_names_comes_first_and_its_hit_says_so() {
    let filled = filled().await;
    let retriever = common::retriever(filled.index.clone(), common::models(None));
    let outcome = search(&retriever, json!({"query": "载波聚合"})).await;
    let first = &outcome.response.hits[0];
    assert_eq!(
        (first.document_id.as_str(), first.scores["exact_name"]),
        ("wiki/载波聚合", 1.1)
    );
    let others = outcome.response.hits.iter().skip(1);
    assert!(
        others
            .filter(|hit| hit.document_id != first.document_id)
            .all(|hit| hit.score < 0.5)
    );
    let other = search(&retriever, json!({"query": "怎么激活辅小区"})).await;
    assert!(!other.response.hits[0].scores.contains_key("exact_name"));
}

/// Nothing in the text is like a path, and tier 1 takes no more than it must.
#[tokio::test]
async fn a_document_that_is_named_is_found_though_no_signal_finds_it() {
    let filled = filled().await;
    let mut config = common::config();
    (config.coarse.keyword, config.coarse.vector) = (1, 1);
    let retriever = common::retriever_with(filled.index.clone(), config);
    for strategy in ["hybrid", "full_text", "semantic"] {
        for query in [
            "case/42",
            "see `case/case/42` for more",
            "辅小区激活失败案例",
        ] {
            let asked = json!({"query": query, "strategy": strategy});
            let outcome = search(&retriever, asked).await;
            let first = &outcome.response.hits[0];
            assert_eq!(first.document_id, "case/42", "{strategy} {query}");
            assert!(first.scores["exact_name"] > 1.0, "{strategy} {query}");
        }
        for filter in [
            json!({"sources": ["wiki"]}),
            json!({"document_ids": ["manual/scheduler"]}),
            json!({"max_security_level": 2}),
        ] {
            let asked = json!({"query": "case/42", "strategy": strategy, "filter": filter});
            let outcome = search(&retriever, asked).await;
            let mut found = outcome.response.hits.iter();
            assert!(found.all(|hit| hit.document_id != "case/42"), "{filter}");
        }
    }
}

#[tokio::test]
async fn hits_have_a_relevance_that_a_request_can_ask_for() {
    let filled = filled().await;
    let retriever = common::retriever(filled.index.clone(), common::models(None));
    let ask = async |minimum: Value| {
        let request = json!({"query": "载波聚合的峰值速率", "minimum_relevance": minimum});
        search(&retriever, request).await.response.hits
    };
    let all = ask(Value::Null).await;
    let relevance: Vec<f32> = all.iter().filter_map(|hit| hit.relevance).collect();
    assert_eq!(relevance.len(), all.len());
    assert!(relevance.iter().all(|value| (0.0..=1.0).contains(value)));
    let middle = relevance.iter().sum::<f32>() / relevance.len() as f32;
    let some = ask(middle.into()).await;
    assert!(!some.is_empty() && some.len() < all.len(), "{relevance:?}");
    assert!(some.iter().all(|hit| hit.relevance >= Some(middle)));
    let semantic = json!({"query": "q", "strategy": "semantic", "minimum_relevance": 0.5});
    let refused = retriever
        .search(&request(semantic), &Principal::unrestricted())
        .await;
    assert!(refused.is_err_and(|error| error.to_string().contains("minimum_relevance")));
}

#[tokio::test]
async fn words_that_stand_nowhere_are_named_and_no_forbidden_text_counts() {
    let filled = filled().await;
    let retriever = common::retriever(filled.index.clone(), common::models(None));
    let ask = async |filter: Value| {
        let request = json!({"query": "载波聚合有哪几个 0x80070005", "filter": filter});
        search(&retriever, request).await.response
    };
    assert_eq!(ask(json!({})).await.unmatched_terms, ["0x80070005"]);
    let elsewhere = ask(json!({"sources": ["manual"]})).await.unmatched_terms;
    assert!(
        elsewhere.contains(&"0x80070005".to_owned()) && elsewhere.len() > 1,
        "{elsewhere:?}"
    );
    let named = json!({"query": "翠晶灵雀是什么"});
    let named = search(&retriever, named).await.response.unmatched_terms;
    assert_eq!(named, ["翠晶灵雀"], "characters that no dictionary joins");
    // Under a filter that nothing meets it is the filter that is to blame, and not the words.
    let misspelt = ask(json!({"sources": ["manuel"]})).await;
    let unmet = misspelt.unmet_filter.map(|unmet| unmet.describe());
    let said = "there is no document of the source `manuel` (did you mean `manual`?)";
    assert_eq!(
        (unmet.as_deref(), misspelt.unmatched_terms.len()),
        (Some(said), 0)
    );
    let both = ask(json!({"sources": ["manual"], "knowledge_sets": ["radio"]})).await;
    assert!(
        both.hits.is_empty()
            && both
                .unmet_filter
                .is_some_and(|unmet| unmet.values.is_empty())
    );
}

#[tokio::test]
async fn a_question_of_function_words_is_answered_by_nothing() {
    let filled = filled().await;
    let retriever = common::retriever(filled.index.clone(), common::models(None));
    let best = async |query: &str| {
        let hits = search(&retriever, json!({"query": query}))
            .await
            .response
            .hits;
        let first = hits
            .first()
            .and_then(|hit| hit.scores.get("coverage").copied());
        first.unwrap_or(0.0)
    };
    assert_eq!(best("的").await, 0.0);
    // `the` stands in many texts and the other word in none.
    assert_eq!(best("the quokka").await, 0.0);
    assert!(best("载波聚合").await > 0.5);
}

#[tokio::test]
async fn plans_are_as_they_were() {
    let filled = filled().await;
    let retriever = common::retriever(filled.index.clone(), common::models(None));
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/suite/plans.json");
    let golden: Vec<Value> = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let mut found = Vec::new();
    for case in &golden {
        let mut value = case["request"].clone();
        value["explain"] = true.into();
        let outcome = search(&retriever, value).await;
        found.push(json!({"request": case["request"], "plan": outcome.response.plan}));
    }
    let found = serde_json::to_string_pretty(&found).unwrap() + "\n";
    if std::env::var_os("TRIBUTARY_UPDATE").is_some() {
        std::fs::write(path, &found).unwrap();
    }
    let golden = std::fs::read_to_string(path).unwrap();
    assert!(
        found == golden,
        "plans.json differs, run again with TRIBUTARY_UPDATE=1 and look at the difference"
    );
}
