//! Counts of what the embedded log has done since it was opened, for metrics.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counts since opening; each only grows.
#[derive(Debug, Default)]
pub struct Counters {
    /// Records acknowledged.
    pub appended_records: Counter,
    /// Bytes of their frames.
    pub appended_bytes: Counter,
    /// Appends that failed.
    pub failed_appends: Counter,
    /// Rounds of the writer that synced something; records per round tell how well appends are
    /// grouped.
    pub rounds: Counter,
    /// Files synced by the writer.
    pub syncs: Counter,
    /// Microseconds that the writer spent in syncs.
    pub sync_us: Counter,
    /// Records read by subscriptions.
    pub read_records: Counter,
    /// Bytes of their keys, values and headers.
    pub read_bytes: Counter,
    /// Commits of group positions.
    pub commits: Counter,
    /// Bytes that compaction removed.
    pub compacted_bytes: Counter,
    /// Segments that retention removed.
    pub expired_segments: Counter,
    /// Bytes cut off as torn tails when the log was opened.
    pub torn_bytes: Counter,
}

/// One count.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Adds to it.
    pub fn add(&self, count: u64) {
        self.0.fetch_add(count, Ordering::Relaxed);
    }

    /// What it is now.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
