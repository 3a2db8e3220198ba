//! Behaviour that every search index must show, as plain functions over `&dyn SearchIndex`, one per
//! promise of the trait's docs. [`every_promise`] makes a test of each, on an index of its own.

pub mod filters;
pub mod generations;
pub mod keywords;
pub mod named_generations;
pub mod reads;
pub mod tiers;
pub mod vectors;
pub mod windows;
pub mod writes;

use std::collections::BTreeSet;

use tributary_schemas::search::ScoredChunk;
use tributary_schemas::{
    Attributes, Chunk, ChunkId, ChunkKind, ChunkVectors, DocumentHeader, ErrorKind, Filter,
};
use tributary_store::search_index::{
    Bm25, IndexSettings, IndexedDocument, KeywordQuery, Operation, Outcome, SearchIndex,
    VectorField, VectorQuery,
};

/// Makes a test of every promise. The scene has `start(name)`, which gives none where it cannot be
/// had and has said so, `index()`, and `finish()`.
macro_rules! every_promise {
    ($scene:ty) => {
        $crate::conformance::tests_of! { $scene,
            generations: queries_need_a_promoted_generation, creation_can_be_repeated_and_settings_are_fixed, generations_are_independent_and_promotion_switches, unknown_generations_are_not_found, the_serving_generation_is_not_dropped, status_counts;
            named_generations: every_read_goes_to_the_generation_that_it_names, reads_of_unknown_generations_are_not_found, documents_are_found_by_their_terms;
            writes: writes_are_visible_after_a_flush, a_replace_makes_exactly_these_chunks, older_operations_do_nothing, the_same_version_can_be_written_again, any_order_leaves_the_highest_versions, deletions_are_remembered, deleted_documents_are_never_found, a_replace_is_seen_as_a_whole, one_bad_operation_does_not_affect_the_others;
            vectors: vectors_of_another_dimension_are_invalid, stored_vectors_are_kept_when_none_are_given, vectors_come_back_unchanged, vector_scores_are_dot_products, separate_fine_vectors_are_searched;
            windows: the_nearest_window_of_each_candidate_is_found, windows_live_as_long_as_their_chunk, a_generation_without_windows_leaves_them_out, windows_have_the_dimensions_of_tier_2;
            filters: filters_let_through_what_they_name, filters_fail_closed, rights_hold_inside_every_query, levels_of_chunks_hold_beside_those_of_their_documents, a_filter_by_picture_finds_chunks_that_show_it, a_filter_by_kind_finds_chunks_of_that_kind_only, filters_apply_before_the_limit;
            keywords: keyword_scores_follow_bm25, a_generation_scores_with_its_own_numbers, other_numbers_are_tried_or_refused, numbers_out_of_range_make_no_generation, a_repeated_token_counts_twice, rare_and_unknown_tokens, unicode_tokens_and_ids_survive;
            tiers: limits_are_kept, equal_scores_are_ordered_by_chunk, keyword_tiers_agree, vector_tiers_agree, candidates_that_do_not_exist_are_left_out;
            reads: fetched_chunks_are_as_written, documents_are_listed_in_pages, chunks_are_listed_with_their_documents;
        }
    };
}
pub(crate) use every_promise;

macro_rules! tests_of {
    ($scene:ty, $($topic:ident: $($promise:ident),+;)+) => {$($(
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $promise() {
            let Some(scene) = <$scene>::start(stringify!($promise)).await else {
                return;
            };
            $crate::conformance::$topic::$promise(scene.index()).await;
            scene.finish().await;
        }
    )+)+};
}
pub(crate) use tests_of;

/// Dimensions of the vectors of this suite; no multiple of a vector register.
const DIMENSIONS: usize = 12;
/// More than any test indexes.
const ALL: usize = 10_000;

fn shared_settings() -> IndexSettings {
    IndexSettings {
        coarse_dimensions: DIMENSIONS,
        fine_dimensions: DIMENSIONS,
        shared_vectors: true,
        windows: false,
        coarse_model: "test/1".into(),
        fine_model: "test/1".into(),
        analyzer: "spaces".into(),
        bm25: Bm25::DEFAULT,
        origin: String::new(),
    }
}

/// Creates and promotes an empty generation.
async fn fresh(index: &dyn SearchIndex, name: &str) {
    index.create(name, &shared_settings()).await.unwrap();
    index.promote(name).await.unwrap();
}

/// Numbers that look random, from a seed.
fn random(seed: u64) -> impl FnMut() -> f32 {
    let mut state = seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    move || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1 << 23) as f32 - 1.0
    }
}

/// A unit vector.
fn unit(seed: u64, dimensions: usize) -> Vec<f32> {
    let mut next = random(seed);
    let vector: Vec<f32> = (0..dimensions).map(|_| next()).collect();
    let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
    vector.into_iter().map(|value| value / length).collect()
}

fn vectors(seed: u64) -> ChunkVectors {
    ChunkVectors {
        coarse: unit(seed, DIMENSIONS),
        ..ChunkVectors::default()
    }
}

fn chunk(id: u128, ordinal: usize, analyzed: &str) -> Chunk {
    Chunk {
        chunk_id: ChunkId(id),
        kind: ChunkKind::Leaf,
        ordinal: ordinal as u32,
        section_path: vec!["第一章".into(), "Overview".into()],
        text: format!("text of {analyzed}"),
        tokens: 3,
        parent_id: Some(ChunkId(id + 1)),
        child_ids: vec![],
        pages: vec![1, 2],
        is_continuation: ordinal % 2 == 1,
        api: None,
        code: None,
        language: None,
        parent_summary: Some("summary".into()),
        images: vec!["a.png".into()],
        security_level: None,
        analyzed: analyzed.into(),
    }
}

fn header(id: &str, version: u64) -> DocumentHeader {
    DocumentHeader {
        document_id: id.into(),
        version,
        source: "wiki".into(),
        title: format!("标题 {id}"),
        attributes: Attributes::default(),
        ..DocumentHeader::default()
    }
}

/// A `Replace` with one chunk per (id, tokens); the vector of a chunk depends on its id alone.
fn replace(document: DocumentHeader, chunks: &[(u128, &str)]) -> Operation {
    Operation::Replace {
        document: Box::new(document),
        chunks: chunks
            .iter()
            .enumerate()
            .map(|(ordinal, (id, analyzed))| chunk(*id, ordinal, analyzed))
            .collect(),
        vectors: chunks.iter().map(|(id, _)| vectors(*id as u64)).collect(),
    }
}

fn delete(id: &str, version: u64) -> Operation {
    Operation::Delete {
        document_id: id.into(),
        version,
    }
}

/// Writes operations that must all be applied, and flushes.
async fn apply(index: &dyn SearchIndex, generation: &str, operations: Vec<Operation>) {
    let outcomes = index.write(generation, operations).await.unwrap();
    assert!(
        outcomes.iter().all(|outcome| *outcome == Outcome::Applied),
        "{outcomes:?}"
    );
    index.flush(generation).await.unwrap();
}

fn tokens(text: &str) -> Vec<String> {
    text.split(' ')
        .filter(|token| !token.is_empty())
        .map(str::to_owned)
        .collect()
}

async fn keyword(
    index: &dyn SearchIndex,
    text: &str,
    filter: &Filter,
    limit: usize,
) -> Vec<ScoredChunk> {
    index
        .keyword(KeywordQuery {
            generation: None,
            tokens: &tokens(text),
            filter,
            candidates: None,
            limit,
        })
        .await
        .unwrap()
}

async fn vector(
    index: &dyn SearchIndex,
    vector: &[f32],
    filter: &Filter,
    limit: usize,
) -> Vec<ScoredChunk> {
    let query = VectorQuery {
        generation: None,
        vector,
        field: VectorField::Coarse,
        filter,
        candidates: None,
        limit,
    };
    index.vector(query).await.unwrap()
}

/// Ids of a keyword query, in no order.
async fn found(index: &dyn SearchIndex, text: &str) -> BTreeSet<u128> {
    ids(&keyword(index, text, &Filter::default(), ALL).await)
}

/// Ids of all chunks that a vector query finds.
async fn found_by_vector(index: &dyn SearchIndex) -> BTreeSet<u128> {
    ids(&vector(index, &unit(1, DIMENSIONS), &Filter::default(), ALL).await)
}

fn ids(hits: &[ScoredChunk]) -> BTreeSet<u128> {
    hits.iter().map(|hit| hit.chunk_id.0).collect()
}

fn set(ids: impl IntoIterator<Item = u128>) -> BTreeSet<u128> {
    ids.into_iter().collect()
}

fn some(values: &[&str]) -> Option<Vec<String>> {
    Some(values.iter().map(|value| (*value).to_owned()).collect())
}

/// A few hundred chunks of mixed text with deletions and several flushes.
async fn mixed(index: &dyn SearchIndex, name: &str) {
    fresh(index, name).await;
    let mut next = random(5);
    let mut text = || {
        (0..20)
            .map(|_| format!("w{}", (next().abs() * 30.0) as u32))
            .collect::<Vec<_>>()
            .join(" ")
    };
    for part in 0..4_u128 {
        let documents: Vec<(String, [(u128, String); 2])> = (part * 50..part * 50 + 50)
            .map(|id| (format!("d{id}"), [(id * 2, text()), (id * 2 + 1, text())]))
            .collect();
        let operation = |(id, chunks): &(String, [(u128, String); 2])| {
            replace(
                header(id, 1),
                &[(chunks[0].0, &chunks[0].1), (chunks[1].0, &chunks[1].1)],
            )
        };
        apply(index, name, documents.iter().map(operation).collect()).await;
    }
    apply(
        index,
        name,
        (0..200)
            .step_by(9)
            .map(|id| delete(&format!("d{id}"), 2))
            .collect(),
    )
    .await;
}
