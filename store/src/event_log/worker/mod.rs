//! The one loop around every stage: reads, processes side by side, appends what came of it, commits. It knows nothing of documents.
//!
//! A record is **done** when everything that came of it is durable: the stage has flushed and the outputs (or the dead letter) are
//! appended. Only then does it count for its partition's low-water mark, the one position that is ever committed; so a crash between
//! any two steps means that some records are processed again, never that one is lost.
//!
//! ```text
//! next_batch ─► queue ─► attempt (process, with patience) ─► acknowledge (flush, append outputs) ─► low water ─► commit
//! ```
//! Records of one key go through one after the other, others side by side. What is read and not yet done is bounded in records and
//! in bytes: the log is the queue (back-pressure).

mod acknowledge;
mod attempt;
mod low_water;
pub mod metrics;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::{JoinHandle, JoinSet};
use tokio_util::sync::CancellationToken;
use tributary_schemas::{Disposition, Error, ErrorKind, Result, Topic, event};

use self::attempt::Attempt;
use self::low_water::LowWater;
use self::metrics::{Ending, StageMetrics, Underway};
use super::stage::{Output, Stage};
use super::topics::Topics;
use super::{BatchLimit, Position, StoredRecord, Subscription};
use crate::Clock;

/// Limits and patience of a worker.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkerSettings {
    /// Records processed side by side.
    pub concurrency: usize,
    /// Records read and not yet done, at most.
    pub in_flight_records: usize,
    /// Bytes of records read and not yet done, at most; one larger record is still taken alone.
    pub in_flight_bytes: usize,
    /// First pause after a failure that may pass, milliseconds; doubles.
    pub backoff_initial_ms: u64,
    /// Longest pause, milliseconds.
    pub backoff_maximum_ms: u64,
    /// Attempts before an internal error goes to the dead letters.
    pub internal_attempts: u32,
    /// Attempts before a timeout goes to the dead letters.
    pub timeout_attempts: u32,
    /// How long a finished record waits for others that are flushed with it, milliseconds.
    pub linger_ms: u64,
    /// How long a stop waits for records in progress, milliseconds; the rest comes again after the restart.
    pub drain_ms: u64,
}

/// A stage joined to its input topic.
#[derive(Clone)]
pub struct Worker {
    topics: Topics,
    input: Topic,
    group: String,
    stage: Arc<dyn Stage>,
    settings: WorkerSettings,
    metrics: StageMetrics,
    clock: Clock,
}

/// A record whose processing has ended, with what is to be appended.
struct Finished {
    record: Claimed,
    outputs: Vec<Output>,
    ending: Ending,
    underway: Underway,
}

/// What the loop remembers of a record on its way.
#[derive(Clone)]
struct Claimed {
    position: Position,
    key: Bytes,
    bytes: usize,
}

/// What is read and not yet done.
#[derive(Default)]
struct InFlight {
    /// Read, key is free, not yet started.
    ready: VecDeque<StoredRecord>,
    /// Read, behind a record of the same key.
    waiting: HashMap<Bytes, VecDeque<StoredRecord>>,
    busy_keys: HashSet<Bytes>,
    records: usize,
    bytes: usize,
}

impl Worker {
    /// Joins `stage` to `input`; the stage's name is the consumer group.
    pub fn new(topics: Topics, input: Topic, stage: Arc<dyn Stage>, settings: WorkerSettings, metrics: StageMetrics, clock: Clock) -> Self {
        let group = stage.name().to_owned();
        Self { topics, input, group, stage, settings, metrics, clock }
    }

    /// The same with another consumer group, for a stage that reads its topic several times side by side.
    #[must_use]
    pub fn with_group(self, group: String) -> Self {
        Self { group, ..self }
    }

    /// Runs until `shutdown`, then finishes what is in progress (within `drain_ms`) and commits it. A log that is away is waited for;
    /// any other failure of the log ends the worker with that error.
    pub async fn run(&self, shutdown: CancellationToken) -> Result<()> {
        let mut subscription = self.topics.subscribe(self.input, Some(&self.group)).await?;
        let (finished_sender, finished) = mpsc::unbounded_channel();
        let (done_sender, mut done) = mpsc::unbounded_channel();
        let acknowledger = tokio::spawn(acknowledge::run(self.clone(), finished, done_sender));
        let permits = Arc::new(Semaphore::new(self.settings.concurrency.max(1)));
        let mut in_flight = InFlight::default();
        let mut low_water = LowWater::default();
        let mut tasks = JoinSet::new();
        tracing::info!(stage = self.stage.name(), topic = self.input.name(), group = self.group, "stage started");
        while !shutdown.is_cancelled() {
            while let Some(record) = in_flight.ready.pop_front() {
                let attempt = Attempt { worker: self.clone(), permits: Arc::clone(&permits), shutdown: shutdown.clone() };
                let sender = finished_sender.clone();
                tasks.spawn(async move { attempt.run(record, sender).await });
            }
            let limit = in_flight.room(&self.settings);
            tokio::select! {
                () = shutdown.cancelled() => {}
                Some(records) = done.recv() => self.commit(records, &mut in_flight, &mut low_water, subscription.as_mut()).await,
                Some(_) = tasks.join_next(), if !tasks.is_empty() => {}
                batch = subscription.next_batch(limit, Duration::from_secs(1)), if limit.records > 0 => {
                    for record in self.read(batch, &shutdown).await? {
                        low_water.add(record.position);
                        in_flight.accept(record);
                    }
                }
            }
        }
        drop(finished_sender);
        let drain = self.drain(tasks, acknowledger);
        let deadline = Duration::from_millis(self.settings.drain_ms);
        if tokio::time::timeout(deadline, drain).await.is_err() {
            tracing::warn!(stage = self.stage.name(), "stopped before all records in progress were done; they come again");
        }
        while let Ok(records) = done.try_recv() {
            self.commit(records, &mut in_flight, &mut low_water, subscription.as_mut()).await;
        }
        tracing::info!(stage = self.stage.name(), "stage stopped");
        Ok(())
    }

    async fn read(&self, batch: Result<Vec<StoredRecord>>, shutdown: &CancellationToken) -> Result<Vec<StoredRecord>> {
        match batch {
            Err(error) if error.kind().disposition() == Disposition::Hold => {
                tracing::warn!(stage = self.stage.name(), %error, "cannot read, trying again");
                self.pause(1, shutdown).await;
                Ok(Vec::new())
            }
            other => other,
        }
    }

    /// A commit that fails loses nothing: the next one covers it, and after a crash the records come again.
    async fn commit(&self, records: Vec<Claimed>, in_flight: &mut InFlight, low_water: &mut LowWater, subscription: &mut dyn Subscription) {
        for record in records {
            low_water.done(record.position);
            in_flight.release(&record);
        }
        let positions = low_water.uncommitted();
        if positions.is_empty() {
            return;
        }
        match subscription.commit(&positions).await {
            Ok(()) => low_water.committed(&positions),
            Err(error) => tracing::warn!(stage = self.stage.name(), %error, "cannot commit, trying again with the next batch"),
        }
    }

    async fn drain(&self, mut tasks: JoinSet<()>, acknowledger: JoinHandle<()>) {
        while tasks.join_next().await.is_some() {}
        if let Err(error) = acknowledger.await {
            tracing::error!(stage = self.stage.name(), %error, "acknowledging failed");
        }
    }

    /// Waits with exponential backoff; `attempt` counts from 1. Ends early at a shutdown.
    async fn pause(&self, attempt: u32, shutdown: &CancellationToken) {
        let factor = 1_u64.checked_shl(attempt.saturating_sub(1)).unwrap_or(u64::MAX);
        let pause_ms = self.settings.backoff_initial_ms.saturating_mul(factor).min(self.settings.backoff_maximum_ms);
        tokio::select! {
            () = shutdown.cancelled() => {}
            () = tokio::time::sleep(Duration::from_millis(pause_ms)) => {}
        }
    }
}

impl InFlight {
    /// How much may be read now; zero records when the limits are reached.
    fn room(&self, settings: &WorkerSettings) -> BatchLimit {
        let bytes = settings.in_flight_bytes.saturating_sub(self.bytes);
        let records = settings.in_flight_records.max(1).saturating_sub(self.records);
        BatchLimit { records: if bytes == 0 { 0 } else { records }, bytes }
    }

    fn accept(&mut self, record: StoredRecord) {
        self.records += 1;
        self.bytes += held_bytes(&record);
        let key = record.record.key.clone();
        if self.busy_keys.insert(key.clone()) {
            self.ready.push_back(record);
        } else {
            self.waiting.entry(key).or_default().push_back(record);
        }
    }

    /// Frees what a done record held, and lets the next one of its key go.
    fn release(&mut self, record: &Claimed) {
        self.records -= 1;
        self.bytes -= record.bytes;
        let next = self.waiting.get_mut(&record.key).and_then(VecDeque::pop_front);
        match next {
            Some(next) => self.ready.push_back(next),
            None => {
                self.waiting.remove(&record.key);
                self.busy_keys.remove(&record.key);
            }
        }
    }
}

/// Bytes that a record takes in memory while it is processed: with the body that a claim check stands for.
fn held_bytes(stored: &StoredRecord) -> usize {
    #[derive(Deserialize)]
    struct Claim {
        bytes: usize,
    }
    let claimed = stored.record.header(event::CLAIM_CHECK).and(stored.record.value.as_ref());
    let body = claimed.and_then(|value| serde_json::from_slice::<Claim>(value).ok()).map_or(0, |claim| claim.bytes);
    stored.record.size() + body
}

/// The error that stands for a panic.
fn panic_error(what: &str, panic: &(dyn std::any::Any + Send)) -> Error {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned()).or_else(|| panic.downcast_ref::<String>().cloned());
    Error::new(ErrorKind::Internal, format!("{what} panicked: {}", text.unwrap_or_else(|| "no message".to_owned())))
}
