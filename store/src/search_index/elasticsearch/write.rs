//! The queue before `batch`: operations of all callers are put together into bulks, several at a
//! time, and never two of one document at once. A caller that goes away leaves no operation half
//! done. One per generation; used by [`super::ElasticsearchIndex`].

use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{RwLock, oneshot};
use tributary_schemas::{Error, ErrorKind, Result};

use super::batch::{self, Done, Target};
use super::leftovers::{self, Attempt, Watched};
use crate::panics::caught;
use crate::search_index::{Operation, Outcome};

/// Time between two looks for what stopped writers left.
const SWEEP_INTERVAL: Duration = Duration::from_secs(3600);
/// Pauses between two looks after what is not known to have been written; they grow.
const FIRST_LOOK: Duration = Duration::from_secs(1);
const LAST_LOOK: Duration = Duration::from_secs(30);

/// Limits of a batch.
#[derive(Clone, Copy)]
pub struct Limits {
    /// Bytes, estimated.
    pub bytes: usize,
    /// Documents.
    pub documents: usize,
    /// Batches at the same time.
    pub concurrency: usize,
}

/// The queue of one generation.
pub struct Writer {
    limits: Limits,
    queue: Mutex<Queue>,
    /// Shared by batches; a flush holds it alone, so that nothing half written is shown.
    pub whole: RwLock<()>,
    swept: Mutex<Option<Instant>>,
    watched: Mutex<Watch>,
}

/// What is looked after, and whether somebody does.
#[derive(Default)]
struct Watch {
    attempts: Watched,
    is_running: bool,
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<Waiting>,
    /// Documents of the batches that run.
    busy: HashSet<String>,
    running: usize,
}

struct Waiting {
    target: Arc<Target>,
    operation: Operation,
    bytes: usize,
    done: oneshot::Sender<Result<Outcome>>,
}

impl Writer {
    /// An empty queue.
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            queue: Mutex::default(),
            whole: RwLock::new(()),
            swept: Mutex::default(),
            watched: Mutex::default(),
        }
    }

    /// Does the operations, those of one document in order; fails as a whole where the cluster
    /// failed.
    pub async fn write(
        self: &Arc<Self>,
        target: Target,
        operations: Vec<Operation>,
    ) -> Result<Vec<Outcome>> {
        let target = Arc::new(target);
        let mut answers = Vec::with_capacity(operations.len());
        {
            let mut queue = self.lock();
            for operation in operations {
                let (done, answer) = oneshot::channel();
                queue.waiting.push_back(Waiting {
                    target: Arc::clone(&target),
                    bytes: bytes(&operation),
                    operation,
                    done,
                });
                answers.push(answer);
            }
            for _ in 0..self
                .limits
                .concurrency
                .saturating_sub(queue.running)
                .min(answers.len())
            {
                queue.running += 1;
                tokio::spawn(Arc::clone(self).drive());
            }
        }
        let mut outcomes = Vec::with_capacity(answers.len());
        let mut failed = None;
        for answer in answers {
            let gone = || {
                Err(Error::new(
                    ErrorKind::Internal,
                    "a task of the search index ended early",
                ))
            };
            match answer.await.unwrap_or_else(|_| gone()) {
                Ok(outcome) => outcomes.push(outcome),
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        failed.map_or(Ok(outcomes), Err)
    }

    /// Whether it is time to look for what stopped writers left; the one who is told so does it.
    pub fn is_sweep_due(&self) -> bool {
        let mut swept = self.swept.lock().unwrap_or_else(PoisonError::into_inner);
        let is_due = swept.is_none_or(|last| last.elapsed() >= SWEEP_INTERVAL);
        if is_due {
            *swept = Some(Instant::now());
        }
        is_due
    }

    /// Looks after what may have been written of operations that failed, until it cannot arrive any
    /// more.
    fn watch(self: &Arc<Self>, target: &Arc<Target>, unfinished: Vec<Attempt>) {
        if unfinished.is_empty() {
            return;
        }
        let mut watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        watched.attempts.add(unfinished);
        if !std::mem::replace(&mut watched.is_running, true) {
            tokio::spawn(Arc::clone(self).look_after(Arc::clone(target)));
        }
    }

    async fn look_after(self: Arc<Self>, target: Arc<Target>) {
        let mut pause = FIRST_LOOK;
        loop {
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LAST_LOOK);
            let (attempts, at) = (
                self.watched
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .attempts
                    .attempts(),
                Instant::now(),
            );
            let looked = leftovers::remove_attempted(&target, &attempts).await;
            match &looked {
                Ok(0) => {}
                Ok(chunks) => {
                    tracing::info!(generation = %target.generation.name, chunks, "removed what requests without an answer had left");
                    self.show(&target).await;
                    pause = FIRST_LOOK;
                }
                Err(error) => {
                    tracing::debug!(generation = %target.generation.name, %error, "did not look for leftovers")
                }
            }
            let is_gone = looked
                .as_ref()
                .is_err_and(|error| error.kind() == ErrorKind::NotFound);
            let mut watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
            if looked.is_ok() {
                watched.attempts.looked(at);
            }
            if is_gone || watched.attempts.is_empty() {
                *watched = Watch::default();
                return;
            }
        }
    }

    /// Goes through everything for what stopped writers left: after the first flush of a process
    /// and now and then.
    pub async fn sweep(self: Arc<Self>, target: Target) {
        match leftovers::sweep(&target).await {
            Ok(0) => {}
            Ok(chunks) => {
                tracing::info!(generation = %target.generation.name, chunks, "removed what a stopped writer had left");
                self.show(&target).await;
            }
            // What it does not find today it finds another time.
            Err(error) => {
                tracing::debug!(generation = %target.generation.name, %error, "did not look through all chunks for leftovers")
            }
        }
    }

    /// Makes removals visible, while nothing is half written.
    async fn show(&self, target: &Target) {
        let _alone = self.whole.write().await;
        if let Err(error) = target.refresh("cannot show removals").await {
            tracing::debug!(generation = %target.generation.name, %error, "removals show with the next flush");
        }
    }

    /// Runs batches until nothing is left that may run.
    async fn drive(self: Arc<Self>) {
        while let Some(taken) = self.take() {
            let documents: Vec<String> = taken
                .iter()
                .map(|waiting| document_id(&waiting.operation).to_owned())
                .collect();
            let mut operations = Vec::with_capacity(taken.len());
            let mut callers = Vec::with_capacity(taken.len());
            let mut target = None;
            for waiting in taken {
                operations.push(waiting.operation);
                callers.push(waiting.done);
                target.get_or_insert(waiting.target);
            }
            let Some(target) = target else { continue };
            let done = {
                let _whole = self.whole.read().await;
                unharmed(callers.len(), batch::run(&target, operations)).await
            };
            self.watch(&target, done.unfinished);
            {
                let mut queue = self.lock();
                documents.iter().for_each(|document| {
                    queue.busy.remove(document);
                });
            }
            for (caller, result) in callers.into_iter().zip(done.written) {
                if caller.send(result).is_err() {
                    tracing::debug!("whoever asked for a write did not wait for it");
                }
            }
        }
    }

    /// The next batch: operations in order, leaving those whose document is being written. `None`
    /// ends the one who asked.
    fn take(&self) -> Option<Vec<Waiting>> {
        let mut queue = self.lock();
        let (mut taken, mut left, mut bytes) = (Vec::new(), VecDeque::new(), 0);
        let mut blocked = HashSet::new();
        while let Some(waiting) = queue.waiting.pop_front() {
            let document = document_id(&waiting.operation).to_owned();
            let is_full = taken.len() >= self.limits.documents
                || !taken.is_empty() && bytes + waiting.bytes > self.limits.bytes;
            if is_full {
                left.push_back(waiting);
                break;
            }
            if queue.busy.contains(&document) || blocked.contains(&document) {
                blocked.insert(document);
                left.push_back(waiting);
                continue;
            }
            bytes += waiting.bytes;
            blocked.insert(document);
            taken.push(waiting);
        }
        while let Some(waiting) = left.pop_back() {
            queue.waiting.push_front(waiting);
        }
        if taken.is_empty() {
            queue.running -= 1;
            return None;
        }
        queue.busy.extend(
            taken
                .iter()
                .map(|waiting| document_id(&waiting.operation).to_owned()),
        );
        Some(taken)
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The same, with an error for every operation where it panicked: whoever waits is told, and the
/// documents can be written again. What it left in the cluster is found by a later sweep.
async fn unharmed(operations: usize, batch: impl Future<Output = Done>) -> Done {
    let done = caught("a write to the search index", async { Ok(batch.await) }).await;
    done.unwrap_or_else(|error| {
        tracing::error!(%error, operations, "a batch was not written");
        Done {
            written: vec![Err(error); operations],
            unfinished: Vec::new(),
        }
    })
}

fn document_id(operation: &Operation) -> &str {
    match operation {
        Operation::Replace { document, .. } => &document.document_id,
        Operation::Delete { document_id, .. } => document_id,
    }
}

/// About how long an operation is in a bulk request.
fn bytes(operation: &Operation) -> usize {
    match operation {
        Operation::Replace {
            chunks, vectors, ..
        } => {
            let texts: usize = chunks
                .iter()
                .map(|chunk| chunk.text.len() + chunk.analyzed.len() + 600)
                .sum();
            let numbers: usize = vectors
                .iter()
                .map(|vectors| vectors.coarse.len() + vectors.fine.len())
                .sum();
            texts + numbers * 12
        }
        Operation::Delete { .. } => 200,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn panicking() -> Done {
        tokio::task::yield_now().await;
        panic!("scripted")
    }

    #[tokio::test]
    async fn a_batch_that_panics_tells_everybody_who_waits() {
        let done = unharmed(3, panicking()).await;
        let said: Vec<String> = done
            .written
            .into_iter()
            .filter_map(|written| written.err())
            .map(|error| error.to_string())
            .collect();
        assert_eq!(said, ["a write to the search index panicked: scripted"; 3]);
    }
}
