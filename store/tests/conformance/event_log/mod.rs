//! Behaviour that every event log must show, as plain functions over `&dyn EventLog`, one per
//! promise of the trait's docs. [`every_promise`] makes a test of each, on a log of its own; where
//! logs may differ, each names its side with [`tests_of`].

pub mod appends;
pub mod groups;
pub mod reading;
pub mod records;
pub mod topics;

use std::collections::HashMap;
use std::time::{Duration, Instant};

use bytes::Bytes;
use tributary_schemas::ErrorKind;
use tributary_store::event_log::{
    BatchLimit, EventLog, Position, Record, StoredRecord, Subscription, TopicSettings,
};

/// Makes a test of every promise that all logs keep. The scene has `start(name)`, which gives none
/// where it cannot be had and has said so, and `log()`.
macro_rules! every_promise {
    ($scene:ty, $flavor:literal) => {
        $crate::conformance::tests_of! { $scene, $flavor,
            topics: creation_can_be_repeated, unknown_topics_are_not_found, illegal_names_are_refused, topics_are_independent;
            appends: appends_return_their_positions, an_empty_append_is_fine, keys_keep_their_order, an_append_keeps_its_order, one_key_stays_in_one_partition, concurrent_appends_lose_nothing;
            records: records_come_back_unchanged, empty_keys_values_and_headers_survive, early_timestamps_survive, long_and_unicode_keys_survive, tombstones_are_delivered;
            reading: limits_are_kept, a_large_record_is_returned_alone, waiting_ends_without_records, waiting_ends_early_with_a_record, cancelling_loses_nothing;
            groups: groups_are_independent, groups_resume_after_what_they_committed, uncommitted_records_come_again, commits_never_move_back, commits_reach_only_their_partition, commits_beyond_the_end_are_refused, readers_without_a_group_see_all_and_cannot_commit, lag_counts, forgotten_groups_start_again;
        }
    };
}
pub(crate) use every_promise;

macro_rules! tests_of {
    ($scene:ty, $flavor:literal, $($topic:ident: $($promise:ident),+;)+) => {$($(
        #[tokio::test(flavor = $flavor)]
        async fn $promise() {
            if let Some(scene) = <$scene>::start(stringify!($promise)).await {
                $crate::conformance::$topic::$promise(scene.log()).await;
            }
        }
    )+)+};
}
pub(crate) use tests_of;

const SOON: Duration = Duration::from_secs(60);
const ANY: BatchLimit = BatchLimit {
    records: 10_000,
    bytes: 64 << 20,
};

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
