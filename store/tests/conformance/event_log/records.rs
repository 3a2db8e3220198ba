//! What of a record survives.

use super::*;

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

/// Any time after 1970 is kept.
pub async fn early_timestamps_survive(log: &dyn EventLog) {
    assert_eq!(
        timestamps(log, [1, 4_102_444_800_000]).await,
        [1, 4_102_444_800_000]
    );
}

/// 0 is a time as any other.
#[allow(dead_code, reason = "one side of a difference")]
pub async fn the_timestamp_0_survives(log: &dyn EventLog) {
    assert_eq!(timestamps(log, [0, 1]).await, [0, 1]);
}

/// 0 stands for the time of the append.
#[allow(dead_code, reason = "one side of a difference")]
pub async fn the_timestamp_0_is_the_time_of_the_append(log: &dyn EventLog) {
    let [append, early] = timestamps(log, [0, 1]).await;
    assert!(append > 1_700_000_000_000, "timestamp 0 became {append}");
    assert_eq!(early, 1);
}

/// What becomes of the timestamps of two records.
async fn timestamps(log: &dyn EventLog, sent: [i64; 2]) -> [i64; 2] {
    topic(log, "timestamps", 1).await;
    let records = sent.map(|timestamp_ms| Record {
        timestamp_ms,
        ..record("a", "")
    });
    log.append("timestamps", records.into()).await.unwrap();
    let read = take(log.subscribe("timestamps", None).await.unwrap().as_mut(), 2).await;
    [0, 1].map(|place| read[place].record.timestamp_ms)
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
