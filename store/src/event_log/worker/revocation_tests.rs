//! Proves what the loop does when partitions are taken away, on a log that does what the test says.
#![allow(clippy::unwrap_used)]

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use tokio::sync::{Semaphore, mpsc};
use tokio_util::sync::CancellationToken;
use tributary_schemas::{Error, ErrorKind, Result, Topic};

use super::metrics::WorkerMetrics;
use super::{Worker, WorkerSettings};
use crate::blobs::Blobs;
use crate::event_log::stage::{Output, Stage};
use crate::event_log::topics::Topics;
use crate::event_log::{
    BatchLimit, EventLog, PartitionLag, Position, Record, StoredRecord, Subscription, TopicSettings,
};
use crate::metrics::MetricRegistry;

/// What the log hands out next: partitions that were taken away, then records.
struct Step {
    revoked: Vec<u32>,
    records: Vec<StoredRecord>,
}

/// A log with one subscription that follows a script; keeps what is appended and committed.
#[derive(Default)]
struct ScriptedLog {
    script: Mutex<Option<mpsc::UnboundedReceiver<Step>>>,
    appended: Mutex<Vec<String>>,
    /// Appends fail as those to brokers that are away.
    is_away: AtomicBool,
    /// Appends that failed.
    refused: AtomicUsize,
    /// By partition: cancelled before the reader is told.
    revocations: Arc<Mutex<HashMap<u32, CancellationToken>>>,
    committed: Arc<Mutex<Vec<Position>>>,
    commits_fail: Arc<Mutex<u32>>,
    group: Mutex<String>,
}

struct ScriptedSubscription {
    script: mpsc::UnboundedReceiver<Step>,
    revocations: Arc<Mutex<HashMap<u32, CancellationToken>>>,
    revoked: Vec<u32>,
    committed: Arc<Mutex<Vec<Position>>>,
    commits_fail: Arc<Mutex<u32>>,
}

#[async_trait]
impl EventLog for ScriptedLog {
    async fn create_topic(&self, _: &str, _: TopicSettings) -> Result<()> {
        Ok(())
    }

    async fn append(&self, _: &str, records: Vec<Record>) -> Result<Vec<Position>> {
        if self.is_away.load(Ordering::SeqCst) {
            self.refused.fetch_add(1, Ordering::SeqCst);
            return Err(Error::new(ErrorKind::Unavailable, "scripted"));
        }
        self.appended
            .lock()
            .unwrap()
            .extend(records.iter().map(|record| text(&record.key)));
        Ok(vec![at(0, 0); records.len()])
    }

    async fn subscribe(&self, _: &str, group: Option<&str>) -> Result<Box<dyn Subscription>> {
        *self.group.lock().unwrap() = group.unwrap().to_owned();
        let script = self.script.lock().unwrap().take().unwrap();
        let (committed, commits_fail) =
            (Arc::clone(&self.committed), Arc::clone(&self.commits_fail));
        let revocations = Arc::clone(&self.revocations);
        Ok(Box::new(ScriptedSubscription {
            script,
            revocations,
            revoked: Vec::new(),
            committed,
            commits_fail,
        }))
    }

    async fn subscribe_from(&self, topic: &str, _: &[Position]) -> Result<Box<dyn Subscription>> {
        self.subscribe(topic, None).await
    }

    async fn lag(&self, _: &str, _: &str) -> Result<Vec<PartitionLag>> {
        Ok(Vec::new())
    }

    async fn forget_group(&self, _: &str, _: &str) -> Result<()> {
        Ok(())
    }
}

#[async_trait]
impl Subscription for ScriptedSubscription {
    async fn next_batch(&mut self, limit: BatchLimit, wait: Duration) -> Result<Vec<StoredRecord>> {
        let step = if limit.records == 0 {
            self.script.try_recv().ok()
        } else {
            tokio::time::timeout(wait, self.script.recv())
                .await
                .ok()
                .flatten()
        };
        let Some(step) = step else {
            tokio::time::sleep(Duration::from_millis(1)).await;
            return Ok(Vec::new());
        };
        self.revoked = step.revoked;
        Ok(step.records)
    }

    async fn commit(&mut self, positions: &[Position]) -> Result<()> {
        let mut fail = self.commits_fail.lock().unwrap();
        if *fail > 0 {
            *fail -= 1;
            return Err(Error::new(ErrorKind::Unavailable, "scripted"));
        }
        self.committed.lock().unwrap().extend(positions);
        Ok(())
    }

    fn revoked(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.revoked)
    }

    fn revocation(&self, partition: u32) -> CancellationToken {
        self.revocations
            .lock()
            .unwrap()
            .entry(partition)
            .or_default()
            .clone()
    }
}

/// Lets a record through for each permit; keeps what was begun.
struct GatedStage {
    gate: Semaphore,
    begun: Mutex<Vec<String>>,
    fails: bool,
}

#[async_trait]
impl Stage for GatedStage {
    fn name(&self) -> &'static str {
        "gated"
    }

    async fn process(&self, input: &StoredRecord) -> Result<Vec<Output>> {
        self.begun.lock().unwrap().push(text(&input.record.key));
        if self.fails {
            return Err(Error::new(ErrorKind::Unavailable, "scripted"));
        }
        self.gate.acquire().await.unwrap().forget();
        Ok(vec![Output {
            topic: Topic::DocumentsClean,
            record: input.record.clone(),
        }])
    }

    fn abandoned(&self, _: &StoredRecord, _: &Error) -> Vec<Output> {
        Vec::new()
    }
}

struct Bench {
    log: Arc<ScriptedLog>,
    stage: Arc<GatedStage>,
    script: mpsc::UnboundedSender<Step>,
    stop: CancellationToken,
    running: tokio::task::JoinHandle<Result<()>>,
    _folder: tempfile::TempDir,
}

impl Bench {
    fn start(fails: bool, in_flight_records: usize) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (script, receiver) = mpsc::unbounded_channel();
        let log = Arc::new(ScriptedLog {
            script: Mutex::new(Some(receiver)),
            ..ScriptedLog::default()
        });
        let stage = Arc::new(GatedStage {
            gate: Semaphore::new(0),
            begun: Mutex::default(),
            fails,
        });
        let topics = Topics::new(
            Arc::clone(&log) as _,
            "t".into(),
            Blobs::local(folder.path()).unwrap(),
            1 << 16,
        );
        let settings = WorkerSettings {
            concurrency: 1,
            in_flight_records,
            in_flight_bytes: 1 << 20,
            backoff_initial_ms: 60_000,
            backoff_maximum_ms: 60_000,
            internal_attempts: 2,
            timeout_attempts: 2,
            breaker_records: 0,
            breaker_release_seconds: 0,
            linger_ms: 0,
            drain_ms: 10_000,
        };
        let metrics = WorkerMetrics::register(&MetricRegistry::default())
            .unwrap()
            .stage("gated");
        let worker = Worker::new(
            topics,
            Topic::DocumentsRaw,
            Arc::clone(&stage) as _,
            settings,
            metrics,
            Arc::new(|| 7),
        );
        let (worker, stop) = (
            worker.with_group("gated-g2".to_owned()),
            CancellationToken::new(),
        );
        let running = tokio::spawn({
            let stop = stop.clone();
            async move { worker.run(stop).await }
        });
        Self {
            log,
            stage,
            script,
            stop,
            running,
            _folder: folder,
        }
    }

    fn step(&self, revoked: &[u32], records: &[(u32, u64, &'static str)]) {
        let record = |(partition, offset, key): &(u32, u64, &'static str)| {
            let record = Record {
                key: Bytes::from_static(key.as_bytes()),
                value: Some(Bytes::new()),
                ..Record::default()
            };
            StoredRecord {
                position: at(*partition, *offset),
                record,
            }
        };
        self.script
            .send(Step {
                revoked: revoked.to_vec(),
                records: records.iter().map(record).collect(),
            })
            .ok()
            .unwrap();
    }

    async fn until(&self, what: &str, holds: impl Fn(&Self) -> bool) {
        for _ in 0..5_000 {
            if holds(self) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        panic!(
            "{what}: begun {:?}, appended {:?}, committed {:?}",
            self.begun(),
            self.appended(),
            self.committed()
        );
    }

    fn begun(&self) -> Vec<String> {
        self.stage.begun.lock().unwrap().clone()
    }

    fn appended(&self) -> Vec<String> {
        self.log.appended.lock().unwrap().clone()
    }

    fn committed(&self) -> Vec<Position> {
        self.log.committed.lock().unwrap().clone()
    }

    async fn end(self) {
        self.stop.cancel();
        self.running.await.unwrap().unwrap();
    }
}

fn at(partition: u32, offset: u64) -> Position {
    Position { partition, offset }
}

fn text(bytes: &Bytes) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_lost_partition_had_in_flight_is_dropped_and_never_committed() {
    let bench = Bench::start(false, 100);
    bench.step(&[], &[(0, 5, "running")]);
    bench
        .until("the first record runs", |bench| bench.begun().len() == 1)
        .await;
    bench.step(&[], &[(0, 6, "not started"), (0, 7, "running")]);
    assert_eq!(*bench.log.group.lock().unwrap(), "gated-g2");
    bench.step(&[0], &[(1, 3, "other")]);
    // The zombie ends first: it holds the only permit.
    tokio::time::sleep(Duration::from_millis(30)).await;
    bench.stage.gate.add_permits(10);
    bench
        .until("the other partition is committed", |bench| {
            bench.committed().contains(&at(1, 4))
        })
        .await;
    assert_eq!(
        bench.begun(),
        ["running", "other"],
        "a record of a lost partition was started"
    );
    assert_eq!(
        bench.appended(),
        ["other"],
        "outputs of a lost partition were appended"
    );
    assert!(
        bench
            .committed()
            .iter()
            .all(|position| position.partition == 1),
        "{:?}",
        bench.committed()
    );
    bench.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_partition_that_comes_back_is_done_again_and_the_zombie_counts_for_nothing() {
    let bench = Bench::start(false, 100);
    bench.step(&[], &[(0, 5, "a")]);
    bench
        .until("the record runs", |bench| bench.begun().len() == 1)
        .await;
    bench.step(&[0], &[]);
    // Another worker has done 5 meanwhile; it comes back at 6 with a record of the same key.
    bench.step(&[], &[(0, 6, "a")]);
    tokio::time::sleep(Duration::from_millis(30)).await;
    assert_eq!(
        bench.begun().len(),
        1,
        "two records of a key ran side by side"
    );
    bench.stage.gate.add_permits(1);
    bench
        .until("the new record runs", |bench| bench.begun().len() == 2)
        .await;
    // The low-water mark of what was read again; past 6 nothing is done.
    assert!(
        bench
            .committed()
            .iter()
            .all(|position| *position == at(0, 6)),
        "{:?}",
        bench.committed()
    );
    bench.stage.gate.add_permits(1);
    bench
        .until("the new record is committed", |bench| {
            bench.committed().contains(&at(0, 7))
        })
        .await;
    assert_eq!(
        bench.appended().len(),
        1,
        "the zombie's outputs were appended"
    );
    bench.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_that_waits_to_be_tried_again_is_let_go_with_its_partition_even_without_room() {
    let bench = Bench::start(true, 1);
    bench.step(&[], &[(0, 0, "held")]);
    bench
        .until("the record fails", |bench| bench.begun().len() == 1)
        .await;
    // There is room for one record, and it is taken: the loop must look for lost partitions all the
    // same.
    bench.step(&[0], &[]);
    bench.step(&[], &[(1, 0, "next")]);
    bench
        .until("the next record is tried", |bench| {
            bench.begun().contains(&"next".to_owned())
        })
        .await;
    assert!(bench.committed().is_empty(), "{:?}", bench.committed());
    bench.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_that_failed_is_tried_again_without_new_records() {
    let bench = Bench::start(false, 100);
    *bench.log.commits_fail.lock().unwrap() = 1;
    bench.stage.gate.add_permits(1);
    bench.step(&[], &[(0, 0, "a")]);
    bench
        .until("the record is committed", |bench| {
            bench.committed() == [at(0, 1)]
        })
        .await;
    bench.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_append_that_is_tried_again_ends_with_the_partition() {
    let bench = Bench::start(false, 100);
    bench.log.is_away.store(true, Ordering::SeqCst);
    bench.stage.gate.add_permits(10);
    bench.step(&[], &[(0, 5, "lost")]);
    bench
        .until("the append fails", |bench| {
            bench.log.refused.load(Ordering::SeqCst) == 1
        })
        .await;
    // It is to be tried again in a minute: only the loss ends the wait.
    bench.log.is_away.store(false, Ordering::SeqCst);
    bench.step(&[0], &[(1, 3, "other")]);
    bench
        .until("the other partition is committed", |bench| {
            bench.committed().contains(&at(1, 4))
        })
        .await;
    assert_eq!(
        bench.appended(),
        ["other"],
        "outputs of a lost partition were appended"
    );
    bench.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_appended_from_the_moment_in_which_a_partition_is_lost() {
    let bench = Bench::start(false, 100);
    bench.step(&[], &[(0, 5, "lost")]);
    bench
        .until("the record runs", |bench| bench.begun().len() == 1)
        .await;
    // The group has taken it away; the loop has not asked yet.
    bench.log.revocations.lock().unwrap()[&0].cancel();
    bench.stage.gate.add_permits(10);
    bench.step(&[], &[(1, 3, "other")]);
    bench
        .until("the other partition is committed", |bench| {
            bench.committed().contains(&at(1, 4))
        })
        .await;
    assert_eq!(
        bench.appended(),
        ["other"],
        "outputs of a lost partition were appended"
    );
    assert!(
        bench
            .committed()
            .iter()
            .all(|position| position.partition == 1),
        "{:?}",
        bench.committed()
    );
    bench.end().await;
}
