//! Behaviour that every event log must show, as plain functions over `&dyn EventLog`, one per
//! promise of the trait's docs. Each makes topics of its own, so all can run on one log; a promise
//! that is broken panics and says which.

#![allow(clippy::unwrap_used)]

mod groups;

use std::collections::HashMap;
use std::time::{Duration, Instant};

use bytes::Bytes;
use tributary_schemas::ErrorKind;

pub use groups::*;

use super::{BatchLimit, EventLog, Position, Record, StoredRecord, Subscription, TopicSettings};

const SOON: Duration = Duration::from_secs(60);
const ANY: BatchLimit = BatchLimit {
    records: 10_000,
    bytes: 64 << 20,
};

/// What logs may keep differently, and how this one keeps it. Every difference is tested on both
/// sides.
#[derive(Clone, Copy, Debug)]
pub struct Capabilities {
    /// Several readers of a group share the partitions; without it, a second one is refused with
    /// `Conflict`.
    pub shares_groups: bool,
    /// The timestamp 0 is kept; without it, 0 stands for the time of the append.
    pub keeps_zero_timestamps: bool,
}

/// Runs every promise.
pub async fn all(log: &dyn EventLog, capabilities: Capabilities) {
    creation_can_be_repeated(log).await;
    unknown_topics_are_not_found(log).await;
    illegal_names_are_refused(log).await;
    appends_return_their_positions(log).await;
    an_empty_append_is_fine(log).await;
    records_come_back_unchanged(log).await;
    empty_keys_values_and_headers_survive(log).await;
    early_timestamps_survive(log, capabilities).await;
    long_and_unicode_keys_survive(log).await;
    keys_keep_their_order(log).await;
    an_append_keeps_its_order(log).await;
    one_key_stays_in_one_partition(log).await;
    tombstones_are_delivered(log).await;
    topics_are_independent(log).await;
    groups_are_independent(log).await;
    groups_resume_after_what_they_committed(log).await;
    uncommitted_records_come_again(log).await;
    commits_never_move_back(log).await;
    commits_reach_only_their_partition(log).await;
    commits_beyond_the_end_are_refused(log).await;
    readers_without_a_group_see_all_and_cannot_commit(log).await;
    limits_are_kept(log).await;
    a_large_record_is_returned_alone(log).await;
    waiting_ends_without_records(log).await;
    waiting_ends_early_with_a_record(log).await;
    cancelling_loses_nothing(log).await;
    lag_counts(log).await;
    concurrent_appends_lose_nothing(log).await;
    a_group_has_one_reader_or_shares(log, capabilities).await;
    forgotten_groups_start_again(log).await;
}

fn settings(partitions: u32) -> TopicSettings {
    TopicSettings {
        partitions,
        compacted: false,
        retention_age: None,
        retention_bytes: None,
    }
}

fn record(key: &str, value: &str) -> Record {
    Record {
        key: Bytes::copy_from_slice(key.as_bytes()),
        value: Some(Bytes::copy_from_slice(value.as_bytes())),
        headers: Vec::new(),
        timestamp_ms: 1_000,
    }
}

fn value(stored: &StoredRecord) -> String {
    String::from_utf8_lossy(stored.record.value.as_deref().unwrap_or(b"<none>")).into_owned()
}

async fn topic(log: &dyn EventLog, name: &str, partitions: u32) {
    log.create_topic(name, settings(partitions)).await.unwrap();
}

/// Exactly `count` records, waiting for them; more is a failure.
pub async fn take(subscription: &mut dyn Subscription, count: usize) -> Vec<StoredRecord> {
    let deadline = Instant::now() + SOON;
    let mut all = Vec::new();
    while all.len() < count {
        assert!(
            Instant::now() < deadline,
            "only {} of {count} records came",
            all.len()
        );
        all.extend(
            subscription
                .next_batch(ANY, Duration::from_millis(200))
                .await
                .unwrap(),
        );
    }
    assert_eq!(all.len(), count, "more records than expected");
    all
}

async fn nothing_more(subscription: &mut dyn Subscription) {
    let more = subscription
        .next_batch(ANY, Duration::from_millis(50))
        .await
        .unwrap();
    assert!(more.is_empty(), "records that nobody expected: {more:?}");
}

/// The position after a record, as `commit` wants it.
pub fn after(stored: &StoredRecord) -> Position {
    Position {
        offset: stored.position.offset + 1,
        ..stored.position
    }
}

/// Creating a topic again is fine and keeps partitions and records.
pub async fn creation_can_be_repeated(log: &dyn EventLog) {
    topic(log, "creation", 2).await;
    log.append("creation", vec![record("a", "1")])
        .await
        .unwrap();
    topic(log, "creation", 5).await;
    assert_eq!(log.lag("creation", "g").await.unwrap().len(), 2);
    take(log.subscribe("creation", None).await.unwrap().as_mut(), 1).await;
}

/// Every call on a topic that was never created is `NotFound`.
pub async fn unknown_topics_are_not_found(log: &dyn EventLog) {
    let kinds = [
        log.append("no-such-topic", vec![record("a", "1")])
            .await
            .map(drop)
            .unwrap_err()
            .kind(),
        log.append("no-such-topic", Vec::new())
            .await
            .map(drop)
            .unwrap_err()
            .kind(),
        log.subscribe("no-such-topic", Some("g"))
            .await
            .map(drop)
            .unwrap_err()
            .kind(),
        log.subscribe("no-such-topic", None)
            .await
            .map(drop)
            .unwrap_err()
            .kind(),
        log.lag("no-such-topic", "g")
            .await
            .map(drop)
            .unwrap_err()
            .kind(),
    ];
    assert_eq!(kinds, [ErrorKind::NotFound; 5]);
}

/// Names that are no file names, and topics without partitions, are `Invalid`.
pub async fn illegal_names_are_refused(log: &dyn EventLog) {
    for name in [
        "",
        ".",
        "..",
        "a/b",
        "../a",
        "主题",
        "a b",
        "a\0b",
        &"x".repeat(250),
    ] {
        assert_eq!(
            log.create_topic(name, settings(1))
                .await
                .unwrap_err()
                .kind(),
            ErrorKind::Invalid,
            "{name}"
        );
    }
    assert_eq!(
        log.create_topic("no-partitions", settings(0))
            .await
            .unwrap_err()
            .kind(),
        ErrorKind::Invalid
    );
}

/// Positions come in the order of the call, grow within a partition, and are where the records are
/// read.
pub async fn appends_return_their_positions(log: &dyn EventLog) {
    topic(log, "positions", 3).await;
    let records: Vec<Record> = (0..50)
        .map(|n| record(&format!("key {n}"), &n.to_string()))
        .collect();
    let mut positions = log.append("positions", records.clone()).await.unwrap();
    positions.extend(log.append("positions", records.clone()).await.unwrap());
    let read = take(
        log.subscribe("positions", None).await.unwrap().as_mut(),
        100,
    )
    .await;
    let by_position: HashMap<Position, String> = read
        .iter()
        .map(|stored| (stored.position, value(stored)))
        .collect();
    assert_eq!(by_position.len(), 100, "a position was used twice");
    for (index, position) in positions.iter().enumerate() {
        assert_eq!(by_position[position], (index % 50).to_string());
    }
    for partition in 0..3 {
        let offsets: Vec<u64> = positions
            .iter()
            .filter(|p| p.partition == partition)
            .map(|p| p.offset)
            .collect();
        assert!(offsets.is_sorted_by(|a, b| a < b), "offsets do not grow");
    }
}

/// No records, no positions, no error.
pub async fn an_empty_append_is_fine(log: &dyn EventLog) {
    topic(log, "empty", 1).await;
    assert_eq!(log.append("empty", Vec::new()).await.unwrap(), []);
}

/// Key, value, headers (order, repeated names, bytes that are no text) and timestamp survive.
pub async fn records_come_back_unchanged(log: &dyn EventLog) {
    topic(log, "unchanged", 1).await;
    let header = |name: &str, value: &'static [u8]| (name.to_owned(), Bytes::from_static(value));
    let sent = Record {
        headers: vec![
            header("b", b"1"),
            header("a", b"\0\xff"),
            header("b", b"2"),
            header("名称", "值".as_bytes()),
        ],
        timestamp_ms: 1_753_000_000_123,
        ..record("k", "v\0\u{1F30A}")
    };
    log.append("unchanged", vec![sent.clone()]).await.unwrap();
    let read = take(log.subscribe("unchanged", None).await.unwrap().as_mut(), 1).await;
    assert_eq!(read[0].record, sent);
}

/// Empty is not the same as absent.
pub async fn empty_keys_values_and_headers_survive(log: &dyn EventLog) {
    topic(log, "emptiness", 1).await;
    let sent = vec![
        record("", ""),
        Record {
            headers: vec![("x".to_owned(), Bytes::new())],
            ..record("", "")
        },
        record("k", ""),
    ];
    log.append("emptiness", sent.clone()).await.unwrap();
    let read = take(log.subscribe("emptiness", None).await.unwrap().as_mut(), 3).await;
    assert_eq!(
        read.into_iter()
            .map(|stored| stored.record)
            .collect::<Vec<_>>(),
        sent
    );
}

/// Any time from 1970 on is kept.
pub async fn early_timestamps_survive(log: &dyn EventLog, capabilities: Capabilities) {
    topic(log, "timestamps", 1).await;
    let sent: Vec<Record> = [1, 0, 4_102_444_800_000]
        .map(|timestamp_ms| Record {
            timestamp_ms,
            ..record("a", "")
        })
        .into();
    log.append("timestamps", sent).await.unwrap();
    let read = take(log.subscribe("timestamps", None).await.unwrap().as_mut(), 3).await;
    let times: Vec<i64> = read
        .iter()
        .map(|stored| stored.record.timestamp_ms)
        .collect();
    assert_eq!((times[0], times[2]), (1, 4_102_444_800_000));
    assert_eq!(
        times[1] == 0,
        capabilities.keeps_zero_timestamps,
        "timestamp 0 became {}",
        times[1]
    );
}

/// Keys are bytes: 10 KB of Chinese text, or no text at all.
pub async fn long_and_unicode_keys_survive(log: &dyn EventLog) {
    topic(log, "keys", 4).await;
    let keys = [
        Bytes::from("文档".repeat(1_700)),
        Bytes::from_static(&[0, 159, 146, 150]),
        Bytes::from("e\u{301}/🌊"),
    ];
    let sent: Vec<Record> = keys
        .iter()
        .map(|key| Record {
            key: key.clone(),
            ..record("", "v")
        })
        .collect();
    log.append("keys", sent).await.unwrap();
    let read = take(log.subscribe("keys", None).await.unwrap().as_mut(), 3).await;
    for key in keys {
        assert!(read.iter().any(|stored| stored.record.key == key));
    }
}

/// Records of one key are read in the order of their appends.
pub async fn keys_keep_their_order(log: &dyn EventLog) {
    topic(log, "key-order", 3).await;
    for n in 0..20 {
        let both = vec![record("a", &n.to_string()), record("b", &n.to_string())];
        log.append("key-order", both).await.unwrap();
    }
    let read = take(log.subscribe("key-order", None).await.unwrap().as_mut(), 40).await;
    for key in ["a", "b"] {
        let values: Vec<String> = read
            .iter()
            .filter(|stored| stored.record.key == key)
            .map(value)
            .collect();
        assert_eq!(values, (0..20).map(|n| n.to_string()).collect::<Vec<_>>());
    }
}

/// Records of one append that go to one partition keep the order of the call.
pub async fn an_append_keeps_its_order(log: &dyn EventLog) {
    topic(log, "append-order", 2).await;
    log.append(
        "append-order",
        (0..500)
            .map(|n| record(&format!("{}", n % 7), &n.to_string()))
            .collect(),
    )
    .await
    .unwrap();
    let read = take(
        log.subscribe("append-order", None).await.unwrap().as_mut(),
        500,
    )
    .await;
    for partition in 0..2 {
        let of_partition = read
            .iter()
            .filter(|stored| stored.position.partition == partition);
        let numbers: Vec<u32> = of_partition
            .map(|stored| value(stored).parse().unwrap())
            .collect();
        assert!(numbers.is_sorted(), "partition {partition}: {numbers:?}");
    }
}

/// A key never changes its partition, and more than one partition is used.
pub async fn one_key_stays_in_one_partition(log: &dyn EventLog) {
    topic(log, "partitions", 4).await;
    let mut partition_of = HashMap::new();
    for _ in 0..3 {
        let keys: Vec<String> = (0..40).map(|n| format!("document/{n}")).collect();
        let positions = log
            .append(
                "partitions",
                keys.iter().map(|key| record(key, "")).collect(),
            )
            .await
            .unwrap();
        for (key, position) in keys.into_iter().zip(positions) {
            assert_eq!(
                *partition_of.entry(key).or_insert(position.partition),
                position.partition
            );
        }
    }
    let used: std::collections::HashSet<u32> = partition_of.into_values().collect();
    assert_eq!(used.len(), 4, "40 keys do not use all of 4 partitions");
}

/// A tombstone is a record without a value.
pub async fn tombstones_are_delivered(log: &dyn EventLog) {
    let compacted = TopicSettings {
        compacted: true,
        ..settings(1)
    };
    log.create_topic("tombstones", compacted).await.unwrap();
    let tombstone = Record {
        value: None,
        headers: vec![("why".to_owned(), "deleted".into())],
        ..record("a", "")
    };
    log.append("tombstones", vec![record("a", "1"), tombstone.clone()])
        .await
        .unwrap();
    let read = take(log.subscribe("tombstones", None).await.unwrap().as_mut(), 2).await;
    assert_eq!(read[1].record, tombstone);
}

/// Topics share neither records nor offsets nor group positions.
pub async fn topics_are_independent(log: &dyn EventLog) {
    topic(log, "left", 1).await;
    topic(log, "right", 1).await;
    log.append("left", vec![record("a", "left")]).await.unwrap();
    let positions = log
        .append("right", vec![record("a", "right")])
        .await
        .unwrap();
    assert_eq!(
        positions,
        [Position {
            partition: 0,
            offset: 0
        }]
    );
    let mut left = log.subscribe("left", Some("g")).await.unwrap();
    let read = take(left.as_mut(), 1).await;
    left.commit(&[after(&read[0])]).await.unwrap();
    let mut right = log.subscribe("right", Some("g")).await.unwrap();
    assert_eq!(value(&take(right.as_mut(), 1).await[0]), "right");
}

/// A batch has at most `limit.records`, and ends as soon as `limit.bytes` is reached.
pub async fn limits_are_kept(log: &dyn EventLog) {
    topic(log, "limits", 2).await;
    log.append(
        "limits",
        (0..100)
            .map(|n| record(&n.to_string(), &"x".repeat(1_000)))
            .collect(),
    )
    .await
    .unwrap();
    let mut subscription = log.subscribe("limits", None).await.unwrap();
    let mut seen = 0;
    for (records, bytes, most) in [
        (0, 1 << 20, 0),
        (1, 1 << 20, 1),
        (7, 1 << 20, 7),
        (100, 1, 1),
        (100, 0, 1),
        (100, 2_500, 3),
        (1_000, 1 << 30, 88),
    ] {
        let batch = subscription
            .next_batch(BatchLimit { records, bytes }, SOON)
            .await
            .unwrap();
        assert!(
            batch.len() <= most && batch.is_empty() == (most == 0),
            "{} records under a limit of {records} and {bytes} bytes",
            batch.len()
        );
        seen += batch.len();
    }
    take(subscription.as_mut(), 100 - seen).await;
    nothing_more(subscription.as_mut()).await;
}

/// One record over the byte limit is still returned.
pub async fn a_large_record_is_returned_alone(log: &dyn EventLog) {
    topic(log, "large", 1).await;
    let sent = vec![record("a", &"x".repeat(700_000)), record("a", "small")];
    log.append("large", sent.clone()).await.unwrap();
    let mut subscription = log.subscribe("large", None).await.unwrap();
    for expected in sent {
        let batch = subscription
            .next_batch(
                BatchLimit {
                    records: 10,
                    bytes: 1,
                },
                SOON,
            )
            .await
            .unwrap();
        assert_eq!(
            batch
                .into_iter()
                .map(|stored| stored.record)
                .collect::<Vec<_>>(),
            [expected]
        );
    }
}

/// Without records the wait is waited, and the batch is empty.
pub async fn waiting_ends_without_records(log: &dyn EventLog) {
    topic(log, "silence", 2).await;
    let mut subscription = log.subscribe("silence", Some("g")).await.unwrap();
    let started = Instant::now();
    assert_eq!(
        subscription
            .next_batch(ANY, Duration::from_millis(60))
            .await
            .unwrap(),
        []
    );
    assert!(
        started.elapsed() >= Duration::from_millis(60),
        "returned before the wait was over"
    );
    assert_eq!(
        subscription.next_batch(ANY, Duration::ZERO).await.unwrap(),
        []
    );
}

/// A record that arrives during the wait ends it.
pub async fn waiting_ends_early_with_a_record(log: &dyn EventLog) {
    topic(log, "wake", 3).await;
    let mut subscription = log.subscribe("wake", Some("g")).await.unwrap();
    for round in 0..3 {
        let started = Instant::now();
        let append = async {
            tokio::time::sleep(Duration::from_millis(30)).await;
            log.append("wake", vec![record(&round.to_string(), "")])
                .await
                .unwrap()
        };
        let (batch, positions) = tokio::join!(
            subscription.next_batch(ANY, Duration::from_secs(60)),
            append
        );
        assert_eq!(
            batch
                .unwrap()
                .iter()
                .map(|stored| stored.position)
                .collect::<Vec<_>>(),
            positions
        );
        assert!(
            started.elapsed() < SOON,
            "the append did not wake the reader"
        );
    }
    assert_eq!(
        subscription
            .next_batch(ANY, Duration::MAX / 2)
            .now_or_pending()
            .await,
        None,
        "an endless wait must not end"
    );
}

/// Dropping `next_batch` in the middle skips no record.
pub async fn cancelling_loses_nothing(log: &dyn EventLog) {
    topic(log, "cancel", 2).await;
    let mut subscription = log.subscribe("cancel", Some("g")).await.unwrap();
    let mut seen = Vec::new();
    for round in 0..30u32 {
        let records = (0..10)
            .map(|n| record(&format!("{round}/{n}"), ""))
            .collect();
        log.append("cancel", records).await.unwrap();
        let limit = BatchLimit {
            records: 7,
            bytes: 1 << 20,
        };
        let patience = Duration::from_micros(u64::from(round) * 20);
        if let Ok(batch) =
            tokio::time::timeout(patience, subscription.next_batch(limit, SOON)).await
        {
            seen.extend(batch.unwrap());
        }
    }
    let missing = 300 - seen.len();
    seen.extend(take(subscription.as_mut(), missing).await);
    let positions: std::collections::HashSet<Position> =
        seen.iter().map(|stored| stored.position).collect();
    assert_eq!(
        positions.len(),
        300,
        "a record came twice, and so another not at all"
    );
}

/// Many appends at once: every record once, each producer's in order, while a reader follows.
pub async fn concurrent_appends_lose_nothing(log: &dyn EventLog) {
    topic(log, "concurrent", 4).await;
    let producer = async |producer: usize| {
        for n in 0..20 {
            log.append(
                "concurrent",
                vec![record(&format!("producer {producer}"), &n.to_string())],
            )
            .await
            .unwrap();
        }
    };
    let mut subscription = log.subscribe("concurrent", Some("g")).await.unwrap();
    let producers = futures::future::join_all((0..32).map(producer));
    let (_, read) = futures::future::join(producers, take(subscription.as_mut(), 640)).await;
    for producer in 0..32 {
        let key = format!("producer {producer}");
        let values: Vec<String> = read
            .iter()
            .filter(|stored| stored.record.key == key)
            .map(value)
            .collect();
        assert_eq!(
            values,
            (0..20).map(|n| n.to_string()).collect::<Vec<_>>(),
            "{key}"
        );
    }
    nothing_more(subscription.as_mut()).await;
}

/// Gives a future 50 ms.
trait NowOrPending: Future + Sized {
    async fn now_or_pending(self) -> Option<Self::Output> {
        tokio::time::timeout(Duration::from_millis(50), self)
            .await
            .ok()
    }
}

impl<F: Future> NowOrPending for F {}
