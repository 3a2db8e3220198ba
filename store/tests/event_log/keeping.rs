//! What compaction and retention keep and remove.

use std::collections::BTreeMap;

use super::*;

fn tombstone(key: &str, timestamp_ms: i64) -> Record {
    Record {
        value: None,
        timestamp_ms,
        ..record(key, "")
    }
}

fn bytes_of(folder: &Path) -> u64 {
    segments(folder, "t")
        .iter()
        .map(|path| std::fs::metadata(path).unwrap().len())
        .sum()
}

async fn newest(log: &dyn EventLog) -> BTreeMap<String, Option<String>> {
    read_all(log, "t").await.iter().map(text).collect()
}

#[tokio::test]
async fn compaction_keeps_the_newest_of_each_key_at_its_offset() {
    let folder = tempfile::tempdir().unwrap();
    let log = EmbeddedEventLog::open(folder.path(), small_segments()).unwrap();
    log.create_topic("t", compacted()).await.unwrap();
    for n in 0..300 {
        log.append(
            "t",
            vec![record(
                &format!("key {}", n % 13),
                &format!("{n} {}", "x".repeat(200)),
            )],
        )
        .await
        .unwrap();
    }
    let before = read_all(&log, "t").await;
    let expected = newest(&log).await;
    let bytes = bytes_of(folder.path());
    let freed = log.compact("t").await.unwrap();
    assert!(
        freed > bytes / 2 && bytes_of(folder.path()) == bytes - freed,
        "{bytes} {freed} {}",
        bytes_of(folder.path())
    );
    for reopened in [false, true] {
        let log = if reopened {
            &EmbeddedEventLog::open(&snapshot(folder.path()), small_segments()).unwrap()
        } else {
            &log
        };
        let after = read_all(log, "t").await;
        assert_eq!(newest(log).await, expected);
        assert!(
            after.iter().all(|stored| before.contains(stored)),
            "a record changed"
        );
        assert!(after.is_sorted_by_key(|stored| stored.position.offset) && after.len() < 60);
        let lag = log.lag("t", "g").await.unwrap()[0];
        assert_eq!((lag.start, lag.end), (0, 300));
    }
    assert_eq!(
        log.compact("t").await.unwrap(),
        0,
        "a second pass found something to do"
    );
}

/// A copy of the log as a crash would leave it now.
fn snapshot(folder: &Path) -> std::path::PathBuf {
    let to = folder.join("snapshot");
    if to.exists() {
        std::fs::remove_dir_all(&to).unwrap();
    }
    copy(folder, &to);
    to
}

#[tokio::test]
async fn a_reader_in_the_middle_survives_compaction() {
    let folder = tempfile::tempdir().unwrap();
    let log = EmbeddedEventLog::open(
        folder.path(),
        Config {
            segment_bytes: 300_000,
            ..config()
        },
    )
    .unwrap();
    log.create_topic("t", compacted()).await.unwrap();
    for round in 0..20 {
        log.append(
            "t",
            (0..100)
                .map(|n| {
                    record(
                        &format!("key {n}"),
                        &format!("{round} {}", "x".repeat(1_000)),
                    )
                })
                .collect(),
        )
        .await
        .unwrap();
    }
    for reader_batches in [0, 1, 3, 10] {
        let mut subscription = log.subscribe("t", None).await.unwrap();
        let limit = BatchLimit {
            records: 70,
            bytes: 1 << 20,
        };
        let mut state = BTreeMap::new();
        for _ in 0..reader_batches {
            state.extend(
                subscription
                    .next_batch(limit, Duration::ZERO)
                    .await
                    .unwrap()
                    .iter()
                    .map(text),
            );
        }
        log.compact("t").await.unwrap();
        let mut last = None;
        loop {
            let batch = subscription
                .next_batch(limit, Duration::ZERO)
                .await
                .unwrap();
            if batch.is_empty() {
                break;
            }
            for stored in batch {
                assert!(last < Some(stored.position.offset), "offsets do not grow");
                last = Some(stored.position.offset);
                state.extend([text(&stored)]);
            }
        }
        assert_eq!(state, newest(&log).await);
    }
}

#[tokio::test]
async fn compaction_beside_appends_and_readers() {
    let folder = tempfile::tempdir().unwrap();
    let log = EmbeddedEventLog::open(folder.path(), small_segments()).unwrap();
    log.create_topic("t", compacted()).await.unwrap();
    let append = async {
        for n in 0..600 {
            log.append(
                "t",
                vec![record(
                    &format!("key {}", n % 7),
                    &format!("{n} {}", "x".repeat(100)),
                )],
            )
            .await
            .unwrap();
        }
    };
    let compact = async {
        for _ in 0..60 {
            log.compact("t").await.unwrap();
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    let read = async {
        let mut subscription = log.subscribe("t", Some("g")).await.unwrap();
        let mut state = BTreeMap::new();
        loop {
            let batch = subscription
                .next_batch(
                    BatchLimit {
                        records: 9,
                        bytes: 1 << 20,
                    },
                    Duration::from_secs(60),
                )
                .await
                .unwrap();
            state.extend(batch.iter().map(text));
            let last = batch.last().expect("the last record never came");
            subscription
                .commit(&[conformance::after(last)])
                .await
                .unwrap();
            if last.position.offset == 599 {
                return state;
            }
        }
    };
    let (_, _, state) = futures::join!(append, compact, read);
    assert_eq!(state, newest(&log).await);
    assert_eq!(state.len(), 7);
}

#[tokio::test]
async fn a_tombstone_goes_when_all_groups_have_passed_it_and_it_is_old() {
    let folder = tempfile::tempdir().unwrap();
    let log = EmbeddedEventLog::open(
        folder.path(),
        Config {
            tombstone_retention_seconds: 3600,
            ..small_segments()
        },
    )
    .unwrap();
    log.create_topic("t", compacted()).await.unwrap();
    let now = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap()
        .as_millis() as i64;
    log.append(
        "t",
        vec![
            record("old", "1"),
            record("young", "1"),
            record("future", "1"),
        ],
    )
    .await
    .unwrap();
    log.append(
        "t",
        vec![
            tombstone("old", now - 3_700_000),
            tombstone("young", now - 60_000),
            tombstone("future", now + 1_000_000),
        ],
    )
    .await
    .unwrap();
    fill(&log, 20).await;
    let commit = async |group: &str, offset| {
        log.subscribe("t", Some(group))
            .await
            .unwrap()
            .commit(&[Position {
                partition: 0,
                offset,
            }])
            .await
            .unwrap();
    };
    let keys = async || {
        log.compact("t").await.unwrap();
        newest(&log)
            .await
            .into_keys()
            .filter(|key| !key.starts_with("filler"))
            .collect::<Vec<_>>()
    };
    commit("behind", 3).await;
    commit("ahead", 20).await;
    assert_eq!(
        keys().await,
        ["future", "old", "young"],
        "removed before all groups had seen it"
    );
    let subscribed = log.subscribe("t", Some("never committed")).await.unwrap();
    commit("behind", 4).await;
    assert_eq!(
        keys().await,
        ["future", "old", "young"],
        "removed before a subscribed group had seen it"
    );
    drop(subscribed);
    assert_eq!(keys().await, ["future", "young"]);
}

/// Appends records with keys of their own, so that earlier segments are closed.
async fn fill(log: &dyn EventLog, count: usize) {
    for n in 0..count {
        log.append(
            "t",
            vec![record(&format!("filler {n}"), &"x".repeat(1_000))],
        )
        .await
        .unwrap();
    }
}

#[tokio::test]
async fn the_background_pass_compacts() {
    let folder = tempfile::tempdir().unwrap();
    let log = EmbeddedEventLog::open(
        folder.path(),
        Config {
            maintenance_interval_seconds: 1,
            ..small_segments()
        },
    )
    .unwrap();
    log.create_topic("t", compacted()).await.unwrap();
    for n in 0..50 {
        log.append(
            "t",
            vec![record("k", &format!("{n} {}", "x".repeat(1_000)))],
        )
        .await
        .unwrap();
    }
    let deadline = std::time::Instant::now() + Duration::from_secs(60);
    while log.counters().compacted_bytes.get() == 0 {
        assert!(std::time::Instant::now() < deadline, "no compaction");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(segments(folder.path(), "t").len() <= 3);
}

#[tokio::test]
async fn retention_by_size_never_passes_a_group() {
    let folder = tempfile::tempdir().unwrap();
    let log = EmbeddedEventLog::open(folder.path(), small_segments()).unwrap();
    log.create_topic(
        "t",
        TopicSettings {
            retention_bytes: Some(10_000),
            ..topic(1)
        },
    )
    .await
    .unwrap();
    fill(&log, 40).await;
    let mut subscription = log.subscribe("t", Some("g")).await.unwrap();
    subscription
        .commit(&[Position {
            partition: 0,
            offset: 10,
        }])
        .await
        .unwrap();
    log.expire("t").await.unwrap();
    let lag = log.lag("t", "g").await.unwrap()[0];
    assert!(
        lag.start > 0 && lag.start <= 10 && lag.committed == 10,
        "{lag:?}"
    );
    conformance::take(subscription.as_mut(), 40 - lag.start as usize).await;
    subscription
        .commit(&[Position {
            partition: 0,
            offset: 40,
        }])
        .await
        .unwrap();
    log.expire("t").await.unwrap();
    let lag = log.lag("t", "g").await.unwrap()[0];
    assert!(
        lag.start > 25 && lag.end == 40 && bytes_of(folder.path()) <= 10_000 + 4_096,
        "{lag:?}"
    );
    assert_eq!(log.lag("t", "new").await.unwrap()[0].committed, lag.start);
    drop((subscription, log));
    let log = open(folder.path());
    assert_eq!(log.lag("t", "g").await.unwrap()[0], lag);
    assert_eq!(read_all(&log, "t").await.len() as u64, 40 - lag.start);
}

#[tokio::test]
async fn retention_by_age_reaches_the_active_segment_and_keeps_offsets() {
    let folder = tempfile::tempdir().unwrap();
    let log = open(folder.path());
    log.create_topic(
        "t",
        TopicSettings {
            retention_age: Some(Duration::from_secs(60)),
            ..topic(1)
        },
    )
    .await
    .unwrap();
    fill(&log, 5).await;
    log.expire("t").await.unwrap();
    assert!(read_all(&log, "t").await.is_empty());
    let lag = log.lag("t", "g").await.unwrap()[0];
    assert_eq!(
        (lag.start, lag.committed, lag.end, lag.oldest_uncommitted_ms),
        (5, 5, 5, None)
    );
    drop(log);
    let log = open(folder.path());
    let now = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap()
        .as_millis() as i64;
    let young = Record {
        timestamp_ms: now,
        ..record("k", "young")
    };
    assert_eq!(log.append("t", vec![young]).await.unwrap()[0].offset, 5);
    log.expire("t").await.unwrap();
    assert_eq!(read_all(&log, "t").await.len(), 1);
}

#[tokio::test]
async fn retention_leaves_compacted_topics_alone_and_compaction_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let log = EmbeddedEventLog::open(folder.path(), small_segments()).unwrap();
    log.create_topic(
        "t",
        TopicSettings {
            retention_bytes: Some(1),
            retention_age: Some(Duration::ZERO),
            ..compacted()
        },
    )
    .await
    .unwrap();
    fill(&log, 20).await;
    log.expire("t").await.unwrap();
    assert_eq!(read_all(&log, "t").await.len(), 20);
    log.create_topic("plain", topic(1)).await.unwrap();
    assert_eq!(
        log.compact("plain").await.unwrap_err().kind(),
        ErrorKind::Invalid
    );
    assert_eq!(
        log.compact("none").await.unwrap_err().kind(),
        ErrorKind::NotFound
    );
}
