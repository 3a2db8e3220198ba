//! The embedded event log from outside: the conformance suite, and what only an embedded log
//! promises.

#![allow(clippy::unwrap_used, clippy::explicit_write)]

#[path = "conformance/audit.rs"]
mod audit;
#[path = "conformance/event_log/mod.rs"]
mod conformance;
#[path = "event_log/damage.rs"]
mod damage;
#[path = "event_log/disk.rs"]
mod disk;
#[path = "event_log/keeping.rs"]
mod keeping;
#[path = "event_log/kill.rs"]
mod kill;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tributary_schemas::ErrorKind;
use tributary_store::blobs::Blobs;
use tributary_store::event_log::embedded::{Config, EmbeddedEventLog};
use tributary_store::event_log::topics::Topics;
use tributary_store::event_log::{
    BatchLimit, EventLog, Position, Record, StoredRecord, TopicSettings,
};

const ANY: BatchLimit = BatchLimit {
    records: 100_000,
    bytes: 256 << 20,
};

fn config() -> Config {
    Config {
        segment_bytes: 64 << 20,
        max_record_bytes: 8 << 20,
        linger_ms: 0,
        queue_bytes: 64 << 20,
        maintenance_interval_seconds: 0,
        compaction_dirty_ratio: 0.5,
        tombstone_retention_seconds: 0,
    }
}

fn small_segments() -> Config {
    Config {
        segment_bytes: 4096,
        ..config()
    }
}

fn open(folder: &Path) -> EmbeddedEventLog {
    EmbeddedEventLog::open(folder, config()).unwrap()
}

fn kind_of_open(folder: &Path) -> Option<(ErrorKind, String)> {
    EmbeddedEventLog::open(folder, config())
        .err()
        .map(|error| (error.kind(), error.full_message()))
}

fn topic(partitions: u32) -> TopicSettings {
    TopicSettings {
        partitions,
        compacted: false,
        retention_age: None,
        retention_bytes: None,
    }
}

fn compacted() -> TopicSettings {
    TopicSettings {
        compacted: true,
        ..topic(1)
    }
}

fn record(key: &str, value: &str) -> Record {
    let value = Some(Bytes::copy_from_slice(value.as_bytes()));
    Record {
        key: Bytes::copy_from_slice(key.as_bytes()),
        value,
        headers: Vec::new(),
        timestamp_ms: 1_000,
    }
}

fn text(stored: &StoredRecord) -> (String, Option<String>) {
    let text = |bytes: &Bytes| String::from_utf8_lossy(bytes).into_owned();
    (
        text(&stored.record.key),
        stored.record.value.as_ref().map(text),
    )
}

async fn read_all(log: &dyn EventLog, topic: &str) -> Vec<StoredRecord> {
    let mut subscription = log.subscribe(topic, None).await.unwrap();
    let mut all = Vec::new();
    loop {
        let batch = subscription.next_batch(ANY, Duration::ZERO).await.unwrap();
        if batch.is_empty() {
            return all;
        }
        all.extend(batch);
    }
}

/// The segment files of partition 0, oldest first.
fn segments(folder: &Path, topic: &str) -> Vec<std::path::PathBuf> {
    let partition = folder.join("topics").join(topic).join("0");
    let mut paths: Vec<_> = std::fs::read_dir(partition)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    paths
}

/// A log in a folder of its own.
struct OneFolder {
    log: EmbeddedEventLog,
    _folder: tempfile::TempDir,
}

impl OneFolder {
    async fn start(_promise: &str) -> Option<Self> {
        Some(Self::with(config()))
    }

    fn with(config: Config) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let log = EmbeddedEventLog::open(folder.path(), config).unwrap();
        Self {
            log,
            _folder: folder,
        }
    }

    fn log(&self) -> &dyn EventLog {
        &self.log
    }
}

mod promises {
    crate::conformance::every_promise!(crate::OneFolder, "multi_thread");
    crate::conformance::tests_of! { crate::OneFolder, "multi_thread",
        records: the_timestamp_0_survives;
        groups: a_group_has_one_reader;
    }
}

/// On one thread, with small segments, a short queue and a linger.
struct Narrow(OneFolder);

impl Narrow {
    async fn start(_promise: &str) -> Option<Self> {
        Some(Self(OneFolder::with(Config {
            linger_ms: 1,
            queue_bytes: 1000,
            ..small_segments()
        })))
    }

    fn log(&self) -> &dyn EventLog {
        self.0.log()
    }
}

mod promises_in_a_narrow_place {
    crate::conformance::every_promise!(crate::Narrow, "current_thread");
}

#[tokio::test]
async fn a_group_has_one_subscription() {
    let folder = tempfile::tempdir().unwrap();
    let log = open(folder.path());
    log.create_topic("t", topic(1)).await.unwrap();
    log.create_topic("other", topic(1)).await.unwrap();
    let first = log.subscribe("t", Some("g")).await.unwrap();
    assert_eq!(
        log.subscribe("t", Some("g")).await.err().unwrap().kind(),
        ErrorKind::Conflict
    );
    let _another_group = log.subscribe("t", Some("h")).await.unwrap();
    let _another_topic = log.subscribe("other", Some("g")).await.unwrap();
    drop(first);
    log.subscribe("t", Some("g")).await.unwrap();
}

#[tokio::test]
async fn everything_survives_reopening() {
    let folder = tempfile::tempdir().unwrap();
    let sent: Vec<Record> = (0..200)
        .map(|n| record(&format!("键 {n}"), &"值".repeat(n)))
        .collect();
    for round in 0..3u64 {
        let log = EmbeddedEventLog::open(folder.path(), small_segments()).unwrap();
        log.create_topic("t.v1", topic(3)).await.unwrap();
        let positions = log.append("t.v1", sent.clone()).await.unwrap();
        let read = read_all(&log, "t.v1").await;
        assert_eq!(read.len() as u64, 200 * (round + 1));
        for (position, record) in positions.iter().zip(&sent) {
            assert!(
                read.iter()
                    .any(|stored| stored.position == *position && stored.record == *record)
            );
        }
        let lag = log.lag("t.v1", "组 a/b").await.unwrap();
        let committed: u64 = lag.iter().map(|lag| lag.committed).sum();
        assert_eq!(committed, 200 * round);
        let ends: Vec<Position> = lag
            .iter()
            .map(|lag| Position {
                partition: lag.partition,
                offset: lag.end,
            })
            .collect();
        log.subscribe("t.v1", Some("组 a/b"))
            .await
            .unwrap()
            .commit(&ends)
            .await
            .unwrap();
        assert_eq!(log.counters().appended_records.get(), 200);
    }
}

#[tokio::test]
async fn reading_from_the_middle_finds_the_place() {
    let folder = tempfile::tempdir().unwrap();
    let config = Config {
        segment_bytes: 200_000,
        ..config()
    };
    let log = EmbeddedEventLog::open(folder.path(), config.clone()).unwrap();
    log.create_topic("t", topic(1)).await.unwrap();
    for _ in 0..10 {
        log.append(
            "t",
            (0..100).map(|n| record("k", &"x".repeat(n * 7))).collect(),
        )
        .await
        .unwrap();
    }
    for reopened in [false, true] {
        let log = if reopened { None } else { Some(&log) };
        let fresh;
        let log = match log {
            Some(log) => log,
            None => {
                fresh = folder.path().join("copy");
                copy(folder.path(), &fresh);
                &EmbeddedEventLog::open(&fresh, config.clone()).unwrap()
            }
        };
        for (number, offset) in [1u64, 2, 99, 100, 345, 346, 500, 777, 998, 999]
            .into_iter()
            .enumerate()
        {
            let group = format!("{reopened} {number}");
            log.subscribe("t", Some(&group))
                .await
                .unwrap()
                .commit(&[Position {
                    partition: 0,
                    offset,
                }])
                .await
                .unwrap();
            let mut subscription = log.subscribe("t", Some(&group)).await.unwrap();
            let batch = subscription.next_batch(ANY, Duration::ZERO).await.unwrap();
            let offsets: Vec<u64> = batch.iter().map(|stored| stored.position.offset).collect();
            assert_eq!(offsets, (offset..1000).collect::<Vec<_>>());
        }
    }
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        if entry.path() == to || target.exists() {
            continue;
        }
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

#[tokio::test]
async fn a_64_mb_segment_is_reopened() {
    let folder = tempfile::tempdir().unwrap();
    {
        let log = open(folder.path());
        log.create_topic("t", topic(1)).await.unwrap();
        for _ in 0..10 {
            log.append(
                "t",
                (0..61).map(|_| record("k", &"x".repeat(100_000))).collect(),
            )
            .await
            .unwrap();
        }
        assert_eq!(segments(folder.path(), "t").len(), 1);
    }
    let started = std::time::Instant::now();
    let log = open(folder.path());
    assert!(
        started.elapsed() < Duration::from_secs(60),
        "reopening took {:?}",
        started.elapsed()
    );
    assert_eq!(log.lag("t", "g").await.unwrap()[0].end, 610);
    log.append(
        "t",
        (0..61).map(|_| record("k", &"x".repeat(100_000))).collect(),
    )
    .await
    .unwrap();
    assert_eq!(segments(folder.path(), "t").len(), 2);
    assert_eq!(read_all(&log, "t").await.len(), 671);
}

#[tokio::test]
async fn a_record_over_the_limit_is_refused_and_nothing_of_its_append_written() {
    let folder = tempfile::tempdir().unwrap();
    let log = EmbeddedEventLog::open(
        folder.path(),
        Config {
            max_record_bytes: 100,
            ..config()
        },
    )
    .unwrap();
    log.create_topic("t", topic(1)).await.unwrap();
    let fits = record("k", &"x".repeat(99));
    let error = log
        .append("t", vec![fits.clone(), record("k", &"x".repeat(100))])
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    log.append("t", vec![fits.clone()]).await.unwrap();
    assert_eq!(read_all(&log, "t").await.len(), 1);
}

#[tokio::test]
async fn a_second_opening_is_refused_until_the_first_is_dropped() {
    let folder = tempfile::tempdir().unwrap();
    let log = open(folder.path());
    assert_eq!(kind_of_open(folder.path()).unwrap().0, ErrorKind::Conflict);
    drop(log);
    assert_eq!(kind_of_open(folder.path()), None);
}

#[tokio::test]
async fn a_subscription_outlives_the_log() {
    let folder = tempfile::tempdir().unwrap();
    let log = open(folder.path());
    log.create_topic("t", topic(1)).await.unwrap();
    log.append("t", vec![record("a", "1")]).await.unwrap();
    let mut subscription = log.subscribe("t", Some("g")).await.unwrap();
    drop(log);
    assert_eq!(
        subscription
            .next_batch(ANY, Duration::ZERO)
            .await
            .unwrap()
            .len(),
        1
    );
    let error = subscription
        .commit(&[Position {
            partition: 0,
            offset: 1,
        }])
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
}

#[test]
fn nonsense_in_the_settings_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    for config in [
        Config {
            segment_bytes: 10,
            ..config()
        },
        Config {
            segment_bytes: 1 << 33,
            ..config()
        },
        Config {
            max_record_bytes: 0,
            ..config()
        },
        Config {
            queue_bytes: 0,
            ..config()
        },
        Config {
            compaction_dirty_ratio: f64::NAN,
            ..config()
        },
    ] {
        assert_eq!(
            EmbeddedEventLog::open(folder.path(), config)
                .err()
                .unwrap()
                .kind(),
            ErrorKind::Invalid
        );
    }
}

#[tokio::test]
async fn appends_that_wait_together_share_a_sync() {
    let folder = tempfile::tempdir().unwrap();
    let log = EmbeddedEventLog::open(
        folder.path(),
        Config {
            linger_ms: 20,
            ..config()
        },
    )
    .unwrap();
    log.create_topic("t", topic(1)).await.unwrap();
    let appends =
        (0..100).map(|n| log.append("t", vec![record("k", if n % 2 == 0 { "a" } else { "b" })]));
    futures::future::try_join_all(appends).await.unwrap();
    assert_eq!(log.counters().appended_records.get(), 100);
    assert!(
        log.counters().syncs.get() <= 10,
        "{} syncs for 100 appends at once",
        log.counters().syncs.get()
    );
}

#[tokio::test]
async fn the_audit_record_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let blobs = Blobs::local(&folder.path().join("blobs")).unwrap();
    let log = Arc::new(open(&folder.path().join("log")));
    audit::calls_are_kept_found_and_followed(Topics::new(log, "t".to_owned(), blobs, 1000)).await;
}
