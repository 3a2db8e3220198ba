//! Gauges of each knowledge set, refreshed every half minute: counting looks at every document. There
//! are as many labels as sets are defined.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tributary_query_api::set_status::statuses;
use tributary_schemas::Result;
use tributary_schemas::set_status::{SetAlarmReason, SetStatus};
use tributary_store::metrics::{FloatGauges, Gauges, MetricRegistry};

use super::Parts;

const REFRESH: Duration = Duration::from_secs(30);

/// The gauges.
pub struct SetGauges {
    documents: Gauges,
    oldest_waiting: FloatGauges,
    alarms: Gauges,
    calls: Gauges,
    tokens: Gauges,
}

impl SetGauges {
    /// Registers them.
    pub fn register(registry: &MetricRegistry) -> Result<Self> {
        Ok(Self {
            documents: registry.gauges(
                "tributary_set_documents",
                "Documents of a knowledge set: searchable, degraded, waiting, failed.",
                &["set", "state"],
            )?,
            oldest_waiting: registry.float_gauges(
                "tributary_set_oldest_waiting_seconds",
                "How long the document of a knowledge set that waits longest has been at its stage.",
                &["set"],
            )?,
            alarms: registry.gauges(
                "tributary_set_alarm",
                "1 while a threshold of a knowledge set is reached.",
                &["set", "reason"],
            )?,
            calls: registry.gauges(
                "tributary_set_model_calls",
                "Calls of language models for the documents of a knowledge set, since this process started.",
                &["set"],
            )?,
            tokens: registry.gauges(
                "tributary_set_model_tokens",
                "Tokens of these calls, prompts (in) and replies (out).",
                &["set", "direction"],
            )?,
        })
    }

    /// Refreshes them until `shutdown`.
    pub async fn follow(self, parts: Arc<Parts>, shutdown: CancellationToken) {
        while !shutdown.is_cancelled() {
            if let Err(error) = self.refresh(&parts).await {
                tracing::warn!(%error, "documents of knowledge sets cannot be counted");
            }
            tokio::select! {
                () = shutdown.cancelled() => {}
                () = tokio::time::sleep(REFRESH) => {}
            }
        }
    }

    /// Counts, unless there is no set to count for.
    async fn refresh(&self, parts: &Parts) -> Result<()> {
        let sets = parts.knowledge_sets.shared().current();
        let statuses = match sets.iter().next() {
            None => Vec::new(),
            Some(_) => {
                let asked = Arc::clone(&sets);
                let in_sets = move |source: &str| asked.of_source(source);
                let tallies = parts.documents.tally(in_sets).await?;
                statuses(&sets, tallies).sets
            }
        };
        self.set(&statuses);
        Ok(())
    }

    /// Sets that are gone take their gauges with them.
    fn set(&self, sets: &[SetStatus]) {
        self.clear();
        sets.iter().for_each(|set| self.set_one(set));
    }

    fn clear(&self) {
        self.documents.clear();
        self.oldest_waiting.clear();
        self.alarms.clear();
        self.calls.clear();
        self.tokens.clear();
    }

    fn set_one(&self, set: &SetStatus) {
        let shown = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
        let counts = [
            ("searchable", set.documents.searchable),
            ("degraded", set.documents.degraded),
            ("waiting", set.documents.waiting),
            ("failed", set.documents.failed),
        ];
        for (state, count) in counts {
            self.documents.with(&[&set.id, state]).set(shown(count));
        }
        let cost = &set.cost;
        self.calls.with(&[&set.id]).set(shown(cost.calls));
        for (direction, tokens) in [("in", cost.tokens_in), ("out", cost.tokens_out)] {
            self.tokens.with(&[&set.id, direction]).set(shown(tokens));
        }
        let oldest = set.documents.oldest_waiting_seconds.unwrap_or(0.0);
        self.oldest_waiting.with(&[&set.id]).set(oldest);
        for reason in SetAlarmReason::ALL {
            let is_reached = set.alarms.contains(&reason);
            let alarm = self.alarms.with(&[&set.id, reason.as_str()]);
            alarm.set(i64::from(is_reached));
        }
    }
}
