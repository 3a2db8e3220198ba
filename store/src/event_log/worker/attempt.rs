//! One record through one stage: tries, waits, tries again, gives up, as the error kinds say.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures::FutureExt;
use tokio::sync::{Semaphore, mpsc};
use tokio_util::sync::CancellationToken;
use tributary_schemas::{Disposition, Error, Topic};

use super::metrics::Ending;
use super::{Claimed, Finished, Worker, held_bytes, panic_error};
use crate::event_log::StoredRecord;
use crate::event_log::dead_letter;
use crate::event_log::stage::Output;

/// What one record's processing needs.
pub(super) struct Attempt {
    pub worker: Worker,
    pub permits: Arc<Semaphore>,
    pub shutdown: CancellationToken,
}

impl Attempt {
    /// Processes the record to its end and hands it on; says nothing if a shutdown came first (the record comes again).
    pub async fn run(self, record: StoredRecord, finished: mpsc::UnboundedSender<Finished>) {
        let claimed = Claimed { position: record.position, key: record.record.key.clone(), bytes: held_bytes(&record) };
        let underway = self.worker.metrics.take();
        let permits = Arc::clone(&self.permits);
        let permit = tokio::select! {
            () = self.shutdown.cancelled() => return,
            permit = permits.acquire_owned() => permit,
        };
        let outcome = self.outcome(record).await;
        drop(permit);
        if let Some((ending, outputs)) = outcome
            && finished.send(Finished { record: claimed, outputs, ending, underway }).is_err()
        {
            tracing::debug!(stage = self.worker.stage.name(), "stopped before a record was acknowledged; it comes again");
        }
    }

    /// How it ended and what is to be appended for this record; `None` if a shutdown came first.
    async fn outcome(&self, stored: StoredRecord) -> Option<(Ending, Vec<Output>)> {
        let metrics = &self.worker.metrics;
        let started = tokio::time::Instant::now();
        for attempt in 1_u32.. {
            let error = match self.process(&stored).await {
                Ok(outputs) => {
                    metrics.seconds.observe(started.elapsed().as_secs_f64());
                    return Some((Ending::Finished, outputs));
                }
                Err(error) => error,
            };
            metrics.failed.with_label_values(&[self.worker.stage.name(), error.kind().as_str()]).inc();
            match self.verdict(&error, attempt) {
                Verdict::GiveUp => return Some((Ending::Dead, self.give_up(&stored, &error, attempt))),
                Verdict::Drop => {
                    tracing::info!(stage = self.worker.stage.name(), %error, "record dropped: something newer is there");
                    return Some((Ending::Dropped, Vec::new()));
                }
                Verdict::TryAgain => {
                    tracing::warn!(stage = self.worker.stage.name(), attempt, error = %error.full_message(), "trying again");
                    self.worker.pause(attempt, &self.shutdown).await;
                }
            }
            if self.shutdown.is_cancelled() {
                return None;
            }
        }
        None
    }

    async fn process(&self, stored: &StoredRecord) -> Result<Vec<Output>, Error> {
        let record = self.worker.topics.redeem(stored.record.clone()).await?;
        let redeemed = StoredRecord { position: stored.position, record };
        let processing = AssertUnwindSafe(self.worker.stage.process(&redeemed)).catch_unwind();
        processing.await.unwrap_or_else(|panic| Err(panic_error(self.worker.stage.name(), panic.as_ref())))
    }

    fn verdict(&self, error: &Error, attempt: u32) -> Verdict {
        let settings = &self.worker.settings;
        match error.kind().disposition() {
            Disposition::DeadLetter => Verdict::GiveUp,
            Disposition::Drop => Verdict::Drop,
            Disposition::Hold => Verdict::TryAgain,
            Disposition::HoldThenDeadLetter if attempt < settings.timeout_attempts => Verdict::TryAgain,
            Disposition::RetryThenDeadLetter if attempt < settings.internal_attempts => Verdict::TryAgain,
            Disposition::HoldThenDeadLetter | Disposition::RetryThenDeadLetter => Verdict::GiveUp,
        }
    }

    fn give_up(&self, stored: &StoredRecord, error: &Error, attempts: u32) -> Vec<Output> {
        let worker = &self.worker;
        let stage = worker.stage.name();
        tracing::error!(stage, position = ?stored.position, attempts, error = %error.full_message(), "record goes to the dead letters");
        let failure = dead_letter::Failure { topic: worker.input, stage, attempts, error, at_ms: (worker.clock)() };
        let mut outputs = vec![Output { topic: Topic::DeadLetters, record: dead_letter::record(stored, &failure) }];
        outputs.extend(worker.stage.abandoned(stored, error));
        outputs
    }
}

enum Verdict {
    TryAgain,
    GiveUp,
    Drop,
}
