//! The embedded index: the conformance suite, and what only files can go through: crashes, damage, full disks, compaction, recall.

#![allow(clippy::unwrap_used)]

use std::path::Path;

use tributary_store::search_index::conformance;
use tributary_store::search_index::embedded::{Config, EmbeddedIndex};

fn config() -> Config {
    Config { writer_memory_mib: 16, pending_memory_mib: 64, search_threads: 1, prefilter_from_chunks: 200_000 }
}

fn open(folder: &Path) -> EmbeddedIndex {
    EmbeddedIndex::open(folder, config()).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_keeps_every_promise() {
    let folder = tempfile::tempdir().unwrap();
    conformance::all(&open(folder.path())).await;
    let _reopened = open(folder.path());
}
