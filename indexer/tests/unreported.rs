//! Documents of which no record that is left would report: another generation's would have, or it
//! is gone.
#![allow(clippy::unwrap_used)]

mod common;

use std::sync::Arc;

use common::{G, embedded, stores};
use tributary_indexer::Unfinished;
use tributary_indexer::reindex::report_found;
use tributary_schemas::{DocumentHeader, State, Topic, event};
use tributary_store::event_log::embedded::{Config, EmbeddedEventLog};
use tributary_store::event_log::message;
use tributary_store::event_log::stage::Output;
use tributary_store::event_log::topics::Topics;
use tributary_store::manifest;
use tributary_store::manifest::table::DocumentTable;
use tributary_store::search_index::{Operation, SharedSearchIndex};

#[tokio::test]
async fn what_the_serving_generation_has_is_reported_though_its_own_record_is_gone() {
    let folder = tempfile::tempdir().unwrap();
    let (index, blobs) = stores(folder.path()).await;
    let log = EmbeddedEventLog::open(&folder.path().join("log"), log_config()).unwrap();
    let topics = Topics::new(Arc::new(log), "t".into(), blobs, 1 << 20);
    topics.create(1, None, None).await.unwrap();
    let table = DocumentTable::open(&topics).await.unwrap();
    for (id, state) in [
        ("under-way", State::Chunking),
        ("given-up", State::Dead),
        ("older", State::Accepted),
        ("absent", State::Chunking),
    ] {
        report(&topics, id, 2, state).await;
    }
    write(&index, "under-way", 2).await;
    write(&index, "given-up", 2).await;
    write(&index, "older", 1).await;
    index.flush(G).await.unwrap();

    report_found(&topics, &table, &index, G, 9).await.unwrap();

    table.catch_up(&topics).await.unwrap();
    let state = |id: &str| table.get(id).unwrap().latest.state;
    assert_eq!(state("under-way"), State::Indexed);
    assert_eq!(state("given-up"), State::Indexed);
    assert_eq!(state("older"), State::Accepted);
    assert_eq!(state("absent"), State::Chunking);
    assert_eq!(table.get("under-way").unwrap().indexed.unwrap().chunks, 1);
}

#[tokio::test]
async fn documents_whose_work_is_gone_end() {
    let folder = tempfile::tempdir().unwrap();
    let (index, blobs) = stores(folder.path()).await;
    let log = EmbeddedEventLog::open(&folder.path().join("log"), log_config()).unwrap();
    let topics = Topics::new(Arc::new(log), "t".into(), blobs, 1 << 20);
    topics.create(1, None, None).await.unwrap();
    let table = Arc::new(DocumentTable::open(&topics).await.unwrap());
    let mut unfinished = Unfinished::new(
        topics.clone(),
        Arc::clone(&table),
        Arc::clone(&index),
        Arc::new(|| 9),
    );
    assert_eq!(unfinished.look().await.unwrap(), 0);
    for (id, version, state) in [
        ("found", 2, State::Indexing),
        ("older", 1, State::Indexed),
        ("older", 2, State::Accepted),
        ("absent", 2, State::Chunking),
        ("known", 1, State::Dead),
    ] {
        report(&topics, id, version, state).await;
    }
    write(&index, "found", 2).await;
    write(&index, "older", 1).await;
    index.flush(G).await.unwrap();
    table.catch_up(&topics).await.unwrap();
    // Seen once, a stage may be about to report.
    assert_eq!(unfinished.look().await.unwrap(), 0);
    report(&topics, "later", 1, State::Accepted).await;
    assert_eq!(unfinished.look().await.unwrap(), 3);

    let row = |id: &str| table.get(id).unwrap();
    assert_eq!(row("found").latest.state, State::Indexed);
    assert_eq!(row("found").indexed.unwrap().chunks, 1);
    for id in ["older", "absent"] {
        let latest = row(id).latest;
        assert_eq!(
            (latest.state, latest.version, latest.at_ms),
            (State::Dead, 2, 9)
        );
        let reason = latest.reason.unwrap();
        assert!(reason.contains("no longer in the log"), "{reason}");
    }
    // What was found before is found on.
    assert_eq!(row("older").indexed.unwrap().version, 1);
    assert!(row("absent").indexed.is_none());
    assert_eq!(row("known").latest.reason, None);

    // Something is left to be read: `later` may be in it.
    let unread = message::tombstone(event::TYPE_DOCUMENT_PUBLISHED, "later", 1, 7);
    topics
        .append(Topic::DocumentsRaw, vec![unread])
        .await
        .unwrap();
    for _ in 0..3 {
        assert_eq!(unfinished.look().await.unwrap(), 0);
    }
    assert_eq!(row("later").latest.state, State::Accepted);
}

fn log_config() -> Config {
    Config {
        segment_bytes: 1 << 20,
        max_record_bytes: 1 << 20,
        linger_ms: 0,
        queue_bytes: 1 << 20,
        maintenance_interval_seconds: 0,
        compaction_dirty_ratio: 0.5,
        tombstone_retention_seconds: 86_400,
    }
}

fn header(id: &str, version: u64) -> DocumentHeader {
    DocumentHeader {
        document_id: id.into(),
        version,
        ..DocumentHeader::default()
    }
}

async fn report(topics: &Topics, id: &str, version: u64, state: State) {
    let state = manifest::report(&header(id, version), state, 7);
    let record = Output::report(&state).unwrap().record;
    topics
        .append(Topic::DocumentsStates, vec![record])
        .await
        .unwrap();
}

async fn write(index: &SharedSearchIndex, id: &str, version: u64) {
    let embedded = embedded(header(id, version), &[id.to_owned()]);
    let operation = Operation::Replace {
        document: Box::new(embedded.document),
        chunks: embedded.chunks,
        vectors: embedded.vectors,
    };
    index.write(G, vec![operation]).await.unwrap();
}
