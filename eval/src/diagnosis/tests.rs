//! The rules of blame, on searches that are made up.

use tributary_schemas::search::{SearchResponse, TierTrace};
use tributary_schemas::{ChunkId, ChunkKind, DocumentHeader};

use super::placement::{Carrier, Placement};
use super::*;

use serde_json::json;
use tributary_schemas::search::{Hit, QueryPlan, ScoredChunk};

fn chunks(ids: &[u128]) -> Vec<ScoredChunk> {
    let chunk = |id: &u128| ScoredChunk {
        chunk_id: ChunkId(*id),
        score: 0.5,
    };
    ids.iter().map(chunk).collect()
}

fn plan(filter: serde_json::Value, reranker: Option<&str>) -> QueryPlan {
    let limits = json!({"keyword": 9, "vector": 9});
    let plan = json!({
        "query": "q", "tokens": ["q"], "query_tokens": 1, "strategy": "hybrid",
        "vector_weight": 0.5, "filter": filter, "coarse": limits, "fine": limits,
        "fine_keep": 9, "top_k": 9, "reranker": reranker, "profile": {},
        "minimum_score": null, "minimum_relevance": null,
    });
    serde_json::from_value(plan).unwrap_or_else(|error| panic!("{error}"))
}

fn hit(rank: usize, chunk: u128, document: &str, folded: &[&str]) -> Hit {
    let family: Vec<_> = folded
        .iter()
        .map(|id| json!({"document_id": id, "version": 1, "source": "s", "source_path": "", "title": "", "similarity": 0.9}))
        .collect();
    let hit = json!({
        "rank": rank, "score": 0.5, "chunk_id": ChunkId(chunk), "document_id": document,
        "version": 1, "source": "s", "source_path": "", "title": "", "section_path": [],
        "text": format!("text of {chunk}"), "url": "", "pages": [], "kind": "leaf", "tags": [],
        "knowledge_sets": [], "images": [], "scores": {}, "family": family,
    });
    serde_json::from_value(hit).unwrap_or_else(|error| panic!("{error}"))
}

/// A search of which each tier found these chunks, and these hits.
struct Made<'a> {
    coarse: &'a [u128],
    fine: &'a [u128],
    rerank: Option<&'a [u128]>,
    filter: serde_json::Value,
    hits: Vec<Hit>,
}

impl Made<'_> {
    fn outcome(self) -> Outcome {
        let last = self.rerank.unwrap_or(self.fine);
        let trace = TierTrace {
            tier: "rerank".into(),
            ms: 0.0,
            candidates: chunks(last),
        };
        let reranker = self.rerank.map(|_| "model");
        let response = SearchResponse {
            query: "q".into(),
            took_ms: 0.0,
            degraded: Vec::new(),
            unmatched_terms: Vec::new(),
            unmet_filter: None,
            tiers: BTreeMap::new(),
            hits: self.hits,
            plan: Some(plan(self.filter, reranker)),
            traces: Some(vec![trace]),
        };
        Outcome {
            response,
            coarse: chunks(self.coarse),
            fine: chunks(self.fine),
            overtaken: false,
        }
    }
}

/// Document `d`, whose chunk 1 carries what is wanted.
fn carried() -> Target {
    Target {
        document: "d".into(),
        quote: None,
        normalised: None,
        placement: Placement::Carried {
            header: Box::new(DocumentHeader {
                document_id: "d".into(),
                ..DocumentHeader::default()
            }),
            carriers: vec![Carrier {
                chunk_id: ChunkId(1),
                kind: ChunkKind::Leaf,
            }],
        },
    }
}

fn step_of(made: Made<'_>) -> Option<Step> {
    Searched::new(&made.outcome(), 2).trail(&carried()).step
}

fn hits(of: &[(u128, &str)]) -> Vec<Hit> {
    let numbered = of.iter().zip(1..);
    numbered
        .map(|((chunk, document), rank)| hit(rank, *chunk, document, &[]))
        .collect()
}

#[test]
fn the_step_that_did_not_hand_it_on_is_named() {
    let others = [(7, "x"), (8, "y")];
    let made = |coarse, fine, rerank, of: &[(u128, &str)]| Made {
        coarse,
        fine,
        rerank,
        filter: json!({}),
        hits: hits(of),
    };
    let all: &[u128] = &[7, 8, 1];
    let first: &[u128] = &[1, 7, 8];
    assert_eq!(step_of(made(all, first, None, &[(1, "d"), (7, "x")])), None);
    assert_eq!(
        step_of(made(&[7, 8], &[7, 8], None, &others)),
        Some(Step::Coarse)
    );
    assert_eq!(step_of(made(all, &[7, 8], None, &others)), Some(Step::Fine));
    assert_eq!(step_of(made(first, all, None, &others)), Some(Step::Fine));
    assert_eq!(
        step_of(made(all, first, Some(all), &others)),
        Some(Step::Rerank)
    );
    // What a reranker left where it was is its loss too: it was there to lift it.
    assert_eq!(
        step_of(made(all, all, Some(all), &others)),
        Some(Step::Rerank)
    );
    assert_eq!(
        step_of(made(all, &[7, 8], Some(&[8, 7]), &others)),
        Some(Step::Fine)
    );
    assert_eq!(
        step_of(made(all, first, None, &others)),
        Some(Step::Packing)
    );
}

#[test]
fn a_filter_is_to_blame_before_the_tiers_and_a_family_is_named() {
    let made = |filter, hits| Made {
        coarse: &[7, 1],
        fine: &[1, 7],
        rerank: None,
        filter,
        hits,
    };
    let others = || hits(&[(7, "x"), (8, "y")]);
    let trail = |made: Made| Searched::new(&made.outcome(), 2).trail(&carried());
    let filtered = trail(made(json!({"tags": ["5G"]}), others()));
    assert_eq!(filtered.step, Some(Step::Filter));
    assert!(filtered.why.contains("5G"), "{filtered:?}");
    let kinds = trail(made(json!({"kinds": ["faq"]}), others()));
    assert_eq!(kinds.step, Some(Step::Filter));
    let folded = trail(made(json!({}), vec![hit(1, 7, "x", &["d"])]));
    assert_eq!(folded.step, Some(Step::Packing));
    assert!(folded.why.contains("near-duplicate `x`"), "{folded:?}");
    let cut = trail(made(json!({}), Vec::new()));
    assert!(cut.why.contains("least score"), "{cut:?}");
}

#[test]
fn a_quote_is_found_only_in_a_hit_that_has_it() {
    let mut target = carried();
    target.quote = Some("TEXT of 1".into());
    target.normalised = Some("textof1".into());
    let made = |of: &[(u128, &str)]| Made {
        coarse: &[1],
        fine: &[1],
        rerank: None,
        filter: json!({}),
        hits: hits(of),
    };
    let found = |of: &[(u128, &str)]| Searched::new(&made(of).outcome(), 2).trail(&target).found;
    assert!(found(&[(9, "d"), (1, "d")]));
    assert!(
        !found(&[(9, "d"), (8, "d")]),
        "other places of the document"
    );
    assert!(!found(&[(1, "another")]), "the same words elsewhere");
}

fn trail(found: bool, step: Option<Step>) -> Trail {
    Trail {
        document: "d".into(),
        quote: None,
        found,
        step,
        why: String::new(),
        ranks: Ranks::default(),
    }
}

#[test]
fn verdicts_and_what_decides_them() {
    let found = trail(true, None);
    let early = trail(false, Some(Step::Conversion));
    let late = trail(false, Some(Step::Fine));
    let all = |trails: &[Trail]| {
        let (verdict, decisive) = judge(trails, false);
        (verdict, decisive.and_then(|trail| trail.step))
    };
    let both = [late.clone(), early.clone()];
    assert_eq!(all(&both), (CaseVerdict::None, Some(Step::Conversion)));
    let some = [found.clone(), late.clone()];
    assert_eq!(all(&some), (CaseVerdict::Partial, Some(Step::Fine)));
    assert_eq!(
        all(&[found.clone(), found.clone()]),
        (CaseVerdict::Full, None)
    );
    let one = |trails: &[Trail]| {
        let (verdict, decisive) = judge(trails, true);
        (verdict, decisive.and_then(|trail| trail.step))
    };
    assert_eq!(one(&both), (CaseVerdict::None, Some(Step::Fine)));
    assert_eq!(one(&[early, found]), (CaseVerdict::Full, None));
}

#[test]
fn an_answer_must_cite_what_was_found() {
    let source = |cited: bool| {
        json!({"number": 1, "cited": cited, "chunk_id": ChunkId(1), "document_id": "d",
            "version": 1, "source": "s", "source_path": "", "title": "", "section_path": [],
            "pages": [], "url": "", "kind": "leaf", "text": "text of 1"})
    };
    let answer = |verdict: &str, sources: serde_json::Value| -> tributary_schemas::ask::Answer {
        let answer = json!({"id": "0", "question": "q", "answer": "a", "verdict": verdict,
            "workflow": "general", "language": "en", "sources": sources, "support": [],
            "degraded": [], "took_ms": 1.0, "steps": []});
        serde_json::from_value(answer).unwrap_or_else(|error| panic!("{error}"))
    };
    let case = |found: bool| {
        let made = Made {
            coarse: &[1, 7],
            fine: &[1, 7],
            rerank: None,
            filter: json!({}),
            hits: hits(if found { &[(1, "d")] } else { &[(7, "x")] }),
        };
        let question = Question {
            id: "q".into(),
            text: "q".into(),
            relevant: ["d".to_owned()].into(),
            answers: Vec::new(),
            history: Vec::new(),
            case: crate::case::Case::default(),
        };
        let scores = RankScores::default();
        case_of(&question, &[carried()], (&made.outcome(), 2), scores)
    };
    let after = |found, answer: &tributary_schemas::ask::Answer| {
        let case = answered(case(found), &[carried()], answer);
        (case.verdict, case.step)
    };
    let full = (CaseVerdict::Full, None);
    let lost = |step| (CaseVerdict::None, Some(step));
    assert_eq!(
        after(true, &answer("answered", json!([source(true)]))),
        full
    );
    assert_eq!(
        after(false, &answer("answered", json!([source(true)]))),
        full
    );
    let uncited = answer("answered", json!([source(false)]));
    assert_eq!(after(true, &uncited), lost(Step::Answer));
    assert_eq!(
        after(true, &answer("answered", json!([]))),
        lost(Step::Packing)
    );
    assert_eq!(
        after(true, &answer("refused", json!([]))),
        lost(Step::Answer)
    );
    assert_eq!(
        after(false, &answer("answered", json!([]))),
        lost(Step::Packing)
    );
}
