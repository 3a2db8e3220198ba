//! What the worker loop costs: records per second through a stage that does nothing, against a bare
//! rdkafka consumer that commits now and then, from the same topic, in turns within one run. Both
//! are timed from the first record to the last, so that joining the group counts for neither.
//! TRIBUTARY_TEST_KAFKA names the broker.

#![allow(clippy::unwrap_used, clippy::explicit_write)]

use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use bytes::Bytes;
use futures::StreamExt;
use rdkafka::ClientConfig;
use rdkafka::Message;
use rdkafka::consumer::{CommitMode, Consumer, StreamConsumer};
use tokio_util::sync::CancellationToken;
use tributary_schemas::{Error, Result, Topic};
use tributary_store::blobs::Blobs;
use tributary_store::event_log::kafka::{Config, KafkaEventLog};
use tributary_store::event_log::stage::{Output, Stage};
use tributary_store::event_log::topics::Topics;
use tributary_store::event_log::worker::metrics::WorkerMetrics;
use tributary_store::event_log::worker::{Worker, WorkerSettings};
use tributary_store::event_log::{EventLog, Record, StoredRecord, TopicSettings};
use tributary_store::metrics::MetricRegistry;

const RECORDS: u64 = 300_000;
const RECORD_BYTES: usize = 1024;
const PARTITIONS: u32 = 3;
const ROUNDS: usize = 5;

fn main() {
    let Ok(brokers) = std::env::var("TRIBUTARY_TEST_KAFKA") else {
        say("SKIPPED: TRIBUTARY_TEST_KAFKA names no broker");
        return;
    };
    tokio::runtime::Runtime::new()
        .unwrap()
        .block_on(run(&brokers));
}

async fn run(brokers: &str) {
    let prefix = format!("bench-{}", std::process::id());
    let topic = Topic::DocumentsRaw.full_name(&prefix);
    let log = Arc::new(KafkaEventLog::open(config(brokers)).await.unwrap());
    fill(&log, &topic).await;
    say("round   worker records/s   bare consumer records/s   ratio");
    let mut ratios = Vec::new();
    for round in 0..ROUNDS {
        let worker = rate(worker(&log, &prefix, round).await);
        let bare = rate(bare(brokers, &topic, round).await);
        ratios.push(worker / bare);
        say(&format!(
            "{round:5} {worker:18.0} {bare:25.0} {:7.2}",
            worker / bare
        ));
    }
    ratios.sort_by(f64::total_cmp);
    say(&format!(
        "median ratio {:.2}; {RECORDS} records of {RECORD_BYTES} bytes in {PARTITIONS} partitions",
        ratios[ROUNDS / 2]
    ));
}

fn rate(taken: Duration) -> f64 {
    RECORDS as f64 / taken.as_secs_f64()
}

/// Values that compress about as badly as text.
async fn fill(log: &KafkaEventLog, topic: &str) {
    let settings = TopicSettings {
        partitions: PARTITIONS,
        compacted: false,
        retention_age: None,
        retention_bytes: None,
    };
    log.create_topic(topic, settings).await.unwrap();
    let mut state = 7_u64;
    for batch in 0..RECORDS / 5_000 {
        let records = (0..5_000).map(|number| {
            let letters = std::iter::repeat_with(|| {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                b'a' + ((state >> 33) % 26) as u8
            });
            let value: Vec<u8> = letters.take(RECORD_BYTES).collect();
            Record {
                key: Bytes::from(format!("{batch}/{number}")),
                value: Some(value.into()),
                headers: Vec::new(),
                timestamp_ms: 1,
            }
        });
        log.append(topic, records.collect()).await.unwrap();
    }
}

/// Counts, and tells when the first and the last record came.
#[derive(Default)]
struct Empty {
    first: OnceLock<Instant>,
    seen: AtomicU64,
    all: CancellationToken,
}

#[async_trait]
impl Stage for Empty {
    fn name(&self) -> &'static str {
        "empty"
    }

    async fn process(&self, _: &StoredRecord) -> Result<Vec<Output>> {
        self.first.get_or_init(Instant::now);
        if self.seen.fetch_add(1, Ordering::Relaxed) + 1 == RECORDS {
            self.all.cancel();
        }
        Ok(Vec::new())
    }

    fn abandoned(&self, _: &StoredRecord, _: &Error) -> Vec<Output> {
        Vec::new()
    }
}

async fn worker(log: &Arc<KafkaEventLog>, prefix: &str, round: usize) -> Duration {
    let folder = tempfile::tempdir().unwrap();
    let topics = Topics::new(
        Arc::clone(log) as _,
        prefix.to_owned(),
        Blobs::local(folder.path()).unwrap(),
        1 << 20,
    );
    let stage = Arc::new(Empty::default());
    let metrics = WorkerMetrics::register(&MetricRegistry::default())
        .unwrap()
        .stage("empty");
    let worker = Worker::new(
        topics,
        Topic::DocumentsRaw,
        Arc::clone(&stage) as _,
        settings(),
        metrics,
        Arc::new(|| 7),
    );
    let worker = worker.with_group(format!("worker-{round}"));
    let stop = CancellationToken::new();
    let running = tokio::spawn({
        let stop = stop.clone();
        async move { worker.run(stop).await }
    });
    stage.all.cancelled().await;
    let taken = stage.first.get().unwrap().elapsed();
    stop.cancel();
    running.await.unwrap().unwrap();
    taken
}

/// The loop of rdkafka's own examples: a stream of messages, offsets committed in the background.
async fn bare(brokers: &str, topic: &str, round: usize) -> Duration {
    let mut settings = ClientConfig::new();
    settings
        .set("bootstrap.servers", brokers)
        .set("group.id", format!("bare-{}-{round}", std::process::id()));
    settings
        .set("auto.offset.reset", "earliest")
        .set("enable.auto.commit", "false");
    let consumer: StreamConsumer = settings.create().unwrap();
    consumer.subscribe(&[topic]).unwrap();
    let mut stream = consumer.stream();
    let (mut seen, mut bytes, mut first) = (0_u64, 0, Instant::now());
    while seen < RECORDS {
        let message = stream.next().await.unwrap().unwrap();
        if seen == 0 {
            first = Instant::now();
        }
        seen += 1;
        bytes += message.payload().map_or(0, <[u8]>::len);
        if seen.is_multiple_of(1_000) {
            consumer
                .commit_message(&message, CommitMode::Async)
                .unwrap();
        }
    }
    assert_eq!(bytes as u64, RECORDS * RECORD_BYTES as u64);
    first.elapsed()
}

/// As in `cli/default.toml`.
fn settings() -> WorkerSettings {
    WorkerSettings {
        concurrency: 2,
        in_flight_records: 1000,
        in_flight_bytes: 64 << 20,
        backoff_initial_ms: 100,
        backoff_maximum_ms: 1_000,
        internal_attempts: 3,
        timeout_attempts: 3,
        breaker_records: 0,
        breaker_release_seconds: 0,
        linger_ms: 0,
        drain_ms: 20_000,
    }
}

fn config(brokers: &str) -> Config {
    Config {
        brokers: brokers.to_owned(),
        client_id: "tributary-bench".to_owned(),
        replication_factor: 0,
        min_in_sync_replicas: 0,
        max_record_bytes: 16 << 20,
        compression: "lz4".to_owned(),
        linger_ms: 1,
        queue_bytes: 64 << 20,
        read_ahead_bytes: 16 << 20,
        fetch_bytes: 1 << 20,
        fetch_wait_ms: 500,
        connect_timeout_ms: 10_000,
        request_timeout_ms: 10_000,
        delivery_timeout_ms: 30_000,
        session_timeout_ms: 30_000,
        poll_timeout_ms: 60_000,
        security_protocol: "plaintext".to_owned(),
        sasl_mechanism: String::new(),
        username: String::new(),
        password: Default::default(),
        password_file: String::new(),
        ssl_ca_file: String::new(),
        ssl_certificate_file: String::new(),
        ssl_key_file: String::new(),
        properties: Default::default(),
    }
}

fn say(line: &str) {
    writeln!(std::io::stdout(), "{line}").unwrap();
}
