//! Calls wait in a bounded queue and are written in batches beside the requests. A full queue, or a
//! log that does not answer, costs records and never an answer; what is left out is counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tributary_schemas::audit::AuditEntry;
use tributary_store::audit::AuditTopic;

use super::AuditConfig;
use crate::metrics::Metrics;
use crate::readiness::Check;

/// Calls that are written together.
const BATCH: usize = 500;
/// Between two attempts to write what could not be written.
const PAUSE: Duration = Duration::from_secs(1);
/// Longest time that the end of the server waits for what is left to be written.
const LAST_WAIT: Duration = Duration::from_secs(5);

enum Item {
    Call(Box<AuditEntry>),
    /// Everything before it is written, or given up.
    Flush(oneshot::Sender<()>),
}

/// Where calls go.
#[derive(Clone)]
pub struct AuditLog {
    sender: mpsc::Sender<Item>,
    documents_per_call: usize,
    state: Arc<State>,
    metrics: Metrics,
}

#[derive(Default)]
struct State {
    waiting: AtomicU64,
    left_out: AtomicU64,
}

impl AuditLog {
    /// Makes the topic and writes to it from now on, on the runtime that this is called in.
    pub fn open(topic: AuditTopic, config: &AuditConfig, metrics: Metrics) -> Self {
        let (sender, receiver) = mpsc::channel(config.waiting_calls);
        let state = Arc::new(State::default());
        let writer = Writer {
            topic,
            receiver,
            state: Arc::clone(&state),
            metrics: metrics.clone(),
            retention: config.retention(),
        };
        tokio::spawn(writer.write());
        Self {
            sender,
            documents_per_call: config.documents_per_call,
            state,
            metrics,
        }
    }

    /// Ids of documents that one call keeps.
    pub(super) fn documents_per_call(&self) -> usize {
        self.documents_per_call
    }

    /// Has a call written; never waits.
    pub(super) fn record(&self, entry: AuditEntry) {
        self.state.waiting.fetch_add(1, Ordering::Relaxed);
        if self.sender.try_send(Item::Call(Box::new(entry))).is_err() {
            self.state.waiting.fetch_sub(1, Ordering::Relaxed);
            self.state.leave_out(1, &self.metrics);
        }
    }

    /// Waits, for a bounded time, until all calls of before are written.
    pub async fn flush(&self) {
        let (done, is_done) = oneshot::channel();
        let flushed = async {
            if self.sender.send(Item::Flush(done)).await.is_ok() {
                // Without an answer the writer is gone.
                is_done.await.ok();
            }
        };
        if tokio::time::timeout(LAST_WAIT, flushed).await.is_err() {
            let waiting = self.state.waiting.load(Ordering::Relaxed);
            self.state.leave_out(waiting, &self.metrics);
            tracing::warn!(waiting, "calls could not be written to the audit record");
        }
    }

    /// How it is, for readiness. The server goes on answering without a record: no reason to take
    /// requests from it.
    pub fn check(&self) -> Check {
        let waiting = self.state.waiting.load(Ordering::Relaxed);
        let left_out = self.state.left_out.load(Ordering::Relaxed);
        let hint = "the event log did not take them fast enough; the log of the server says why";
        Check {
            name: "audit".to_owned(),
            ok: true,
            detail: format!("{waiting} calls wait to be written, {left_out} were left out"),
            hint: (left_out > 0).then(|| hint.to_owned()),
        }
    }
}

impl State {
    fn leave_out(&self, calls: u64, metrics: &Metrics) {
        self.left_out.fetch_add(calls, Ordering::Relaxed);
        metrics.observe_audit("left_out", calls);
    }
}

struct Writer {
    topic: AuditTopic,
    receiver: mpsc::Receiver<Item>,
    state: Arc<State>,
    metrics: Metrics,
    retention: Option<Duration>,
}

impl Writer {
    /// Until nobody can record any more.
    async fn write(mut self) {
        while let Err(error) = self.topic.create(self.retention).await {
            tracing::warn!(error = %error.full_message(), "there is no topic for the audit record");
            tokio::time::sleep(PAUSE).await;
        }
        let mut items = Vec::new();
        while self.receiver.recv_many(&mut items, BATCH).await > 0 {
            let (mut calls, mut flushes) = (Vec::new(), Vec::new());
            for item in items.drain(..) {
                match item {
                    Item::Call(entry) => calls.push(*entry),
                    Item::Flush(done) => flushes.push(done),
                }
            }
            self.append(&calls).await;
            // Whoever waits no more is not told.
            for done in flushes {
                done.send(()).ok();
            }
        }
    }

    /// Tries until it is written; meanwhile the queue fills up.
    async fn append(&self, calls: &[AuditEntry]) {
        if calls.is_empty() {
            return;
        }
        while let Err(error) = self.topic.append(calls).await {
            tracing::warn!(error = %error.full_message(), "the audit record cannot be written");
            tokio::time::sleep(PAUSE).await;
        }
        let written = calls.len() as u64;
        self.state.waiting.fetch_sub(written, Ordering::Relaxed);
        self.metrics.observe_audit("written", written);
    }
}
