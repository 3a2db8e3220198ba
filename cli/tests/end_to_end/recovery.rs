//! How long a server is away after a crash: a data folder is filled, the process is killed while it
//! works, and the time from its start until `/health/readyz` says ready is measured.
//!
//! `TRIBUTARY_RECOVERY_CHUNKS=200000 cargo test --release -p tributary-cli --test end_to_end --
//! recovery --nocapture` runs the full figure.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use tributary_schemas::id::derive_document_id;
use tributary_schemas::{
    Chunk, ChunkId, ChunkKind, ChunkVectors, DocumentHeader, Lineage, StageTime, State, Topic,
};
use tributary_store::blobs::Blobs;
use tributary_store::event_log::Record;
use tributary_store::event_log::embedded::EmbeddedEventLog;
use tributary_store::event_log::stage::Output;
use tributary_store::event_log::topics::Topics;
use tributary_store::manifest;
use tributary_store::search_index::embedded::EmbeddedIndex;
use tributary_store::search_index::{IndexSettings, Operation, SearchIndex};

use crate::harness::{Server, Workspace, number, text, wait_for};

const DEFAULT_CHUNKS: u64 = 2_000;
const CHUNKS_PER_DOCUMENT: u64 = 100;
const STARTS: usize = 5;
/// What is promised of a machine that does nothing else.
const LIMIT: Duration = Duration::from_secs(3);
/// Where the figure is not asked for, other tests run beside this one.
const BUSY_LIMIT: Duration = Duration::from_secs(60);

/// One section is one chunk.
fn content(document: u64) -> String {
    let sentence = |number: u64| {
        format!(
            "Cell {number} of site {document} reports a carrier of {} megahertz and drops no call. ",
            number * 5 + document
        )
    };
    let section = |number: u64| {
        format!(
            "## Part {number}\n\n{}\n\n",
            (0..3)
                .map(|line| sentence(number * 3 + line))
                .collect::<String>()
        )
    };
    format!(
        "# Site {document}\n\n{}",
        (0..CHUNKS_PER_DOCUMENT).map(section).collect::<String>()
    )
}

fn chunks(server: &Server) -> u64 {
    let (_, metrics) = server.get("/metrics");
    let sample = |line: &str| {
        line.strip_prefix("tributary_index_chunks{")?
            .rsplit_once(' ')?
            .1
            .parse()
            .ok()
    };
    metrics
        .as_str()
        .unwrap()
        .lines()
        .find_map(sample)
        .unwrap_or(0)
}

/// From the start of the process until it is ready.
fn start(workspace: &Workspace) -> (Server, Duration) {
    let started = Instant::now();
    let server = workspace.start();
    loop {
        if server
            .try_get("/health/readyz")
            .is_ok_and(|(status, _)| status == 200)
        {
            return (server, started.elapsed());
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn recovery_after_a_kill_is_quick() {
    let asked = std::env::var("TRIBUTARY_RECOVERY_CHUNKS").ok();
    let limit = if asked.is_some() { LIMIT } else { BUSY_LIMIT };
    let wanted = asked.map_or(DEFAULT_CHUNKS, |chunks| chunks.parse().unwrap());
    let workspace = Workspace::new()
        .with("telemetry.filter", "warn")
        .with("enrich.chunker.section_limit_tokens", "100")
        .with("enrich.chunker.leaf_minimum_tokens", "30")
        .with("enrich.chunker.leaf_maximum_tokens", "100");
    let (mut server, _) = start(&workspace);
    let filling = Instant::now();
    let mut document = 0;
    while chunks(&server) < wanted {
        for _ in 0..20 {
            server.publish(&json!({"source": "recovery", "source_path": format!("{document}.md"), "content": content(document)}));
            document += 1;
        }
        // Not far ahead of the stages: the deadline of a request is for one that works.
        let many = Instant::now() + Duration::from_secs(600);
        while document * CHUNKS_PER_DOCUMENT > chunks(&server) + 20_000 && chunks(&server) < wanted
        {
            assert!(Instant::now() < many, "the stages do not keep up");
            std::thread::sleep(Duration::from_millis(100));
        }
        if document * CHUNKS_PER_DOCUMENT >= wanted * 2 {
            std::thread::sleep(Duration::from_millis(200));
        }
    }
    let (found, filled) = (chunks(&server), filling.elapsed());
    let mut times = Vec::new();
    for round in 0..STARTS as u64 {
        // Something is always in progress.
        (0..3).for_each(|number| {
            let path = format!("{round}-{number}.md");
            server.publish(&json!({"source": "late", "source_path": path, "content": content(1_000_000 + round * 10 + number)}));
        });
        server.kill();
        let (started, took) = start(&workspace);
        times.push(took);
        server = started;
    }
    times.sort_unstable();
    let load = std::fs::read_to_string("/proc/loadavg")
        .ok()
        .unwrap_or_default();
    eprintln!(
        "{found} chunks of {document} documents in {:.0} s; ready {:?} after a kill, median {:?}; load {}",
        filled.as_secs_f64(),
        times,
        times[STARTS / 2],
        load.trim()
    );
    assert!(found >= wanted);
    assert!(times[STARTS / 2] <= limit, "{times:?}");
    let proof = wait_for("the rest to be done", || {
        let (_, proof) = server.post("/v1/documents/reconcile", &json!({}));
        (number(&proof, "/in_flight") == 0 && number(&proof, "/waiting_records") == 0)
            .then_some(proof)
    });
    assert_eq!(proof.get("ok"), Some(&json!(true)), "{proof}");
    if let Some(folder) = std::env::var_os("TRIBUTARY_RECOVERY_SIZES") {
        let listed = std::process::Command::new("du")
            .arg("-sb")
            .args(["log", "index", "blobs"].map(|part| workspace.data().join(part)))
            .output()
            .unwrap();
        let memory = server.peak_memory_bytes();
        std::fs::write(
            folder,
            format!(
                "{}peak memory {memory:?}\n",
                String::from_utf8_lossy(&listed.stdout)
            ),
        )
        .unwrap();
    }
}

/// A data folder with so many documents of one chunk as the pipeline would leave it, without the
/// hours that the pipeline takes.
fn fill(workspace: &Workspace, documents: u64) {
    let default: toml::Value = toml::from_str(include_str!("../../default.toml")).unwrap();
    let section = |name: &str| default["store"][name]["embedded"].clone();
    let data = workspace.data();
    let log = EmbeddedEventLog::open(&data.join("log"), section("event_log").try_into().unwrap())
        .unwrap();
    let index = EmbeddedIndex::open(
        &data.join("index"),
        section("search_index").try_into().unwrap(),
    )
    .unwrap();
    let topics = Topics::new(
        Arc::new(log),
        "tributary".into(),
        Blobs::local(&data.join("blobs")).unwrap(),
        1 << 20,
    );
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let generation = index.status().await.unwrap().remove(0);
        for first in (0..documents).step_by(5_000) {
            let range = first..(first + 5_000).min(documents);
            let headers: Vec<DocumentHeader> = range
                .map(|number| header(number, &generation.settings))
                .collect();
            let reports = headers.iter().flat_map(reports).collect();
            topics
                .append(Topic::DocumentsStates, reports)
                .await
                .unwrap();
            let operations = headers
                .into_iter()
                .map(|document| replace(document, &generation.settings))
                .collect();
            index.write(&generation.name, operations).await.unwrap();
        }
        index.flush(&generation.name).await.unwrap();
    });
}

fn header(number: u64, settings: &IndexSettings) -> DocumentHeader {
    let at_ms = 1_790_000_000_000 + number as i64;
    let stages = ["ingest", "chunk", "embed", "index"];
    let source_path = format!("folder {}/document {number}.md", number % 1000);
    DocumentHeader {
        document_id: derive_document_id("recovery", &source_path),
        version: at_ms as u64,
        source: "recovery".into(),
        title: format!("Document {number} of the recovery"),
        fingerprint: format!("{number:032x}"),
        lineage: Lineage {
            converter: "markdown/1".into(),
            coarse_model: settings.coarse_model.clone(),
            ..Lineage::default()
        },
        timeline: stages
            .iter()
            .map(|stage| StageTime {
                stage: (*stage).into(),
                at_ms,
            })
            .collect(),
        source_path,
        ..DocumentHeader::default()
    }
}

/// The reports of all stages.
fn reports(document: &DocumentHeader) -> Vec<Record> {
    let states = [
        State::Accepted,
        State::Chunking,
        State::Embedding,
        State::Indexing,
        State::Indexed,
    ];
    states
        .into_iter()
        .map(|state| {
            Output::report(&manifest::report(document, state, document.version as i64))
                .unwrap()
                .record
        })
        .collect()
}

fn replace(document: DocumentHeader, settings: &IndexSettings) -> Operation {
    let seed = document.version;
    let text = format!(
        "{} has {} words and reports {} carriers. ",
        document.title,
        seed % 997,
        seed % 31
    )
    .repeat(10);
    let chunk = Chunk {
        chunk_id: ChunkId(u128::from(seed)),
        kind: ChunkKind::Leaf,
        ordinal: 0,
        section_path: vec![document.title.clone()],
        tokens: 120,
        security_level: None,
        analyzed: text.to_lowercase(),
        text,
        parent_id: None,
        child_ids: Vec::new(),
        pages: Vec::new(),
        is_continuation: false,
        api: None,
        code: None,
        language: None,
        parent_summary: None,
        images: Vec::new(),
    };
    let unit = |dimensions: usize| {
        let mut vector = vec![0.0; dimensions];
        vector[seed as usize % dimensions] = 1.0;
        vector
    };
    let fine = if settings.shared_vectors {
        Vec::new()
    } else {
        unit(settings.fine_dimensions)
    };
    let vectors = vec![ChunkVectors {
        coarse: unit(settings.coarse_dimensions),
        fine,
        ..ChunkVectors::default()
    }];
    Operation::Replace {
        document: Box::new(document),
        chunks: vec![chunk],
        vectors,
    }
}

/// `TRIBUTARY_RECOVERY_DOCUMENTS=1000000 cargo test --release -p tributary-cli --test end_to_end --
/// many_documents --nocapture` is the figure of many small documents.
#[test]
fn many_documents_begin_from_a_checkpoint() {
    let documents = std::env::var("TRIBUTARY_RECOVERY_DOCUMENTS")
        .map_or(4_000, |documents| documents.parse().unwrap());
    let workspace = Workspace::new().with("telemetry.filter", "warn");
    workspace.start().stop();
    fill(&workspace, documents);
    let checkpoint = workspace.data().join("manifest/documents.table");
    let (server, replayed) = start(&workspace);
    let before = server.peak_memory_bytes();
    server.stop();
    assert!(checkpoint.is_file());
    let (mut server, _) = start(&workspace);
    let mut times = Vec::new();
    let mut peak = None;
    for _ in 0..STARTS {
        server.kill();
        let (started, took) = start(&workspace);
        times.push(took);
        peak = started.peak_memory_bytes();
        server = started;
    }
    times.sort_unstable();
    eprintln!(
        "{documents} documents: ready after {replayed:?} with {before:?} bytes by all reports, {times:?} with {peak:?} from a checkpoint"
    );
    let (_, listed) = server.get("/v1/documents?limit=1");
    assert_eq!(text(&listed, "/documents/0/state"), "indexed");
    let metrics = server.get("/metrics").1;
    assert!(
        metrics
            .as_str()
            .unwrap()
            .contains(&format!("tributary_documents_accepted {documents}"))
    );
}
