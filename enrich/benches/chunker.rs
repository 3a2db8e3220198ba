//! Speed of the chunker in CPU time, and what it makes of real documents: `cargo bench -p
//! tributary-enrich --bench chunker`.
#![allow(clippy::print_stdout, clippy::unwrap_used)]

mod support;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use support::{collect, config, cpu_time};
use tributary_enrich::ChunkerConfig;
use tributary_enrich::chunkers::{Strategy, chunk};
use tributary_enrich::markdown::Outline;
use tributary_models::TokenCounter;
use tributary_models::tokens::estimate::EstimatedTokens;
use tributary_schemas::{ChunkKind, CleanDocument, DocumentHeader};

const CORPUS_BYTES: usize = 20 << 20;

fn main() {
    let shared = std::env::var_os("TRIBUTARY_SHARED").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared"),
        PathBuf::from,
    );
    let mut files = Vec::new();
    for folder in ["data/wireless-docs", "data/mindspore"] {
        collect(&shared.join(folder), &["md"], &mut files);
    }
    files.sort();
    if files.is_empty() {
        println!("SKIPPED: no Markdown below {}", shared.display());
        return;
    }
    let documents: Vec<CleanDocument> = files.iter().map(|file| document(file)).collect();
    let bytes: usize = documents.iter().map(|clean| clean.markdown.len()).sum();
    println!(
        "{} documents, {} bytes, cut {} times",
        documents.len(),
        bytes,
        CORPUS_BYTES.div_ceil(bytes)
    );
    let repeats = CORPUS_BYTES.div_ceil(bytes);
    let config = config();
    for _ in 0..3 {
        let parse = cpu_seconds(|| {
            (0..repeats)
                .map(|_| {
                    documents
                        .iter()
                        .map(|clean| Outline::parse(&clean.markdown).blocks.len())
                        .sum::<usize>()
                })
                .sum()
        });
        let cut = cpu_seconds(|| {
            (0..repeats)
                .map(|_| cut_all(&documents, &config, &EstimatedTokens))
                .sum()
        });
        let megabytes = (bytes * repeats) as f64 / 1e6;
        println!(
            "outline {:.0} MB/s, chunker with the estimate {:.0} MB/s",
            megabytes / parse,
            megabytes / cut
        );
    }
    let mut huge = documents.first().unwrap().clone();
    huge.markdown = documents
        .iter()
        .map(|clean| clean.markdown.as_str())
        .cycle()
        .take(documents.len() * repeats)
        .collect::<Vec<_>>()
        .join("\n\n");
    let seconds = cpu_seconds(|| cut_all(std::slice::from_ref(&huge), &config, &EstimatedTokens));
    println!(
        "one document of {} bytes: {:.0} MB/s",
        huge.markdown.len(),
        huge.markdown.len() as f64 / 1e6 / seconds
    );
    report(&documents, &config);
    exact(&shared, &documents, bytes, &config);
}

/// The file without its front matter, as ingest hands it on.
fn document(file: &Path) -> CleanDocument {
    let text = std::fs::read_to_string(file).unwrap();
    let body = text
        .strip_prefix("---\n")
        .and_then(|rest| rest.split_once("\n---\n"))
        .map_or(text.as_str(), |(_, body)| body);
    let document = DocumentHeader {
        document_id: file.display().to_string(),
        title: "title".into(),
        ..DocumentHeader::default()
    };
    CleanDocument {
        document,
        markdown: body.to_owned(),
        ..CleanDocument::default()
    }
}

fn cut_all(
    documents: &[CleanDocument],
    config: &ChunkerConfig,
    tokens: &dyn TokenCounter,
) -> usize {
    documents
        .iter()
        .map(|clean| chunk(clean, Strategy::Sections, config, tokens).len())
        .sum()
}

/// CPU seconds of this thread, from the kernel's own account.
fn cpu_seconds(work: impl FnOnce() -> usize) -> f64 {
    let before = cpu_time();
    std::hint::black_box(work());
    cpu_time() - before
}

fn report(documents: &[CleanDocument], config: &ChunkerConfig) {
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    let mut histogram: BTreeMap<(&str, u32), usize> = BTreeMap::new();
    for clean in documents {
        for chunk in chunk(clean, Strategy::Sections, config, &EstimatedTokens) {
            let kind: ChunkKind = chunk.kind;
            *kinds.entry(kind.as_str()).or_default() += 1;
            let bucket = [64, 128, 256, 512, 800, 1200, 2000]
                .into_iter()
                .find(|limit| chunk.tokens <= *limit)
                .unwrap_or(u32::MAX);
            *histogram.entry((kind.as_str(), bucket)).or_default() += 1;
        }
    }
    println!("chunks by kind: {kinds:?}");
    for ((kind, bucket), chunks) in histogram {
        println!("  {kind:<13} <= {bucket:<10} {chunks}");
    }
}

fn exact(shared: &Path, documents: &[CleanDocument], bytes: usize, config: &ChunkerConfig) {
    let tokenizer = shared.join("models/multilingual-e5-small/tokenizer.json");
    let Ok(counter) = tributary_models::tokens::TextEncoder::open(&tokenizer) else {
        println!("SKIPPED: no tokenizer at {}", tokenizer.display());
        return;
    };
    let seconds = cpu_seconds(|| cut_all(documents, config, &counter));
    println!(
        "chunker with the exact counter {:.1} MB/s",
        bytes as f64 / 1e6 / seconds
    );
}
