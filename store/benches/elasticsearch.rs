//! Our writer against the official Python client's `helpers.parallel_bulk`: the same records, node,
//! settings and number of requests at the same time, in turns within one run; and what a query
//! costs. TRIBUTARY_TEST_ELASTICSEARCH names the node, PYTHON an interpreter with the
//! package `elasticsearch`.

#![allow(clippy::unwrap_used, clippy::explicit_write)]

use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use futures::StreamExt;
use serde_json::json;
use tributary_schemas::filter::indexed_terms;
use tributary_schemas::{Chunk, ChunkId, ChunkKind, ChunkVectors, DocumentHeader, Filter};
use tributary_store::search_index::elasticsearch::{
    Config, Durability, ElasticsearchIndex, VectorIndex,
};
use tributary_store::search_index::{
    Bm25, IndexSettings, KeywordQuery, Operation, SearchIndex, VectorField, VectorQuery,
};

const DOCUMENTS: u64 = 1_500;
const CHUNKS: u128 = 6;
const DIMENSIONS: usize = 384;
const ROUNDS: usize = 3;
const PEER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/peer_elasticsearch.py");

fn main() {
    let Ok(url) = std::env::var("TRIBUTARY_TEST_ELASTICSEARCH") else {
        say("SKIPPED: TRIBUTARY_TEST_ELASTICSEARCH names no Elasticsearch node");
        return;
    };
    let url = if url.starts_with("http") {
        url
    } else {
        format!("http://{url}")
    };
    tokio::runtime::Runtime::new().unwrap().block_on(run(&url));
}

async fn run(url: &str) {
    let folder = tempfile::tempdir().unwrap();
    let records = folder.path().join("records.jsonl");
    dump(&records);
    let config = config(url);
    let index = ElasticsearchIndex::open(config.clone()).await.unwrap();
    for generation in ["ours", "single", "peer"] {
        forget(&index, generation).await;
    }
    say("round  ours documents/s  one by one, 64 at once  Python parallel_bulk  ratio");
    let mut ratios = Vec::new();
    for round in 0..ROUNDS {
        let ours = DOCUMENTS as f64 / ours(&index, "ours", 500).await.as_secs_f64();
        let peer = DOCUMENTS as f64 / peer(&index, &config, &records).await.as_secs_f64();
        let single = DOCUMENTS as f64 / single(&index).await.as_secs_f64();
        ratios.push(ours / peer);
        say(&format!(
            "{round:5} {ours:17.0} {single:23.0} {peer:21.0} {:6.2}",
            ours / peer
        ));
    }
    ratios.sort_by(f64::total_cmp);
    say(&format!(
        "median ratio {:.2}; {DOCUMENTS} documents of {CHUNKS} chunks, {DIMENSIONS} dimensions",
        ratios[ratios.len() / 2]
    ));
    kinds(url).await;
}

async fn create(index: &ElasticsearchIndex, generation: &str) {
    forget(index, generation).await;
    let settings = IndexSettings {
        coarse_dimensions: DIMENSIONS,
        fine_dimensions: DIMENSIONS,
        shared_vectors: true,
        windows: false,
        coarse_model: "m".into(),
        fine_model: "m".into(),
        analyzer: "a".into(),
        bm25: Bm25::DEFAULT,
        origin: String::new(),
    };
    index.create(generation, &settings).await.unwrap();
}

async fn forget(index: &ElasticsearchIndex, generation: &str) {
    if index
        .status()
        .await
        .unwrap()
        .iter()
        .any(|status| status.name == generation)
    {
        index.drop_generation(generation).await.unwrap();
    }
}

async fn ours(index: &ElasticsearchIndex, generation: &str, at_once: usize) -> Duration {
    create(index, generation).await;
    let parts: Vec<Vec<Operation>> = (0..DOCUMENTS)
        .collect::<Vec<_>>()
        .chunks(at_once)
        .map(|ids| ids.iter().map(|id| operation(*id)).collect())
        .collect();
    let begun = Instant::now();
    let written = futures::stream::iter(parts)
        .map(|part| index.write(generation, part))
        .buffer_unordered(4);
    written
        .for_each(|outcomes| async { drop(outcomes.unwrap()) })
        .await;
    index.flush(generation).await.unwrap();
    let took = begun.elapsed();
    check(index, generation).await;
    forget(index, generation).await;
    took
}

/// As the indexer does: every document in a call of its own.
async fn single(index: &ElasticsearchIndex) -> Duration {
    create(index, "single").await;
    let operations: Vec<Operation> = (0..DOCUMENTS).map(operation).collect();
    let begun = Instant::now();
    let written = futures::stream::iter(operations)
        .map(|operation| index.write("single", vec![operation]))
        .buffer_unordered(64);
    written
        .for_each(|outcomes| async { drop(outcomes.unwrap()) })
        .await;
    index.flush("single").await.unwrap();
    let took = begun.elapsed();
    check(index, "single").await;
    forget(index, "single").await;
    took
}

async fn check(index: &ElasticsearchIndex, generation: &str) {
    let status = index
        .status()
        .await
        .unwrap()
        .into_iter()
        .find(|status| status.name == generation)
        .unwrap();
    assert_eq!(
        (status.documents, u128::from(status.chunks)),
        (DOCUMENTS, u128::from(DOCUMENTS) * CHUNKS)
    );
}

async fn peer(index: &ElasticsearchIndex, config: &Config, records: &Path) -> Duration {
    create(index, "peer").await;
    let python = std::env::var("PYTHON").unwrap_or_else(|_| "python3".into());
    let target = format!("{}-peer", config.index_prefix);
    let output = Command::new(python)
        .arg(PEER)
        .args([&config.urls[0], &target, records.to_str().unwrap()])
        .args([
            config.bulk_concurrency.to_string(),
            config.bulk_documents.to_string(),
            config.bulk_bytes.to_string(),
        ])
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let seconds: f64 = String::from_utf8_lossy(&output.stdout)
        .trim()
        .parse()
        .unwrap();
    check(index, "peer").await;
    forget(index, "peer").await;
    Duration::from_secs_f64(seconds)
}

/// Tier 1 and tier 2 by keyword and by vector for each kind of vector index, and what writing costs
/// with it.
async fn kinds(url: &str) {
    let generation = "kinds";
    say(
        "vector index   write s   keyword 1500 ms   vector 1500 ms   vector of 1500 candidates ms   fetch 20 ms   recall at 1500",
    );
    for kind in [
        VectorIndex::Flat,
        VectorIndex::Hnsw,
        VectorIndex::Int8Hnsw,
        VectorIndex::BbqHnsw,
    ] {
        let index = ElasticsearchIndex::open(Config {
            vector_index: kind,
            ..config(url)
        })
        .await
        .unwrap();
        create(&index, generation).await;
        let operations: Vec<Operation> = (0..DOCUMENTS).map(operation).collect();
        let begun = Instant::now();
        index.write(generation, operations).await.unwrap();
        index.flush(generation).await.unwrap();
        let write = begun.elapsed();
        let (mut times, mut found) = ([Duration::ZERO; 4], 0);
        const QUERIES: u64 = 20;
        let none = Filter::default();
        for seed in 0..QUERIES {
            let mut random = Random(seed + 77);
            let tokens: Vec<String> = random.words(8).split(' ').map(str::to_owned).collect();
            let begun = Instant::now();
            let words = KeywordQuery {
                generation: Some(generation),
                tokens: &tokens,
                filter: &none,
                candidates: None,
                limit: 1_500,
            };
            index.keyword(words).await.unwrap();
            times[0] += begun.elapsed();
            let vector = random.unit();
            let query = VectorQuery {
                generation: Some(generation),
                vector: &vector,
                field: VectorField::Coarse,
                filter: &none,
                candidates: None,
                limit: 1_500,
            };
            let begun = Instant::now();
            let hits = index.vector(query).await.unwrap();
            times[1] += begun.elapsed();
            let candidates: Vec<ChunkId> = hits.iter().map(|hit| hit.chunk_id).collect();
            let begun = Instant::now();
            index
                .vector(VectorQuery {
                    candidates: Some(&candidates),
                    limit: 100,
                    ..query
                })
                .await
                .unwrap();
            times[2] += begun.elapsed();
            let begun = Instant::now();
            index
                .fetch(Some(generation), &candidates[..20])
                .await
                .unwrap();
            times[3] += begun.elapsed();
            let all: Vec<ChunkId> = (0..u128::from(DOCUMENTS))
                .flat_map(|id| (0..CHUNKS).map(move |place| ChunkId(id * 100 + place)))
                .collect();
            let exact = index
                .vector(VectorQuery {
                    candidates: Some(&all),
                    ..query
                })
                .await
                .unwrap();
            let exact: std::collections::HashSet<ChunkId> =
                exact.iter().map(|hit| hit.chunk_id).collect();
            found += hits
                .iter()
                .filter(|hit| exact.contains(&hit.chunk_id))
                .count();
        }
        let [words, numbers, candidates, fetch] =
            times.map(|time| time.as_secs_f64() * 1e3 / QUERIES as f64);
        let recall = found as f64 / (1_500 * QUERIES) as f64;
        let name = format!("{kind:?}");
        say(&format!(
            "{name:12} {:9.1} {words:17.1} {numbers:16.1} {candidates:30.1} {fetch:13.1} {recall:16.4}",
            write.as_secs_f64()
        ));
        forget(&index, generation).await;
    }
}

fn config(url: &str) -> Config {
    Config {
        urls: vec![url.to_owned()],
        index_prefix: "bench".to_owned(),
        username: String::new(),
        password_file: String::new(),
        api_key_file: String::new(),
        ca_file: String::new(),
        shards: 1,
        replicas: 0,
        replicas_while_loading: 0,
        vector_index: VectorIndex::Flat,
        oversample: 5.0,
        durability: Durability::Request,
        delete_memory_seconds: 3600,
        bulk_bytes: 8 << 20,
        bulk_documents: 500,
        bulk_concurrency: 2,
        request_timeout_ms: 60_000,
        retry_ms: 10_000,
    }
}

struct Random(u64);

impl Random {
    fn next(&mut self) -> f32 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 40) as f32 / (1 << 24) as f32
    }

    /// Around one of fifty centres, as the vectors of real texts lie.
    fn unit(&mut self) -> Vec<f32> {
        let mut centre = Random((self.next() * 50.0) as u64 * 7_919 + 1);
        let vector: Vec<f32> = (0..DIMENSIONS)
            .map(|_| self.next() - 0.5 + centre.next() - 0.5)
            .collect();
        let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
        vector.into_iter().map(|value| value / length).collect()
    }

    fn words(&mut self, count: usize) -> String {
        (0..count)
            .map(|_| format!("词{}", (20_000.0_f32.powf(self.next())) as u32))
            .collect::<Vec<_>>()
            .join(" ")
    }
}

fn operation(id: u64) -> Operation {
    let mut random = Random(id * 31 + 5);
    let chunk = |place: u128, analyzed: String| Chunk {
        chunk_id: ChunkId(u128::from(id) * 100 + place),
        kind: ChunkKind::Leaf,
        ordinal: place as u32,
        section_path: vec!["第一章".into(), "Overview".into()],
        text: analyzed.clone(),
        tokens: 250,
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
    };
    let document = DocumentHeader {
        document_id: format!("document-{id}"),
        version: 1,
        source: "wiki".into(),
        title: format!("标题 {id}"),
        tags: vec![format!("t{}", id % 10)],
        ..DocumentHeader::default()
    };
    Operation::Replace {
        document: Box::new(document),
        chunks: (0..CHUNKS)
            .map(|place| chunk(place, random.words(150)))
            .collect(),
        vectors: (0..CHUNKS)
            .map(|_| ChunkVectors {
                coarse: random.unit(),
                ..ChunkVectors::default()
            })
            .collect(),
    }
}

/// The records that our writer sends, as lines of id, routing and source.
fn dump(path: &Path) {
    let mut file = std::io::BufWriter::new(std::fs::File::create(path).unwrap());
    for id in 0..DOCUMENTS {
        let Operation::Replace {
            document,
            chunks,
            vectors,
        } = operation(id)
        else {
            return;
        };
        let routing = format!("{:0>24}", id);
        let ids: Vec<String> = chunks
            .iter()
            .map(|chunk| chunk.chunk_id.to_string())
            .collect();
        for (place, (chunk, vectors)) in chunks.into_iter().zip(&vectors).enumerate() {
            let text = chunk.analyzed.clone();
            let chunk = Chunk {
                security_level: None,
                analyzed: String::new(),
                ..chunk
            };
            let source = json!({"chunk": chunk.chunk_id, "document": document.document_id, "revision": "abcdefghijkl", "version": 1,
                "text": text, "filter": indexed_terms(&document), "coarse": vectors.coarse, "stored": chunk});
            writeln!(file, "{}", json!({"_id": format!("{routing}abcdefghijkl{place}"), "routing": routing, "source": source})).unwrap();
        }
        let entry = json!({"document": document, "chunk_ids": ids, "deleted": false, "revision": "abcdefghijkl", "replaced": []});
        let source =
            json!({"manifest": document.document_id, "alive": true, "terms": [], "entry": entry});
        writeln!(
            file,
            "{}",
            json!({"_id": routing, "routing": routing, "source": source})
        )
        .unwrap();
    }
}

fn say(line: &str) {
    writeln!(std::io::stdout(), "{line}").unwrap();
}
