//! The same corpus in both engines gives the same hits. How much may differ is stated here.

use std::collections::BTreeSet;

use tributary_schemas::search::ScoredChunk;
use tributary_schemas::{ChunkId, ChunkVectors, DocumentHeader, Filter};
use tributary_store::search_index::elasticsearch::{Config, ElasticsearchIndex, VectorIndex};
use tributary_store::search_index::embedded::{self, EmbeddedIndex};
use tributary_store::search_index::{
    IndexSettings, KeywordQuery, Operation, SearchIndex, VectorField, VectorQuery,
};

use crate::cluster::Cluster;
use crate::processes::{chunk, settings};

const DIMENSIONS: usize = 96;
const DOCUMENTS: u64 = 400;
/// Relative difference of BM25 scores: both engines add up 32-bit numbers, in another order.
const SCORE_TOLERANCE: f32 = 1e-5;
/// Difference of dot products.
const DOT_TOLERANCE: f32 = 1e-5;

struct Random(u64);

impl Random {
    fn next(&mut self) -> f32 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 40) as f32 / (1 << 24) as f32
    }

    fn unit(&mut self) -> Vec<f32> {
        let vector: Vec<f32> = (0..DIMENSIONS)
            .map(|_| self.next() + self.next() + self.next() - 1.5)
            .collect();
        let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
        vector.into_iter().map(|value| value / length).collect()
    }

    /// Words as frequent as in a language.
    fn words(&mut self, count: usize) -> String {
        (0..count)
            .map(|_| format!("词{}", (3_000.0_f32.powf(self.next())) as u32))
            .collect::<Vec<_>>()
            .join(" ")
    }
}

fn corpus(version: u64, documents: impl Iterator<Item = u64>) -> Vec<Operation> {
    let operation = |id: u64| {
        let mut random = Random(id * 31 + version);
        let count = 1 + (id % 5) as usize;
        let mut document = DocumentHeader {
            document_id: format!("d{id}"),
            version,
            source: format!("s{}", id % 7),
            ..DocumentHeader::default()
        };
        document.tags = vec![format!("t{}", id % 3), format!("u{}", id % 50)];
        document.attributes.security_level = (!id.is_multiple_of(4)).then_some((id % 4) as u8);
        document.attributes.updated_at = (!id.is_multiple_of(6)).then_some(id as i64 * 1_000);
        Operation::Replace {
            document: Box::new(document),
            chunks: (0..count)
                .map(|place| {
                    chunk(
                        u128::from(id) * 100 + place as u128,
                        &random.words(20 + (id as usize * 13 + place) % 400),
                    )
                })
                .collect(),
            vectors: (0..count)
                .map(|_| ChunkVectors {
                    coarse: random.unit(),
                    ..ChunkVectors::default()
                })
                .collect(),
        }
    };
    documents.map(operation).collect()
}

async fn load(index: &dyn SearchIndex, operations: Vec<Operation>) {
    index.write("g", operations).await.unwrap();
    index.flush("g").await.unwrap();
}

async fn create(index: &dyn SearchIndex) {
    let settings = IndexSettings {
        coarse_dimensions: DIMENSIONS,
        fine_dimensions: DIMENSIONS,
        ..settings()
    };
    index.create("g", &settings).await.unwrap();
    index.promote("g").await.unwrap();
}

fn filters() -> Vec<Filter> {
    let none = Filter::default;
    vec![
        none(),
        Filter {
            tags: Some(vec!["t1".into()]),
            ..none()
        },
        Filter {
            tags: Some(vec!["u7".into(), "u8".into()]),
            sources: Some(vec!["s1".into(), "s2".into(), "s3".into()]),
            ..none()
        },
        Filter {
            max_security_level: Some(2),
            ..none()
        },
        Filter {
            updated_from_ms: Some(100_000),
            updated_before_ms: Some(200_000),
            ..none()
        },
        Filter {
            tags: Some(vec![]),
            ..none()
        },
        Filter {
            sources: Some(vec!["nowhere".into()]),
            ..none()
        },
    ]
}

async fn words(
    index: &dyn SearchIndex,
    seed: u64,
    filter: &Filter,
    limit: usize,
) -> Vec<ScoredChunk> {
    let tokens: Vec<String> = Random(seed)
        .words(6)
        .split(' ')
        .map(str::to_owned)
        .collect();
    index
        .keyword(KeywordQuery {
            generation: None,
            tokens: &tokens,
            filter,
            candidates: None,
            limit,
        })
        .await
        .unwrap()
}

async fn numbers(
    index: &dyn SearchIndex,
    seed: u64,
    filter: &Filter,
    candidates: Option<&[ChunkId]>,
    limit: usize,
) -> Vec<ScoredChunk> {
    let vector = Random(seed).unit();
    index
        .vector(VectorQuery {
            generation: None,
            vector: &vector,
            field: VectorField::Coarse,
            filter,
            candidates,
            limit,
        })
        .await
        .unwrap()
}

/// The same scores place by place, and the same chunks but for those whose scores differ by no more
/// than the tolerance.
fn compare(
    left: &[ScoredChunk],
    right: &[ScoredChunk],
    tolerance: impl Fn(f32) -> f32,
    what: &str,
) {
    assert_eq!(left.len(), right.len(), "{what}");
    for (left, right) in left.iter().zip(right) {
        assert!(
            (left.score - right.score).abs() <= tolerance(left.score),
            "{what}: {left:?} {right:?}"
        );
    }
    let last = left.last().map_or(0.0, |hit| hit.score);
    let clear = |hits: &[ScoredChunk]| -> BTreeSet<ChunkId> {
        hits.iter()
            .filter(|hit| hit.score > last + tolerance(last))
            .map(|hit| hit.chunk_id)
            .collect()
    };
    let all = |hits: &[ScoredChunk]| -> BTreeSet<ChunkId> {
        hits.iter().map(|hit| hit.chunk_id).collect()
    };
    assert!(
        clear(left).is_subset(&all(right)) && clear(right).is_subset(&all(left)),
        "{what}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_engines_find_the_same() {
    let Some(cluster) = Cluster::find("engines").await else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let config = embedded::Config {
        writer_memory_mib: 16,
        pending_memory_mib: 64,
        search_threads: 1,
        prefilter_from_chunks: 1_000_000,
    };
    let embedded = EmbeddedIndex::open(folder.path(), config).unwrap();
    // Several shards: term statistics must be those of all.
    let remote = ElasticsearchIndex::open(Config {
        shards: 3,
        ..cluster.config()
    })
    .await
    .unwrap();
    for index in [&embedded as &dyn SearchIndex, &remote] {
        create(index).await;
        load(index, corpus(1, 0..DOCUMENTS)).await;
    }
    for filter in filters() {
        for seed in 0..6 {
            for limit in [10, 200, 10_000] {
                let (left, right) = (
                    words(&embedded, seed, &filter, limit).await,
                    words(&remote, seed, &filter, limit).await,
                );
                compare(
                    &left,
                    &right,
                    |score| score * SCORE_TOLERANCE,
                    &format!("words {seed}, {filter:?}"),
                );
                let (left, right) = (
                    numbers(&embedded, seed, &filter, None, limit).await,
                    numbers(&remote, seed, &filter, None, limit).await,
                );
                compare(
                    &left,
                    &right,
                    |_| DOT_TOLERANCE,
                    &format!("numbers {seed}, {filter:?}"),
                );
            }
        }
    }
    // Deleted chunks count in term statistics until they are merged away, at another time in each
    // engine: scores differ, hits hardly.
    let changes = || corpus(2, (0..DOCUMENTS).step_by(10));
    load(&embedded, changes()).await;
    load(&remote, changes()).await;
    let mut shared = 0;
    for seed in 0..20 {
        let all = |hits: Vec<ScoredChunk>| -> BTreeSet<ChunkId> {
            hits.into_iter().map(|hit| hit.chunk_id).collect()
        };
        let none = Filter::default();
        let (left, right) = (
            all(words(&embedded, seed, &none, 50).await),
            all(words(&remote, seed, &none, 50).await),
        );
        shared += left.intersection(&right).count();
        let (left, right) = (
            numbers(&embedded, seed, &none, None, 50).await,
            numbers(&remote, seed, &none, None, 50).await,
        );
        compare(
            &left,
            &right,
            |_| DOT_TOLERANCE,
            &format!("numbers after changes {seed}"),
        );
    }
    assert!(
        shared >= 980,
        "only {shared} of 1000 hits are the same after changes"
    );
    cluster.clean().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_kind_of_vector_index_finds_the_top_and_scores_candidates_exactly() {
    let kinds = [
        VectorIndex::Flat,
        VectorIndex::Int8Flat,
        VectorIndex::Hnsw,
        VectorIndex::Int8Hnsw,
        VectorIndex::BbqHnsw,
    ];
    for kind in kinds {
        let Some(cluster) = Cluster::find("kinds").await else {
            return;
        };
        let index = ElasticsearchIndex::open(Config {
            vector_index: kind,
            ..cluster.config()
        })
        .await
        .unwrap();
        create(&index).await;
        let operations = corpus(1, 0..DOCUMENTS);
        let mut all: Vec<(ChunkId, Vec<f32>)> = Vec::new();
        for operation in &operations {
            let Operation::Replace {
                chunks, vectors, ..
            } = operation
            else {
                unreachable!()
            };
            all.extend(
                chunks
                    .iter()
                    .zip(vectors)
                    .map(|(chunk, vectors)| (chunk.chunk_id, vectors.coarse.clone())),
            );
        }
        load(&index, operations).await;
        let none = Filter::default();
        let (mut found, mut wanted) = (0, 0);
        for seed in 0..10 {
            let query = Random(seed).unit();
            let mut expected: Vec<(f32, ChunkId)> = all
                .iter()
                .map(|(id, vector)| (query.iter().zip(vector).map(|(a, b)| a * b).sum(), *id))
                .collect();
            expected.sort_by(|left, right| right.0.total_cmp(&left.0));
            let hits = numbers(&index, seed, &none, None, 300).await;
            let top: BTreeSet<ChunkId> = expected.iter().take(300).map(|(_, id)| *id).collect();
            found += hits
                .iter()
                .filter(|hit| top.contains(&hit.chunk_id))
                .count();
            wanted += 300;
            let candidates: Vec<ChunkId> = all.iter().map(|(id, _)| *id).collect();
            let scored = numbers(&index, seed, &none, Some(&candidates), 10_000).await;
            assert_eq!(scored.len(), all.len(), "{kind:?}");
            for (hit, (dot, _)) in scored.iter().zip(&expected) {
                assert!(
                    (hit.score - dot).abs() < DOT_TOLERANCE,
                    "{kind:?}: {} is not {dot}",
                    hit.score
                );
            }
        }
        let recall = f64::from(found as u32) / f64::from(wanted);
        eprintln!("{kind:?}: recall {recall:.4}");
        assert!(recall >= 0.995, "{kind:?}: recall {recall}");
        cluster.clean().await;
    }
}
