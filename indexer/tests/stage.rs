//! The stage as a worker calls it, over the real embedded index.
#![allow(clippy::unwrap_used)]

mod common;

use std::sync::Arc;

use common::{G, stores};
use tributary_indexer::IndexStage;
use tributary_schemas::{Chunk, ChunkId, ChunkKind, ChunkVectors, DocumentHeader, Edition, EmbeddedDocument, event};
use tributary_store::event_log::stage::Stage;
use tributary_store::event_log::{Position, StoredRecord, message};
use tributary_store::generations::Generations;

/// A document of one chunk, the edition `version` of one work, as it is read from the log.
fn record(offset: u64, id: &str, version: &str) -> StoredRecord {
    let edition = Edition::new("design", &["work"], version);
    let document = DocumentHeader { document_id: id.into(), version: 1, title: id.into(), edition, ..DocumentHeader::default() };
    let chunk = Chunk {
        chunk_id: ChunkId::derive(id, "leaf", &[], id, 0),
        kind: ChunkKind::Leaf,
        ordinal: 0,
        section_path: Vec::new(),
        text: id.into(),
        tokens: 2,
        parent_id: None,
        child_ids: Vec::new(),
        pages: Vec::new(),
        is_continuation: false,
        parent_summary: None,
        images: Vec::new(),
        analyzed: id.into(),
    };
    let vectors = vec![ChunkVectors { coarse: vec![1.0, 0.0], fine: Vec::new() }];
    let embedded = EmbeddedDocument { document, chunks: vec![chunk], vectors };
    let record = message::encode(event::TYPE_CHUNKS_EMBEDDED, id, 1, &embedded, 7).unwrap();
    StoredRecord { position: at(offset), record }
}

fn at(offset: u64) -> Position {
    Position { partition: 0, offset }
}

#[tokio::test]
async fn a_record_is_put_in_order_with_its_own_flush_and_not_with_one_before() {
    let folder = tempfile::tempdir().unwrap();
    let (index, blobs) = stores(folder.path()).await;
    let generations = Arc::new(Generations::open(Arc::clone(&index)).await.unwrap());
    let stage = IndexStage::new(Arc::clone(&index), generations, blobs, Arc::new(|| 7));
    stage.process(&record(0, "new", "2")).await.unwrap();
    stage.flush().await.unwrap();
    // While the first batch is between its flush and its end, the next record is processed.
    stage.process(&record(1, "old", "1")).await.unwrap();
    assert_eq!(stage.settle(&[at(0)]).await.unwrap(), []);
    stage.over(&[at(0)]);
    stage.flush().await.unwrap();
    assert_eq!(index.list_chunks(Some(G)).await.unwrap().len(), 2, "both can be found until then");
    assert_eq!(stage.settle(&[at(1)]).await.unwrap().len(), 1);
    stage.over(&[at(1)]);
    let left: Vec<String> = index.list_chunks(Some(G)).await.unwrap().into_iter().map(|(_, document_id)| document_id).collect();
    assert_eq!(left, ["new"]);
}

#[tokio::test]
async fn a_record_that_was_taken_away_and_came_back_is_put_in_order_all_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let (index, blobs) = stores(folder.path()).await;
    let generations = Arc::new(Generations::open(Arc::clone(&index)).await.unwrap());
    let stage = IndexStage::new(Arc::clone(&index), generations, blobs, Arc::new(|| 7));
    for offset in [0, 1, 1] {
        stage.process(&record(offset, ["new", "old"][offset as usize], ["2", "1"][offset as usize])).await.unwrap();
    }
    // The end of the attempt whose partition was taken away meanwhile.
    stage.over(&[at(1)]);
    stage.flush().await.unwrap();
    stage.settle(&[at(0), at(1)]).await.unwrap();
    assert_eq!(index.list_chunks(Some(G)).await.unwrap().len(), 1);
}
