//! The stage as a worker calls it, over the real embedded index.
#![allow(clippy::unwrap_used)]

mod common;

use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use common::{G, embedded, settings, stores};
use tributary_indexer::IndexStage;
use tributary_schemas::{DocumentHeader, DocumentState, Edition, State, event};
use tributary_store::event_log::stage::Stage;
use tributary_store::event_log::{Position, Record, StoredRecord, message};
use tributary_store::generations::Generations;
use tributary_store::search_index::SharedSearchIndex;

/// Version 1 of a document of one chunk as it is read from the log, for a generation, or for the
/// one that serves; with an edition, that of one work.
fn record(offset: u64, id: &str, edition: &str, generation: Option<&str>) -> StoredRecord {
    let edition = Edition::new("design", &["work"], edition);
    let header = DocumentHeader {
        document_id: id.into(),
        version: 1,
        title: id.into(),
        edition,
        ..DocumentHeader::default()
    };
    let record = message::encode(
        event::TYPE_CHUNKS_EMBEDDED,
        id,
        1,
        &embedded(header, &[id.to_owned()]),
        7,
    )
    .unwrap();
    StoredRecord {
        position: at(offset),
        record: meant_for(record, generation),
    }
}

fn deletion(offset: u64, id: &str, generation: Option<&str>) -> StoredRecord {
    let record = message::tombstone(event::TYPE_CHUNKS_EMBEDDED, id, 2, 7);
    StoredRecord {
        position: at(offset),
        record: meant_for(record, generation),
    }
}

fn meant_for(mut record: Record, generation: Option<&str>) -> Record {
    record.headers.extend(generation.map(|name| {
        (
            event::GENERATION.to_owned(),
            Bytes::copy_from_slice(name.as_bytes()),
        )
    }));
    record
}

fn at(offset: u64) -> Position {
    Position {
        partition: 0,
        offset,
    }
}

#[tokio::test]
async fn a_record_is_put_in_order_with_its_own_flush_and_not_with_one_before() {
    let folder = tempfile::tempdir().unwrap();
    let (index, blobs) = stores(folder.path()).await;
    let generations = Arc::new(Generations::open(Arc::clone(&index)).await.unwrap());
    let stage = IndexStage::new(Arc::clone(&index), generations, blobs, Arc::new(|| 7));
    stage.process(&record(0, "new", "2", None)).await.unwrap();
    stage.flush().await.unwrap();
    // While the first batch is between its flush and its end, the next record is processed.
    stage.process(&record(1, "old", "1", None)).await.unwrap();
    assert_eq!(stage.settle(&[at(0)]).await.unwrap(), []);
    stage.over(&[at(0)]);
    stage.flush().await.unwrap();
    assert_eq!(
        index.list_chunks(Some(G)).await.unwrap().len(),
        2,
        "both can be found until then"
    );
    assert_eq!(stage.settle(&[at(1)]).await.unwrap().len(), 1);
    stage.over(&[at(1)]);
    let left: Vec<String> = index
        .list_chunks(Some(G))
        .await
        .unwrap()
        .into_iter()
        .map(|(_, document_id)| document_id)
        .collect();
    assert_eq!(left, ["new"]);
}

#[tokio::test]
async fn a_record_that_was_taken_away_and_came_back_is_put_in_order_all_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let (index, blobs) = stores(folder.path()).await;
    let generations = Arc::new(Generations::open(Arc::clone(&index)).await.unwrap());
    let stage = IndexStage::new(Arc::clone(&index), generations, blobs, Arc::new(|| 7));
    for offset in [0, 1, 1] {
        let (id, edition) = [("new", "2"), ("old", "1")][offset as usize];
        stage
            .process(&record(offset, id, edition, None))
            .await
            .unwrap();
    }
    // The end of the attempt whose partition was taken away meanwhile.
    stage.over(&[at(1)]);
    stage.flush().await.unwrap();
    stage.settle(&[at(0), at(1)]).await.unwrap();
    assert_eq!(index.list_chunks(Some(G)).await.unwrap().len(), 1);
}

/// A generation beside the serving one, and a stage that writes to both.
async fn two_generations(folder: &Path) -> (SharedSearchIndex, Arc<Generations>, IndexStage) {
    let (index, blobs) = stores(folder).await;
    index.create("g2", &settings()).await.unwrap();
    let generations = Arc::new(Generations::open(Arc::clone(&index)).await.unwrap());
    let stage = IndexStage::new(
        Arc::clone(&index),
        Arc::clone(&generations),
        blobs,
        Arc::new(|| 7),
    );
    (index, generations, stage)
}

/// What the stage says of a record by the end of its own flush.
async fn reports(stage: &IndexStage, record: &StoredRecord) -> Vec<State> {
    let mut outputs = stage.process(record).await.unwrap();
    stage.flush().await.unwrap();
    outputs.extend(stage.settle(&[record.position]).await.unwrap());
    stage.over(&[record.position]);
    outputs
        .iter()
        .map(|output| {
            message::decode::<DocumentState>(&output.record)
                .unwrap()
                .unwrap()
                .state
        })
        .collect()
}

#[tokio::test]
async fn what_queries_do_not_find_yet_is_reported_by_the_record_that_brings_it() {
    let folder = tempfile::tempdir().unwrap();
    let (_, _, stage) = two_generations(folder.path()).await;
    assert_eq!(
        reports(&stage, &record(0, "a", "", Some("g2"))).await,
        [],
        "queries go to g1"
    );
    assert_eq!(
        reports(&stage, &record(1, "a", "", Some(G))).await,
        [State::Indexed]
    );
    // The other way round it is true already.
    assert_eq!(
        reports(&stage, &record(2, "b", "", Some(G))).await,
        [State::Indexed]
    );
    assert_eq!(
        reports(&stage, &record(3, "b", "", Some("g2"))).await,
        [State::Indexed]
    );
    assert_eq!(reports(&stage, &deletion(4, "a", Some("g2"))).await, []);
    assert_eq!(
        reports(&stage, &deletion(5, "a", Some(G))).await,
        [State::Deleted]
    );
}

#[tokio::test]
async fn a_document_is_reported_although_another_generation_was_promoted_and_its_own_dropped_in_between()
 {
    for is_dropped in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let (index, generations, stage) = two_generations(folder.path()).await;
        assert_eq!(reports(&stage, &record(0, "a", "", Some("g2"))).await, []);
        assert_eq!(reports(&stage, &deletion(1, "b", Some("g2"))).await, []);
        index.promote("g2").await.unwrap();
        if is_dropped {
            index.drop_generation(G).await.unwrap();
        }
        generations.refresh().await.unwrap();
        assert_eq!(
            reports(&stage, &record(2, "a", "", Some(G))).await,
            [State::Indexed],
            "dropped: {is_dropped}"
        );
        assert_eq!(
            reports(&stage, &deletion(3, "b", Some(G))).await,
            [State::Deleted],
            "dropped: {is_dropped}"
        );
        // What the new one lacks as yet comes with its own record.
        assert_eq!(
            reports(&stage, &record(4, "c", "", Some(G))).await,
            [],
            "dropped: {is_dropped}"
        );
        assert_eq!(
            reports(&stage, &record(5, "c", "", Some("g2"))).await,
            [State::Indexed],
            "dropped: {is_dropped}"
        );
    }
}
#[tokio::test]
async fn a_generation_that_goes_away_meanwhile_is_no_fault_of_its_records() {
    let folder = tempfile::tempdir().unwrap();
    let (index, generations, stage) = two_generations(folder.path()).await;
    index.drop_generation("g2").await.unwrap();
    for input in [record(0, "a", "", Some("g2")), deletion(1, "b", Some("g2"))] {
        let error = stage.process(&input).await.unwrap_err();
        assert!(error.is_held(), "{error:?}");
    }
    generations.refresh().await.unwrap();
    for input in [record(0, "a", "", Some("g2")), deletion(1, "b", Some("g2"))] {
        assert_eq!(stage.process(&input).await.unwrap(), []);
    }
}
