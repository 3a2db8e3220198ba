//! One question asked in several ways.

use std::sync::Arc;

use tributary_retrieval::{Outcome, Principal};
use tributary_schemas::search::SearchRequest;
use tributary_schemas::understanding::Understanding;

use crate::common;
use crate::tiers::filled;

fn request() -> SearchRequest {
    SearchRequest {
        query: "not searched for".to_owned(),
        top_k: Some(5),
        ..SearchRequest::default()
    }
}

fn seen(outcome: &Outcome) -> Vec<(String, f32, Option<f32>)> {
    let hits = outcome.response.hits.iter();
    hits.map(|hit| (hit.chunk_id.to_string(), hit.score, hit.relevance))
        .collect()
}

#[tokio::test]
async fn one_text_is_searched_for_as_a_search_does() {
    let filled = filled().await;
    let retriever = common::retriever(Arc::clone(&filled.index), common::models(None));
    let principal = Principal::unrestricted();
    for question in ["载波聚合怎么配置", "scheduler", "ERR-1024 是什么"] {
        let alone = SearchRequest {
            query: question.to_owned(),
            ..request()
        };
        let searched = retriever.search(&alone, &principal).await.unwrap();
        let understanding = Understanding::of(question);
        let asked = request();
        let searching = retriever.search_all(&asked, &understanding, &principal);
        let all = searching.await.unwrap();
        assert_eq!(seen(&all.outcome), seen(&searched), "{question}");
        assert_eq!(all.outcome.coarse, searched.coarse, "{question}");
        assert_eq!(all.outcome.fine, searched.fine, "{question}");
        assert_eq!(all.outcome.response.query, question);
        assert_eq!(all.plans.len(), 1);
    }
}

#[tokio::test]
async fn a_variant_finds_what_the_question_does_not_and_takes_nothing_away() {
    let filled = filled().await;
    let retriever = common::retriever(Arc::clone(&filled.index), common::models(None));
    let principal = Principal::unrestricted();
    let question = "调度器 scheduler";
    let alone = Understanding::of(question);
    let more = Understanding {
        variants: vec!["载波聚合".to_owned(), String::new(), "x".repeat(9000)],
        hypothetical_passage: Some("辅小区由 RRC 消息配置。".to_owned()),
        ..alone.clone()
    };
    let search = async |understanding: &Understanding| {
        let asked = request();
        let searching = retriever.search_all(&asked, understanding, &principal);
        searching.await.unwrap()
    };
    let (alone, more) = (search(&alone).await, search(&more).await);
    assert_eq!(
        more.plans.len(),
        3,
        "the question, one variant, the passage"
    );
    let first = seen(&alone.outcome).first().cloned().unwrap();
    let united = seen(&more.outcome);
    let place = united.iter().position(|(id, _, _)| *id == first.0);
    assert!(place.is_some_and(|place| place < 2), "{united:?}");
    let titles: Vec<&str> = more
        .outcome
        .response
        .hits
        .iter()
        .map(|hit| hit.title.as_str())
        .collect();
    assert!(titles.contains(&"载波聚合"), "{titles:?}");
    assert!(
        united.windows(2).all(|pair| pair[0].1 >= pair[1].1),
        "{united:?}"
    );
    assert!(more.outcome.coarse.len() >= alone.outcome.coarse.len());
}

#[tokio::test]
async fn an_empty_question_is_refused_as_a_search_refuses_it() {
    let filled = filled().await;
    let retriever = common::retriever(Arc::clone(&filled.index), common::models(None));
    let principal = Principal::unrestricted();
    let (asked, empty) = (request(), Understanding::of(" "));
    let searching = retriever.search_all(&asked, &empty, &principal);
    assert!(searching.await.is_err());
}
