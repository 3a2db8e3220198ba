//! Gauges of how far each stage is behind and of what the index holds, refreshed every few seconds.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tributary_schemas::Result;
use tributary_store::event_log::PartitionLag;
use tributary_store::manifest::documents::{StageReader, stage_readers};
use tributary_store::metrics::{FloatGauges, Gauges, MetricRegistry};
use tributary_store::search_index::GenerationStatus;

use super::Parts;

/// Labels of what is known of a reader.
const READER: [&str; 2] = ["stage", "group"];
/// Labels of what is known of a generation.
const GENERATION: [&str; 2] = ["generation", "serving"];
const REFRESH: Duration = Duration::from_secs(5);
/// Share of the retention after which every look says so.
const NEARLY_FORGOTTEN: f64 = 0.75;

/// Age of the oldest record that a reader has yet to finish; zero without one.
pub fn oldest_unread(lag: &[PartitionLag], now_ms: i64) -> Duration {
    let oldest = lag
        .iter()
        .filter_map(|partition| partition.oldest_uncommitted_ms)
        .min();
    Duration::from_millis(
        oldest
            .map_or(0, |oldest| now_ms.saturating_sub(oldest).max(0))
            .unsigned_abs(),
    )
}

/// Whether a record of this age is about to go, read or not.
pub fn is_nearly_forgotten(age: Duration, forgets_after: Duration) -> bool {
    age.as_secs_f64() > NEARLY_FORGOTTEN * forgets_after.as_secs_f64()
}

/// The gauges.
pub struct LagGauges {
    records: Gauges,
    seconds: FloatGauges,
    retention: FloatGauges,
    /// Age at which the log forgets records, read or not; `None` for one that keeps what is
    /// unread.
    forgets_after: Option<Duration>,
    index_documents: Gauges,
    index_chunks: Gauges,
}

impl LagGauges {
    /// Registers them. `forgets_after` is the age at which the log forgets records, read or not, if
    /// it does.
    pub fn register(registry: &MetricRegistry, forgets_after: Option<Duration>) -> Result<Self> {
        Ok(Self {
            records: registry.gauges(
                "tributary_lag_records",
                "Records that a stage has yet to finish.",
                &READER,
            )?,
            seconds: registry.float_gauges(
                "tributary_oldest_uncommitted_seconds",
                "Age of the oldest record that a stage has yet to finish.",
                &READER,
            )?,
            retention: registry.float_gauges(
                "tributary_retention_used_ratio",
                "Age of the oldest record that a stage has yet to finish, as a share of the age at which the brokers forget it.",
                &READER,
            )?,
            forgets_after,
            index_documents: registry.gauges(
                "tributary_index_documents",
                "Documents in a generation of the index.",
                &GENERATION,
            )?,
            index_chunks: registry.gauges(
                "tributary_index_chunks",
                "Chunks that can be found in a generation of the index.",
                &GENERATION,
            )?,
        })
    }

    /// Refreshes them until `shutdown`. What cannot be read is not shown: an old number would look
    /// like a stage at rest.
    pub async fn follow(self, parts: Arc<Parts>, shutdown: CancellationToken) {
        let mut readers = stage_readers(&[]);
        while !shutdown.is_cancelled() {
            match parts.stores.index.status().await {
                Ok(generations) => {
                    readers = stage_readers(&generations);
                    self.set_index(&generations);
                }
                Err(error) => tracing::warn!(%error, "the state of the index cannot be read"),
            }
            // A generation that is gone takes its reader with it.
            self.clear();
            for reader in &readers {
                match parts.stores.topics.lag(reader.topic, &reader.group).await {
                    Ok(lag) => self.set(reader, &lag, (parts.clock)()),
                    Err(error) => {
                        tracing::warn!(stage = reader.stage, group = reader.group, %error, "the lag cannot be read")
                    }
                }
            }
            tokio::select! {
                () = shutdown.cancelled() => {}
                () = tokio::time::sleep(REFRESH) => {}
            }
        }
    }

    fn clear(&self) {
        self.records.clear();
        self.seconds.clear();
        self.retention.clear();
    }

    fn set(&self, reader: &StageReader, lag: &[PartitionLag], now_ms: i64) {
        let labels = [reader.stage, reader.group.as_str()];
        let records: u64 = lag.iter().map(PartitionLag::records).sum();
        self.records
            .with(&labels)
            .set(i64::try_from(records).unwrap_or(i64::MAX));
        let age = oldest_unread(lag, now_ms);
        self.seconds.with(&labels).set(age.as_secs_f64());
        // What the chunk stage reads is compacted: the newest record of each document stays.
        if !reader.topic.is_compacted() {
            let used = self.forgets_after.map_or(0.0, |forgets_after| {
                age.as_secs_f64() / forgets_after.as_secs_f64()
            });
            self.retention.with(&labels).set(used);
            if self
                .forgets_after
                .is_some_and(|forgets_after| is_nearly_forgotten(age, forgets_after))
            {
                tracing::error!(
                    stage = reader.stage,
                    used,
                    "the oldest record that a stage has yet to finish is about to be forgotten by the brokers: run the stage, or raise store.retention_hours"
                );
            }
        }
    }

    fn set_index(&self, generations: &[GenerationStatus]) {
        self.index_documents.clear();
        self.index_chunks.clear();
        for generation in generations {
            let labels = [
                generation.name.as_str(),
                if generation.serving { "true" } else { "false" },
            ];
            self.index_documents
                .with(&labels)
                .set(i64::try_from(generation.documents).unwrap_or(i64::MAX));
            self.index_chunks
                .with(&labels)
                .set(i64::try_from(generation.chunks).unwrap_or(i64::MAX));
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use tributary_schemas::Topic;

    use super::*;

    #[test]
    fn lag_is_that_of_all_partitions_and_age_that_of_the_oldest() {
        let registry = MetricRegistry::default();
        let gauges = LagGauges::register(&registry, Some(Duration::from_secs(22))).unwrap();
        let partition = |committed, oldest_uncommitted_ms| PartitionLag {
            partition: 0,
            start: 2,
            committed,
            end: 10,
            oldest_uncommitted_ms,
        };
        let reader = StageReader {
            stage: "embed",
            topic: Topic::ChunksTagged,
            group: "embed".to_owned(),
        };
        gauges.set(
            &reader,
            &[
                partition(7, Some(9_000)),
                partition(0, Some(4_500)),
                partition(10, None),
            ],
            10_000,
        );
        let value = |name: &str| {
            let text = registry.text().unwrap();
            let line = text
                .lines()
                .find(|line| line.starts_with(&format!("{name}{{")))?;
            line.rsplit(' ').next()?.parse::<f64>().ok()
        };
        assert_eq!(
            value("tributary_lag_records"),
            Some(3.0 + 8.0),
            "compaction or retention took the first two"
        );
        assert_eq!(value("tributary_oldest_uncommitted_seconds"), Some(5.5));
        assert_eq!(value("tributary_retention_used_ratio"), Some(0.25));
        gauges.set(&reader, &[partition(10, None)], 10_000);
        assert_eq!(
            (
                value("tributary_lag_records"),
                value("tributary_oldest_uncommitted_seconds")
            ),
            (Some(0.0), Some(0.0))
        );
    }
}
