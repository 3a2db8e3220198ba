//! What the tests of the indexer begin with.

use std::path::Path;
use std::sync::Arc;

use tributary_store::blobs::Blobs;
use tributary_store::search_index::embedded::{Config, EmbeddedIndex};
use tributary_store::search_index::{IndexSettings, SharedSearchIndex};

/// The generation of the tests.
pub const G: &str = "g1";

/// An empty embedded index, whose generation [`G`] serves, and blobs beside it.
pub async fn stores(folder: &Path) -> (SharedSearchIndex, Blobs) {
    let config = Config { writer_memory_mib: 16, pending_memory_mib: 16, search_threads: 1, prefilter_from_chunks: 1_000_000 };
    let index: SharedSearchIndex = Arc::new(EmbeddedIndex::open(&folder.join("index"), config).unwrap());
    let settings = IndexSettings {
        coarse_dimensions: 2,
        fine_dimensions: 2,
        shared_vectors: true,
        coarse_model: "m".into(),
        fine_model: "m".into(),
        analyzer: "a".into(),
        origin: String::new(),
    };
    index.create(G, &settings).await.unwrap();
    index.promote(G).await.unwrap();
    (index, Blobs::local(&folder.join("blobs")).unwrap())
}
