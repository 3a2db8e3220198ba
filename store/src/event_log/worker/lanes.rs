//! Where records wait for their turn: as many lanes as records may be processed side by side, all
//! of which take from one queue.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use tokio::task::{JoinError, JoinSet};
use tokio_util::sync::CancellationToken;

use super::attempt::Attempt;
use super::in_flight::Taken;
use super::{Ends, Worker};

/// Records between two looks whether others want the thread.
const TURN: usize = 64;

/// The queue, and who works on it.
pub(super) struct Lanes {
    queue: Arc<Queue>,
    running: JoinSet<()>,
}

#[derive(Default)]
struct Queue {
    waiting: Mutex<Waiting>,
    news: Notify,
}

#[derive(Default)]
struct Waiting {
    ready: VecDeque<Taken>,
    /// Failed as many others did, and are tried again when nothing else is there.
    failed: VecDeque<Taken>,
}

impl Lanes {
    /// As many lanes as the worker has concurrency; they end with `shutdown`, each after the record
    /// that it is at.
    pub fn start(worker: &Arc<Worker>, ends: &Ends, shutdown: &CancellationToken) -> Self {
        let queue: Arc<Queue> = Arc::default();
        let mut running = JoinSet::new();
        for _ in 0..worker.settings.concurrency.max(1) {
            let attempt = Attempt {
                worker: Arc::clone(worker),
                shutdown: shutdown.clone(),
            };
            running.spawn(run(Arc::clone(&queue), attempt, ends.clone()));
        }
        Self { queue, running }
    }

    /// Hands records over, to be started in this order.
    pub fn add(&self, taken: impl IntoIterator<Item = Taken>) {
        let mut waiting = self.queue.lock();
        let before = waiting.ready.len();
        waiting.ready.extend(taken);
        let is_more = waiting.ready.len() > before;
        drop(waiting);
        if is_more {
            self.queue.news.notify_waiters();
        }
    }

    /// Waits until a lane ends, which it does at a shutdown or by a panic; without lanes for ever.
    pub async fn ended(&mut self) -> Result<(), JoinError> {
        match self.running.join_next().await {
            Some(ended) => ended,
            None => std::future::pending().await,
        }
    }

    /// Waits until all lanes have ended.
    pub async fn end(mut self) {
        while self.running.join_next().await.is_some() {}
    }
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self) -> Option<Taken> {
        let mut waiting = self.lock();
        waiting
            .ready
            .pop_front()
            .or_else(|| waiting.failed.pop_front())
    }

    fn put_back(&self, taken: Taken) {
        self.lock().failed.push_back(taken);
        self.news.notify_waiters();
    }

    /// Until there is something, or may have been a moment ago.
    async fn wait(&self) {
        let news = self.news.notified();
        tokio::pin!(news);
        // Registered before the look, so that what is added after it ends the wait.
        news.as_mut().enable();
        let is_empty = {
            let waiting = self.lock();
            waiting.ready.is_empty() && waiting.failed.is_empty()
        };
        if is_empty {
            news.await;
        }
    }
}

async fn run(queue: Arc<Queue>, attempt: Attempt, ends: Ends) {
    loop {
        for _ in 0..TURN {
            if attempt.shutdown.is_cancelled() {
                return;
            }
            match queue.take() {
                Some(taken) => {
                    if let Some(failed) = attempt.run(taken, &ends).await {
                        queue.put_back(failed);
                    }
                }
                None => tokio::select! {
                    () = attempt.shutdown.cancelled() => return,
                    () = queue.wait() => {}
                },
            }
        }
        tokio::task::yield_now().await;
    }
}
