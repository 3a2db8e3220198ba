//! Backup and restore of log, index and blobs while they are written to: the copy is one moment,
//! damage is refused, and whatever breaks off leaves what was there.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use tributary_schemas::{
    Chunk, ChunkId, ChunkKind, ChunkVectors, DocumentHeader, ErrorKind, Filter,
};
use tributary_store::backup::{Destination, MANIFEST, Manifest, Parts, Pipe, Source, restore};
use tributary_store::blobs::Blobs;
use tributary_store::conversations::embedded::EmbeddedConversations;
use tributary_store::conversations::{self, ConversationStore, NewTurn, TurnQuery};
use tributary_store::data_folder::{Access, DataFolder};
use tributary_store::event_log::embedded::{Config as LogConfig, EmbeddedEventLog};
use tributary_store::event_log::{BatchLimit, EventLog, Record, TopicSettings};
use tributary_store::search_index::embedded::{Config as IndexConfig, EmbeddedIndex};
use tributary_store::search_index::{Bm25, IndexSettings, KeywordQuery, Operation, SearchIndex};
use tributary_store::system_clock;

const TOPIC: &str = "t.events";
const GENERATION: &str = "g1";

struct Open {
    log: Arc<EmbeddedEventLog>,
    index: Arc<EmbeddedIndex>,
    blobs: Blobs,
    conversations: EmbeddedConversations,
    source: Source,
    // Last: unlocked after all else is closed.
    _folder: DataFolder,
}

async fn open(path: &Path) -> Open {
    let folder = DataFolder::open(path, Access::Alone).unwrap();
    let log_config = LogConfig {
        segment_bytes: 8192,
        max_record_bytes: 1 << 20,
        linger_ms: 0,
        queue_bytes: 1 << 24,
        maintenance_interval_seconds: 0,
        compaction_dirty_ratio: 0.5,
        tombstone_retention_seconds: 0,
    };
    let log = Arc::new(EmbeddedEventLog::open(&folder.join("log"), log_config).unwrap());
    let settings = TopicSettings {
        partitions: 2,
        compacted: true,
        retention_age: None,
        retention_bytes: None,
    };
    log.create_topic(TOPIC, settings).await.unwrap();
    log.create_topic("t.empty", settings).await.unwrap();
    let index_config = IndexConfig {
        writer_memory_mib: 16,
        pending_memory_mib: 16,
        search_threads: 1,
        prefilter_from_chunks: 100,
    };
    let index = Arc::new(EmbeddedIndex::open(&folder.join("index"), index_config).unwrap());
    let settings = IndexSettings {
        coarse_dimensions: 4,
        fine_dimensions: 4,
        shared_vectors: true,
        windows: false,
        coarse_model: "m".into(),
        fine_model: "m".into(),
        analyzer: "a".into(),
        bm25: Bm25::DEFAULT,
        origin: String::new(),
    };
    index.create(GENERATION, &settings).await.unwrap();
    index.promote(GENERATION).await.unwrap();
    let blobs = Blobs::local(&folder.join("blobs")).unwrap();
    let conversations = {
        let (place, aside) = (folder.join("conversations"), folder.join("damaged"));
        let config = conversations::Config {
            retention_days: 0,
            maximum_turns: 10,
            pending_minutes: 15,
            report_days: 7,
        };
        EmbeddedConversations::open(&place, &aside, config, system_clock()).unwrap()
    };
    let parts = Parts {
        folder: path.to_owned(),
        id: folder.id().to_owned(),
        log: Some(Arc::clone(&log)),
        index: Some(Arc::clone(&index)),
        blobs: Some(folder.join("blobs")),
        conversations: Some(conversations.clone()),
    };
    Open {
        source: Source::new(parts).unwrap(),
        log,
        index,
        blobs,
        conversations,
        _folder: folder,
    }
}

fn record(number: u64) -> Record {
    Record {
        key: format!("key {}", number % 50).into(),
        value: Some(format!("{number} {}", "x".repeat(200)).into()),
        headers: Vec::new(),
        timestamp_ms: 1,
    }
}

fn operation(number: u64) -> Operation {
    let id = format!("d{number}");
    let word = format!("word{number}");
    let chunk = Chunk {
        chunk_id: ChunkId::derive(&id, "leaf", &[], &word, 0),
        kind: ChunkKind::Leaf,
        ordinal: 0,
        section_path: Vec::new(),
        text: word.clone(),
        tokens: 1,
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
        analyzed: word,
    };
    let document = DocumentHeader {
        document_id: id,
        version: 1,
        source: "s".into(),
        ..DocumentHeader::default()
    };
    let vectors = vec![ChunkVectors {
        coarse: vec![0.5, 0.5, 0.5, 0.5],
        ..ChunkVectors::default()
    }];
    Operation::Replace {
        document: Box::new(document),
        chunks: vec![chunk],
        vectors,
    }
}

/// As a stage does it: the event, then its effect in the index, then the position. Counts what is
/// acknowledged.
async fn work(
    log: Arc<EmbeddedEventLog>,
    index: Arc<EmbeddedIndex>,
    blobs: Blobs,
    stop: Arc<AtomicBool>,
    done: Arc<AtomicU64>,
) {
    let mut subscription = log.subscribe(TOPIC, Some("index")).await.unwrap();
    while !stop.load(Ordering::Relaxed) {
        let number = done.load(Ordering::Relaxed);
        let url = blobs
            .put(Bytes::from(format!("blob {number}")))
            .await
            .unwrap();
        let reference = Record {
            key: format!("blob {number}").into(),
            value: Some(url.into()),
            headers: Vec::new(),
            timestamp_ms: 1,
        };
        log.append(TOPIC, vec![record(number), reference])
            .await
            .unwrap();
        let batch = subscription
            .next_batch(
                BatchLimit {
                    records: 10,
                    bytes: 1 << 20,
                },
                Duration::from_secs(5),
            )
            .await
            .unwrap();
        index
            .write(GENERATION, vec![operation(number)])
            .await
            .unwrap();
        index.flush(GENERATION).await.unwrap();
        let mut positions: Vec<_> = batch.iter().map(|stored| stored.position).collect();
        positions
            .iter_mut()
            .for_each(|position| position.offset += 1);
        subscription.commit(&positions).await.unwrap();
        if number % 40 == 39 {
            log.compact(TOPIC).await.unwrap();
        }
        done.fetch_add(1, Ordering::Relaxed);
    }
}

/// Takes a backup in this process.
async fn back_up(source: &Source, destination: &Path) -> tributary_store::Result<Manifest> {
    let image = source.take().await?;
    let (total, (pipe, receiver)) = (image.bytes(), Pipe::new());
    let destination = Destination::of(destination)?;
    let writing = tokio::task::spawn_blocking(move || image.write(&pipe));
    let received = tokio::task::spawn_blocking(move || {
        destination.receive(Pipe::read_end(receiver), total, &|_| ())
    })
    .await
    .unwrap();
    let written = writing.await.unwrap();
    // What the receiver refuses is why the writer finds nobody any more.
    let manifest = received?;
    written.map(|_| manifest)
}

async fn values(log: &EmbeddedEventLog) -> BTreeMap<Bytes, Bytes> {
    let mut subscription = log.subscribe(TOPIC, None).await.unwrap();
    let mut values = BTreeMap::new();
    loop {
        let batch = subscription
            .next_batch(
                BatchLimit {
                    records: 1000,
                    bytes: 1 << 24,
                },
                Duration::ZERO,
            )
            .await
            .unwrap();
        if batch.is_empty() {
            return values;
        }
        values.extend(
            batch
                .into_iter()
                .map(|stored| (stored.record.key, stored.record.value.unwrap())),
        );
    }
}

async fn is_found(index: &EmbeddedIndex, number: u64) -> bool {
    let tokens = [format!("word{number}")];
    let query = KeywordQuery {
        generation: None,
        tokens: &tokens,
        filter: &Filter::default(),
        candidates: None,
        limit: 5,
    };
    index.keyword(query).await.unwrap().len() == 1
}

/// Everything acknowledged before the backup began, and nothing that contradicts itself.
async fn check(restored: &Open, acknowledged: u64) {
    let values = values(&restored.log).await;
    for number in 0..acknowledged {
        let url = values
            .get(&Bytes::from(format!("blob {number}")))
            .unwrap_or_else(|| panic!("record {number} is lost"));
        let blob = restored
            .blobs
            .get(std::str::from_utf8(url).unwrap())
            .await
            .unwrap();
        assert_eq!(blob, format!("blob {number}"));
        assert!(
            is_found(&restored.index, number).await,
            "document {number} of {acknowledged} is lost"
        );
    }
    for lag in restored.log.lag(TOPIC, "index").await.unwrap() {
        assert!(lag.committed <= lag.end, "{lag:?}");
    }
    let documents = restored
        .index
        .list_documents(None, None, 10_000)
        .await
        .unwrap()
        .len();
    assert_eq!(
        restored.index.list_chunks(None).await.unwrap().len(),
        documents
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn a_backup_under_load_is_one_moment_in_every_form() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let running = open(&data).await;
    let (stop, done) = (
        Arc::new(AtomicBool::new(false)),
        Arc::new(AtomicU64::new(0)),
    );
    let working = tokio::spawn(work(
        Arc::clone(&running.log),
        Arc::clone(&running.index),
        running.blobs.clone(),
        Arc::clone(&stop),
        Arc::clone(&done),
    ));
    let mut taken = Vec::new();
    for (round, name) in ["a.tar", "folder", "b.tar.zst", "c.tar"]
        .into_iter()
        .enumerate()
    {
        while done.load(Ordering::Relaxed) < 25 * (round as u64 + 1) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let acknowledged = done.load(Ordering::Relaxed);
        let path = folder.path().join(name);
        let manifest = back_up(&running.source, &path).await.unwrap();
        assert!(
            manifest
                .not_covered
                .iter()
                .any(|line| line.contains("models")),
            "{manifest:?}"
        );
        taken.push((path, acknowledged));
    }
    assert!(!data.join("backup.staging").exists());
    stop.store(true, Ordering::Relaxed);
    working.await.unwrap();
    let expected = done.load(Ordering::Relaxed);
    drop(running);
    for (path, acknowledged) in taken {
        let target = folder.path().join("restored");
        restore(&path, &target, false, &|_| ()).unwrap();
        let restored = open(&target).await;
        check(&restored, acknowledged).await;
        // It goes on: what the copy has not done yet is read again, and new records follow.
        restored
            .log
            .append(TOPIC, vec![record(999_999)])
            .await
            .unwrap();
        restored
            .index
            .write(GENERATION, vec![operation(999_999)])
            .await
            .unwrap();
        restored.index.flush(GENERATION).await.unwrap();
        assert!(is_found(&restored.index, 999_999).await);
        drop(restored);
        fs::remove_dir_all(&target).unwrap();
    }
    check(&open(&data).await, expected).await;
}

async fn begin_turn(conversations: &EmbeddedConversations, id: &str, question: &str) {
    let turn = NewTurn {
        question,
        idempotency_key: None,
        fingerprint: None,
    };
    conversations.begin_turn(None, id, turn).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn conversations_are_in_a_backup_and_come_back_in_place_of_what_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let running = open(&data).await;
    let kept = &running.conversations;
    let id = kept.create(None, "调度器").await.unwrap().id;
    begin_turn(kept, &id, "what is a tick?").await;
    let path = folder.path().join("a.tar");
    let manifest = back_up(&running.source, &path).await.unwrap();
    let names: Vec<&str> = manifest.files.iter().map(|file| &*file.path).collect();
    assert!(names.contains(&"conversations/conversations.sqlite"));
    let later = kept.create(None, "later").await.unwrap().id;
    kept.clear(None, &id).await.unwrap();
    drop(running);
    restore(&path, &data, true, &|_| ()).unwrap();
    let restored = open(&data).await.conversations;
    assert!(restored.get(None, &later).await.is_err());
    let all = TurnQuery {
        limit: 10,
        ..TurnQuery::default()
    };
    let turns = restored.turns(None, &id, all).await.unwrap().items;
    assert_eq!(turns.len(), 1);
    assert_eq!(turns[0].question, "what is a tick?");
    assert!(turns[0].failure.is_some(), "nobody answers it any more");
}

async fn small_backup(folder: &Path) -> PathBuf {
    let source = folder.join("small");
    let open = open(&source).await;
    let stop = Arc::new(AtomicBool::new(false));
    let done = Arc::new(AtomicU64::new(0));
    let working = tokio::spawn(work(
        Arc::clone(&open.log),
        Arc::clone(&open.index),
        open.blobs.clone(),
        Arc::clone(&stop),
        Arc::clone(&done),
    ));
    while done.load(Ordering::Relaxed) < 3 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    stop.store(true, Ordering::Relaxed);
    working.await.unwrap();
    let path = folder.join("small.tar");
    back_up(&open.source, &path).await.unwrap();
    path
}

/// Everything below a folder but the lock, for comparison.
fn content(root: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(&folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
        {
            if path.is_dir() {
                folders.push(path);
            } else if path.file_name().unwrap() != "lock" {
                found.insert(
                    path.strip_prefix(root).unwrap().to_owned(),
                    fs::read(&path).unwrap(),
                );
            }
        }
    }
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn damage_is_refused_and_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = small_backup(folder.path()).await;
    let sound = fs::read(&path).unwrap();
    restore(&path, &folder.path().join("sound"), false, &|_| ()).unwrap();
    let expected = content(&folder.path().join("sound"));
    let target = folder.path().join("target");
    let damaged = folder.path().join("damaged.tar");
    let mut refused = 0;
    let places = (0..sound.len()).step_by(sound.len() / 150);
    for (number, place) in places.enumerate() {
        let mut bytes = sound.clone();
        bytes[place] ^= 1 << (number % 8);
        fs::write(&damaged, &bytes).unwrap();
        match restore(&damaged, &target, false, &|_| ()) {
            Err(error) => {
                assert!(
                    matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Unsupported),
                    "{error}"
                );
                assert!(content(&target).is_empty(), "{:?}", content(&target).keys());
                refused += 1;
            }
            // A bit that means nothing: padding, or the time in the manifest.
            Ok(_) => {
                assert_eq!(content(&target), expected, "byte {place}");
                fs::remove_dir_all(&target).unwrap();
            }
        }
    }
    assert!(refused > 50, "{refused}");
    for length in [0, 100, 512, sound.len() / 2, sound.len() - 5000] {
        fs::write(&damaged, &sound[..length]).unwrap();
        let error = restore(&damaged, &target, false, &|_| ()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{length}: {error}");
    }
    let packed = zstd::encode_all(sound.as_slice(), 3).unwrap();
    let damaged = folder.path().join("damaged.tar.zst");
    for length in [10, packed.len() / 2, packed.len() - 10] {
        fs::write(&damaged, &packed[..length]).unwrap();
        let error = restore(&damaged, &target, false, &|_| ()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{length}: {error}");
        assert!(content(&target).is_empty());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_backup_with_a_changed_or_missing_file_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let open = open(&folder.path().join("data")).await;
    let path = folder.path().join("copy");
    let manifest = back_up(&open.source, &path).await.unwrap();
    let error = back_up(&open.source, &path).await.unwrap_err();
    assert_eq!(
        error.kind(),
        ErrorKind::Conflict,
        "a backup never replaces another: {error}"
    );
    let file = path.join(&manifest.files.last().unwrap().path);
    let bytes = fs::read(&file).unwrap();
    fs::write(&file, [&bytes[..], b"more"].concat()).unwrap();
    let target = folder.path().join("target");
    assert_eq!(
        restore(&path, &target, false, &|_| ()).unwrap_err().kind(),
        ErrorKind::Corrupt
    );
    fs::remove_file(&file).unwrap();
    assert_eq!(
        restore(&path, &target, false, &|_| ()).unwrap_err().kind(),
        ErrorKind::Corrupt
    );
    fs::write(&file, bytes).unwrap();
    let json = fs::read_to_string(path.join(MANIFEST)).unwrap();
    for (from, to) in [
        ("\"format\": 1", "\"format\": 2"),
        ("tributary.json", "../tributary.json"),
        ("tributary.json", "/etc/x"),
    ] {
        fs::write(path.join(MANIFEST), json.replacen(from, to, 1)).unwrap();
        let error = restore(&path, &target, false, &|_| ()).unwrap_err();
        assert!(
            matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Unsupported),
            "{error}"
        );
        assert!(content(&target).is_empty());
    }
    fs::write(path.join(MANIFEST), json).unwrap();
    restore(&path, &target, false, &|_| ()).unwrap();
    let error = restore(&path, &target, false, &|_| ()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert!(error.hint().unwrap().contains("--force"));
    let held = DataFolder::open(&target, Access::Alone).unwrap();
    assert_eq!(
        restore(&path, &target, true, &|_| ()).unwrap_err().kind(),
        ErrorKind::Conflict,
        "in use"
    );
    drop(held);
    restore(&path, &target, true, &|_| ()).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_decided_restore_is_finished_by_the_next_start() {
    let folder = tempfile::tempdir().unwrap();
    let path = small_backup(folder.path()).await;
    let target = folder.path().join("target");
    fs::create_dir_all(target.join("models/m")).unwrap();
    restore(&path, &target, false, &|_| ()).unwrap();
    let expected = content(&target);
    for broken_off_after in 0..4 {
        let broken = folder.path().join(format!("broken{broken_off_after}"));
        restore(&path, &broken, false, &|_| ()).unwrap();
        fs::create_dir(broken.join("restore.ready")).unwrap();
        let parts = ["log", "index", "blobs", "tributary.json"];
        for part in parts.iter().skip(broken_off_after) {
            fs::rename(broken.join(part), broken.join("restore.ready").join(part)).unwrap();
        }
        fs::write(
            broken.join("restore.ready/tributary.json"),
            fs::read(target.join("tributary.json")).unwrap(),
        )
        .unwrap();
        fs::create_dir_all(broken.join("log/old")).unwrap();
        if broken_off_after > 0 {
            fs::remove_dir_all(broken.join("log/old")).unwrap();
        }
        drop(DataFolder::open(&broken, Access::Alone).unwrap());
        assert_eq!(
            content(&broken),
            expected,
            "broken off after {broken_off_after}"
        );
    }
    assert!(target.join("models/m").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn one_backup_at_a_time_and_nothing_is_left_of_one_that_is_dropped() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let open = open(&data).await;
    let image = open.source.take().await.unwrap();
    assert!(data.join("backup.staging").exists());
    assert_eq!(
        open.source.take().await.err().unwrap().kind(),
        ErrorKind::Conflict
    );
    drop(image);
    assert!(!data.join("backup.staging").exists());
    for name in ["x.zip", "x.tar.gz", "x.tgz"] {
        assert_eq!(
            Destination::of(Path::new(name)).unwrap_err().kind(),
            ErrorKind::Invalid
        );
    }
    // A reader that goes away in the middle, and a writer that does.
    let image = open.source.take().await.unwrap();
    let (pipe, receiver) = Pipe::new();
    drop(receiver);
    assert!(
        tokio::task::spawn_blocking(move || image.write(&pipe))
            .await
            .unwrap()
            .is_err()
    );
    let (pipe, receiver) = Pipe::new();
    tokio::task::spawn_blocking(move || {
        pipe.fail(&tributary_store::Error::new(
            ErrorKind::Internal,
            "the disk died",
        ))
    })
    .await
    .unwrap();
    let path = folder.path().join("half.tar");
    let destination = Destination::of(&path).unwrap();
    let received = tokio::task::spawn_blocking(move || {
        destination.receive(Pipe::read_end(receiver), 0, &|_| ())
    })
    .await
    .unwrap();
    assert!(received.unwrap_err().to_string().contains("the disk died"));
    assert_eq!(
        fs::read_dir(folder.path()).unwrap().count(),
        1,
        "only the data folder"
    );
}
