//! Text in, text out: every `golden/*.md` is cut with small limits and compared with its
//! `*.chunks.json`. `UPDATE_GOLDEN=1 cargo test -p tributary-enrich --test golden` writes them
//! anew; read the difference before committing it.
#![allow(clippy::unwrap_used)]

mod support;

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use support::{Counter, config, document};
use tributary_enrich::ChunkerConfig;
use tributary_enrich::chunkers::{Strategy, chunk};
use tributary_enrich::embed_stage::embedding_text;
use tributary_schemas::{Chunk, ChunkId, ImageLink};

/// A hundredth of the real work shows every rule.
fn small() -> ChunkerConfig {
    ChunkerConfig {
        section_limit_tokens: 120,
        leaf_minimum_tokens: 40,
        leaf_maximum_tokens: 80,
        summary_limit_tokens: 40,
        ..config()
    }
}

fn cut(file: &Path) -> Value {
    let mut clean = document(&std::fs::read_to_string(file).unwrap());
    clean.page_starts = vec![0, clean.markdown.len() as u64 / 2];
    clean.images = vec![ImageLink {
        link: "https://example.com/figure.png".into(),
        alt: "figure".into(),
    }];
    let chunks = chunk(&clean, Strategy::Sections, &small(), &Counter);
    let ordinal = |id: ChunkId| {
        chunks
            .iter()
            .find(|chunk| chunk.chunk_id == id)
            .map(|chunk| chunk.ordinal)
    };
    let shown = |chunk: &Chunk| {
        json!({
            "kind": chunk.kind,
            "section_path": chunk.section_path,
            "tokens": chunk.tokens,
            "is_continuation": chunk.is_continuation,
            "pages": chunk.pages,
            "images": chunk.images,
            "parent": chunk.parent_id.and_then(ordinal),
            "children": chunk.child_ids.iter().map(|id| ordinal(*id)).collect::<Vec<_>>(),
            "text": chunk.text.lines().collect::<Vec<_>>(),
            "embedded": embedding_text(&clean.document, chunk, true).joined().lines().collect::<Vec<_>>(),
        })
    };
    Value::Array(chunks.iter().map(shown).collect())
}

#[test]
fn chunks_are_as_written_down() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut files: Vec<PathBuf> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "md"));
    files.sort();
    assert!(files.len() >= 4);
    for file in files {
        let golden = file.with_extension("chunks.json");
        let found = cut(&file);
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            std::fs::write(
                &golden,
                serde_json::to_string_pretty(&found).unwrap() + "\n",
            )
            .unwrap();
        }
        let expected: Value =
            serde_json::from_str(&std::fs::read_to_string(&golden).unwrap()).unwrap();
        assert!(
            found == expected,
            "{} differs:\n{}",
            golden.display(),
            serde_json::to_string_pretty(&found).unwrap()
        );
    }
}
