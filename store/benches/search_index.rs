//! Search speed of the embedded index against its own bounds and against tantivy's collector, in
//! CPU time of the calling thread.
//!
//! Run: `cargo bench -p tributary-store --bench search_index`
//! - `TRIBUTARY_VECTORS=<file>`: little-endian f32 rows of 384 dimensions to use instead of made-up
//!   clustered ones (200 000 at most; the last 100 rows are the queries). Without it the made-up
//!   ones are written to `target/search-index-vectors.f32`, for `peer_faiss.py`.
//! - `TRIBUTARY_BENCH_CHUNKS=<n>`: chunks instead of 200 000.
//!
//! The text is Zipf-like (200 000 words, exponent 1.05) with topics, 350 to 650 tokens a chunk,
//! queries of 4 to 12 tokens.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::hint::black_box;
use std::path::PathBuf;

use tantivy::collector::TopDocs;
use tantivy::query::{BooleanQuery, Occur, Query, TermQuery};
use tantivy::schema::IndexRecordOption;
use tributary_schemas::{Chunk, ChunkId, ChunkKind, ChunkVectors, DocumentHeader, Filter};
use tributary_store::search_index::embedded::{Config, EmbeddedIndex};
use tributary_store::search_index::{
    Bm25, IndexSettings, KeywordQuery, Operation, SearchIndex, VectorField, VectorQuery,
};

const DIMENSIONS: usize = 384;
const LIMIT: usize = 1_500;
const CANDIDATES: usize = 3_000;
const QUERIES: usize = 100;
const CHUNKS_PER_DOCUMENT: usize = 20;
const WORDS: usize = 200_000;

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 24
    }

    /// Even in 0..1.
    fn unit(&mut self) -> f64 {
        (self.next() & 0xff_ffff) as f64 / f64::from(1 << 24)
    }

    /// Zipf-like rank: inverse of the continuous distribution with exponent 1.05.
    fn word(&mut self) -> usize {
        const EXPONENT: f64 = -0.05;
        let highest = (WORDS as f64).powf(EXPONENT);
        ((1.0 - self.unit() * (1.0 - highest)).powf(1.0 / EXPONENT) as usize).min(WORDS) - 1
    }
}

/// CPU time of all threads of this process in ms, from `/proc` in Linux' ticks of 10 ms.
fn process_cpu_ms() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat")
        .ok()
        .unwrap_or_default();
    let fields: Vec<&str> = stat
        .rsplit(')')
        .next()
        .unwrap_or_default()
        .split_whitespace()
        .collect();
    let ticks = |place: usize| {
        fields
            .get(place)
            .and_then(|ticks| ticks.parse::<f64>().ok())
            .unwrap_or_default()
    };
    (ticks(11) + ticks(12)) * 10.0
}

/// CPU time per call in ms, from runs long enough for the clock.
fn measure(mut work: impl FnMut(usize)) -> f64 {
    (0..10).for_each(&mut work);
    let mut calls = 0;
    let start = process_cpu_ms();
    while process_cpu_ms() - start < 600.0 {
        for _ in 0..10 {
            work(calls % QUERIES);
            calls += 1;
        }
    }
    (process_cpu_ms() - start) / calls as f64
}

fn text(random: &mut Random, topic: usize) -> String {
    let length = 350 + random.next() as usize % 300;
    let mut words = Vec::with_capacity(length);
    for _ in 0..length {
        let is_topical = random.next().is_multiple_of(5);
        words.push(if is_topical {
            format!("t{topic}x{}", random.next() % 800)
        } else {
            format!("w{}", random.word())
        });
    }
    words.join(" ")
}

/// Vectors around 2 000 topics that share a direction, as those of real embedders do.
fn made_up_vectors(count: usize) -> Vec<Vec<f32>> {
    let mut random = Random(5);
    let mut gauss = move || (0..4).map(|_| random.unit() as f32 - 0.5).sum::<f32>();
    let mut direction = |_: usize| -> Vec<f32> { (0..DIMENSIONS).map(|_| gauss()).collect() };
    let common = direction(0);
    let topics: Vec<Vec<f32>> = (0..2_000).map(&mut direction).collect();
    let mut made = |place: usize| {
        let topic = &topics[(place * 7_919) % topics.len()];
        let own = direction(0);
        let vector: Vec<f32> = (0..DIMENSIONS)
            .map(|at| common[at] * 1.6 + topic[at] * 0.8 + own[at] * 0.6)
            .collect();
        let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
        vector.into_iter().map(|value| value / length).collect()
    };
    (0..count).map(&mut made).collect()
}

fn vectors(count: usize) -> Vec<Vec<f32>> {
    let Ok(path) = std::env::var("TRIBUTARY_VECTORS") else {
        let made = made_up_vectors(count + QUERIES);
        let bytes: Vec<u8> = made
            .iter()
            .flatten()
            .flat_map(|value| value.to_le_bytes())
            .collect();
        let target = std::env::var("CARGO_TARGET_DIR")
            .map_or_else(|_| PathBuf::from("target"), PathBuf::from);
        let path = target.join("search-index-vectors.f32");
        match std::fs::write(&path, bytes) {
            Ok(()) => println!("vectors: made up, written to {}", path.display()),
            Err(error) => println!("vectors: made up, not written: {error}"),
        }
        return made;
    };
    let bytes = std::fs::read(&path).unwrap();
    let values: Vec<f32> = bytes
        .as_chunks::<4>()
        .0
        .iter()
        .map(|value| f32::from_le_bytes(*value))
        .collect();
    println!("vectors: {path}");
    values
        .chunks_exact(DIMENSIONS)
        .take(count + QUERIES)
        .map(<[f32]>::to_vec)
        .collect()
}

fn chunk(id: usize, analyzed: String) -> Chunk {
    Chunk {
        chunk_id: ChunkId::derive("bench", "leaf", &[], &id.to_string(), 0),
        kind: ChunkKind::Leaf,
        ordinal: (id % CHUNKS_PER_DOCUMENT) as u32,
        section_path: vec![],
        text: String::new(),
        tokens: 0,
        parent_id: None,
        child_ids: vec![],
        pages: vec![],
        is_continuation: false,
        api: None,
        code: None,
        language: None,
        parent_summary: None,
        images: vec![],
        security_level: None,
        analyzed,
    }
}

async fn build(index: &EmbeddedIndex, rows: &[Vec<f32>]) {
    let settings = IndexSettings {
        coarse_dimensions: DIMENSIONS,
        fine_dimensions: DIMENSIONS,
        shared_vectors: true,
        windows: false,
        coarse_model: "bench".into(),
        fine_model: "bench".into(),
        analyzer: "bench".into(),
        bm25: Bm25::DEFAULT,
        origin: String::new(),
    };
    index.create("bench", &settings).await.unwrap();
    index.promote("bench").await.unwrap();
    let mut random = Random(1);
    for (document, rows) in rows.chunks(CHUNKS_PER_DOCUMENT).enumerate() {
        let header = DocumentHeader {
            document_id: format!("d{document}"),
            version: 1,
            tags: vec![format!("tenth{}", document % 10)],
            ..DocumentHeader::default()
        };
        let chunks = (0..rows.len()).map(|place| {
            chunk(
                document * CHUNKS_PER_DOCUMENT + place,
                text(&mut random, document % 1_000),
            )
        });
        let operation = Operation::Replace {
            document: Box::new(header),
            chunks: chunks.collect(),
            vectors: rows
                .iter()
                .map(|row| ChunkVectors {
                    coarse: row.clone(),
                    ..ChunkVectors::default()
                })
                .collect(),
        };
        index.write("bench", vec![operation]).await.unwrap();
    }
    index.flush("bench").await.unwrap();
}

fn queries() -> Vec<Vec<String>> {
    let mut random = Random(99);
    let query = |_| {
        let topic = random.next() % 1_000;
        let length = 4 + random.next() as usize % 9;
        (0..length)
            .map(|place| {
                if place % 3 == 0 {
                    format!("t{topic}x{}", random.next() % 800)
                } else {
                    format!("w{}", random.word())
                }
            })
            .collect()
    };
    (0..QUERIES).map(query).collect()
}

/// GB/s of one thread reading a buffer of this size again and again.
fn bandwidth(bytes: usize) -> f64 {
    let buffer: Vec<u64> = (0..bytes as u64 / 8).collect();
    let read = || {
        buffer
            .chunks_exact(64)
            .map(|line| line.iter().fold(0, |sum, value| sum ^ value))
            .fold(0, |sum, value| sum ^ value)
    };
    let ms = measure(|_| {
        black_box(read());
    });
    bytes as f64 / ms / 1e6
}

fn share(found: &[ChunkId], exact: &[ChunkId]) -> f64 {
    let exact: std::collections::HashSet<&ChunkId> = exact.iter().collect();
    found.iter().filter(|chunk| exact.contains(chunk)).count() as f64 / exact.len().max(1) as f64
}

fn resident_mb() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status")
        .ok()
        .unwrap_or_default();
    let line = |name: &str| {
        let found = status.lines().find(|line| line.starts_with(name));
        found
            .and_then(|line| line.split_whitespace().nth(1))
            .and_then(|kb| kb.parse::<f64>().ok())
            .unwrap_or_default()
    };
    line("VmRSS") / 1024.0
}

fn open(folder: &std::path::Path, prefilter_from_chunks: usize) -> EmbeddedIndex {
    let config = Config {
        writer_memory_mib: 256,
        pending_memory_mib: 256,
        search_threads: 1,
        prefilter_from_chunks,
    };
    EmbeddedIndex::open(folder, config).unwrap()
}

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let chunks = std::env::var("TRIBUTARY_BENCH_CHUNKS")
        .ok()
        .and_then(|count| count.parse().ok())
        .unwrap_or(200_000_usize);
    let mut rows = vectors(chunks);
    let vector_queries = rows.split_off(rows.len() - QUERIES);
    let folder = tempfile::tempdir().unwrap();
    let (start, index) = (process_cpu_ms(), open(folder.path(), usize::MAX));
    runtime.block_on(build(&index, &rows));
    println!(
        "{} chunks built in {:.1} CPU-s (text made in it)",
        rows.len(),
        (process_cpu_ms() - start) / 1e3
    );
    let coded_bytes = rows.len() * (DIMENSIONS + 4);
    let chunk_ids: Vec<ChunkId> = (0..rows.len())
        .map(|id| chunk(id, String::new()).chunk_id)
        .collect();
    drop(rows);
    drop(index);
    let (start, clock) = (process_cpu_ms(), std::time::Instant::now());
    let index = open(folder.path(), usize::MAX);
    println!(
        "open: {:.0} ms wall, {:.0} ms CPU, {:.0} MB resident",
        clock.elapsed().as_secs_f64() * 1e3,
        process_cpu_ms() - start,
        resident_mb()
    );

    let (none, tenth) = (
        Filter::default(),
        Filter {
            tags: Some(vec!["tenth3".into()]),
            ..Filter::default()
        },
    );
    let vector = |place: usize, filter: &Filter, candidates: Option<&[ChunkId]>| {
        let query = VectorQuery {
            generation: None,
            vector: &vector_queries[place],
            field: VectorField::Coarse,
            filter,
            candidates,
            limit: candidates.map_or(LIMIT, <[ChunkId]>::len),
        };
        runtime.block_on(index.vector(query)).unwrap()
    };
    let ids = |hits: Vec<tributary_schemas::search::ScoredChunk>| {
        hits.into_iter().map(|hit| hit.chunk_id).collect::<Vec<_>>()
    };
    let recall = (0..10).map(|place| {
        let exact = ids(vector(place, &none, Some(&chunk_ids)));
        share(&ids(vector(place, &none, None)), &exact[..LIMIT])
    });
    println!(
        "vector tier 1: recall@{LIMIT} {:.4}",
        recall.sum::<f64>() / 10.0
    );
    let bound = coded_bytes as f64 / bandwidth(coded_bytes) / 1e6;
    let scan = measure(|place| drop(black_box(vector(place, &none, None))));
    println!(
        "vector tier 1: {scan:.2} ms CPU; bytes / bandwidth = {bound:.2} ms; ratio {:.2} (target 1.6)",
        scan / bound
    );
    println!(
        "vector tier 1, a tenth allowed: {:.2} ms CPU",
        measure(|place| drop(black_box(vector(place, &tenth, None))))
    );
    let some: Vec<ChunkId> = chunk_ids
        .iter()
        .step_by((chunk_ids.len() / CANDIDATES).max(1))
        .copied()
        .collect();
    println!(
        "vector tier 2, {} candidates: {:.2} ms CPU",
        some.len(),
        measure(|place| drop(black_box(vector(place, &none, Some(&some)))))
    );

    let words = queries();
    let keyword = |place: usize, filter: &Filter, candidates: Option<&[ChunkId]>| {
        let query = KeywordQuery {
            generation: None,
            tokens: &words[place],
            filter,
            candidates,
            limit: LIMIT,
        };
        runtime.block_on(index.keyword(query)).unwrap()
    };
    let ours = measure(|place| drop(black_box(keyword(place, &none, None))));
    println!("keyword tier 1: {ours:.2} ms CPU");
    println!(
        "keyword tier 1, a tenth allowed: {:.2} ms CPU",
        measure(|place| drop(black_box(keyword(place, &tenth, None))))
    );
    println!(
        "keyword tier 2, {} candidates: {:.2} ms CPU",
        some.len(),
        measure(|place| drop(black_box(keyword(place, &none, Some(&some)))))
    );
    let text = tantivy::Index::open_in_dir(folder.path().join("generations/bench/text")).unwrap();
    let field = text.schema().get_field("text").unwrap();
    let searcher = text.reader().unwrap().searcher();
    let queries: Vec<BooleanQuery> = words
        .iter()
        .map(|tokens| {
            let clause = |token: &String| {
                let term = tantivy::Term::from_field_text(field, token);
                (
                    Occur::Should,
                    Box::new(TermQuery::new(term, IndexRecordOption::WithFreqs)) as Box<dyn Query>,
                )
            };
            BooleanQuery::new(tokens.iter().map(clause).collect())
        })
        .collect();
    let theirs = measure(|place| {
        drop(black_box(
            searcher
                .search(
                    &queries[place],
                    &TopDocs::with_limit(LIMIT).order_by_score(),
                )
                .unwrap(),
        ))
    });
    println!(
        "tantivy TopDocs({LIMIT}): {theirs:.2} ms CPU, {} segments; ours is {:.2} times faster (target 2)",
        searcher.segment_readers().len(),
        theirs / ours
    );
    println!("after all queries: {:.0} MB resident", resident_mb());

    drop(index);
    let index = open(folder.path(), 1);
    let touched = Operation::Delete {
        document_id: "d0".into(),
        version: 2,
    };
    runtime
        .block_on(index.write("bench", vec![touched]))
        .unwrap();
    runtime.block_on(index.flush("bench")).unwrap();
    let prefiltered = |place: usize| {
        let query = VectorQuery {
            generation: None,
            vector: &vector_queries[place],
            field: VectorField::Coarse,
            filter: &none,
            candidates: None,
            limit: LIMIT,
        };
        runtime.block_on(index.vector(query)).unwrap()
    };
    let recall = (0..10).map(|place| {
        let query = VectorQuery {
            generation: None,
            vector: &vector_queries[place],
            field: VectorField::Coarse,
            filter: &none,
            candidates: Some(&chunk_ids),
            limit: LIMIT,
        };
        share(
            &ids(prefiltered(place)),
            &ids(runtime.block_on(index.vector(query)).unwrap()),
        )
    });
    println!(
        "vector tier 1 after one bit: recall {:.4}",
        recall.sum::<f64>() / 10.0
    );
    println!(
        "vector tier 1 after one bit: {:.2} ms CPU",
        measure(|place| drop(black_box(prefiltered(place))))
    );
}
