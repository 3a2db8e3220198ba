//! Makes finished records done: flushes the stage, appends their outputs, tells the loop. One batch
//! at a time, in the order in which the records finished; what finishes meanwhile makes the next
//! batch.
//!
//! Nothing is appended for records of a partition that is another worker's by now, which is asked
//! before each try: they are done there once more, from the last committed position. An output that
//! the log refuses is its record's fault and makes a dead letter of that record; everything else is
//! tried again for as long as it takes, since giving up would lose records.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use tokio::sync::mpsc;
use tributary_schemas::{Disposition, Error, Result, Topic};

use super::holds::Holding;
use super::low_water::Assignment;
use super::metrics::Ending;
use super::{Claimed, Finished, Worker};
use crate::event_log::stage::Output;
use crate::event_log::{Position, Record};
use crate::panics::caught;

/// Runs until every sender of `finished` is gone and the last batch is done.
pub(super) async fn run(
    worker: Arc<Worker>,
    mut finished: mpsc::UnboundedReceiver<Finished>,
    done: mpsc::UnboundedSender<Vec<Claimed>>,
) {
    while let Some(first) = finished.recv().await {
        if worker.settings.linger_ms > 0 {
            tokio::time::sleep(Duration::from_millis(worker.settings.linger_ms)).await;
        }
        let mut batch = vec![first];
        while let Ok(next) = finished.try_recv() {
            batch.push(next);
        }
        let records: Vec<Claimed> = batch
            .iter()
            .map(|finished| finished.record.clone())
            .collect();
        let positions: Vec<Position> = records.iter().map(|record| record.position).collect();
        make_durable(&worker, &mut batch, &positions).await;
        worker.stage.over(&positions);
        for Finished {
            record,
            ending,
            underway,
            ..
        } in batch
        {
            match ending.filter(|_| !record.assignment.revoked.is_cancelled()) {
                Some(ending) => underway.end(ending),
                None => drop(underway),
            }
        }
        if done.send(records).is_err() {
            return;
        }
    }
}

async fn make_durable(worker: &Worker, batch: &mut [Finished], positions: &[Position]) {
    let owners: Owners = batch
        .iter()
        .map(|finished| Arc::clone(&finished.record.assignment))
        .collect();
    if flush(worker, &owners).await.is_none() {
        return;
    }
    let Some(settled) = settle(worker, &owners, positions).await else {
        return;
    };
    let rounds = Rounds::of(batch);
    for round in 0..rounds.count {
        for (topic, items) in rounds.outputs(batch, round) {
            for (item, error) in append(worker, topic, items).await {
                if let Some(finished) = item.place.and_then(|place| batch.get_mut(place)) {
                    give_up(worker, finished, &error).await;
                }
            }
        }
    }
    append_settled(worker, &owners, settled).await;
}

/// Appends what came of settling, which no record of the batch answers for.
async fn append_settled(worker: &Worker, owners: &Owners, settled: Vec<Output>) {
    for (topic, records) in by_topic(settled) {
        let items = records
            .into_iter()
            .map(|record| Item {
                place: None,
                owners: Arc::clone(owners),
                record,
            })
            .collect();
        append(worker, topic, items).await;
    }
}

/// Whose partitions something comes from; it is void when all of them are another's.
type Owners = Arc<[Assignment]>;

fn is_void(owners: &Owners) -> bool {
    owners.iter().all(|owner| owner.revoked.is_cancelled())
}

/// Makes durable what the stage wrote, for as long as it takes: no record of the batch is known to
/// be at fault. `None` once all of it is another worker's.
async fn flush(worker: &Worker, owners: &Owners) -> Option<()> {
    let mut retry = Retry::new(worker, "flush", owners);
    while !is_void(owners) {
        match caught("flush", worker.stage.flush()).await {
            Ok(()) => return Some(()),
            Err(error) => retry.wait(&error).await,
        }
    }
    None
}

/// Puts in order what became visible. What the environment is not to blame for is left as it is
/// after some attempts: what was written is durable, and no other record waits for it.
async fn settle(worker: &Worker, owners: &Owners, positions: &[Position]) -> Option<Vec<Output>> {
    let mut retry = Retry::new(worker, "settle", owners);
    while !is_void(owners) {
        let error = match caught("settle", worker.stage.settle(positions)).await {
            Ok(outputs) => return Some(outputs),
            Err(error) => error,
        };
        if worker.is_hopeless(&error, retry.attempt + 1) {
            let stage = worker.stage.name();
            tracing::error!(stage, error = %error.full_message(), "what was written is not put in order, the stage goes on");
            return Some(Vec::new());
        }
        retry.wait(&error).await;
    }
    None
}

/// A record to be appended.
struct Item {
    /// Place in the batch of the record that it comes from, if from one.
    place: Option<usize>,
    owners: Owners,
    record: Record,
}

/// When the outputs of a batch are appended: one append to a topic in a round.
struct Rounds {
    /// Of every output of every record; they rise within a record.
    numbers: Vec<Vec<usize>>,
    count: usize,
}

impl Rounds {
    /// Every record's outputs in their order, and in a topic those of one key in the order in which
    /// its records finished.
    fn of(batch: &[Finished]) -> Self {
        let mut last: HashMap<(&[u8], Topic), usize> = HashMap::new();
        let mut numbers = Vec::with_capacity(batch.len());
        for Finished {
            stored, outputs, ..
        } in batch
        {
            let mut next = 0;
            let mut number = |output: &Output| {
                let behind = last
                    .entry((stored.record.key.as_ref(), output.topic))
                    .or_default();
                *behind = next.max(*behind);
                next = *behind + 1;
                *behind
            };
            numbers.push(outputs.iter().map(&mut number).collect::<Vec<_>>());
        }
        let count = numbers.iter().flatten().max().map_or(0, |last| last + 1);
        Self { numbers, count }
    }

    /// What is left of a round, by topic.
    fn outputs(&self, batch: &[Finished], round: usize) -> Vec<(Topic, Vec<Item>)> {
        let mut topics: Vec<(Topic, Vec<Item>)> = Vec::new();
        for (place, (finished, numbers)) in batch.iter().zip(&self.numbers).enumerate() {
            let Some(output) = numbers
                .iter()
                .position(|number| *number == round)
                .and_then(|place| finished.outputs.get(place))
            else {
                continue;
            };
            let owners: Owners = Arc::new([Arc::clone(&finished.record.assignment)]);
            let item = Item {
                place: Some(place),
                owners,
                record: output.record.clone(),
            };
            match topics.iter_mut().find(|(topic, _)| *topic == output.topic) {
                Some((_, items)) => items.push(item),
                None => topics.push((output.topic, vec![item])),
            }
        }
        topics
    }
}

fn by_topic(outputs: Vec<Output>) -> Vec<(Topic, Vec<Record>)> {
    let mut topics: Vec<(Topic, Vec<Record>)> = Vec::new();
    for output in outputs {
        match topics.iter_mut().find(|(topic, _)| *topic == output.topic) {
            Some((_, records)) => records.push(output.record),
            None => topics.push((output.topic, vec![output.record])),
        }
    }
    topics
}

/// Appends all that is not void by then, in order; returns what the log refuses, with the reason.
/// To find out which of many it refuses, they are appended in halves.
async fn append(worker: &Worker, topic: Topic, items: Vec<Item>) -> Vec<(Item, Error)> {
    let (mut waiting, mut refused) = (vec![items], Vec::new());
    while let Some(mut part) = waiting.pop() {
        let Err(error) = append_together(worker, topic, &mut part).await else {
            continue;
        };
        if part.len() == 1 {
            tracing::error!(stage = worker.stage.name(), topic = topic.name(), error = %error.full_message(), "the log refuses a record");
            refused.extend(part.into_iter().map(|item| (item, error.clone())));
        } else {
            let second = part.split_off(part.len() / 2);
            waiting.extend([second, part]);
        }
    }
    refused
}

/// Appends what is not void, again until the log takes or refuses it.
async fn append_together(worker: &Worker, topic: Topic, part: &mut Vec<Item>) -> Result<()> {
    let owners: Owners = part
        .iter()
        .flat_map(|item| item.owners.iter().cloned())
        .collect();
    let mut retry = Retry::new(worker, "append", &owners);
    loop {
        part.retain(|item| !is_void(&item.owners));
        if part.is_empty() {
            return Ok(());
        }
        let records = part.iter().map(|item| item.record.clone()).collect();
        match worker.topics.append(topic, records).await {
            Ok(_) => return Ok(()),
            Err(error) if error.disposition() == Disposition::DeadLetter => return Err(error),
            Err(error) => retry.wait(&error).await,
        }
    }
}

/// Makes a dead letter of a record whose output the log refuses. A dead letter that it refuses too
/// is left out, with a log line: the record stays in its own topic for as long as that keeps it.
async fn give_up(worker: &Worker, finished: &mut Finished, error: &Error) {
    if finished.ending == Some(Ending::Dead) {
        return;
    }
    let letter = worker.give_up(&finished.stored, error, 1);
    (finished.ending, finished.outputs) = (Some(Ending::Dead), Vec::new());
    for output in letter {
        let owners: Owners = Arc::new([Arc::clone(&finished.record.assignment)]);
        append(
            worker,
            output.topic,
            vec![Item {
                place: None,
                owners,
                record: output.record,
            }],
        )
        .await;
    }
}

/// A step that is tried again and again.
struct Retry<'a> {
    worker: &'a Worker,
    what: &'static str,
    owners: Owners,
    attempt: u32,
    holding: Option<Holding>,
}

impl<'a> Retry<'a> {
    fn new(worker: &'a Worker, what: &'static str, owners: &Owners) -> Self {
        Self {
            worker,
            what,
            owners: Arc::clone(owners),
            attempt: 0,
            holding: None,
        }
    }

    /// Waits before the next try, with growing pauses; no longer than until all of it is another
    /// worker's.
    async fn wait(&mut self, error: &Error) {
        self.attempt = self.attempt.saturating_add(1);
        let (stage, what, attempt) = (self.worker.stage.name(), self.what, self.attempt);
        tracing::error!(stage, what, attempt, error = %error.full_message(), "cannot make records durable, trying again");
        self.holding
            .get_or_insert_with(|| self.worker.metrics.hold(stage, error))
            .because(error);
        tokio::select! {
            () = tokio::time::sleep(self.worker.pause_after(attempt)) => {}
            _ = join_all(self.owners.iter().map(|owner| owner.revoked.cancelled())) => {}
        }
    }
}
