//! Behaviour that every search index must show, as plain functions over `&dyn SearchIndex`, one per
//! promise of the trait's docs. Each makes generations of its own and promotes them, so all can run
//! on one index, one after the other; a promise that is broken panics and says which.

#![allow(clippy::unwrap_used)]

mod generations;

use std::collections::BTreeSet;

use tributary_schemas::search::ScoredChunk;
use tributary_schemas::{
    Attributes, Chunk, ChunkId, ChunkKind, ChunkVectors, DocumentHeader, ErrorKind, Filter,
};

use super::{
    IndexSettings, KeywordQuery, Operation, Outcome, SearchIndex, VectorField, VectorQuery,
};

/// Dimensions of the vectors of this suite; no multiple of a vector register.
const DIMENSIONS: usize = 12;
/// More than any test indexes.
const ALL: usize = 10_000;

/// Runs every promise.
pub async fn all(index: &dyn SearchIndex) {
    queries_need_a_promoted_generation(index).await;
    creation_can_be_repeated_and_settings_are_fixed(index).await;
    generations_are_independent_and_promotion_switches(index).await;
    unknown_generations_are_not_found(index).await;
    the_serving_generation_is_not_dropped(index).await;
    status_counts(index).await;
    writes_are_visible_after_a_flush(index).await;
    a_replace_makes_exactly_these_chunks(index).await;
    older_operations_do_nothing(index).await;
    the_same_version_can_be_written_again(index).await;
    any_order_leaves_the_highest_versions(index).await;
    deletions_are_remembered(index).await;
    deleted_documents_are_never_found(index).await;
    a_replace_is_seen_as_a_whole(index).await;
    one_bad_operation_does_not_affect_the_others(index).await;
    vectors_of_another_dimension_are_invalid(index).await;
    stored_vectors_are_kept_when_none_are_given(index).await;
    vectors_come_back_unchanged(index).await;
    filters_let_through_what_they_name(index).await;
    filters_fail_closed(index).await;
    filters_apply_before_the_limit(index).await;
    limits_are_kept(index).await;
    equal_scores_are_ordered_by_chunk(index).await;
    keyword_scores_follow_bm25(index).await;
    a_repeated_token_counts_twice(index).await;
    rare_and_unknown_tokens(index).await;
    unicode_tokens_and_ids_survive(index).await;
    vector_scores_are_dot_products(index).await;
    keyword_tiers_agree(index).await;
    vector_tiers_agree(index).await;
    candidates_that_do_not_exist_are_left_out(index).await;
    fetched_chunks_are_as_written(index).await;
    documents_are_listed_in_pages(index).await;
    chunks_are_listed_with_their_documents(index).await;
    separate_fine_vectors_are_searched(index).await;
    generations::every_read_goes_to_the_generation_that_it_names(index).await;
    generations::reads_of_unknown_generations_are_not_found(index).await;
    generations::documents_are_found_by_their_terms(index).await;
}

fn shared_settings() -> IndexSettings {
    IndexSettings {
        coarse_dimensions: DIMENSIONS,
        fine_dimensions: DIMENSIONS,
        shared_vectors: true,
        coarse_model: "test/1".into(),
        fine_model: "test/1".into(),
        analyzer: "spaces".into(),
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
        fine: Vec::new(),
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
        parent_summary: Some("summary".into()),
        images: vec!["a.png".into()],
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

/// "Before the first `promote` queries fail with `NotFound`." Must run on an index without a
/// serving generation; does nothing else.
pub async fn queries_need_a_promoted_generation(index: &dyn SearchIndex) {
    if index
        .status()
        .await
        .unwrap()
        .iter()
        .any(|generation| generation.serving)
    {
        return;
    }
    index
        .create("before-promote", &shared_settings())
        .await
        .unwrap();
    let query = KeywordQuery {
        generation: None,
        tokens: &tokens("a"),
        filter: &Filter::default(),
        candidates: None,
        limit: 1,
    };
    assert_eq!(
        index.keyword(query).await.unwrap_err().kind(),
        ErrorKind::NotFound
    );
    assert_eq!(
        index.fetch(None, &[ChunkId(1)]).await.unwrap_err().kind(),
        ErrorKind::NotFound
    );
    assert_eq!(
        index.list_chunks(None).await.unwrap_err().kind(),
        ErrorKind::NotFound
    );
    index.drop_generation("before-promote").await.unwrap();
}

/// "An existing one with equal settings is left as it is"; with others it is a `Conflict`.
pub async fn creation_can_be_repeated_and_settings_are_fixed(index: &dyn SearchIndex) {
    fresh(index, "created").await;
    apply(index, "created", vec![replace(header("d", 1), &[(1, "a")])]).await;
    index.create("created", &shared_settings()).await.unwrap();
    assert_eq!(found(index, "a").await, set([1]));
    let others = [
        IndexSettings {
            coarse_model: "test/2".into(),
            ..shared_settings()
        },
        IndexSettings {
            analyzer: "other".into(),
            ..shared_settings()
        },
        IndexSettings {
            coarse_dimensions: 3,
            fine_dimensions: 3,
            ..shared_settings()
        },
    ];
    for settings in others {
        assert_eq!(
            index.create("created", &settings).await.unwrap_err().kind(),
            ErrorKind::Conflict
        );
    }
    assert_eq!(found(index, "a").await, set([1]));
}

/// "Queries go to the serving generation, which `promote` switches."
pub async fn generations_are_independent_and_promotion_switches(index: &dyn SearchIndex) {
    fresh(index, "blue").await;
    index.create("green", &shared_settings()).await.unwrap();
    apply(index, "blue", vec![replace(header("d", 1), &[(1, "a")])]).await;
    apply(index, "green", vec![replace(header("d", 5), &[(2, "a")])]).await;
    assert_eq!(found(index, "a").await, set([1]));
    let versions = |documents: Vec<Option<super::IndexedDocument>>| {
        documents[0]
            .as_ref()
            .map(|document| document.document.version)
    };
    let id = ["d".to_owned()];
    assert_eq!(versions(index.documents(None, &id).await.unwrap()), Some(1));
    assert_eq!(
        versions(index.documents(Some("green"), &id).await.unwrap()),
        Some(5)
    );
    index.promote("green").await.unwrap();
    assert_eq!(found(index, "a").await, set([2]));
    index.drop_generation("blue").await.unwrap();
    assert!(
        index
            .status()
            .await
            .unwrap()
            .iter()
            .all(|generation| generation.name != "blue")
    );
    index.create("blue", &shared_settings()).await.unwrap();
    index.promote("blue").await.unwrap();
    assert_eq!(
        found(index, "a").await,
        set([]),
        "a new generation of an old name starts empty"
    );
}

/// "`NotFound` for an unknown generation."
pub async fn unknown_generations_are_not_found(index: &dyn SearchIndex) {
    let name = "nobody-made-this";
    assert_eq!(
        index.promote(name).await.unwrap_err().kind(),
        ErrorKind::NotFound
    );
    assert_eq!(
        index.drop_generation(name).await.unwrap_err().kind(),
        ErrorKind::NotFound
    );
    assert_eq!(
        index
            .write(name, vec![delete("d", 1)])
            .await
            .unwrap_err()
            .kind(),
        ErrorKind::NotFound
    );
    assert_eq!(
        index.flush(name).await.unwrap_err().kind(),
        ErrorKind::NotFound
    );
    assert_eq!(
        index.documents(Some(name), &[]).await.unwrap_err().kind(),
        ErrorKind::NotFound
    );
}

/// "The serving one is refused with `Conflict`."
pub async fn the_serving_generation_is_not_dropped(index: &dyn SearchIndex) {
    fresh(index, "kept").await;
    apply(index, "kept", vec![replace(header("d", 1), &[(1, "a")])]).await;
    assert_eq!(
        index.drop_generation("kept").await.unwrap_err().kind(),
        ErrorKind::Conflict
    );
    assert_eq!(found(index, "a").await, set([1]));
}

/// Status says what is there.
pub async fn status_counts(index: &dyn SearchIndex) {
    fresh(index, "counted").await;
    apply(
        index,
        "counted",
        vec![
            replace(header("d", 1), &[(1, "a"), (2, "b")]),
            replace(header("e", 1), &[(3, "c")]),
        ],
    )
    .await;
    apply(index, "counted", vec![delete("e", 2), delete("never", 1)]).await;
    let status = index.status().await.unwrap();
    assert!(status.is_sorted_by_key(|generation| generation.name.clone()));
    let counted = status
        .iter()
        .find(|generation| generation.name == "counted")
        .unwrap();
    assert_eq!(
        (counted.documents, counted.chunks, counted.serving),
        (1, 2, true)
    );
    assert!(counted.bytes > 0 && counted.settings == shared_settings());
    assert_eq!(
        status
            .iter()
            .filter(|generation| generation.serving)
            .count(),
        1
    );
}

/// "A write becomes visible with the next `flush` that returns `Ok`."
pub async fn writes_are_visible_after_a_flush(index: &dyn SearchIndex) {
    fresh(index, "visible").await;
    for version in 1..=3_u64 {
        apply(
            index,
            "visible",
            vec![replace(
                header(&format!("d{version}"), 1),
                &[(u128::from(version), "a")],
            )],
        )
        .await;
        assert_eq!(found(index, "a").await, set((1..=version).map(u128::from)));
        assert_eq!(
            found_by_vector(index).await,
            set((1..=version).map(u128::from))
        );
    }
    index.flush("visible").await.unwrap();
    assert_eq!(
        found(index, "a").await,
        set(1..=3),
        "an empty flush changes nothing"
    );
}

/// "Makes exactly these chunks the document's content."
pub async fn a_replace_makes_exactly_these_chunks(index: &dyn SearchIndex) {
    fresh(index, "replaced").await;
    apply(
        index,
        "replaced",
        vec![replace(header("d", 1), &[(1, "a"), (2, "a"), (3, "a")])],
    )
    .await;
    apply(
        index,
        "replaced",
        vec![replace(header("d", 2), &[(2, "a b"), (4, "a")])],
    )
    .await;
    assert_eq!(found(index, "a").await, set([2, 4]));
    assert_eq!(found(index, "b").await, set([2]));
    assert_eq!(found_by_vector(index).await, set([2, 4]));
    apply(index, "replaced", vec![replace(header("d", 3), &[])]).await;
    assert_eq!(found(index, "a").await, set([]));
    let stored = index
        .documents(None, &["d".into()])
        .await
        .unwrap()
        .remove(0)
        .unwrap();
    assert_eq!(
        (stored.document.version, stored.chunk_ids, stored.deleted),
        (3, vec![], false)
    );
}

/// "An operation of a lower version than the stored one gives `Older`", also against writes that
/// are not flushed.
pub async fn older_operations_do_nothing(index: &dyn SearchIndex) {
    fresh(index, "older").await;
    apply(index, "older", vec![replace(header("d", 5), &[(1, "a")])]).await;
    let late = vec![
        replace(header("d", 4), &[(2, "a")]),
        delete("d", 3),
        replace(header("e", 9), &[(3, "a")]),
        delete("e", 8),
    ];
    let outcomes = index.write("older", late).await.unwrap();
    assert_eq!(
        outcomes,
        [
            Outcome::Older { stored: 5 },
            Outcome::Older { stored: 5 },
            Outcome::Applied,
            Outcome::Older { stored: 9 }
        ]
    );
    index.flush("older").await.unwrap();
    assert_eq!(found(index, "a").await, set([1, 3]));
}

/// "Of the same version it is applied again and leaves the same state."
pub async fn the_same_version_can_be_written_again(index: &dyn SearchIndex) {
    fresh(index, "again").await;
    let operations = || {
        vec![
            replace(header("d", 1), &[(1, "a"), (2, "b")]),
            delete("e", 1),
        ]
    };
    for _ in 0..3 {
        apply(index, "again", [operations(), operations()].concat()).await;
        assert_eq!(found(index, "a b").await, set([1, 2]));
        assert_eq!(
            keyword(index, "a b", &Filter::default(), ALL).await.len(),
            2,
            "nothing is found twice"
        );
        assert_eq!(index.list_chunks(None).await.unwrap().len(), 2);
    }
}

/// "Writing the same operations in any order and any number of times leaves the state of the
/// highest version of each document."
pub async fn any_order_leaves_the_highest_versions(index: &dyn SearchIndex) {
    let operations = || {
        vec![
            replace(header("d", 1), &[(1, "a"), (2, "a")]),
            replace(header("d", 2), &[(2, "a"), (3, "a")]),
            delete("d", 3),
            replace(header("d", 4), &[(1, "a"), (4, "a")]),
        ]
    };
    let mut orders = vec![vec![]];
    for place in 0..4_usize {
        orders = orders
            .into_iter()
            .flat_map(|order| (0..=place).map(move |at| inserted(&order, at, place)))
            .collect();
    }
    for (number, order) in orders.iter().enumerate() {
        let name = format!("order-{number}");
        fresh(index, &name).await;
        for (step, place) in order.iter().enumerate() {
            index
                .write(&name, vec![operations().remove(*place)])
                .await
                .unwrap();
            // Some orders are flushed in the middle, some in every step, some only at the end.
            if (number + step) % 3 == 0 {
                index.flush(&name).await.unwrap();
            }
        }
        index.flush(&name).await.unwrap();
        assert_eq!(found(index, "a").await, set([1, 4]), "{order:?}");
        assert_eq!(found_by_vector(index).await, set([1, 4]), "{order:?}");
        let stored = index
            .documents(None, &["d".into()])
            .await
            .unwrap()
            .remove(0)
            .unwrap();
        assert_eq!(
            (stored.document.version, stored.chunk_ids),
            (4, vec![ChunkId(1), ChunkId(4)]),
            "{order:?}"
        );
        if number > 0 {
            index
                .drop_generation(&format!("order-{}", number - 1))
                .await
                .unwrap();
        }
    }
}

fn inserted(order: &[usize], at: usize, place: usize) -> Vec<usize> {
    let mut order = order.to_vec();
    order.insert(at, place);
    order
}

/// "Remembers the version, so that an older `Replace` that comes late does nothing."
pub async fn deletions_are_remembered(index: &dyn SearchIndex) {
    fresh(index, "remembered").await;
    apply(index, "remembered", vec![delete("d", 7)]).await;
    let outcomes = index
        .write("remembered", vec![replace(header("d", 6), &[(1, "a")])])
        .await
        .unwrap();
    assert_eq!(outcomes, [Outcome::Older { stored: 7 }]);
    index.flush("remembered").await.unwrap();
    assert_eq!(found(index, "a").await, set([]));
    let stored = index
        .documents(None, &["d".into(), "e".into()])
        .await
        .unwrap();
    assert!(stored[0].as_ref().is_some_and(|document| document.deleted
        && document.document.version == 7
        && document.chunk_ids.is_empty()));
    assert!(stored[1].is_none());
    apply(
        index,
        "remembered",
        vec![replace(header("d", 8), &[(1, "a")])],
    )
    .await;
    assert_eq!(found(index, "a").await, set([1]));
}

/// Deleted documents are found by no query of any tier.
pub async fn deleted_documents_are_never_found(index: &dyn SearchIndex) {
    fresh(index, "gone").await;
    apply(
        index,
        "gone",
        vec![
            replace(header("d", 1), &[(1, "a"), (2, "a")]),
            replace(header("e", 1), &[(3, "a")]),
        ],
    )
    .await;
    apply(index, "gone", vec![delete("d", 2)]).await;
    let (none, candidates) = (Filter::default(), [ChunkId(1), ChunkId(2), ChunkId(3)]);
    assert_eq!(found(index, "a").await, set([3]));
    assert_eq!(found_by_vector(index).await, set([3]));
    let query = KeywordQuery {
        generation: None,
        tokens: &tokens("a"),
        filter: &none,
        candidates: Some(&candidates),
        limit: ALL,
    };
    assert_eq!(ids(&index.keyword(query).await.unwrap()), set([3]));
    let query = unit(1, DIMENSIONS);
    let query = VectorQuery {
        generation: None,
        vector: &query,
        field: VectorField::Fine,
        filter: &none,
        candidates: Some(&candidates),
        limit: ALL,
    };
    assert_eq!(ids(&index.vector(query).await.unwrap()), set([3]));
    let fetched = index.fetch(None, &candidates).await.unwrap();
    assert_eq!(
        fetched.iter().map(Option::is_some).collect::<Vec<_>>(),
        [false, false, true]
    );
    let stored = index.vectors(None, &candidates).await.unwrap();
    assert_eq!(
        stored.iter().map(Option::is_some).collect::<Vec<_>>(),
        [false, false, true]
    );
    assert_eq!(
        index.list_chunks(None).await.unwrap(),
        [(ChunkId(3), "e".to_owned())]
    );
    let only_deleted = Filter {
        document_ids: Some(vec!["d".into()]),
        ..Filter::default()
    };
    assert!(keyword(index, "a", &only_deleted, ALL).await.is_empty());
}

/// "No reader ever sees chunks of two versions of one document, or part of one."
pub async fn a_replace_is_seen_as_a_whole(index: &dyn SearchIndex) {
    const CHUNKS: u128 = 7;
    const VERSIONS: u64 = 25;
    fresh(index, "whole").await;
    let version = |version: u64| {
        let chunks: Vec<(u128, &str)> = (0..CHUNKS)
            .map(|place| (u128::from(version) * 100 + place, "common"))
            .collect();
        vec![replace(header("d", version), &chunks)]
    };
    apply(index, "whole", version(1)).await;
    let done = std::sync::atomic::AtomicBool::new(false);
    let write = async {
        for number in 2..=VERSIONS {
            apply(index, "whole", version(number)).await;
        }
        done.store(true, std::sync::atomic::Ordering::Release);
    };
    let read = async {
        let mut last = 0;
        while !done.load(std::sync::atomic::Ordering::Acquire) {
            let lists = [found(index, "common").await, found_by_vector(index).await];
            for hits in lists {
                let versions: BTreeSet<u128> = hits.iter().map(|id| id / 100).collect();
                assert_eq!(
                    (hits.len() as u128, versions.len()),
                    (CHUNKS, 1),
                    "{hits:?}"
                );
                assert!(
                    versions.first() >= Some(&last),
                    "a reader went back from version {last} to {versions:?}"
                );
                last = *versions.first().unwrap();
            }
        }
    };
    futures::join!(write, read);
    assert_eq!(found(index, "common").await.len() as u128, CHUNKS);
}

/// "This operation cannot be done; the others are not affected."
pub async fn one_bad_operation_does_not_affect_the_others(index: &dyn SearchIndex) {
    fresh(index, "mixed").await;
    let mut too_few = replace(header("bad", 1), &[(1, "a"), (2, "a")]);
    if let Operation::Replace { vectors, .. } = &mut too_few {
        vectors.truncate(1);
    }
    let operations = vec![
        replace(header("d", 1), &[(3, "a")]),
        too_few,
        replace(header("e", 1), &[(4, "a")]),
    ];
    let outcomes = index.write("mixed", operations).await.unwrap();
    assert!(
        matches!(&outcomes[1], Outcome::Failed(error) if error.kind() == ErrorKind::Invalid),
        "{outcomes:?}"
    );
    assert_eq!([&outcomes[0], &outcomes[2]], [&Outcome::Applied; 2]);
    index.flush("mixed").await.unwrap();
    assert_eq!(found(index, "a").await, set([3, 4]));
}

/// "`Invalid` for a vector of another dimension than the settings say."
pub async fn vectors_of_another_dimension_are_invalid(index: &dyn SearchIndex) {
    fresh(index, "dimensions").await;
    apply(
        index,
        "dimensions",
        vec![replace(header("d", 1), &[(1, "a")])],
    )
    .await;
    let wrong = [
        ChunkVectors {
            coarse: unit(1, DIMENSIONS + 1),
            fine: vec![],
        },
        ChunkVectors {
            coarse: vec![],
            fine: vec![],
        },
        ChunkVectors {
            coarse: unit(1, DIMENSIONS),
            fine: unit(1, DIMENSIONS),
        },
        ChunkVectors {
            coarse: vec![f32::NAN; DIMENSIONS],
            fine: vec![],
        },
    ];
    for vectors in wrong {
        let operation = Operation::Replace {
            document: Box::new(header("d", 2)),
            chunks: vec![chunk(2, 0, "a")],
            vectors: vec![vectors],
        };
        let outcomes = index.write("dimensions", vec![operation]).await.unwrap();
        assert!(
            matches!(&outcomes[0], Outcome::Failed(error) if error.kind() == ErrorKind::Invalid),
            "{outcomes:?}"
        );
    }
    index.flush("dimensions").await.unwrap();
    assert_eq!(found(index, "a").await, set([1]));
    let none = Filter::default();
    for candidates in [None, Some(&[ChunkId(1)][..])] {
        let query = VectorQuery {
            generation: None,
            vector: &[1.0; 3],
            field: VectorField::Coarse,
            filter: &none,
            candidates,
            limit: 1,
        };
        assert_eq!(
            index.vector(query).await.unwrap_err().kind(),
            ErrorKind::Invalid
        );
    }
}

/// "Empty means: keep the stored vectors of chunks with the same ids (all must exist)."
pub async fn stored_vectors_are_kept_when_none_are_given(index: &dyn SearchIndex) {
    fresh(index, "kept-vectors").await;
    apply(
        index,
        "kept-vectors",
        vec![replace(header("d", 1), &[(1, "a"), (2, "b")])],
    )
    .await;
    let without = |version: u64, ids: &[u128]| Operation::Replace {
        document: Box::new(DocumentHeader {
            tags: vec!["new".into()],
            ..header("d", version)
        }),
        chunks: ids
            .iter()
            .enumerate()
            .map(|(ordinal, id)| chunk(*id, ordinal, "c"))
            .collect(),
        vectors: vec![],
    };
    apply(index, "kept-vectors", vec![without(2, &[2, 1])]).await;
    // Once more from a write that is not flushed yet.
    let outcomes = index
        .write("kept-vectors", vec![without(3, &[1, 2]), without(4, &[2])])
        .await
        .unwrap();
    assert_eq!(outcomes, [Outcome::Applied, Outcome::Applied]);
    index.flush("kept-vectors").await.unwrap();
    let tagged = Filter {
        tags: Some(vec!["new".into()]),
        ..Filter::default()
    };
    assert_eq!(ids(&keyword(index, "c", &tagged, ALL).await), set([2]));
    assert_eq!(
        index
            .vectors(None, &[ChunkId(2), ChunkId(1)])
            .await
            .unwrap(),
        [Some(vectors(2)), None]
    );
    let outcomes = index
        .write("kept-vectors", vec![without(5, &[2, 77])])
        .await
        .unwrap();
    assert!(
        matches!(&outcomes[0], Outcome::Failed(error) if error.kind() == ErrorKind::Invalid),
        "{outcomes:?}"
    );
    index.flush("kept-vectors").await.unwrap();
    assert_eq!(
        found(index, "c").await,
        set([2]),
        "a failed operation changes nothing"
    );
}

/// Stored vectors are exact.
pub async fn vectors_come_back_unchanged(index: &dyn SearchIndex) {
    fresh(index, "vectors").await;
    apply(
        index,
        "vectors",
        vec![replace(header("d", 1), &[(1, "a"), (2, "a")])],
    )
    .await;
    let stored = index
        .vectors(None, &[ChunkId(2), ChunkId(9), ChunkId(1), ChunkId(2)])
        .await
        .unwrap();
    assert_eq!(
        stored,
        [Some(vectors(2)), None, Some(vectors(1)), Some(vectors(2))]
    );
}

/// Documents with one chunk each and different attributes; ids 1 to 4.
async fn filterable(index: &dyn SearchIndex, name: &str) {
    fresh(index, name).await;
    let with = |id: u128, change: &dyn Fn(&mut DocumentHeader)| {
        let mut document = header(&format!("d{id}"), 1);
        change(&mut document);
        replace(document, &[(id, "a")])
    };
    let first = with(1, &|document| {
        document.tags = vec!["x".into(), "y".into()];
        document.knowledge_sets = vec!["one".into()];
        document.attributes.product = Some("核心网".into());
        document.attributes.security_level = Some(0);
        document.attributes.updated_at = Some(1_000);
    });
    let second = with(2, &|document| {
        document.tags = vec!["y".into()];
        document.knowledge_sets = vec!["one".into(), "two".into()];
        document.source = "mail".into();
        document.attributes.security_level = Some(2);
        document.attributes.updated_at = Some(2_000);
        document.attributes.product_version = Some("1.2".into());
    });
    let third = with(3, &|document| {
        document.attributes.language = Some("zh".into());
        document.attributes.security_level = Some(5);
        document.attributes.updated_at = Some(-5);
    });
    apply(index, name, vec![first, second]).await;
    apply(index, name, vec![third, with(4, &|_| ())]).await;
}

/// Both tier-1 queries return exactly these chunks under a filter.
async fn passes(index: &dyn SearchIndex, filter: Filter, expected: &[u128]) {
    let expected = set(expected.iter().copied());
    assert_eq!(
        ids(&keyword(index, "a", &filter, ALL).await),
        expected,
        "{filter:?}"
    );
    assert_eq!(
        ids(&vector(index, &unit(1, DIMENSIONS), &filter, ALL).await),
        expected,
        "{filter:?}"
    );
}

fn some(values: &[&str]) -> Option<Vec<String>> {
    Some(values.iter().map(|value| (*value).to_owned()).collect())
}

/// "Conditions are joined by AND, the values of one condition by OR."
pub async fn filters_let_through_what_they_name(index: &dyn SearchIndex) {
    filterable(index, "filters").await;
    let none = Filter::default;
    passes(index, none(), &[1, 2, 3, 4]).await;
    passes(
        index,
        Filter {
            tags: some(&["x"]),
            ..none()
        },
        &[1],
    )
    .await;
    passes(
        index,
        Filter {
            tags: some(&["x", "y", "unknown"]),
            ..none()
        },
        &[1, 2],
    )
    .await;
    passes(
        index,
        Filter {
            tags: some(&["y"]),
            knowledge_sets: some(&["two"]),
            ..none()
        },
        &[2],
    )
    .await;
    passes(
        index,
        Filter {
            knowledge_sets: some(&["one", "two"]),
            ..none()
        },
        &[1, 2],
    )
    .await;
    passes(
        index,
        Filter {
            sources: some(&["wiki"]),
            ..none()
        },
        &[1, 3, 4],
    )
    .await;
    passes(
        index,
        Filter {
            products: some(&["核心网"]),
            ..none()
        },
        &[1],
    )
    .await;
    passes(
        index,
        Filter {
            product_versions: some(&["1.2"]),
            ..none()
        },
        &[2],
    )
    .await;
    passes(
        index,
        Filter {
            languages: some(&["zh"]),
            ..none()
        },
        &[3],
    )
    .await;
    passes(
        index,
        Filter {
            document_ids: some(&["d4", "d2"]),
            ..none()
        },
        &[2, 4],
    )
    .await;
    passes(
        index,
        Filter {
            max_security_level: Some(2),
            ..none()
        },
        &[1, 2],
    )
    .await;
    passes(
        index,
        Filter {
            max_security_level: Some(0),
            ..none()
        },
        &[1],
    )
    .await;
    passes(
        index,
        Filter {
            updated_from_ms: Some(1_000),
            ..none()
        },
        &[1, 2],
    )
    .await;
    passes(
        index,
        Filter {
            updated_before_ms: Some(2_000),
            ..none()
        },
        &[1, 3],
    )
    .await;
    passes(
        index,
        Filter {
            updated_from_ms: Some(0),
            updated_before_ms: Some(2_000),
            ..none()
        },
        &[1],
    )
    .await;
}

/// "`None` sets no condition, an empty list matches nothing, and a document without the attribute
/// does not match a condition on it."
pub async fn filters_fail_closed(index: &dyn SearchIndex) {
    filterable(index, "closed").await;
    let none = Filter::default;
    let empty = || Some(vec![]);
    let conditions = [
        Filter {
            tags: empty(),
            ..none()
        },
        Filter {
            knowledge_sets: empty(),
            ..none()
        },
        Filter {
            sources: empty(),
            ..none()
        },
        Filter {
            products: empty(),
            ..none()
        },
        Filter {
            product_versions: empty(),
            ..none()
        },
        Filter {
            languages: empty(),
            ..none()
        },
        Filter {
            document_ids: empty(),
            ..none()
        },
        Filter {
            tags: some(&["unknown"]),
            ..none()
        },
        Filter {
            tags: some(&[""]),
            ..none()
        },
        Filter {
            tags: some(&["x"]),
            knowledge_sets: empty(),
            ..none()
        },
        Filter {
            tags: some(&["x"]),
            sources: some(&["mail"]),
            ..none()
        },
        // The value of another condition, and a value that only looks like a term.
        Filter {
            tags: some(&["wiki"]),
            ..none()
        },
        Filter {
            products: some(&["tag=x"]),
            ..none()
        },
        Filter {
            updated_from_ms: Some(i64::MAX),
            ..none()
        },
        Filter {
            updated_before_ms: Some(i64::MIN),
            ..none()
        },
    ];
    for filter in conditions {
        passes(index, filter, &[]).await;
    }
    passes(
        index,
        Filter {
            max_security_level: Some(u8::MAX),
            ..none()
        },
        &[1, 2, 3],
    )
    .await;
    passes(
        index,
        Filter {
            updated_from_ms: Some(i64::MIN),
            ..none()
        },
        &[1, 2, 3],
    )
    .await;
}

/// "A query returns `limit` hits if so many chunks pass."
pub async fn filters_apply_before_the_limit(index: &dyn SearchIndex) {
    fresh(index, "before-limit").await;
    // The ones that pass are the worst by every score.
    let good: Vec<Operation> = (0..40)
        .map(|id| replace(header(&format!("good{id}"), 1), &[(id, "a a a a")]))
        .collect();
    let rare = |id: u128| {
        let document = DocumentHeader {
            tags: vec!["rare".into()],
            ..header(&format!("rare{id}"), 1)
        };
        replace(document, &[(id, "a b b b b b b b b b b b b b b")])
    };
    apply(
        index,
        "before-limit",
        good.into_iter().chain((100..105).map(rare)).collect(),
    )
    .await;
    let filter = Filter {
        tags: some(&["rare"]),
        ..Filter::default()
    };
    assert_eq!(keyword(index, "a", &filter, 3).await.len(), 3);
    assert_eq!(
        vector(index, &unit(0, DIMENSIONS), &filter, 3).await.len(),
        3
    );
    assert_eq!(keyword(index, "a", &filter, ALL).await.len(), 5);
    assert_eq!(
        vector(index, &unit(0, DIMENSIONS), &filter, ALL)
            .await
            .len(),
        5
    );
}

/// "Hits at most"; a smaller limit gives the head of the longer list.
pub async fn limits_are_kept(index: &dyn SearchIndex) {
    fresh(index, "limits").await;
    let text = |id: u128| format!("a {}", "b ".repeat(id as usize % 11));
    let operations = (0..50)
        .map(|id| replace(header(&format!("d{id}"), 1), &[(id, &text(id))]))
        .collect();
    apply(index, "limits", operations).await;
    let none = Filter::default();
    let (words, numbers) = (
        keyword(index, "a b", &none, ALL).await,
        vector(index, &unit(3, DIMENSIONS), &none, ALL).await,
    );
    assert_eq!((words.len(), numbers.len()), (50, 50));
    for limit in [0, 1, 2, 17, 49, 50, 51] {
        assert_eq!(
            keyword(index, "a b", &none, limit).await,
            words.iter().take(limit).copied().collect::<Vec<_>>()
        );
        assert_eq!(
            vector(index, &unit(3, DIMENSIONS), &none, limit).await,
            numbers.iter().take(limit).copied().collect::<Vec<_>>()
        );
    }
    assert!(words.is_sorted_by(|left, right| left.score >= right.score));
    assert!(numbers.is_sorted_by(|left, right| left.score >= right.score));
}

/// "Equal scores by chunk id ascending", also where the limit cuts.
pub async fn equal_scores_are_ordered_by_chunk(index: &dyn SearchIndex) {
    fresh(index, "ties").await;
    // Written in an order that is neither that of the ids nor its reverse, over several flushes.
    for part in 0..3_u128 {
        let same = |id: u128| Operation::Replace {
            document: Box::new(header(&format!("d{id}"), 1)),
            chunks: vec![chunk(id, 0, "a b c")],
            vectors: vec![vectors(4)],
        };
        apply(
            index,
            "ties",
            (0..60)
                .filter(|id| (id * 7 + 3) % 3 == part || id % 3 == part)
                .map(|id| same((id * 37) % 60))
                .collect(),
        )
        .await;
    }
    let none = Filter::default();
    for limit in [1, 5, 29, 60] {
        let expected: Vec<u128> = (0..limit as u128).collect();
        let words = keyword(index, "a c", &none, limit).await;
        assert_eq!(
            words.iter().map(|hit| hit.chunk_id.0).collect::<Vec<_>>(),
            expected
        );
        let numbers = vector(index, &unit(8, DIMENSIONS), &none, limit).await;
        assert_eq!(
            numbers.iter().map(|hit| hit.chunk_id.0).collect::<Vec<_>>(),
            expected
        );
    }
}

/// "BM25 with k1 = 1.2, b = 0.75, Lucene's formula"; texts are short, where lengths are not
/// rounded.
pub async fn keyword_scores_follow_bm25(index: &dyn SearchIndex) {
    fresh(index, "bm25").await;
    let texts = ["a b c", "a a d", "b c d e f g", "a", "x y z a b"];
    let documents = texts
        .iter()
        .enumerate()
        .map(|(id, text)| replace(header(&format!("d{id}"), 1), &[(id as u128, text)]));
    apply(index, "bm25", documents.collect()).await;
    let average =
        texts.iter().map(|text| tokens(text).len()).sum::<usize>() as f64 / texts.len() as f64;
    let count = |text: &str, token: &str| {
        tokens(text).iter().filter(|other| *other == token).count() as f64
    };
    let score = |text: &str, token: &str| {
        let holders = texts.iter().filter(|text| count(text, token) > 0.0).count() as f64;
        let idf = (1.0 + (texts.len() as f64 - holders + 0.5) / (holders + 0.5)).ln();
        let frequency = count(text, token);
        idf * frequency * 2.2
            / (frequency + 1.2 * (0.25 + 0.75 * tokens(text).len() as f64 / average))
    };
    let hits = keyword(index, "a b", &Filter::default(), ALL).await;
    assert_eq!(ids(&hits), set([0, 1, 2, 3, 4]));
    for hit in hits {
        let text = texts[hit.chunk_id.0 as usize];
        let expected = score(text, "a") + score(text, "b");
        assert!(
            (f64::from(hit.score) - expected).abs() < 1e-4,
            "{text}: {} instead of {expected}",
            hit.score
        );
    }
}

/// "A repeated token counts as often as it is repeated."
pub async fn a_repeated_token_counts_twice(index: &dyn SearchIndex) {
    fresh(index, "repeated").await;
    apply(
        index,
        "repeated",
        vec![replace(
            header("d", 1),
            &[(1, "a b"), (2, "a c"), (3, "b b")],
        )],
    )
    .await;
    let none = Filter::default();
    let (once, twice) = (
        keyword(index, "c", &none, ALL).await,
        keyword(index, "c c", &none, ALL).await,
    );
    assert!((twice[0].score - 2.0 * once[0].score).abs() < 1e-5);
    assert_eq!(
        keyword(index, "a b a", &none, ALL).await,
        keyword(index, "a a b", &none, ALL).await
    );
}

/// "A keyword query without tokens, and one whose tokens are all unknown, finds nothing"; a token
/// of one chunk finds it among many.
pub async fn rare_and_unknown_tokens(index: &dyn SearchIndex) {
    fresh(index, "rare").await;
    let text = |id: u128| {
        if id == 321 {
            "common mindspore.nn.Conv2d".to_owned()
        } else {
            format!("common w{}", id % 7)
        }
    };
    apply(
        index,
        "rare",
        (0..500)
            .map(|id| replace(header(&format!("d{id}"), 1), &[(id, &text(id))]))
            .collect(),
    )
    .await;
    assert_eq!(found(index, "mindspore.nn.Conv2d").await, set([321]));
    assert_eq!(
        keyword(index, "common mindspore.nn.Conv2d", &Filter::default(), 1).await[0].chunk_id,
        ChunkId(321)
    );
    for nothing in [
        "",
        "unknown",
        "unknown words",
        "mindspore",
        "COMMON",
        "comm",
    ] {
        assert_eq!(found(index, nothing).await, set([]), "`{nothing}`");
    }
    assert_eq!(
        found(index, "unknown w3").await,
        set((0..500).filter(|id| id % 7 == 3 && *id != 321))
    );
}

/// Tokens, ids, titles and filter values of any script survive.
pub async fn unicode_tokens_and_ids_survive(index: &dyn SearchIndex) {
    fresh(index, "unicode").await;
    let document = DocumentHeader {
        tags: vec!["标签 = 一".into()],
        ..header("文档/ä b=c", 1)
    };
    let long = "长".repeat(3_000);
    apply(
        index,
        "unicode",
        vec![replace(
            document,
            &[(1, "载波聚合 naïve 🛰️ é\u{301} b=c"), (2, &long)],
        )],
    )
    .await;
    for token in ["载波聚合", "naïve", "🛰️", "é\u{301}", "b=c"] {
        assert_eq!(found(index, token).await, set([1]), "{token}");
    }
    assert_eq!(found(index, "载波").await, set([]));
    assert_eq!(found(index, &long).await, set([2]));
    let by_id = Filter {
        document_ids: some(&["文档/ä b=c"]),
        tags: some(&["标签 = 一"]),
        ..Filter::default()
    };
    assert_eq!(ids(&keyword(index, "naïve", &by_id, ALL).await), set([1]));
    let fetched = index
        .fetch(None, &[ChunkId(1)])
        .await
        .unwrap()
        .remove(0)
        .unwrap();
    assert_eq!(
        (
            fetched.document.title.as_str(),
            fetched.document.document_id.as_str()
        ),
        ("标题 文档/ä b=c", "文档/ä b=c")
    );
    assert!(index.documents(None, &["文档/ä b=c".into()]).await.unwrap()[0].is_some());
    assert!(
        index
            .list_chunks(None)
            .await
            .unwrap()
            .contains(&(ChunkId(2), "文档/ä b=c".into()))
    );
}

/// "The exact top of the true dot products."
pub async fn vector_scores_are_dot_products(index: &dyn SearchIndex) {
    fresh(index, "dots").await;
    apply(
        index,
        "dots",
        (0..300)
            .map(|id| replace(header(&format!("d{id}"), 1), &[(id, "a")]))
            .collect(),
    )
    .await;
    let query = unit(1_000, DIMENSIONS);
    let dot = |id: u128| -> f32 {
        query
            .iter()
            .zip(vectors(id as u64).coarse)
            .map(|(a, b)| a * b)
            .sum()
    };
    let hits = vector(index, &query, &Filter::default(), ALL).await;
    assert_eq!(hits.len(), 300);
    assert!(
        hits.iter()
            .all(|hit| (hit.score - dot(hit.chunk_id.0)).abs() < 1e-5)
    );
    let mut expected: Vec<u128> = (0..300).collect();
    expected.sort_by(|left, right| dot(*right).total_cmp(&dot(*left)));
    let top: Vec<u128> = vector(index, &query, &Filter::default(), 20)
        .await
        .iter()
        .map(|hit| hit.chunk_id.0)
        .collect();
    assert_eq!(top, expected[..20]);
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

/// Tier 2 gives the chunks that tier 1 found the same scores in the same order.
pub async fn keyword_tiers_agree(index: &dyn SearchIndex) {
    mixed(index, "keyword-tiers").await;
    let none = Filter::default();
    for text in [
        "w1",
        "w1 w2 w3",
        "w4 w4 w5 unknown",
        "w9 w8 w7 w6 w5 w4 w3 w2 w1 w0",
    ] {
        let first = keyword(index, text, &none, ALL).await;
        assert!(!first.is_empty());
        let mut candidates: Vec<ChunkId> = first.iter().map(|hit| hit.chunk_id).collect();
        candidates.reverse();
        let query = tokens(text);
        let query = KeywordQuery {
            generation: None,
            tokens: &query,
            filter: &none,
            candidates: Some(&candidates),
            limit: ALL,
        };
        assert_eq!(index.keyword(query).await.unwrap(), first, "{text}");
        let some: Vec<ChunkId> = candidates.iter().step_by(3).copied().collect();
        let expected: Vec<ScoredChunk> = first
            .iter()
            .filter(|hit| some.contains(&hit.chunk_id))
            .take(10)
            .copied()
            .collect();
        assert_eq!(
            index
                .keyword(KeywordQuery {
                    candidates: Some(&some),
                    limit: 10,
                    ..query
                })
                .await
                .unwrap(),
            expected,
            "{text}"
        );
    }
}

/// The same for vectors.
pub async fn vector_tiers_agree(index: &dyn SearchIndex) {
    mixed(index, "vector-tiers").await;
    let none = Filter::default();
    for seed in 0..5 {
        let query = unit(seed + 2_000, DIMENSIONS);
        let first = vector(index, &query, &none, 100).await;
        let candidates: Vec<ChunkId> = first.iter().map(|hit| hit.chunk_id).rev().collect();
        let second = VectorQuery {
            generation: None,
            vector: &query,
            field: VectorField::Fine,
            filter: &none,
            candidates: Some(&candidates),
            limit: ALL,
        };
        assert_eq!(index.vector(second).await.unwrap(), first);
        assert_eq!(
            index
                .vector(VectorQuery { limit: 7, ..second })
                .await
                .unwrap(),
            first[..7]
        );
    }
}

/// "Those that no longer exist are left out"; one given twice is returned once; the filter is not
/// asked.
pub async fn candidates_that_do_not_exist_are_left_out(index: &dyn SearchIndex) {
    fresh(index, "candidates").await;
    apply(
        index,
        "candidates",
        vec![replace(header("d", 1), &[(1, "a"), (2, "b")])],
    )
    .await;
    let closed = Filter {
        tags: Some(vec![]),
        ..Filter::default()
    };
    let candidates = [
        ChunkId(9),
        ChunkId(2),
        ChunkId(1),
        ChunkId(1),
        ChunkId(u128::MAX),
    ];
    let query = KeywordQuery {
        generation: None,
        tokens: &tokens("a"),
        filter: &closed,
        candidates: Some(&candidates),
        limit: ALL,
    };
    let hits = index.keyword(query).await.unwrap();
    assert_eq!(
        hits.iter().map(|hit| hit.chunk_id.0).collect::<Vec<_>>(),
        [1]
    );
    let query = unit(1, DIMENSIONS);
    let query = VectorQuery {
        generation: None,
        vector: &query,
        field: VectorField::Coarse,
        filter: &closed,
        candidates: Some(&candidates),
        limit: ALL,
    };
    let hits = index.vector(query).await.unwrap();
    assert_eq!(
        hits.iter().map(|hit| hit.chunk_id.0).collect::<Vec<_>>(),
        [1, 2]
    );
    assert!(
        index
            .vector(VectorQuery {
                candidates: Some(&[]),
                ..query
            })
            .await
            .unwrap()
            .is_empty()
    );
}

/// "The chunks, in the order of the ids"; all fields but the tokens come back.
pub async fn fetched_chunks_are_as_written(index: &dyn SearchIndex) {
    fresh(index, "fetched").await;
    let document = DocumentHeader {
        tags: vec!["x".into()],
        knowledge_sets: vec!["one".into()],
        attributes: Attributes {
            link: Some("http://example.org/".into()),
            security_level: Some(1),
            ..Attributes::default()
        },
        ..header("d", 3)
    };
    apply(
        index,
        "fetched",
        vec![replace(document.clone(), &[(1, "a b"), (2, "c")])],
    )
    .await;
    let fetched = index
        .fetch(None, &[ChunkId(2), ChunkId(5), ChunkId(1)])
        .await
        .unwrap();
    assert!(fetched[1].is_none());
    for (place, ordinal, id, analyzed) in [(0, 1, 2, "c"), (2, 0, 1, "a b")] {
        let stored = fetched[place].as_ref().unwrap();
        let written = chunk(id, ordinal, analyzed);
        assert_eq!(
            stored.chunk,
            Chunk {
                analyzed: String::new(),
                ..written
            }
        );
        assert_eq!(*stored.document, document);
    }
}

/// "Every document, deletions included, in pages by document id."
pub async fn documents_are_listed_in_pages(index: &dyn SearchIndex) {
    fresh(index, "pages").await;
    apply(
        index,
        "pages",
        (0..10_u128)
            .map(|id| replace(header(&format!("d{id}"), 1), &[(id, "a")]))
            .collect(),
    )
    .await;
    apply(
        index,
        "pages",
        vec![
            delete("d3", 2),
            delete("zz", 1),
            replace(header("d5", 2), &[(55, "a")]),
        ],
    )
    .await;
    let mut listed = Vec::new();
    loop {
        let after = listed
            .last()
            .map(|document: &super::IndexedDocument| document.document.document_id.clone());
        let page = index
            .list_documents(None, after.as_deref(), 4)
            .await
            .unwrap();
        assert!(page.len() <= 4);
        if page.is_empty() {
            break;
        }
        listed.extend(page);
    }
    let names: Vec<&str> = listed
        .iter()
        .map(|document| document.document.document_id.as_str())
        .collect();
    assert_eq!(
        names,
        [
            "d0", "d1", "d2", "d3", "d4", "d5", "d6", "d7", "d8", "d9", "zz"
        ]
    );
    let deleted: Vec<&str> = listed
        .iter()
        .filter(|document| document.deleted)
        .map(|document| &*document.document.document_id)
        .collect();
    assert_eq!(deleted, ["d3", "zz"]);
    assert_eq!(listed[5].chunk_ids, [ChunkId(55)]);
}

/// "Ids of every chunk that a query can find, with the document that it belongs to."
pub async fn chunks_are_listed_with_their_documents(index: &dyn SearchIndex) {
    mixed(index, "listed").await;
    let mut listed = index.list_chunks(None).await.unwrap();
    listed.sort_unstable();
    let mut expected: Vec<(ChunkId, String)> = (0..200_u128)
        .filter(|id| id % 9 != 0)
        .flat_map(|id| {
            [
                (ChunkId(id * 2), format!("d{id}")),
                (ChunkId(id * 2 + 1), format!("d{id}")),
            ]
        })
        .collect();
    expected.sort_unstable();
    assert_eq!(listed, expected);
    assert_eq!(
        ids(&vector(index, &unit(1, DIMENSIONS), &Filter::default(), ALL).await),
        set(listed.iter().map(|(id, _)| id.0))
    );
    apply(
        index,
        "listed",
        vec![replace(header("twice", 1), &[(2, "w1")])],
    )
    .await;
    let twice = index
        .list_chunks(None)
        .await
        .unwrap()
        .into_iter()
        .filter(|(id, _)| *id == ChunkId(2))
        .count();
    assert_eq!(twice, 2, "an id that is findable twice is listed twice");
}

/// With vectors of their own for tier 2, each field answers from its own.
pub async fn separate_fine_vectors_are_searched(index: &dyn SearchIndex) {
    let settings = IndexSettings {
        fine_dimensions: 20,
        shared_vectors: false,
        ..shared_settings()
    };
    index.create("fine", &settings).await.unwrap();
    index.promote("fine").await.unwrap();
    let both = |id: u64| ChunkVectors {
        coarse: unit(id, DIMENSIONS),
        fine: unit(id + 500, 20),
    };
    let operation = |id: u64| Operation::Replace {
        document: Box::new(header(&format!("d{id}"), 1)),
        chunks: vec![chunk(u128::from(id), 0, "a")],
        vectors: vec![both(id)],
    };
    apply(index, "fine", (0..30).map(operation).collect()).await;
    let none = Filter::default();
    let candidates: Vec<ChunkId> = (0..30).map(ChunkId).collect();
    for candidates in [None, Some(&candidates[..])] {
        let fine = unit(507, 20);
        let query = VectorQuery {
            generation: None,
            vector: &fine,
            field: VectorField::Fine,
            filter: &none,
            candidates,
            limit: 1,
        };
        let hit = index.vector(query).await.unwrap()[0];
        assert!(
            hit.chunk_id == ChunkId(7) && (hit.score - 1.0).abs() < 1e-5,
            "{hit:?}"
        );
        let coarse = unit(9, DIMENSIONS);
        let hit = index
            .vector(VectorQuery {
                generation: None,
                vector: &coarse,
                field: VectorField::Coarse,
                ..query
            })
            .await
            .unwrap()[0];
        assert_eq!(hit.chunk_id, ChunkId(9));
        let wrong = VectorQuery {
            generation: None,
            vector: &coarse,
            ..query
        };
        assert_eq!(
            index.vector(wrong).await.unwrap_err().kind(),
            ErrorKind::Invalid
        );
    }
    assert_eq!(
        index.vectors(None, &[ChunkId(3)]).await.unwrap(),
        [Some(both(3))]
    );
    let missing = Operation::Replace {
        document: Box::new(header("e", 1)),
        chunks: vec![chunk(99, 0, "a")],
        vectors: vec![vectors(1)],
    };
    let outcomes = index.write("fine", vec![missing]).await.unwrap();
    assert!(matches!(&outcomes[0], Outcome::Failed(error) if error.kind() == ErrorKind::Invalid));
}
