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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use tributary_schemas::audit::AuditQuery;
    use tributary_store::blobs::Blobs;
    use tributary_store::event_log::embedded::{self, EmbeddedEventLog};
    use tributary_store::event_log::topics::Topics;
    use tributary_store::metrics::MetricRegistry;

    use super::*;

    const LOG: embedded::Config = embedded::Config {
        segment_bytes: 1 << 20,
        max_record_bytes: 1 << 20,
        linger_ms: 0,
        queue_bytes: 1 << 20,
        maintenance_interval_seconds: 0,
        compaction_dirty_ratio: 0.5,
        tombstone_retention_seconds: 0,
    };

    /// One thread: nothing is written while this records.
    #[tokio::test]
    async fn a_full_queue_costs_records_and_no_time_and_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let log = EmbeddedEventLog::open(&folder.path().join("log"), LOG).unwrap();
        let blobs = Blobs::local(&folder.path().join("blobs")).unwrap();
        let topics = Topics::new(Arc::new(log), "t".to_owned(), blobs, 1 << 20);
        let registry = MetricRegistry::default();
        let config = AuditConfig {
            enabled: true,
            retention_days: 1,
            documents_per_call: 1,
            waiting_calls: 3,
        };
        let topic = AuditTopic::new(topics);
        let metrics = Metrics::register(&registry).unwrap();
        let audit = AuditLog::open(topic.clone(), &config, metrics);
        for _ in 0..10 {
            audit.record(AuditEntry {
                at_ms: 4_000_000_000_000,
                ..AuditEntry::default()
            });
        }
        let check = audit.check();
        assert_eq!(check.detail, "3 calls wait to be written, 7 were left out");
        assert!(check.ok && check.hint.is_some());
        audit.flush().await;
        let written = topic.newest(&AuditQuery::default(), 100).await.unwrap();
        assert_eq!(written.entries.len(), 3);
        assert!(audit.check().detail.starts_with("0 calls wait"));
        let metrics = registry.text().unwrap();
        assert!(metrics.contains("tributary_audit_calls_total{outcome=\"left_out\"} 7"));
        assert!(metrics.contains("tributary_audit_calls_total{outcome=\"written\"} 3"));
    }
}
