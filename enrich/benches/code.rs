//! Speed of the chunker for source code in CPU time, and what it makes of a folder of sources:
//! `cargo bench --bench code -- FOLDER...`. `--list` prints every definition instead: file, what it
//! is, first line, last line, name, signature, separated by tabs.
#![allow(clippy::print_stdout, clippy::unwrap_used)]

mod support;

use std::path::Path;

use support::{collect, config, cpu_time};
use tributary_enrich::chunkers::{Strategy, chunk};
use tributary_models::tokens::estimate::EstimatedTokens;
use tributary_schemas::{ChunkKind, CleanDocument, DocumentHeader};

const LEAST_BYTES: usize = 20 << 20;
const EXTENSIONS: [&str; 14] = [
    "c", "h", "cc", "cpp", "hpp", "go", "java", "js", "jsx", "py", "rs", "ts", "tsx", "mjs",
];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let folders = arguments.iter().filter(|one| !one.starts_with("--"));
    let mut files = Vec::new();
    for folder in folders {
        collect(Path::new(folder), &EXTENSIONS, &mut files);
    }
    files.sort();
    if files.is_empty() {
        println!("SKIPPED: name a folder with source code");
        return;
    }
    let documents: Vec<CleanDocument> = files.iter().map(|file| document(file)).collect();
    match arguments.iter().any(|one| one == "--list") {
        true => documents.iter().for_each(list),
        false => measure(&documents),
    }
}

fn measure(documents: &[CleanDocument]) {
    let bytes: usize = documents.iter().map(|clean| clean.markdown.len()).sum();
    let repeats = LEAST_BYTES.div_ceil(bytes);
    println!(
        "{} files, {bytes} bytes, cut {repeats} times",
        documents.len()
    );
    for _ in 0..3 {
        let begun = cpu_time();
        let mut chunks = 0;
        for _ in 0..repeats {
            chunks = documents.iter().map(|clean| cut(clean).len()).sum();
        }
        let seconds = cpu_time() - begun;
        let megabytes = (bytes * repeats) as f64 / 1e6;
        println!("{chunks} chunks, {:.1} MB/s a core", megabytes / seconds);
    }
    let slowest = documents.iter().map(|clean| {
        let begun = cpu_time();
        cut(clean);
        (cpu_time() - begun, clean)
    });
    let slowest = slowest.max_by(|one, other| one.0.total_cmp(&other.0));
    if let Some((seconds, clean)) = slowest {
        let path = &clean.document.source_path;
        println!(
            "slowest: {path}, {} bytes, {seconds:.3} s",
            clean.markdown.len()
        );
    }
}

fn cut(clean: &CleanDocument) -> Vec<tributary_schemas::Chunk> {
    chunk(clean, Strategy::Code, &config(), &EstimatedTokens)
}

fn list(clean: &CleanDocument) {
    for chunk in cut(clean) {
        let path = &clean.document.source_path;
        let Some(code) = chunk.code.filter(|_| chunk.kind == ChunkKind::CodeFunction) else {
            continue;
        };
        let (first, last) = (code.start_line, code.end_line);
        let (what, name, signature) = (code.definition, code.name, code.signature);
        println!("{path}\t{what:?}\t{first}\t{last}\t{name}\t{signature}");
    }
}

/// The file as convert hands it on.
fn document(file: &Path) -> CleanDocument {
    let bytes = std::fs::read(file).unwrap();
    let text = String::from_utf8_lossy(&bytes).replace("\r\n", "\n");
    let language = file.extension().unwrap().to_string_lossy().into_owned();
    let path = file.display().to_string();
    let document = DocumentHeader {
        document_id: path.clone(),
        source_path: path,
        ..DocumentHeader::default()
    };
    CleanDocument {
        document,
        markdown: format!("````````{language}\n{text}\n````````\n"),
        ..CleanDocument::default()
    }
}
