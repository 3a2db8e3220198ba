//! One record through one stage: tries, waits, tries again, gives up, as the error kinds say.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures::FutureExt;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tributary_schemas::{Disposition, Error, Topic, event};

use super::in_flight::Taken;
use super::low_water::Assignment;
use super::metrics::Ending;
use super::{Claimed, Finished, Worker, panic_error};
use crate::event_log::StoredRecord;
use crate::event_log::dead_letter;
use crate::event_log::stage::Output;

/// What the processing of a record needs.
pub(super) struct Attempt {
    pub worker: Arc<Worker>,
    pub shutdown: CancellationToken,
}

/// How the processing of a record ended.
enum Outcome {
    /// What is to be appended for it.
    Done(Ending, Vec<Output>),
    /// Its partition is another worker's now.
    Revoked,
    /// A shutdown came first.
    Stopped,
}

impl Attempt {
    /// Processes the record to its end and hands it on; says nothing if a shutdown came first (the record comes again). One whose
    /// partition was taken away is handed on without outputs: it only frees what it held.
    pub async fn run(&self, taken: Taken, finished: &mpsc::UnboundedSender<Finished>) {
        let Taken { stored, assignment, bytes } = taken;
        let (position, key) = (stored.position, stored.record.key.clone());
        let underway = self.worker.metrics.take();
        let outcome = if assignment.revoked.is_cancelled() { Outcome::Revoked } else { self.outcome(stored, &assignment).await };
        let (ending, outputs) = match outcome {
            Outcome::Done(ending, outputs) => (Some(ending), outputs),
            Outcome::Revoked => (None, Vec::new()),
            Outcome::Stopped => return,
        };
        let record = Claimed { position, key, bytes, assignment };
        if finished.send(Finished { record, outputs, ending, underway }).is_err() {
            tracing::debug!(stage = self.worker.stage.name(), "stopped before a record was acknowledged; it comes again");
        }
    }

    async fn outcome(&self, stored: StoredRecord, assignment: &Assignment) -> Outcome {
        let metrics = &self.worker.metrics;
        let started = tokio::time::Instant::now();
        for attempt in 1_u32.. {
            let error = match self.process(&stored).await {
                Ok(outputs) => {
                    metrics.seconds.observe(started.elapsed().as_secs_f64());
                    return Outcome::Done(Ending::Finished, outputs);
                }
                Err(error) => error,
            };
            metrics.failed.with_label_values(&[self.worker.stage.name(), error.kind().as_str()]).inc();
            match self.verdict(&error, attempt) {
                Verdict::GiveUp => return Outcome::Done(Ending::Dead, self.give_up(&stored, &error, attempt)),
                Verdict::Drop => {
                    tracing::info!(stage = self.worker.stage.name(), %error, "record dropped: something newer is there");
                    return Outcome::Done(Ending::Dropped, Vec::new());
                }
                Verdict::TryAgain => {
                    tracing::warn!(stage = self.worker.stage.name(), attempt, error = %error.full_message(), "trying again");
                    tokio::select! {
                        () = self.worker.pause(attempt, &self.shutdown) => {}
                        () = assignment.revoked.cancelled() => return Outcome::Revoked,
                    }
                }
            }
            if self.shutdown.is_cancelled() {
                return Outcome::Stopped;
            }
        }
        Outcome::Stopped
    }

    async fn process(&self, stored: &StoredRecord) -> Result<Vec<Output>, Error> {
        let redeemed;
        let input = if stored.record.header(event::CLAIM_CHECK).is_some() {
            let record = self.worker.topics.redeem(stored.record.clone()).await?;
            redeemed = StoredRecord { position: stored.position, record };
            &redeemed
        } else {
            stored
        };
        let processing = AssertUnwindSafe(self.worker.stage.process(input)).catch_unwind();
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
