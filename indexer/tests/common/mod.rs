//! What the tests of the indexer begin with.

use std::path::Path;
use std::sync::Arc;

use tributary_schemas::{
    Chunk, ChunkId, ChunkKind, ChunkVectors, DocumentHeader, EmbeddedDocument,
};
use tributary_store::blobs::Blobs;
use tributary_store::search_index::embedded::{Config, EmbeddedIndex};
use tributary_store::search_index::{Bm25, IndexSettings, SharedSearchIndex};

/// The generation of the tests.
pub const G: &str = "g1";

/// An empty embedded index, whose generation [`G`] serves, and blobs beside it.
pub async fn stores(folder: &Path) -> (SharedSearchIndex, Blobs) {
    let config = Config {
        writer_memory_mib: 16,
        pending_memory_mib: 16,
        search_threads: 1,
        prefilter_from_chunks: 1_000_000,
    };
    let index: SharedSearchIndex =
        Arc::new(EmbeddedIndex::open(&folder.join("index"), config).unwrap());
    index.create(G, &settings()).await.unwrap();
    index.promote(G).await.unwrap();
    (index, Blobs::local(&folder.join("blobs")).unwrap())
}

/// Of every generation.
pub fn settings() -> IndexSettings {
    IndexSettings {
        coarse_dimensions: 2,
        fine_dimensions: 2,
        shared_vectors: true,
        windows: false,
        coarse_model: "m".into(),
        fine_model: "m".into(),
        analyzer: "a".into(),
        bm25: Bm25::DEFAULT,
        origin: String::new(),
    }
}

/// A document with a leaf for each text.
pub fn embedded(document: DocumentHeader, texts: &[String]) -> EmbeddedDocument {
    let chunk = |(place, text): (usize, &String)| Chunk {
        chunk_id: ChunkId::derive(&document.document_id, "leaf", &[], text, 0),
        kind: ChunkKind::Leaf,
        ordinal: place as u32,
        section_path: Vec::new(),
        text: text.clone(),
        tokens: 2,
        parent_id: None,
        child_ids: Vec::new(),
        pages: Vec::new(),
        is_continuation: false,
        api: None,
        code: None,
        language: None,
        parent_summary: None,
        images: Vec::new(),
        security_level: None,
        analyzed: text.clone(),
    };
    let chunks = texts.iter().enumerate().map(chunk).collect();
    let vectors = vec![
        ChunkVectors {
            coarse: vec![1.0, 0.0],
            ..ChunkVectors::default()
        };
        texts.len()
    ];
    EmbeddedDocument {
        document,
        chunks,
        vectors,
    }
}
