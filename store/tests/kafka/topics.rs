//! Topics as the broker sees them, and records as other producers write them.

use std::collections::BTreeSet;
use std::sync::Arc;

use rdkafka::ClientConfig;
use rdkafka::admin::{AdminClient, AdminOptions, NewPartitions, ResourceSpecifier};
use rdkafka::client::DefaultClientContext;
use rdkafka::producer::{BaseRecord, DefaultProducerContext, Producer, ThreadedProducer};
use tokio_util::sync::CancellationToken;
use tributary_schemas::{DocumentEvent, Error, Topic};
use tributary_store::blobs::Blobs;
use tributary_store::event_log::embedded::partition_of;
use tributary_store::event_log::stage::{Output, Stage};
use tributary_store::event_log::topics::Topics;
use tributary_store::event_log::worker::Worker;
use tributary_store::event_log::worker::metrics::WorkerMetrics;
use tributary_store::event_log::{dead_letter, message};
use tributary_store::metrics::MetricRegistry;

use super::*;

async fn setting(brokers: &str, topic: &str, name: &str) -> String {
    let found = admin(brokers)
        .describe_configs([&ResourceSpecifier::Topic(topic)], &AdminOptions::new())
        .await
        .unwrap();
    found[0]
        .as_ref()
        .unwrap()
        .get(name)
        .unwrap()
        .value
        .clone()
        .unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn topics_get_their_settings_and_existing_ones_are_brought_in_line() {
    let Some(brokers) = brokers("topics_get_their_settings_and_existing_ones_are_brought_in_line")
    else {
        return;
    };
    let (topic, hour) = (unique("settings"), Duration::from_secs(3600));
    let kept = |age, bytes| TopicSettings {
        retention_age: Some(age),
        retention_bytes: Some(bytes),
        ..partitions(2)
    };
    open(&brokers)
        .await
        .create_topic(&topic, kept(hour, 1 << 20))
        .await
        .unwrap();
    assert_eq!(setting(&brokers, &topic, "cleanup.policy").await, "delete");
    assert_eq!(setting(&brokers, &topic, "retention.ms").await, "3600000");
    assert_eq!(
        setting(&brokers, &topic, "retention.bytes").await,
        "1048576"
    );
    assert_eq!(
        setting(&brokers, &topic, "max.message.bytes").await,
        ((16 << 20) + (64 << 10)).to_string()
    );

    let log = KafkaEventLog::open(Config {
        max_record_bytes: 20 << 20,
        ..config(&brokers)
    })
    .await
    .unwrap();
    log.create_topic(
        &topic,
        TopicSettings {
            compacted: true,
            ..kept(2 * hour, 2 << 20)
        },
    )
    .await
    .unwrap();
    assert_eq!(
        setting(&brokers, &topic, "cleanup.policy").await,
        "delete",
        "turning compaction on would lose records"
    );
    assert_eq!(
        setting(&brokers, &topic, "retention.ms").await,
        "-1",
        "compacted topics keep all"
    );
    assert_eq!(
        setting(&brokers, &topic, "max.message.bytes").await,
        ((20 << 20) + (64 << 10)).to_string()
    );
    assert_eq!(
        setting(&brokers, &topic, "message.timestamp.after.max.ms").await,
        i64::MAX.to_string(),
        "settings got lost in the change"
    );

    let compacted = unique("compacted");
    log.create_topic(
        &compacted,
        TopicSettings {
            compacted: true,
            ..partitions(1)
        },
    )
    .await
    .unwrap();
    assert_eq!(
        setting(&brokers, &compacted, "cleanup.policy").await,
        "compact"
    );
    assert!(log.check_policy(&compacted, true).await.is_ok());
    assert!(log.check_policy(&topic, false).await.is_ok());
    let otherwise = log.check_policy(&topic, true).await.unwrap_err();
    assert!(
        otherwise.kind() == ErrorKind::Conflict
            && otherwise.to_string().contains("cleanup.policy `delete`"),
        "{otherwise}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_go_where_the_embedded_log_and_java_put_them() {
    let Some(brokers) = brokers("keys_go_where_the_embedded_log_and_java_put_them") else {
        return;
    };
    let (log, topic) = (open(&brokers).await, unique("partitioner"));
    log.create_topic(&topic, partitions(7)).await.unwrap();
    let keys: Vec<String> = (0..300)
        .map(|n| format!("文档/{n}"))
        .chain([String::new()])
        .collect();
    let positions = log
        .append(&topic, keys.iter().map(|key| record(key, "")).collect())
        .await
        .unwrap();
    for (key, position) in keys.iter().zip(positions) {
        assert_eq!(position.partition, partition_of(key.as_bytes(), 7), "{key}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn five_megabytes_travel_and_too_many_are_refused() {
    let Some(brokers) = brokers("five_megabytes_travel_and_too_many_are_refused") else {
        return;
    };
    let (log, topic) = (open(&brokers).await, unique("large"));
    log.create_topic(&topic, partitions(1)).await.unwrap();
    let sent = record("a", &"5 MB ".repeat(1 << 20));
    log.append(&topic, vec![sent.clone(), record("a", "small")])
        .await
        .unwrap();
    let read = conformance::take(log.subscribe(&topic, None).await.unwrap().as_mut(), 2).await;
    assert!(read[0].record == sent, "a large value came back changed");
    let refused = log
        .append(&topic, vec![record("a", &"x".repeat(17 << 20))])
        .await
        .unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Invalid, "{refused}");
    // A topic that takes less than we send, and that we may not change: the broker's refusal is the
    // record's fault too.
    let small = KafkaEventLog::open(Config {
        max_record_bytes: 2_000_000,
        ..config(&brokers)
    })
    .await
    .unwrap();
    let narrow = unique("narrow");
    small.create_topic(&narrow, partitions(1)).await.unwrap();
    let mut state = 1_u64;
    let incompressible = std::iter::repeat_with(|| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    });
    let incompressible: Vec<u8> = incompressible.take(4_000_000).collect();
    let large = Record {
        value: Some(incompressible.into()),
        ..record("a", "")
    };
    let refused = log.append(&narrow, vec![large]).await.unwrap_err();
    assert!(
        refused.kind() == ErrorKind::Invalid
            && refused.full_message().contains("max.message.bytes"),
        "{}",
        refused.full_message()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_queue_that_is_full_makes_appends_wait() {
    let Some(brokers) = brokers("a_queue_that_is_full_makes_appends_wait") else {
        return;
    };
    let log = KafkaEventLog::open(Config {
        queue_bytes: 1 << 20,
        ..config(&brokers)
    })
    .await
    .unwrap();
    let topic = unique("queue");
    log.create_topic(&topic, partitions(2)).await.unwrap();
    let value = "x".repeat(100_000);
    let many = |from: u32| {
        (from..from + 100)
            .map(|n| record(&(n % 3).to_string(), &format!("{n} {value}")))
            .collect::<Vec<_>>()
    };
    let (left, right) = tokio::join!(log.append(&topic, many(0)), log.append(&topic, many(1_000)));
    assert_eq!((left.unwrap().len(), right.unwrap().len()), (100, 100));
    let read = conformance::take(log.subscribe(&topic, None).await.unwrap().as_mut(), 200).await;
    for partition in 0..2 {
        for from in [0, 1_000] {
            let number = |stored: &StoredRecord| -> u32 {
                String::from_utf8_lossy(stored.record.value.as_ref().unwrap())
                    .split(' ')
                    .next()
                    .unwrap()
                    .parse()
                    .unwrap()
            };
            let numbers: Vec<u32> = read
                .iter()
                .filter(|stored| stored.position.partition == partition)
                .map(number)
                .collect();
            let of_one: Vec<u32> = numbers
                .into_iter()
                .filter(|number| (from..from + 100).contains(number))
                .collect();
            assert!(of_one.is_sorted(), "an append lost its order: {of_one:?}");
        }
    }
}

/// Wants what ingest wants of a record.
struct Strict;

#[async_trait]
impl Stage for Strict {
    fn name(&self) -> &'static str {
        "strict"
    }

    async fn process(&self, input: &StoredRecord) -> std::result::Result<Vec<Output>, Error> {
        message::document_id(&input.record)?;
        message::decode::<DocumentEvent>(&input.record)?;
        Ok(Vec::new())
    }

    fn abandoned(&self, _: &StoredRecord, _: &Error) -> Vec<Output> {
        Vec::new()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_other_producers_do_wrong_becomes_dead_letters_that_say_so() {
    let Some(brokers) = brokers("what_other_producers_do_wrong_becomes_dead_letters_that_say_so")
    else {
        return;
    };
    let (prefix, folder) = (unique("malformed"), tempfile::tempdir().unwrap());
    let log: Arc<dyn EventLog> = Arc::new(open(&brokers).await);
    let topics = Topics::new(
        Arc::clone(&log),
        prefix.clone(),
        Blobs::local(folder.path()).unwrap(),
        1 << 20,
    );
    topics.create(2, None, None).await.unwrap();
    let raw = Topic::DocumentsRaw.full_name(&prefix);
    let mut foreign = ClientConfig::new();
    foreign
        .set("bootstrap.servers", &brokers)
        .set("message.max.bytes", "10000000");
    let foreign: ThreadedProducer<DefaultProducerContext> = foreign.create().unwrap();
    let huge = "not JSON ".repeat(600_000);
    let sound = r#"{"source":"s","source_path":"p","content":"text"}"#;
    for (key, value) in [
        (Some("not json"), "{"),
        (
            Some("wrong schema"),
            r#"{"source":"s","source_path":"p","content":"x","colour":"red"}"#,
        ),
        (None, sound),
        (Some("5 MB"), huge.as_str()),
        (Some("sound"), sound),
    ] {
        let mut message = BaseRecord::<str, str>::to(&raw).payload(value);
        message.key = key;
        foreign.send(message).map_err(|(error, _)| error).unwrap();
    }
    foreign.flush(SOON).unwrap();
    let metrics = WorkerMetrics::register(&MetricRegistry::default())
        .unwrap()
        .stage("strict");
    let worker = Worker::new(
        topics.clone(),
        Topic::DocumentsRaw,
        Arc::new(Strict),
        super::groups::settings(),
        metrics,
        Arc::new(|| 7),
    );
    let stop = CancellationToken::new();
    let running = tokio::spawn({
        let stop = stop.clone();
        async move { worker.run(stop).await }
    });
    let mut letters = topics.subscribe(Topic::DeadLetters, None).await.unwrap();
    let letters = conformance::take(letters.as_mut(), 4).await;
    stop.cancel();
    running.await.unwrap().unwrap();
    assert!(
        topics
            .lag(Topic::DocumentsRaw, "strict")
            .await
            .unwrap()
            .iter()
            .all(|lag| lag.records() == 0)
    );
    let of = |letter: &StoredRecord| dead_letter::original(&letter.record).unwrap().1.key;
    for (key, says) in [
        ("not json", "is not JSON"),
        ("wrong schema", "colour"),
        ("", "no key"),
        ("5 MB", "is not JSON"),
    ] {
        let letter = letters.iter().find(|letter| of(letter) == key).unwrap();
        let read = dead_letter::read(&letter.record).unwrap();
        assert!(
            read.kind == ErrorKind::Invalid && read.message.contains(says),
            "{key}: {}",
            read.message
        );
    }
    let large = letters.iter().find(|letter| of(letter) == "5 MB").unwrap();
    let (_, original) =
        dead_letter::original(&topics.redeem(large.record.clone()).await.unwrap()).unwrap();
    assert_eq!(
        original.value.as_deref(),
        Some(huge.as_bytes()),
        "the dead letter changed the record"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_audit_record_is_kept() {
    let Some(brokers) = brokers("the_audit_record_is_kept") else {
        return;
    };
    let (prefix, folder) = (unique("audit"), tempfile::tempdir().unwrap());
    let log: Arc<dyn EventLog> = Arc::new(open(&brokers).await);
    let blobs = Blobs::local(folder.path()).unwrap();
    let topics = Topics::new(log, prefix.clone(), blobs, 1000);
    crate::audit::calls_are_kept_found_and_followed(topics).await;
    let name = Topic::Audit.full_name(&prefix);
    assert_eq!(setting(&brokers, &name, "cleanup.policy").await, "delete");
}

fn admin(brokers: &str) -> AdminClient<DefaultClientContext> {
    let mut settings = ClientConfig::new();
    settings.set("bootstrap.servers", brokers);
    settings.create().unwrap()
}

/// Reads until all of these were read, whatever else comes; commits if asked to.
async fn reads_all(reader: &mut dyn Subscription, wanted: &[Position], commits: bool) {
    let deadline = std::time::Instant::now() + 3 * SOON;
    let mut missing: BTreeSet<(u32, u64)> = wanted
        .iter()
        .map(|position| (position.partition, position.offset))
        .collect();
    while !missing.is_empty() {
        assert!(
            std::time::Instant::now() < deadline,
            "not read: {missing:?}"
        );
        // A topic that is away is reported.
        let Ok(batch) = reader.next_batch(ANY, Duration::from_millis(200)).await else {
            continue;
        };
        for stored in batch {
            let Position { partition, offset } = stored.position;
            if stored.record.value.as_deref() == Some(b"after") {
                missing.remove(&(partition, offset));
            }
            let next = Position {
                partition,
                offset: offset + 1,
            };
            if commits {
                reader.commit(&[next]).await.unwrap();
            }
        }
    }
}

fn many(count: u32, value: &str) -> Vec<Record> {
    (0..count)
        .map(|number| record(&number.to_string(), value))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_topic_made_again_under_its_readers_is_read_from_its_start() {
    let test = "a_topic_made_again_under_its_readers_is_read_from_its_start";
    let Some(brokers) = brokers(test) else {
        return;
    };
    for partitions_after in [2, 5] {
        let (log, topic) = (open(&brokers).await, unique("again"));
        log.create_topic(&topic, partitions(2)).await.unwrap();
        let mut member = log.subscribe(&topic, Some("stage")).await.unwrap();
        let mut follower = log.subscribe(&topic, None).await.unwrap();
        let before = log.append(&topic, many(20, "before")).await.unwrap();
        for stored in conformance::take(member.as_mut(), before.len()).await {
            let Position { partition, offset } = stored.position;
            let next = Position {
                partition,
                offset: offset + 1,
            };
            member.commit(&[next]).await.unwrap();
        }
        conformance::take(follower.as_mut(), before.len()).await;
        // Long enough that the log has seen which topic it reads.
        tokio::time::sleep(Duration::from_secs(5)).await;

        // As an operator does it, and another process that starts.
        let deleted = admin(&brokers)
            .delete_topics(&[topic.as_str()], &AdminOptions::new())
            .await;
        assert!(deleted.unwrap().iter().all(std::result::Result::is_ok));
        let other = open(&brokers).await;
        let deadline = std::time::Instant::now() + SOON;
        while other
            .create_topic(&topic, partitions(partitions_after))
            .await
            .is_err()
        {
            assert!(std::time::Instant::now() < deadline, "not made again");
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        // More than there were before, so that the old positions lie in the middle of them.
        let after = other.append(&topic, many(200, "after")).await.unwrap();
        reads_all(member.as_mut(), &after, true).await;
        reads_all(follower.as_mut(), &after, false).await;
        let lag = other.lag(&topic, "stage").await.unwrap();
        assert_eq!(lag.len(), partitions_after as usize);
        assert!(lag.iter().all(|lag| lag.records() == 0), "{lag:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn partitions_that_are_added_are_read_without_a_group_too() {
    let test = "partitions_that_are_added_are_read_without_a_group_too";
    let Some(brokers) = brokers(test) else {
        return;
    };
    let (log, topic) = (open(&brokers).await, unique("grown"));
    log.create_topic(&topic, partitions(1)).await.unwrap();
    let mut follower = log.subscribe(&topic, None).await.unwrap();
    log.append(&topic, many(10, "before")).await.unwrap();
    conformance::take(follower.as_mut(), 10).await;
    assert_eq!(log.lag(&topic, "stage").await.unwrap().len(), 1);
    tokio::time::sleep(Duration::from_secs(5)).await;
    let more = NewPartitions::new(&topic, 4);
    let grown = admin(&brokers)
        .create_partitions([&more], &AdminOptions::new())
        .await;
    assert!(grown.unwrap().iter().all(std::result::Result::is_ok));
    let other = open(&brokers).await;
    let deadline = std::time::Instant::now() + SOON;
    let after = loop {
        let after = other.append(&topic, many(100, "after")).await.unwrap();
        if after.iter().any(|position| position.partition > 0) {
            break after;
        }
        assert!(
            std::time::Instant::now() < deadline,
            "nothing in new partitions"
        );
    };
    reads_all(follower.as_mut(), &after, false).await;
    assert_eq!(log.lag(&topic, "stage").await.unwrap().len(), 4);
}
