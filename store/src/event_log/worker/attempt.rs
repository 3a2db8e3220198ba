//! One record through one stage: tries, waits, tries again, gives up, as the errors say.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use tributary_schemas::{Disposition, Error, event};

use super::breaker::Turn;
use super::holds::Holding;
use super::in_flight::Taken;
use super::low_water::Assignment;
use super::metrics::Ending;
use super::{Claimed, Ends, Finished, Worker};
use crate::event_log::StoredRecord;
use crate::event_log::stage::Output;
use crate::panics::caught;

/// What the processing of a record needs.
pub(super) struct Attempt {
    pub worker: Arc<Worker>,
    pub shutdown: CancellationToken,
}

/// How the processing of a record ended.
enum Outcome {
    /// What is to be appended for it.
    Done(Ending, Vec<Output>),
    /// It failed as many others did: it is tried again after them.
    Later,
    /// Its partition is another worker's now.
    Revoked,
    /// A shutdown came first.
    Stopped,
}

impl Attempt {
    /// Processes the record to its end and hands it on; says nothing if a shutdown came first (the
    /// record comes again). One whose partition was taken away is handed on without outputs: it
    /// only frees what it held. Returns a record that is to be tried once more after others.
    pub async fn run(&self, taken: Taken, ends: &Ends) -> Option<Taken> {
        let underway = self.worker.metrics.take();
        let (ending, outputs) = match self.in_turn(&taken).await {
            Outcome::Done(ending, outputs) => (Some(ending), outputs),
            Outcome::Revoked => (None, Vec::new()),
            Outcome::Later => {
                return Some(Taken {
                    trials: taken.trials + 1,
                    ..taken
                });
            }
            Outcome::Stopped => return None,
        };
        let Taken {
            stored,
            assignment,
            bytes,
            ..
        } = taken;
        let (record, key) = (
            Claimed {
                position: stored.position,
                bytes,
                assignment,
            },
            stored.record.key.clone(),
        );
        let is_kept = ends
            .finished
            .send(Finished {
                record,
                stored,
                outputs,
                ending,
                underway,
            })
            .is_ok();
        // Only now, so that what comes of one key finishes in its order.
        if !is_kept || ends.free.send(key).is_err() {
            tracing::debug!(
                stage = self.worker.stage.name(),
                "stopped before a record was acknowledged; it comes again"
            );
        }
        None
    }

    /// Waits for its turn while the stage's breaker is open, then processes the record.
    async fn in_turn(&self, taken: &Taken) -> Outcome {
        // Records that were not tried yet may show that all is well again: they wait for a short
        // time only.
        let pause = |trials| {
            self.worker
                .pause(if taken.trials == 0 { 1 } else { trials }, &self.shutdown)
        };
        let _turn: Turn<'_> = tokio::select! {
            biased;
            () = taken.assignment.revoked.cancelled() => return Outcome::Revoked,
            () = self.shutdown.cancelled() => return Outcome::Stopped,
            turn = self.worker.breaker.turn(pause) => turn,
        };
        self.outcome(&taken.stored, &taken.assignment).await
    }

    async fn outcome(&self, stored: &StoredRecord, assignment: &Assignment) -> Outcome {
        let (worker, metrics, stage) =
            (&self.worker, &self.worker.metrics, self.worker.stage.name());
        let started = tokio::time::Instant::now();
        let mut holding = None;
        for attempt in 1_u32.. {
            let error = match self.tried(stored, &mut holding).await {
                Ok(outputs) => {
                    metrics.seconds.observe(started.elapsed().as_secs_f64());
                    worker.breaker.passed(stage, metrics);
                    return Outcome::Done(Ending::Finished, outputs);
                }
                Err(error) => error,
            };
            if self.shutdown.is_cancelled() && error.is_held() {
                return Outcome::Stopped;
            }
            metrics.failed.with(&[stage, error.kind().as_str()]).inc();
            if error.disposition() == Disposition::Drop {
                tracing::info!(stage, %error, "record dropped: something newer is there");
                return Outcome::Done(Ending::Dropped, Vec::new());
            }
            if worker.is_hopeless(&error, attempt) {
                return self.hopeless(stored, &error, attempt);
            }
            tracing::warn!(stage, attempt, error = %error.full_message(), "trying again");
            if error.is_held() {
                holding
                    .get_or_insert_with(|| metrics.hold(stage, &error))
                    .because(&error);
            }
            tokio::select! {
                () = worker.pause(attempt, &self.shutdown) => {}
                () = assignment.revoked.cancelled() => return Outcome::Revoked,
            }
            if self.shutdown.is_cancelled() {
                return Outcome::Stopped;
            }
        }
        Outcome::Stopped
    }

    fn hopeless(&self, stored: &StoredRecord, error: &Error, attempts: u32) -> Outcome {
        let worker = &self.worker;
        if worker
            .breaker
            .keeps(error, worker.stage.name(), &worker.metrics)
        {
            return Outcome::Later;
        }
        Outcome::Done(Ending::Dead, worker.give_up(stored, error, attempts))
    }

    /// Processes the record. What a stage with long tries waited for is over once one goes on.
    async fn tried(
        &self,
        stored: &StoredRecord,
        holding: &mut Option<Holding>,
    ) -> Result<Vec<Output>, Error> {
        let trying = self.process(stored);
        let at_work_after = self.worker.stage.at_work_after();
        let Some(at_work_after) = at_work_after.filter(|_| holding.is_some()) else {
            return trying.await;
        };
        tokio::pin!(trying);
        if let Ok(tried) = tokio::time::timeout(at_work_after, &mut trying).await {
            return tried;
        }
        *holding = None;
        trying.await
    }

    async fn process(&self, stored: &StoredRecord) -> Result<Vec<Output>, Error> {
        let redeemed;
        let input = if stored.record.header(event::CLAIM_CHECK).is_some() {
            let record = self.worker.topics.redeem(stored.record.clone()).await?;
            redeemed = StoredRecord {
                position: stored.position,
                record,
            };
            &redeemed
        } else {
            stored
        };
        caught(self.worker.stage.name(), self.worker.stage.process(input)).await
    }
}
