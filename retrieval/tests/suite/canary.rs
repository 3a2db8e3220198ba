//! What a filter forbids never leaves, while documents change between the tiers of a search. Every
//! forbidden version carries a canary word; no byte of any answer, and nothing that the reranker
//! reads, may contain it.
//!
//! `TRIBUTARY_CANARY_SEARCHES` says how many searches there are; `TRIBUTARY_TEST_ELASTICSEARCH`
//! names a node for the same on Elasticsearch.

#![allow(
    clippy::print_stdout,
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation
)]

#[path = "../../../store/tests/elasticsearch/cluster.rs"]
#[allow(dead_code, clippy::print_stderr)]
mod cluster;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use serde_json::{Value, json};
use tributary_models::{Reranker, TextRole};
use tributary_retrieval::{DocumentParts, Principal, Retriever};
use tributary_schemas::near_duplicate::Duplicate;
use tributary_schemas::search::{SearchRequest, SearchResponse};
use tributary_schemas::{
    Access, Attributes, Chunk, ChunkId, ChunkKind, DocumentHeader, Filter, Result, Viewer,
};
use tributary_store::search_index::embedded::{Config, EmbeddedIndex};
use tributary_store::search_index::{Operation, SharedSearchIndex};

use crate::common::memory_index::MemoryIndex;
use crate::common::{self, GENERATION, TEXTS, Text};

const CANARY: &str = "kanarienvogel";
const DOCUMENTS: u64 = 40;
const SEARCHES_EMBEDDED: u64 = 2000;
const SEARCHES_ELASTICSEARCH: u64 = 200;
const SEARCHERS: usize = 3;

/// A reranker that notices the canary.
#[derive(Default)]
struct Listening {
    heard: AtomicBool,
}

impl Reranker for Listening {
    fn name(&self) -> &str {
        "listening"
    }

    fn score(&self, _: &str, passages: &[&str]) -> Result<Vec<f32>> {
        if passages.iter().any(|passage| passage.contains(CANARY)) {
            self.heard.store(true, Ordering::Relaxed);
        }
        Ok((1..=passages.len()).map(|rank| 1.0 / rank as f32).collect())
    }
}

fn chunk_text(document: u64, place: usize, forbidden: bool) -> String {
    match place {
        0 => format!("Overview of budget {document}."),
        1 => format!("The secret budget number {document} of the plan."),
        _ if forbidden => format!("Remarks on budget {document}: {CANARY}."),
        _ => format!("Remarks on budget {document}: none."),
    }
}

/// A forbidden copy that a permitted document stands for.
fn forbidden_copy(document: u64) -> Duplicate {
    Duplicate {
        document_id: format!("copy-{document}-{CANARY}"),
        version: 1,
        source: "vault".into(),
        source_path: CANARY.into(),
        tags: vec!["closed".into()],
        knowledge_sets: vec!["kernel".into()],
        ..Duplicate::default()
    }
}

fn header(document: u64, version: u64, forbidden: bool) -> DocumentHeader {
    let pick = |permitted: &str, closed: &str| {
        if forbidden {
            closed.to_owned()
        } else {
            permitted.to_owned()
        }
    };
    DocumentHeader {
        document_id: format!("d{document}"),
        version,
        source: pick("wiki", "vault"),
        source_path: pick("plan.md", CANARY),
        title: pick("Budget", CANARY),
        knowledge_sets: vec![pick("common", "kernel")],
        tags: vec![pick("open", "closed"), pick("plain", CANARY)],
        attributes: Attributes {
            link: Some(pick("https://example.org", CANARY)),
            security_level: Some(if forbidden { 3 } else { 0 }),
            access: access(document, forbidden),
            ..Attributes::default()
        },
        duplicates: if document.is_multiple_of(4) && !forbidden {
            vec![forbidden_copy(document)]
        } else {
            Vec::new()
        },
        ..DocumentHeader::default()
    }
}

/// The permitted are for a group, or for everybody of level 0; the others for another group, nobody
/// says for whom, or for everybody of a higher level. The same for exact duplicates, so those with
/// duplicates are not told apart by it.
fn access(document: u64, forbidden: bool) -> Option<Access> {
    let groups = |name: &str| {
        Some(Access {
            groups: Some(vec![name.to_owned()]),
            users: None,
        })
    };
    match (forbidden, document % 3) {
        (false, 0) => groups("plan"),
        (false, _) | (true, 0) => Some(Access::default()),
        (true, 1) => groups("vault"),
        (true, _) => None,
    }
}

/// Two of three chunks keep their ids, whatever the version.
fn replace(document: u64, version: u64, forbidden: bool) -> Operation {
    let header = header(document, version, forbidden);
    let path = vec!["Budget".to_owned()];
    let texts: Vec<String> = (0..3)
        .map(|place| chunk_text(document, place, forbidden))
        .collect();
    let ids: Vec<ChunkId> = texts
        .iter()
        .map(|text| ChunkId::derive(&header.document_id, "leaf", &path, text, 0))
        .collect();
    let chunk = |(place, text): (usize, &String)| Chunk {
        chunk_id: ids[place],
        kind: if place == 0 {
            ChunkKind::Section
        } else {
            ChunkKind::Leaf
        },
        ordinal: u32::try_from(place).unwrap(),
        section_path: path.clone(),
        text: text.clone(),
        tokens: 10,
        parent_id: (place > 0).then(|| ids[0]),
        child_ids: Vec::new(),
        pages: Vec::new(),
        is_continuation: false,
        api: None,
        code: None,
        language: None,
        parent_summary: None,
        images: Vec::new(),
        security_level: None,
        analyzed: common::analyzer().analyze(text).join(" "),
    };
    let chunks: Vec<Chunk> = texts.iter().enumerate().map(chunk).collect();
    let passages: Vec<&str> = texts.iter().map(String::as_str).collect();
    let vectors = common::embedder()
        .embed(&passages, TextRole::Passage)
        .unwrap();
    Operation::Replace {
        document: Box::new(header),
        chunks,
        vectors,
    }
}

/// Both states of every document, made once.
fn rounds() -> [Vec<(DocumentHeader, Operation)>; 2] {
    [0, 1].map(|round| {
        (0..DOCUMENTS)
            .map(|document| {
                let forbidden = (document + round) % 2 == 1;
                (
                    header(document, 0, forbidden),
                    replace(document, 0, forbidden),
                )
            })
            .collect()
    })
}

/// What is searched while it changes.
#[derive(Clone, Copy)]
struct Scene {
    rounds: fn() -> [Vec<(DocumentHeader, Operation)>; 2],
    request: fn(u64) -> (SearchRequest, Principal),
    /// Whose view of a document is looked at.
    viewer: fn(u64) -> Principal,
}

const DOCUMENTS_CHANGE: Scene = Scene {
    rounds,
    request,
    viewer: restricted,
};

const SECTIONS_CHANGE: Scene = Scene {
    rounds: section_rounds,
    request: request_for_sections,
    viewer: |_| by_rights(),
};

/// Documents that everybody sees, of which one chunk is of a section that is closed in one of both
/// states.
fn section_rounds() -> [Vec<(DocumentHeader, Operation)>; 2] {
    let of_document = |document: u64, is_closed: bool| {
        let header = DocumentHeader {
            duplicates: Vec::new(),
            highest_section_level: Some(3 * u8::from(is_closed)),
            ..header(document, 0, false)
        };
        let Operation::Replace {
            mut chunks,
            vectors,
            ..
        } = replace(document, 0, is_closed)
        else {
            panic!("a replacement")
        };
        chunks[2].chunk_id = ChunkId::derive(&header.document_id, "leaf", &[], "section", 0);
        chunks[2].security_level = is_closed.then_some(3);
        let operation = Operation::Replace {
            document: Box::new(header.clone()),
            chunks,
            vectors,
        };
        (header, operation)
    };
    [0, 1].map(|round| {
        let documents = 0..DOCUMENTS;
        documents
            .map(|document| of_document(document, (document + round) % 2 == 1))
            .collect()
    })
}

/// By rights alone, or with a wish for a level and no rights.
fn request_for_sections(number: u64) -> (SearchRequest, Principal) {
    let (mut request, _) = request(number);
    request.filter = Filter::default();
    if number.is_multiple_of(2) {
        return (request, by_rights());
    }
    request.filter.max_security_level = Some(2);
    (request, Principal::unrestricted())
}

async fn write_round(
    index: &SharedSearchIndex,
    round: &[(DocumentHeader, Operation)],
    version: u64,
) {
    let of_version = |(header, operation): &(DocumentHeader, Operation)| match operation.clone() {
        Operation::Replace {
            chunks, vectors, ..
        } => Operation::Replace {
            document: Box::new(DocumentHeader {
                version,
                ..header.clone()
            }),
            chunks,
            vectors,
        },
        deletion @ Operation::Delete { .. } => deletion,
    };
    index
        .write(GENERATION, round.iter().map(of_version).collect())
        .await
        .unwrap();
    index.flush(GENERATION).await.unwrap();
}

/// A wish and rights, which no forbidden version meets together.
fn filter(number: u64) -> (Value, Principal) {
    let anything = Principal::unrestricted();
    match number % 8 {
        0 => (
            json!({"sources": ["wiki"], "max_security_level": 1}),
            anything,
        ),
        1 => (json!({"tags": ["open", "plain"]}), anything),
        2 => (json!({"knowledge_sets": ["common"]}), anything),
        3 => (
            json!({"knowledge_sets": ["common"], "tags": ["open"], "max_security_level": 0}),
            anything,
        ),
        4 => (
            json!({"knowledge_sets": ["common", "kernel"], "max_security_level": 3}),
            restricted(number),
        ),
        5 => (json!({}), restricted(number)),
        _ => {
            let documents: Vec<String> = (0..DOCUMENTS)
                .map(|document| format!("d{document}"))
                .collect();
            match number % 8 {
                6 => (
                    json!({"sources": ["wiki"], "document_ids": documents}),
                    anything,
                ),
                // Copies have the rights of the document that stands for them: the ids forbid them.
                _ => (json!({"document_ids": documents}), by_rights()),
            }
        }
    }
}

/// Rights, which no forbidden version meets. Not by the level alone: exact duplicates have the
/// same.
fn restricted(number: u64) -> Principal {
    Principal {
        knowledge_sets: Some(vec!["common".to_owned()]),
        max_security_level: number.is_multiple_of(2).then_some(1),
        ..Principal::unrestricted()
    }
}

/// Rights by document.
fn by_rights() -> Principal {
    let viewer = Viewer {
        groups: vec!["plan".to_owned()],
        clearance: 2,
        ..Viewer::default()
    };
    Principal::of("somebody".to_owned(), viewer)
}

/// Takes turns.
fn one_of<T: Copy>(choices: [T; 3], number: u64) -> T {
    choices[(number % 3) as usize]
}

fn request(number: u64) -> (SearchRequest, Principal) {
    let (filter, principal) = filter(number);
    let value = json!({
        "query": one_of(["secret budget plan", "remarks on the budget", "overview"], number),
        "strategy": one_of(["hybrid", "full_text", "semantic"], number / 3),
        "top_k": one_of([40, 3, 10], number / 5),
        "filter": filter,
        "explain": true,
        "unfold": number.is_multiple_of(2),
        "parents": number.is_multiple_of(3),
        "neighbours": number % 4,
        "rerank": number % 7 < 3,
        "profile": if number.is_multiple_of(6) { json!({"open": 2.0}) } else { json!({}) },
    });
    (serde_json::from_value(value).unwrap(), principal)
}

/// A document as `GET /v1/documents/{id}` shows it.
async fn document(retriever: &Retriever, number: u64, principal: &Principal) -> String {
    let id = format!("d{}", number % DOCUMENTS);
    let parts = DocumentParts {
        passages: 10,
        pictures_of: 10,
    };
    format!(
        "{:?}",
        retriever.document(&id, parts, principal).await.unwrap()
    )
}

/// Searches while everything changes; says how many hits there were and how often documents
/// changed.
async fn searches_while_documents_change(
    scene: Scene,
    index: SharedSearchIndex,
    default_searches: u64,
) -> (u64, u64) {
    let searches = std::env::var("TRIBUTARY_CANARY_SEARCHES")
        .map_or(default_searches, |number| number.parse().unwrap());
    index.create(GENERATION, &common::settings()).await.unwrap();
    let rounds = Arc::new((scene.rounds)());
    write_round(&index, &rounds[0], 1).await;
    index.promote(GENERATION).await.unwrap();
    let listening = Arc::new(Listening::default());
    let retriever = Arc::new(common::retriever(
        index.clone(),
        common::models(Some(Arc::clone(&listening) as Arc<dyn Reranker>)),
    ));
    let (stop, next, hits) = (
        Arc::new(AtomicBool::new(false)),
        Arc::new(AtomicU64::new(0)),
        Arc::new(AtomicU64::new(0)),
    );
    let started = Instant::now();
    let writing = tokio::spawn({
        let (index, stop) = (index.clone(), Arc::clone(&stop));
        async move {
            let mut version = 1;
            while !stop.load(Ordering::Relaxed) {
                version += 1;
                write_round(&index, &rounds[(version % 2) as usize], version).await;
            }
            version
        }
    });
    let searcher = || {
        let (retriever, next, hits) =
            (Arc::clone(&retriever), Arc::clone(&next), Arc::clone(&hits));
        tokio::spawn(async move {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= searches {
                    return;
                }
                let (request, principal) = (scene.request)(number);
                let response = retriever
                    .search(&request, &principal)
                    .await
                    .unwrap()
                    .response;
                hits.fetch_add(response.hits.len() as u64, Ordering::Relaxed);
                let answer = serde_json::to_string(&response).unwrap()
                    + &document(&retriever, number, &(scene.viewer)(number)).await;
                assert!(
                    !answer.contains(CANARY),
                    "search {number} of {searches}: {answer}"
                );
            }
        })
    };
    for searcher in std::array::from_fn::<_, SEARCHERS, _>(|_| searcher()) {
        searcher.await.unwrap();
    }
    stop.store(true, Ordering::Relaxed);
    let versions = writing.await.unwrap();
    assert!(
        !listening.heard.load(Ordering::Relaxed),
        "the reranker read what the filter forbids"
    );
    println!(
        "{searches} searches, {} hits, {versions} changes of {DOCUMENTS} documents in {:?}",
        hits.load(Ordering::Relaxed),
        started.elapsed()
    );
    (hits.load(Ordering::Relaxed), versions)
}

async fn nothing_leaves_the_embedded_index(scene: Scene) {
    let folder = tempfile::tempdir().unwrap();
    let config = Config {
        writer_memory_mib: 16,
        pending_memory_mib: 16,
        search_threads: 2,
        prefilter_from_chunks: 100_000,
    };
    let index: SharedSearchIndex = Arc::new(EmbeddedIndex::open(folder.path(), config).unwrap());
    let (hits, versions) = searches_while_documents_change(scene, index, SEARCHES_EMBEDDED).await;
    assert!(
        hits > 0 && versions > 10,
        "{hits} hits, {versions} versions: nothing was tried"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_forbidden_byte_leaves_the_embedded_index() {
    nothing_leaves_the_embedded_index(DOCUMENTS_CHANGE).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_byte_of_a_closed_section_leaves_the_embedded_index() {
    nothing_leaves_the_embedded_index(SECTIONS_CHANGE).await;
}

async fn nothing_leaves_elasticsearch(scene: Scene, name: &str) {
    let Some(cluster) = cluster::Cluster::find(name).await else {
        return;
    };
    let index = Arc::new(cluster.open().await);
    let searched = searches_while_documents_change(scene, index, SEARCHES_ELASTICSEARCH);
    let (hits, versions) = searched.await;
    assert!(
        hits > 0 && versions > 3,
        "{hits} hits, {versions} versions: nothing was tried"
    );
    cluster.clean().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_forbidden_byte_leaves_elasticsearch() {
    nothing_leaves_elasticsearch(DOCUMENTS_CHANGE, "canary").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_byte_of_a_closed_section_leaves_elasticsearch() {
    nothing_leaves_elasticsearch(SECTIONS_CHANGE, "canary-sections").await;
}

/// The first document of the test texts in a version that a filter by level 1 forbids; its chunks
/// keep their ids.
fn now_forbidden() -> Operation {
    common::replace(
        &Text {
            security_level: Some(3),
            ..TEXTS[0]
        },
        2,
    )
}

async fn memory_index() -> Arc<MemoryIndex> {
    let index = Arc::new(MemoryIndex::default());
    common::fill(index.as_ref()).await;
    // a second document that the filter allows
    let other = Text {
        id: "wiki/other",
        chunks: &["载波聚合的另一篇文章。"],
        ..TEXTS[0]
    };
    index.apply(vec![common::replace(&other, 1)]);
    index
}

async fn search(index: &Arc<MemoryIndex>, more: Value) -> SearchResponse {
    let mut value = json!({"query": "载波聚合把多个载波合并使用", "unfold": true, "filter": {"max_security_level": 1}});
    value
        .as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    let retriever = common::retriever(index.clone(), common::models(None));
    retriever
        .search(
            &serde_json::from_value(value).unwrap(),
            &Principal::unrestricted(),
        )
        .await
        .unwrap()
        .response
}

#[tokio::test]
async fn a_hit_that_became_forbidden_falls_out_and_the_next_one_takes_its_place() {
    let index = memory_index().await;
    let before = search(&index, json!({"top_k": 1})).await;
    assert_eq!(before.hits[0].document_id, "wiki/载波聚合");
    index.change_before_fetch(vec![vec![now_forbidden()]]);
    let after = search(&index, json!({"top_k": 1})).await;
    assert_eq!(
        after
            .hits
            .iter()
            .map(|hit| hit.document_id.as_str())
            .collect::<Vec<_>>(),
        ["wiki/other"]
    );
}

#[tokio::test]
async fn parents_and_neighbours_that_became_forbidden_stay_away() {
    let index = memory_index().await;
    let more = json!({"query": "主小区负责随机接入", "top_k": 1, "parents": true, "neighbours": 2});
    let before = search(&index, more.clone()).await.hits.remove(0);
    assert!(
        before.parent.is_some() && before.neighbours.len() == 2,
        "{before:?}"
    );
    // The hit itself was read before.
    index.change_before_fetch(vec![vec![], vec![now_forbidden()]]);
    let after = search(&index, more).await.hits.remove(0);
    assert!(
        after.parent.is_none() && after.neighbours.is_empty(),
        "{after:?}"
    );
}
