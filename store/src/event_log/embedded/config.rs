//! Settings of the embedded log; values come from the configuration file.

use serde::{Deserialize, Serialize};
use tributary_schemas::{Error, ErrorKind, Result};

/// Settings of the embedded log.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Size at which a segment file is closed, in bytes; 4 KiB to 1 GiB. Reopening reads at most
    /// this much per partition.
    pub segment_bytes: u64,
    /// Largest record, in bytes of key, value and headers.
    pub max_record_bytes: usize,
    /// How long the writer waits for more appends before it syncs, in milliseconds. 0: whatever
    /// came during the sync before.
    pub linger_ms: u64,
    /// Bytes of appends that may wait for the writer; more wait outside.
    pub queue_bytes: usize,
    /// Pause between two passes of retention and compaction, in seconds; 0 turns the passes off.
    pub maintenance_interval_seconds: u64,
    /// Share of closed bytes that came since the last compaction at which a partition is compacted
    /// again, 0 to 1.
    pub compaction_dirty_ratio: f64,
    /// How long a tombstone is kept at least, in seconds.
    pub tombstone_retention_seconds: u64,
}

#[cfg(test)]
impl Config {
    /// For tests: one megabyte, at once, nothing tidied up.
    pub(crate) fn small() -> Self {
        Self {
            segment_bytes: 1 << 20,
            max_record_bytes: 1 << 20,
            linger_ms: 0,
            queue_bytes: 1 << 20,
            maintenance_interval_seconds: 0,
            compaction_dirty_ratio: 0.5,
            tombstone_retention_seconds: 0,
        }
    }
}

impl Config {
    /// Refuses values that the log cannot work with.
    pub fn check(&self) -> Result<()> {
        let refuse = |what: &str| {
            Err(Error::new(
                ErrorKind::Invalid,
                format!("event log settings: {what}"),
            ))
        };
        if !(4096..=1 << 30).contains(&self.segment_bytes) {
            return refuse("segment_bytes must lie between 4096 and 1073741824");
        }
        if self.max_record_bytes == 0 || self.max_record_bytes > 1 << 29 {
            return refuse("max_record_bytes must lie between 1 and 536870912");
        }
        if self.queue_bytes == 0 || self.queue_bytes > 1 << 30 {
            return refuse("queue_bytes must lie between 1 and 1073741824");
        }
        if !(0.0..=1.0).contains(&self.compaction_dirty_ratio) {
            return refuse("compaction_dirty_ratio must lie between 0 and 1");
        }
        Ok(())
    }
}
