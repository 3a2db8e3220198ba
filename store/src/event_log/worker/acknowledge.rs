//! Makes finished records done: flushes the stage, appends their outputs, tells the loop. One batch at a time, in the order in
//! which the records finished; what finishes meanwhile makes the next batch.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tributary_schemas::{Result, Topic};

use super::metrics::{Ending, Underway};
use super::{Claimed, Finished, Worker, panic_error};
use crate::event_log::Record;
use crate::event_log::stage::Output;

/// Runs until every sender of `finished` is gone and the last batch is done. Nothing is appended for records of a partition that is another
/// worker's by now: they are done there once more, from the last committed position.
pub(super) async fn run(worker: Arc<Worker>, mut finished: mpsc::UnboundedReceiver<Finished>, done: mpsc::UnboundedSender<Vec<Claimed>>) {
    while let Some(first) = finished.recv().await {
        if worker.settings.linger_ms > 0 {
            tokio::time::sleep(Duration::from_millis(worker.settings.linger_ms)).await;
        }
        let mut batch = vec![first];
        while let Ok(next) = finished.try_recv() {
            batch.push(next);
        }
        for finished in batch.iter_mut().filter(|finished| finished.record.assignment.revoked.is_cancelled()) {
            (finished.outputs, finished.ending) = (Vec::new(), None);
        }
        let records: Vec<Claimed> = batch.iter().map(|finished| finished.record.clone()).collect();
        let endings = make_durable(&worker, batch).await;
        for (ending, underway) in endings {
            match ending {
                Some(ending) => underway.end(ending),
                None => drop(underway),
            }
        }
        if done.send(records).is_err() {
            return;
        }
    }
}

/// Tries for as long as it takes: giving up here would lose records, and whoever waits sees the lag grow.
async fn make_durable(worker: &Worker, batch: Vec<Finished>) -> Vec<(Option<Ending>, Underway)> {
    let flush = || async {
        let flushing = AssertUnwindSafe(worker.stage.flush()).catch_unwind();
        flushing.await.unwrap_or_else(|panic| Err(panic_error("flush", panic.as_ref())))
    };
    until_done(worker, "flush", flush).await;
    let settle = || async {
        let settling = AssertUnwindSafe(worker.stage.settle()).catch_unwind();
        settling.await.unwrap_or_else(|panic| Err(panic_error("settle", panic.as_ref())))
    };
    let settled = until_done(worker, "settle", settle).await;
    let (outputs, endings): (Vec<_>, Vec<_>) = batch.into_iter().map(|done| (done.outputs, (done.ending, done.underway))).unzip();
    for round in rounds(outputs).into_iter().chain(rounds(vec![settled])) {
        for (topic, records) in round {
            until_done(worker, "append", || async { worker.topics.append(topic, records.clone()).await.map(drop) }).await;
        }
    }
    endings
}

async fn until_done<T, F: Future<Output = Result<T>>>(worker: &Worker, what: &str, step: impl Fn() -> F) -> T {
    let mut attempt = 0_u32;
    loop {
        let error = match step().await {
            Ok(done) => return done,
            Err(error) => error,
        };
        attempt = attempt.saturating_add(1);
        let stage = worker.stage.name();
        tracing::error!(stage, what, attempt, error = %error.full_message(), "cannot make records durable, trying again");
        worker.pause(attempt, &CancellationToken::new()).await;
    }
}

/// First outputs of all records, then second ones, and so on, by topic: one append each, and every record's outputs in their order.
fn rounds(batch: Vec<Vec<Output>>) -> Vec<Vec<(Topic, Vec<Record>)>> {
    let mut rounds: Vec<Vec<(Topic, Vec<Record>)>> = Vec::new();
    for outputs in batch {
        for (index, output) in outputs.into_iter().enumerate() {
            if rounds.len() == index {
                rounds.push(Vec::new());
            }
            let Some(round) = rounds.get_mut(index) else { continue };
            match round.iter_mut().find(|(topic, _)| *topic == output.topic) {
                Some((_, records)) => records.push(output.record),
                None => round.push((output.topic, vec![output.record])),
            }
        }
    }
    rounds
}
