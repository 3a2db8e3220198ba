//! Proves when a stage stops to give records up, and when it goes on, on the embedded log with a
//! stage that fails as it is told.
#![allow(clippy::unwrap_used)]

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tributary_schemas::{Error, ErrorKind, Result, Topic};

use super::metrics::WorkerMetrics;
use super::{Worker, WorkerSettings, tests};
use crate::blobs::Blobs;
use crate::event_log::embedded::{Config, EmbeddedEventLog};
use crate::event_log::stage::{Output, Stage};
use crate::event_log::topics::Topics;
use crate::event_log::{Record, StoredRecord};
use crate::metrics::MetricRegistry;

const WELL: u8 = 0;
const BROKEN: u8 = 1;
const AWAY: u8 = 2;
const LONG: u8 = 3;

/// Fails for a record of key `bad-content`, and for all others as its mood is.
struct Moody {
    mood: AtomicU8,
    tried: Mutex<Vec<String>>,
}

#[async_trait]
impl Stage for Moody {
    fn name(&self) -> &'static str {
        "moody"
    }

    async fn process(&self, input: &StoredRecord) -> Result<Vec<Output>> {
        let key = String::from_utf8_lossy(&input.record.key).into_owned();
        self.tried.lock().unwrap().push(key.clone());
        while self.mood.load(Ordering::SeqCst) == LONG {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        match (key.as_str(), self.mood.load(Ordering::SeqCst)) {
            (key, _) if key.starts_with("content") => Err(Error::new(
                ErrorKind::Corrupt,
                format!("`{key}` is encrypted"),
            )),
            (key, _) if key.starts_with("bug") => Err(Error::new(
                ErrorKind::Internal,
                format!("`{key}` met a bug"),
            )),
            (key, BROKEN) => Err(Error::new(
                ErrorKind::Internal,
                format!("no thread for `{key}`"),
            )),
            (_, AWAY) => {
                Err(Error::new(ErrorKind::Denied, "the index refuses us").of_environment())
            }
            _ => Ok(vec![Output {
                topic: Topic::DocumentsClean,
                record: input.record.clone(),
            }]),
        }
    }

    fn at_work_after(&self) -> Option<Duration> {
        Some(Duration::from_millis(20))
    }

    fn abandoned(&self, _: &StoredRecord, _: &Error) -> Vec<Output> {
        Vec::new()
    }
}

struct Bench {
    topics: Topics,
    stage: Arc<Moody>,
    metrics: WorkerMetrics,
    stop: CancellationToken,
    running: JoinHandle<Result<()>>,
    _folder: tempfile::TempDir,
}

impl Bench {
    async fn start(mood: u8, breaker_release_seconds: u64) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let log = EmbeddedEventLog::open(&folder.path().join("log"), Config::small()).unwrap();
        let topics = Topics::new(
            Arc::new(log),
            "t".into(),
            Blobs::local(&folder.path().join("blobs")).unwrap(),
            1 << 16,
        );
        topics.create(1, None, None).await.unwrap();
        let settings = WorkerSettings {
            concurrency: 2,
            in_flight_records: 1000,
            internal_attempts: 1,
            timeout_attempts: 1,
            breaker_records: 5,
            breaker_release_seconds,
            ..tests::worker_settings()
        };
        let stage = Arc::new(Moody {
            mood: AtomicU8::new(mood),
            tried: Mutex::default(),
        });
        let metrics = WorkerMetrics::register(&MetricRegistry::default()).unwrap();
        let of_stage = metrics.stage("moody");
        let worker = Worker::new(
            topics.clone(),
            Topic::DocumentsRaw,
            Arc::clone(&stage) as _,
            settings,
            of_stage,
            Arc::new(|| 7),
        );
        let stop = CancellationToken::new();
        let running = tokio::spawn({
            let stop = stop.clone();
            async move { worker.run(stop).await }
        });
        Self {
            topics,
            stage,
            metrics,
            stop,
            running,
            _folder: folder,
        }
    }

    async fn publish(&self, keys: impl IntoIterator<Item = String>) {
        let record = |key: String| Record {
            key: Bytes::from(key),
            value: Some(Bytes::from_static(b"v")),
            ..Record::default()
        };
        self.topics
            .append(Topic::DocumentsRaw, keys.into_iter().map(record).collect())
            .await
            .unwrap();
    }

    fn tried(&self) -> usize {
        self.stage.tried.lock().unwrap().len()
    }

    async fn count(&self, topic: Topic) -> u64 {
        self.topics
            .lag(topic, "nobody")
            .await
            .unwrap()
            .iter()
            .map(|lag| lag.end - lag.start)
            .sum()
    }

    async fn until(&self, what: &str, holds: impl AsyncFn(&Self) -> bool) {
        for _ in 0..60_000 {
            if holds(self).await {
                return;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let held = self.metrics.holds().held();
        panic!(
            "{what}: tried {}, dead {}, held {held:?}",
            self.tried(),
            self.count(Topic::DeadLetters).await
        );
    }

    async fn until_committed(&self) {
        let is_done = async |bench: &Self| {
            bench
                .topics
                .lag(Topic::DocumentsRaw, "moody")
                .await
                .unwrap()
                .iter()
                .all(|lag| lag.records() == 0)
        };
        self.until("everything is committed", is_done).await;
    }

    async fn end(self) {
        self.stop.cancel();
        self.running.await.unwrap().unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_try_is_work_and_no_waiting_for_what_failed_before() {
    let bench = Bench::start(AWAY, 0).await;
    bench.publish(numbered("good", 1)).await;
    let is_held = |bench: &Bench| !bench.metrics.holds().held().is_empty();
    bench.until("it waits", async |bench| is_held(bench)).await;
    bench.stage.mood.store(LONG, Ordering::SeqCst);
    bench
        .until("it is at work", async |bench| !is_held(bench))
        .await;
    assert_eq!(bench.count(Topic::DocumentsClean).await, 0);
    bench.stage.mood.store(WELL, Ordering::SeqCst);
    bench.until_committed().await;
    assert_eq!(bench.count(Topic::DocumentsClean).await, 1);
    bench.end().await;
}

fn numbered(name: &str, count: usize) -> Vec<String> {
    (0..count)
        .map(|number| format!("{name}-{number}"))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn many_failures_of_one_reason_hold_the_stage_until_a_record_passes() {
    let bench = Bench::start(BROKEN, 0).await;
    bench.publish(numbered("good", 40)).await;
    bench
        .until("records are tried again", async |bench| bench.tried() > 200)
        .await;
    assert!(
        bench.count(Topic::DeadLetters).await < 5,
        "it goes on to give records up"
    );
    let held = bench.metrics.holds().held();
    assert!(
        held.len() == 1 && held[0].reason.starts_with("no thread for"),
        "{held:?}"
    );
    assert_eq!(bench.metrics.stage("moody").breaker_open.get(), 1);
    bench.stage.mood.store(WELL, Ordering::SeqCst);
    bench.until_committed().await;
    let (dead, passed) = (
        bench.count(Topic::DeadLetters).await,
        bench.count(Topic::DocumentsClean).await,
    );
    assert_eq!(
        (dead + passed, dead),
        (40, 4),
        "those that failed before the breaker opened"
    );
    assert!(bench.metrics.holds().held().is_empty());
    assert_eq!(bench.metrics.stage("moody").breaker_open.get(), 0);
    bench.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn any_number_of_bad_documents_stops_nobody() {
    let bench = Bench::start(WELL, 0).await;
    bench
        .publish(
            numbered("content", 100)
                .into_iter()
                .chain(numbered("good", 3)),
        )
        .await;
    bench.until_committed().await;
    assert_eq!(
        (
            bench.count(Topic::DeadLetters).await,
            bench.count(Topic::DocumentsClean).await
        ),
        (100, 3)
    );
    bench.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn good_records_behind_many_that_meet_a_bug_pass_and_the_rest_is_given_up_bit_by_bit() {
    let bench = Bench::start(WELL, 1).await;
    bench
        .publish(numbered("bug", 60).into_iter().chain(numbered("good", 3)))
        .await;
    bench
        .until("good records pass", async |bench| {
            bench.count(Topic::DocumentsClean).await == 3
        })
        .await;
    let before = bench.count(Topic::DeadLetters).await;
    bench
        .until("one more is given up", async |bench| {
            bench.count(Topic::DeadLetters).await > before.max(6)
        })
        .await;
    bench.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_refuses_us_holds_every_record_and_is_named() {
    let bench = Bench::start(AWAY, 0).await;
    bench.publish(numbered("good", 40)).await;
    bench
        .until("records wait", async |bench| bench.tried() > 20)
        .await;
    let held = bench.metrics.holds().held();
    assert_eq!(
        (
            held[0].stage.as_str(),
            held[0].count,
            held[0].reason.as_str()
        ),
        ("moody", 2, "the index refuses us")
    );
    bench.stage.mood.store(WELL, Ordering::SeqCst);
    bench.until_committed().await;
    assert_eq!(
        (
            bench.count(Topic::DeadLetters).await,
            bench.count(Topic::DocumentsClean).await
        ),
        (0, 40)
    );
    assert!(bench.metrics.holds().held().is_empty());
    bench.end().await;
}
