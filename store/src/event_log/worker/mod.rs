//! The one loop around every stage: reads, processes side by side, appends what came of it,
//! commits. It knows nothing of documents.
//!
//! A record is **done** when everything that came of it is durable: the stage has flushed and the
//! outputs (or the dead letter) are appended. Only then does it count for its partition's low-water
//! mark, the one position that is ever committed; so a crash between any two steps means that some
//! records are processed again, never that one is lost.
//!
//! ```text
//! next_batch ─► queue ─► lanes: attempt (process, with patience) ─► acknowledge (flush, append outputs) ─► low water ─► commit
//! ```
//! Records of one key go through the stage one after the other, others side by side; flushed and
//! appended they are together, what comes of one key in its order. What is read and not yet done is
//! bounded in records and in bytes: the log is the queue (back-pressure).
//!
//! Where several workers share a group, a partition may be taken away at any time. What was read of
//! it and not started is dropped, what runs finishes without its outputs, and none of it counts for
//! the low-water mark, also should the partition come back. An append that is on its way in that
//! moment cannot be called back: whoever reads a compacted topic from its start compares versions.

mod acknowledge;
mod attempt;
mod breaker;
#[cfg(test)]
mod breaker_tests;
pub mod holds;
mod in_flight;
#[cfg(test)]
mod key_tests;
mod lanes;
mod low_water;
pub mod metrics;
pub mod paced;
mod reading;
#[cfg(test)]
mod revocation_tests;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::sleep_until;
use tokio_util::sync::CancellationToken;
use tributary_schemas::{Disposition, Error, ErrorKind, Result, Topic};

use self::breaker::Breaker;
use self::lanes::Lanes;
use self::low_water::Assignment;
use self::metrics::{Ending, StageMetrics, Underway};
use self::reading::Reading;
use super::stage::{Output, Stage};
use super::topics::Topics;
use super::{Position, StoredRecord, dead_letter};
use crate::Clock;

/// Keys that are freed between two looks at everything else.
const FREE_AT_ONCE: usize = 1024;

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
    /// Records in a row that fail of one reason, which does not lie in their content, before the
    /// stage stops to give records up and tries one at a time; 0 gives every one up.
    pub breaker_records: u32,
    /// How often a record is given up all the same while none passes, seconds; 0 for never.
    pub breaker_release_seconds: u64,
    /// How long a finished record waits for others that are flushed with it, milliseconds.
    pub linger_ms: u64,
    /// How long a stop waits for records in progress, milliseconds; the rest comes again after the
    /// restart.
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
    metrics: Arc<StageMetrics>,
    breaker: Arc<Breaker>,
    clock: Clock,
}

/// A record whose processing has ended, with what is to be appended.
struct Finished {
    record: Claimed,
    /// As it was read, for a dead letter.
    stored: StoredRecord,
    outputs: Vec<Output>,
    /// `None`: broken off, because its partition was taken away.
    ending: Option<Ending>,
    underway: Underway,
}

/// Where a lane tells of records whose processing has ended.
#[derive(Clone)]
struct Ends {
    /// To be made durable.
    finished: mpsc::UnboundedSender<Finished>,
    /// Their keys: the next records of these may start.
    free: mpsc::UnboundedSender<Bytes>,
}

/// What the loop remembers of a record on its way.
#[derive(Clone)]
struct Claimed {
    position: Position,
    bytes: usize,
    assignment: Assignment,
}

impl Worker {
    /// Joins `stage` to `input`; the stage's name is the consumer group.
    pub fn new(
        topics: Topics,
        input: Topic,
        stage: Arc<dyn Stage>,
        settings: WorkerSettings,
        metrics: StageMetrics,
        clock: Clock,
    ) -> Self {
        let group = stage.name().to_owned();
        let breaker = Arc::new(Breaker::new(&settings));
        Self {
            topics,
            input,
            group,
            stage,
            settings,
            metrics: Arc::new(metrics),
            breaker,
            clock,
        }
    }

    /// The same with another consumer group, for a stage that reads its topic several times side by
    /// side.
    #[must_use]
    pub fn with_group(self, group: String) -> Self {
        Self { group, ..self }
    }

    /// Runs until `shutdown`, then finishes what is in progress (within `drain_ms`) and commits it.
    /// A log that is away is waited for; any other failure of the log ends the worker with that
    /// error, and so does a panic outside of the stage's own calls: whoever runs it would wait
    /// for ever for the records that were on their way.
    pub async fn run(&self, shutdown: CancellationToken) -> Result<()> {
        let subscription = self.topics.subscribe(self.input, Some(&self.group)).await?;
        let mut reading = Reading::new(subscription, self.stage.name(), self.settings.clone());
        let (finished_sender, finished) = mpsc::unbounded_channel();
        let (free_sender, mut free) = mpsc::unbounded_channel();
        let (done_sender, mut done) = mpsc::unbounded_channel();
        let worker = Arc::new(self.clone());
        let acknowledger =
            tokio::spawn(acknowledge::run(Arc::clone(&worker), finished, done_sender));
        let mut lanes = Lanes::start(
            &worker,
            &Ends {
                finished: finished_sender,
                free: free_sender,
            },
            &shutdown,
        );
        let mut free_keys = Vec::new();
        let mut holding = None;
        tracing::info!(
            stage = self.stage.name(),
            topic = self.input.name(),
            group = self.group,
            "stage started"
        );
        while !shutdown.is_cancelled() {
            lanes.add(std::iter::from_fn(|| reading.start()));
            let commit_at = reading.commit_at();
            tokio::select! {
                () = shutdown.cancelled() => {}
                records = done.recv() => match records {
                    Some(records) => reading.done(records).await,
                    // The lanes were faster with the shutdown.
                    None if shutdown.is_cancelled() => {}
                    None => return Err(self.broken("what makes records done has ended")),
                },
                _ = free.recv_many(&mut free_keys, FREE_AT_ONCE), if !free.is_closed() => {
                    free_keys.drain(..).for_each(|key| reading.free(&key));
                }
                Err(error) = lanes.ended() => return Err(self.broken(&format!("a lane has ended: {error}"))),
                () = sleep_until(commit_at.unwrap_or_else(tokio::time::Instant::now)), if commit_at.is_some() => reading.commit().await,
                read = reading.next() => match read {
                    Err(error) if error.is_held() => {
                        tracing::warn!(stage = self.stage.name(), error = %error.full_message(), "cannot read, trying again");
                        holding.get_or_insert_with(|| self.metrics.hold(self.stage.name(), &error)).because(&error);
                        self.pause(1, &shutdown).await;
                    }
                    read => {
                        read?;
                        holding = None;
                    }
                },
            }
        }
        self.finish(reading, lanes, acknowledger, done).await;
        Ok(())
    }

    /// Finishes what is in progress and commits it, each within `drain_ms`.
    async fn finish(
        &self,
        mut reading: Reading,
        lanes: Lanes,
        acknowledger: JoinHandle<()>,
        mut done: mpsc::UnboundedReceiver<Vec<Claimed>>,
    ) {
        let drain = self.drain(lanes, acknowledger);
        let deadline = Duration::from_millis(self.settings.drain_ms);
        if tokio::time::timeout(deadline, drain).await.is_err() {
            tracing::warn!(
                stage = self.stage.name(),
                "stopped before all records in progress were done; they come again"
            );
        }
        let last: Vec<Claimed> = std::iter::from_fn(|| done.try_recv().ok())
            .flatten()
            .collect();
        if tokio::time::timeout(deadline, reading.end(last))
            .await
            .is_err()
        {
            tracing::warn!(
                stage = self.stage.name(),
                "stopped before the last commit was confirmed; records may come again"
            );
        }
        tracing::info!(stage = self.stage.name(), "stage stopped");
    }

    fn broken(&self, why: &str) -> Error {
        Error::new(
            ErrorKind::Internal,
            format!("the stage `{}` cannot go on: {why}", self.stage.name()),
        )
    }

    async fn drain(&self, lanes: Lanes, acknowledger: JoinHandle<()>) {
        lanes.end().await;
        if let Err(error) = acknowledger.await {
            tracing::error!(stage = self.stage.name(), %error, "acknowledging failed");
        }
    }

    /// Waits with exponential backoff; `attempt` counts from 1. Ends early at a shutdown.
    async fn pause(&self, attempt: u32, shutdown: &CancellationToken) {
        tokio::select! {
            () = shutdown.cancelled() => {}
            () = tokio::time::sleep(self.pause_after(attempt)) => {}
        }
    }

    /// The pause after so many attempts.
    fn pause_after(&self, attempt: u32) -> Duration {
        let factor = 1_u64
            .checked_shl(attempt.saturating_sub(1))
            .unwrap_or(u64::MAX);
        Duration::from_millis(
            self.settings
                .backoff_initial_ms
                .saturating_mul(factor)
                .min(self.settings.backoff_maximum_ms),
        )
    }

    /// Whether to try again makes no sense after this attempt.
    fn is_hopeless(&self, error: &Error, attempt: u32) -> bool {
        match error.disposition() {
            Disposition::DeadLetter | Disposition::Drop => true,
            Disposition::Hold => false,
            Disposition::HoldThenDeadLetter => attempt >= self.settings.timeout_attempts,
            Disposition::RetryThenDeadLetter => attempt >= self.settings.internal_attempts,
        }
    }

    /// The dead letter of a record, and what the stage says of it.
    fn give_up(&self, stored: &StoredRecord, error: &Error, attempts: u32) -> Vec<Output> {
        let stage = self.stage.name();
        let document = String::from_utf8_lossy(&stored.record.key);
        tracing::error!(stage, %document, position = ?stored.position, attempts, error = %error.full_message(), "record goes to the dead letters");
        let failure = dead_letter::Failure {
            topic: self.input,
            stage,
            attempts,
            error,
            at_ms: (self.clock)(),
        };
        let letter = Output {
            topic: Topic::DeadLetters,
            record: dead_letter::record(stored, &failure),
        };
        let mut outputs = vec![letter];
        outputs.extend(self.stage.abandoned(stored, error));
        outputs
    }
}
