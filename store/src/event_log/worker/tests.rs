//! Proves the loop's promises on the embedded log, with a scripted stage, a fake clock, and a log
//! that can stop dead at any step.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use tokio_util::sync::CancellationToken;
use tributary_schemas::{DeadLetter, Error, ErrorKind, Result, Topic};

use super::metrics::WorkerMetrics;
use super::{Worker, WorkerSettings};
use crate::blobs::Blobs;
use crate::event_log::embedded::{Config, EmbeddedEventLog};
use crate::event_log::stage::{Output, Stage};
use crate::event_log::topics::Topics;
use crate::event_log::{
    BatchLimit, EventLog, PartitionLag, Position, Record, StoredRecord, Subscription,
    TopicSettings, dead_letter,
};
use crate::metrics::MetricRegistry;

/// Where a run stops as if the process had been killed: every step from then on never returns.
#[derive(Default)]
struct Crash {
    at: Option<usize>,
    steps: AtomicUsize,
    happened: CancellationToken,
}

impl Crash {
    async fn step(&self) {
        let step = self.steps.fetch_add(1, Ordering::SeqCst);
        if self.at == Some(step) {
            self.happened.cancel();
        }
        if self.happened.is_cancelled() {
            std::future::pending::<()>().await;
        }
    }
}

struct CrashingLog {
    log: EmbeddedEventLog,
    crash: Arc<Crash>,
}

struct CrashingSubscription {
    subscription: Box<dyn Subscription>,
    crash: Arc<Crash>,
}

#[async_trait]
impl EventLog for CrashingLog {
    async fn create_topic(&self, topic: &str, settings: TopicSettings) -> Result<()> {
        self.log.create_topic(topic, settings).await
    }

    async fn append(&self, topic: &str, records: Vec<Record>) -> Result<Vec<Position>> {
        self.crash.step().await;
        let appended = self.log.append(topic, records).await;
        self.crash.step().await;
        appended
    }

    async fn subscribe(&self, topic: &str, group: Option<&str>) -> Result<Box<dyn Subscription>> {
        let subscription = self.log.subscribe(topic, group).await?;
        Ok(Box::new(CrashingSubscription {
            subscription,
            crash: Arc::clone(&self.crash),
        }))
    }

    async fn subscribe_from(
        &self,
        topic: &str,
        from: &[Position],
    ) -> Result<Box<dyn Subscription>> {
        self.log.subscribe_from(topic, from).await
    }

    async fn lag(&self, topic: &str, group: &str) -> Result<Vec<PartitionLag>> {
        self.log.lag(topic, group).await
    }

    async fn forget_group(&self, topic: &str, group: &str) -> Result<()> {
        self.log.forget_group(topic, group).await
    }
}

#[async_trait]
impl Subscription for CrashingSubscription {
    async fn next_batch(&mut self, limit: BatchLimit, wait: Duration) -> Result<Vec<StoredRecord>> {
        self.subscription.next_batch(limit, wait).await
    }

    async fn commit(&mut self, positions: &[Position]) -> Result<()> {
        self.crash.step().await;
        let committed = self.subscription.commit(positions).await;
        self.crash.step().await;
        committed
    }
}

/// Does what a record's value says: `ok`, `invalid`, `panic`, `unavailable N` (N times, then ok),
/// `broken` (panics also where it is told that a record was given up). Keeps what it wrote in a
/// sink that loses what was not flushed.
struct ScriptedStage {
    crash: Arc<Crash>,
    attempts: Mutex<BTreeMap<Position, u32>>,
    written: Mutex<BTreeMap<String, String>>,
    flushed: Arc<Mutex<BTreeMap<String, String>>>,
    /// Nothing can be put in order any more.
    unsettled: AtomicBool,
}

#[async_trait]
impl Stage for ScriptedStage {
    fn name(&self) -> &'static str {
        "scripted"
    }

    async fn process(&self, input: &StoredRecord) -> Result<Vec<Output>> {
        self.crash.step().await;
        let value = String::from_utf8_lossy(input.record.value.as_ref().unwrap()).into_owned();
        let attempt = {
            let mut attempts = self.attempts.lock().unwrap();
            let attempt = attempts.entry(input.position).or_default();
            *attempt += 1;
            *attempt
        };
        let (script, rest) = value.split_once(' ').unwrap_or((&value, ""));
        match script {
            "invalid" | "broken" => return Err(Error::new(ErrorKind::Invalid, "scripted")),
            "panic" => panic!("scripted panic"),
            "huge" => return Ok(vec![self.report(input), huge(input)]),
            "unsettled" => self.unsettled.store(true, Ordering::SeqCst),
            "unavailable" if attempt <= rest.parse().unwrap() => {
                return Err(Error::new(ErrorKind::Unavailable, "scripted"));
            }
            _ => {}
        }
        let key = String::from_utf8_lossy(&input.record.key).into_owned();
        self.written.lock().unwrap().insert(key, value);
        self.crash.step().await;
        Ok(vec![Output {
            topic: Topic::DocumentsClean,
            record: input.record.clone(),
        }])
    }

    async fn flush(&self) -> Result<()> {
        self.crash.step().await;
        let written = self.written.lock().unwrap().clone();
        self.flushed.lock().unwrap().extend(written);
        self.crash.step().await;
        Ok(())
    }

    async fn settle(&self, _: &[Position]) -> Result<Vec<Output>> {
        match self.unsettled.load(Ordering::SeqCst) {
            true => Err(Error::new(
                ErrorKind::Corrupt,
                "a kept record cannot be read",
            )),
            false => Ok(Vec::new()),
        }
    }

    fn abandoned(&self, input: &StoredRecord, _: &Error) -> Vec<Output> {
        assert_ne!(
            input.record.value.as_deref(),
            Some(b"broken".as_slice()),
            "scripted panic"
        );
        vec![self.report(input)]
    }
}

impl ScriptedStage {
    fn report(&self, input: &StoredRecord) -> Output {
        Output {
            topic: Topic::DocumentsStates,
            record: input.record.clone(),
        }
    }
}

/// An output that no log takes: its headers do not travel by reference.
fn huge(input: &StoredRecord) -> Output {
    let headers = vec![("traceparent".to_owned(), Bytes::from(vec![b'x'; 2 << 20]))];
    Output {
        topic: Topic::DocumentsClean,
        record: Record {
            headers,
            ..input.record.clone()
        },
    }
}

/// A folder with a log, and what the stage's sink holds durably.
struct Bench {
    folder: tempfile::TempDir,
    flushed: Arc<Mutex<BTreeMap<String, String>>>,
}

pub(super) fn worker_settings() -> WorkerSettings {
    WorkerSettings {
        concurrency: 3,
        in_flight_records: 4,
        in_flight_bytes: 1 << 20,
        backoff_initial_ms: 1,
        backoff_maximum_ms: 4,
        internal_attempts: 2,
        timeout_attempts: 2,
        breaker_records: 0,
        breaker_release_seconds: 0,
        linger_ms: 0,
        drain_ms: 10_000,
    }
}

impl Bench {
    fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            flushed: Arc::default(),
        }
    }

    async fn open(path: &Path, crash: &Arc<Crash>) -> Topics {
        // A log that was left in the middle gives its lock back once its last write has ended.
        let log = loop {
            match EmbeddedEventLog::open(&path.join("log"), Config::small()) {
                Err(error) if error.kind() == ErrorKind::Conflict => {
                    tokio::time::sleep(Duration::from_millis(5)).await
                }
                opened => break opened.unwrap(),
            }
        };
        let log = CrashingLog {
            log,
            crash: Arc::clone(crash),
        };
        let topics = Topics::new(
            Arc::new(log),
            "t".into(),
            Blobs::local(&path.join("blobs")).unwrap(),
            1 << 16,
        );
        topics.create(2, None, None).await.unwrap();
        topics
    }

    /// Runs a worker until it has committed everything, or until it crashes; says which.
    fn run(&self, inputs: &[(&str, &str)], crash_at: Option<usize>) -> bool {
        let crash = Arc::new(Crash {
            at: crash_at,
            ..Crash::default()
        });
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap();
        let finished = runtime.block_on(async {
            let quiet = Arc::new(Crash::default());
            if !inputs.is_empty() {
                let topics = Self::open(self.folder.path(), &quiet).await;
                topics
                    .append(
                        Topic::DocumentsRaw,
                        inputs
                            .iter()
                            .map(|(key, value)| record(key, value))
                            .collect(),
                    )
                    .await
                    .unwrap();
            }
            let topics = Self::open(self.folder.path(), &crash).await;
            let stop = CancellationToken::new();
            let worker = self.worker(&topics, &crash);
            let mut running = tokio::spawn({
                let stop = stop.clone();
                async move { worker.run(stop).await }
            });
            tokio::select! {
                () = crash.happened.cancelled() => false,
                ended = &mut running => panic!("the worker ended by itself: {ended:?}"),
                () = drained(&topics) => {
                    stop.cancel();
                    // The crash may come in what is left to do.
                    tokio::select! {
                        () = crash.happened.cancelled() => false,
                        ended = &mut running => ended.unwrap().is_ok(),
                    }
                }
            }
        });
        // As a kill would: nothing that still waits goes on.
        runtime.shutdown_timeout(Duration::from_secs(5));
        finished
    }

    fn worker(&self, topics: &Topics, crash: &Arc<Crash>) -> Worker {
        let stage = ScriptedStage {
            crash: Arc::clone(crash),
            attempts: Mutex::default(),
            written: Mutex::default(),
            flushed: Arc::clone(&self.flushed),
            unsettled: AtomicBool::new(false),
        };
        let metrics = WorkerMetrics::register(&MetricRegistry::default())
            .unwrap()
            .stage("scripted");
        Worker::new(
            topics.clone(),
            Topic::DocumentsRaw,
            Arc::new(stage),
            worker_settings(),
            metrics,
            Arc::new(|| 7),
        )
    }

    fn outputs(&self, topic: Topic) -> Vec<Record> {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(async {
            let topics = Self::open(self.folder.path(), &Arc::default()).await;
            let mut subscription = topics.subscribe(topic, None).await.unwrap();
            let mut all = Vec::new();
            loop {
                let limit = BatchLimit {
                    records: 100,
                    bytes: 1 << 20,
                };
                let batch = subscription
                    .next_batch(limit, Duration::ZERO)
                    .await
                    .unwrap();
                if batch.is_empty() {
                    return all;
                }
                all.extend(batch.into_iter().map(|stored| stored.record));
            }
        })
    }
}

fn record(key: &str, value: &str) -> Record {
    Record {
        key: Bytes::copy_from_slice(key.as_bytes()),
        value: Some(Bytes::copy_from_slice(value.as_bytes())),
        headers: vec![("h".into(), Bytes::from_static(b"v"))],
        timestamp_ms: 1,
    }
}

async fn drained(topics: &Topics) {
    loop {
        let lag = topics.lag(Topic::DocumentsRaw, "scripted").await.unwrap();
        if lag.iter().all(|partition| partition.records() == 0) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

const INPUTS: [(&str, &str); 7] = [
    ("a", "ok 1"),
    ("b", "ok 1"),
    ("a", "ok 2"),
    ("poison", "invalid"),
    ("c", "ok 1"),
    ("a", "ok 3"),
    ("b", "ok 2"),
];

fn newest_by_key(records: &[Record]) -> BTreeMap<String, String> {
    let text = |bytes: &Bytes| String::from_utf8_lossy(bytes).into_owned();
    records
        .iter()
        .map(|record| (text(&record.key), text(record.value.as_ref().unwrap())))
        .collect()
}

fn letters(bench: &Bench) -> Vec<DeadLetter> {
    bench
        .outputs(Topic::DeadLetters)
        .iter()
        .map(|record| dead_letter::read(record).unwrap())
        .collect()
}

#[test]
fn a_crash_between_any_two_steps_loses_nothing_and_leaves_the_same_state() {
    let expected: BTreeMap<String, String> = [("a", "ok 3"), ("b", "ok 2"), ("c", "ok 1")]
        .map(|(key, value)| (key.into(), value.into()))
        .into();
    let mut crashes = 0;
    for crash_at in 0.. {
        let bench = Bench::new();
        let finished = bench.run(&INPUTS, Some(crash_at));
        if !finished {
            crashes += 1;
            assert!(
                bench.run(&[], None),
                "the second run must finish (crash at step {crash_at})"
            );
        }
        assert_eq!(
            *bench.flushed.lock().unwrap(),
            expected,
            "sink after a crash at step {crash_at}"
        );
        assert_eq!(
            newest_by_key(&bench.outputs(Topic::DocumentsClean)),
            expected,
            "outputs after a crash at step {crash_at}"
        );
        let mut ids: Vec<String> = letters(&bench)
            .into_iter()
            .map(|letter| letter.id)
            .collect();
        ids.dedup();
        assert_eq!(
            ids.len(),
            1,
            "dead letters after a crash at step {crash_at}"
        );
        if finished {
            break;
        }
    }
    assert!(
        crashes > 20,
        "the steps were really interrupted, {crashes} times"
    );
}

#[test]
fn poisoned_records_neither_block_nor_disappear() {
    let bench = Bench::new();
    let inputs = [
        ("x", "panic"),
        ("y", "invalid"),
        ("x", "ok 1"),
        ("z", "ok 1"),
    ];
    assert!(bench.run(&inputs, None));
    let mut letters = letters(&bench);
    letters.sort_by(|left, right| left.document_id.cmp(&right.document_id));
    let said: Vec<(&str, ErrorKind, u32)> = letters
        .iter()
        .map(|letter| (letter.document_id.as_str(), letter.kind, letter.attempts))
        .collect();
    assert_eq!(
        said,
        [("x", ErrorKind::Internal, 2), ("y", ErrorKind::Invalid, 1)]
    );
    assert!(
        letters
            .iter()
            .any(|letter| letter.message.contains("scripted panic"))
    );
    assert_eq!(
        bench.flushed.lock().unwrap().keys().collect::<Vec<_>>(),
        ["x", "z"]
    );
    assert_eq!(
        bench.outputs(Topic::DocumentsStates).len(),
        2,
        "the stage reports what was given up"
    );
}

#[test]
fn a_dependency_that_is_away_is_waited_for_beyond_every_limit_of_attempts() {
    let bench = Bench::new();
    assert!(bench.run(&[("a", "unavailable 25"), ("b", "ok 1")], None));
    assert_eq!(bench.flushed.lock().unwrap().len(), 2);
    assert!(letters(&bench).is_empty());
}

#[test]
fn a_body_over_the_inline_limit_reaches_the_stage_whole() {
    let bench = Bench::new();
    let body = format!("ok {}", "长".repeat(100_000));
    assert!(bench.run(&[("big", &body)], None));
    assert_eq!(bench.flushed.lock().unwrap().get("big"), Some(&body));
}

#[test]
fn an_output_that_the_log_refuses_costs_its_record_alone() {
    let bench = Bench::new();
    assert!(bench.run(
        &[
            ("a", "ok 1"),
            ("b", "huge"),
            ("c", "ok 1"),
            ("d", "huge"),
            ("e", "ok 1")
        ],
        None
    ));
    let mut letters = letters(&bench);
    letters.sort_by(|left, right| left.document_id.cmp(&right.document_id));
    let said: Vec<(&str, ErrorKind)> = letters
        .iter()
        .map(|letter| (letter.document_id.as_str(), letter.kind))
        .collect();
    assert_eq!(said, [("b", ErrorKind::Invalid), ("d", ErrorKind::Invalid)]);
    assert_eq!(
        newest_by_key(&bench.outputs(Topic::DocumentsClean))
            .into_keys()
            .collect::<Vec<_>>(),
        ["a", "c", "e"]
    );
}

#[test]
fn what_cannot_be_put_in_order_stops_nobody() {
    let bench = Bench::new();
    assert!(bench.run(&[("a", "unsettled"), ("b", "ok 1"), ("c", "ok 1")], None));
    assert_eq!(
        newest_by_key(&bench.outputs(Topic::DocumentsClean)).len(),
        3
    );
    assert!(letters(&bench).is_empty());
}

#[test]
fn a_lane_that_panics_ends_the_worker_instead_of_holding_its_record_for_ever() {
    let bench = Bench::new();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let ended = runtime.block_on(async {
        let crash = Arc::default();
        let topics = Bench::open(bench.folder.path(), &crash).await;
        topics
            .append(Topic::DocumentsRaw, vec![record("a", "broken")])
            .await
            .unwrap();
        tokio::time::timeout(
            Duration::from_secs(60),
            bench.worker(&topics, &crash).run(CancellationToken::new()),
        )
        .await
        .unwrap()
    });
    let told = ended.unwrap_err().to_string();
    assert!(
        told.contains("`scripted` cannot go on: a lane has ended"),
        "{told}"
    );
    runtime.shutdown_timeout(Duration::from_secs(5));
    assert!(
        bench.outputs(Topic::DeadLetters).is_empty(),
        "the record comes again"
    );
}

#[test]
fn a_record_with_headers_that_no_log_takes_becomes_a_dead_letter() {
    let bench = Bench::new();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let failed = runtime.block_on(async {
        let topics = Bench::open(bench.folder.path(), &Arc::default()).await;
        // As much as the log takes, and then the letter's own.
        let headers = vec![("x".to_owned(), Bytes::from(vec![b'x'; (1 << 20) - 100]))];
        let failed = Record {
            headers,
            ..record("a", "invalid")
        };
        topics
            .append(Topic::DocumentsRaw, vec![failed.clone()])
            .await
            .unwrap();
        failed
    });
    assert!(bench.run(&[("b", "ok 1")], None));
    let kept = bench.outputs(Topic::DeadLetters);
    let originals: Vec<_> = kept
        .iter()
        .map(|letter| crate::event_log::dead_letter::original(letter).unwrap().1)
        .collect();
    assert_eq!(
        originals
            .iter()
            .map(|record| (&record.key, &record.value))
            .collect::<Vec<_>>(),
        [(&failed.key, &failed.value)]
    );
    assert_eq!(letters(&bench)[0].kind, ErrorKind::Invalid);
}
