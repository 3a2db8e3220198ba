//! The pass that applies retention and compaction to all topics, and the thread that repeats it.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tributary_schemas::{Error, ErrorKind, Result};

use super::compaction::{TombstoneRule, compact, dirty_ratio};
use super::folder::lock;
use super::retention::{active_has_expired, expire};
use super::topic::Topic;
use super::{Commands, Shared};

/// Tells the thread to end.
#[derive(Debug, Default)]
pub struct StopSign {
    stopped: Mutex<bool>,
    changed: Condvar,
}

impl StopSign {
    /// Raises it.
    pub fn stop(&self) {
        *lock(&self.stopped) = true;
        self.changed.notify_all();
    }

    fn is_up(&self) -> bool {
        *lock(&self.stopped)
    }

    /// Waits; returns whether it is up.
    fn wait(&self, pause: Duration) -> bool {
        let waited = self
            .changed
            .wait_timeout_while(lock(&self.stopped), pause, |stopped| !*stopped);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

/// Repeats the pass until the sign is up.
pub fn run(shared: &Shared, commands: &Commands) {
    let pause = Duration::from_secs(shared.config.maintenance_interval_seconds);
    while !shared.stop.wait(pause) {
        for topic in shared.topics() {
            let done = if topic.settings().compacted {
                compact_topic(shared, &topic, shared.config.compaction_dirty_ratio).map(drop)
            } else {
                expire_topic(shared, commands, &topic)
            };
            if let Err(error) = done
                && !shared.stop.is_up()
            {
                tracing::warn!(
                    topic = topic.name,
                    error = error.full_message(),
                    "maintenance of the event log failed; next pass tries again"
                );
            }
        }
    }
}

/// Compacts the partitions whose dirty ratio is above `above`. Returns the bytes that were freed.
pub fn compact_topic(shared: &Shared, topic: &Topic, above: f64) -> Result<u64> {
    let mut freed = 0;
    for partition in topic
        .partitions
        .iter()
        .filter(|partition| dirty_ratio(partition) > above)
    {
        let rule = TombstoneRule {
            lowest_position: topic.lowest_position(partition.number, true),
            now_ms: now_ms(),
            retention: Duration::from_secs(shared.config.tombstone_retention_seconds),
        };
        let bytes = compact(partition, shared.config.segment_bytes, rule, &mut |_| {
            if shared.stop.is_up() {
                Err(Error::new(
                    ErrorKind::Unavailable,
                    "the event log is closing",
                ))
            } else {
                Ok(())
            }
        })?;
        tracing::info!(
            topic = topic.name,
            partition = partition.number,
            freed_bytes = bytes,
            "compacted"
        );
        shared.counters.compacted_bytes.add(bytes);
        freed += bytes;
    }
    Ok(freed)
}

/// Applies retention to all partitions of a topic.
pub fn expire_topic(shared: &Shared, commands: &Commands, topic: &Topic) -> Result<()> {
    let settings = topic.settings();
    if settings.compacted || settings.retention_age.is_none() && settings.retention_bytes.is_none()
    {
        return Ok(());
    }
    for partition in &topic.partitions {
        if active_has_expired(partition, &settings, now_ms()) {
            commands.roll(Arc::clone(partition))?;
        }
        let gone = expire(
            partition,
            &settings,
            topic.lowest_position(partition.number, false),
            now_ms(),
        )?;
        shared.counters.expired_segments.add(gone);
    }
    Ok(())
}

/// Milliseconds since 1970.
fn now_ms() -> i64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or(Duration::ZERO);
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
