//! Gauges of how far each stage is behind, refreshed every few seconds.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use prometheus::{GaugeVec, IntGaugeVec, Opts, Registry};
use tokio_util::sync::CancellationToken;
use tributary_store::event_log::PartitionLag;
use tributary_store::manifest::documents::STAGES;

use super::Parts;

const REFRESH: Duration = Duration::from_secs(5);

/// The gauges.
pub struct LagGauges {
    records: IntGaugeVec,
    seconds: GaugeVec,
}

impl LagGauges {
    /// Registers them.
    pub fn register(registry: &Registry) -> Result<Self> {
        let records = Opts::new("tributary_lag_records", "Records that a stage has yet to finish.");
        let seconds = Opts::new("tributary_oldest_uncommitted_seconds", "Age of the oldest record that a stage has yet to finish.");
        let gauges = Self {
            records: IntGaugeVec::new(records, &["stage"]).context("cannot make metrics")?,
            seconds: GaugeVec::new(seconds, &["stage"]).context("cannot make metrics")?,
        };
        registry.register(Box::new(gauges.records.clone())).context("cannot register metrics")?;
        registry.register(Box::new(gauges.seconds.clone())).context("cannot register metrics")?;
        Ok(gauges)
    }

    /// Refreshes them until `shutdown`.
    pub async fn follow(self, parts: Arc<Parts>, shutdown: CancellationToken) {
        while !shutdown.is_cancelled() {
            for (stage, topic) in STAGES {
                match parts.stores.topics.lag(topic, stage).await {
                    Ok(lag) => self.set(stage, &lag, (parts.clock)()),
                    Err(error) => tracing::warn!(stage, %error, "the lag cannot be read"),
                }
            }
            tokio::select! {
                () = shutdown.cancelled() => {}
                () = tokio::time::sleep(REFRESH) => {}
            }
        }
    }

    fn set(&self, stage: &str, lag: &[PartitionLag], now_ms: i64) {
        let records: u64 = lag.iter().map(PartitionLag::records).sum();
        let oldest = lag.iter().filter_map(|partition| partition.oldest_uncommitted_ms).min();
        self.records.with_label_values(&[stage]).set(i64::try_from(records).unwrap_or(i64::MAX));
        let age_ms = oldest.map_or(0, |oldest| now_ms.saturating_sub(oldest).max(0));
        self.seconds.with_label_values(&[stage]).set(Duration::from_millis(age_ms.unsigned_abs()).as_secs_f64());
    }
}
