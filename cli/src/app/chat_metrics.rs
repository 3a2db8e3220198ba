//! Metrics of language models, in the registry that `/metrics` prints.

use std::sync::Arc;
use std::time::Duration;

use tributary_enrich::writing::TextCounter;
use tributary_models::chat::{CallReport, ChatObserver, Reason, Role, SharedObserver};
use tributary_schemas::Result;
use tributary_store::metrics::{Counters, Gauges, Histograms, MetricRegistry};

/// Upper bounds in seconds: from a cached first piece to a long report.
const SECONDS: [f64; 12] = [
    0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0,
];

/// Handles of all of them.
struct ChatMetrics {
    calls: Counters,
    seconds: Histograms,
    first_piece_seconds: Histograms,
    tokens: Counters,
    attempts_failed: Counters,
    prompts_cut: Counters,
    circuit_open: Gauges,
}

/// Registers them. `Conflict` if they are registered already.
pub fn register(registry: &MetricRegistry) -> Result<SharedObserver> {
    Ok(Arc::new(ChatMetrics {
        calls: registry.counters(
            "tributary_chat_calls_total",
            "Calls of language models, by how they ended",
            &["role", "endpoint", "outcome"],
        )?,
        seconds: registry.histograms(
            "tributary_chat_seconds",
            "Seconds of a whole call, waiting for a turn included",
            &["role", "endpoint"],
            &SECONDS,
        )?,
        first_piece_seconds: registry.histograms(
            "tributary_chat_first_piece_seconds",
            "Seconds to the first piece of a reply",
            &["role", "endpoint"],
            &SECONDS,
        )?,
        tokens: registry.counters(
            "tributary_chat_tokens_total",
            "Tokens of prompts (in) and replies (out)",
            &["role", "endpoint", "direction"],
        )?,
        attempts_failed: registry.counters(
            "tributary_chat_attempts_failed_total",
            "Attempts that failed before the first piece, by reason",
            &["endpoint", "reason"],
        )?,
        prompts_cut: registry.counters(
            "tributary_chat_prompts_cut_total",
            "Calls of which the server counted far fewer tokens than were sent",
            &["endpoint"],
        )?,
        circuit_open: registry.gauges(
            "tributary_chat_circuit_open",
            "1 while an endpoint is left alone because it failed",
            &["endpoint"],
        )?,
    }))
}

/// Counts summaries of sections by where they come from. `Conflict` if it is registered already.
pub fn summaries(registry: &MetricRegistry) -> Result<TextCounter> {
    texts(
        registry,
        "tributary_summaries_total",
        "Summaries of sections: written by the model, from the cache, or extractive in its stead",
    )
}

/// Counts descriptions of code by where they come from. `Conflict` if it is registered already.
pub fn descriptions(registry: &MetricRegistry) -> Result<TextCounter> {
    texts(
        registry,
        "tributary_descriptions_total",
        "Descriptions of code: written by the model, from the cache, or from comments and names in its stead",
    )
}

fn texts(registry: &MetricRegistry, name: &str, help: &str) -> Result<TextCounter> {
    let texts = registry.counters(name, help, &["by"])?;
    Ok(Arc::new(move |by| {
        texts.with(&[by]).inc();
    }))
}

impl ChatObserver for ChatMetrics {
    fn first_piece(&self, role: Role, endpoint: &str, took: Duration) {
        let histogram = self.first_piece_seconds.with(&[role.as_str(), endpoint]);
        histogram.observe(took.as_secs_f64());
    }

    fn call(&self, call: &CallReport<'_>) {
        let (role, endpoint) = (call.role.as_str(), call.endpoint);
        self.calls.with(&[role, endpoint, call.outcome]).inc();
        let histogram = self.seconds.with(&[role, endpoint]);
        histogram.observe(call.took.as_secs_f64());
        let directions = [
            ("in", call.usage.prompt_tokens),
            ("out", call.usage.completion_tokens),
        ];
        for (direction, tokens) in directions {
            let counter = self.tokens.with(&[role, endpoint, direction]);
            counter.inc_by(tokens.unwrap_or_default());
        }
    }

    fn attempt_failed(&self, endpoint: &str, reason: Reason) {
        let labels = [endpoint, reason.as_str()];
        self.attempts_failed.with(&labels).inc();
    }

    fn prompt_cut(&self, endpoint: &str) {
        self.prompts_cut.with(&[endpoint]).inc();
    }

    fn circuit(&self, endpoint: &str, is_open: bool) {
        self.circuit_open.with(&[endpoint]).set(i64::from(is_open));
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use tributary_models::chat::Usage;

    #[test]
    fn a_call_is_shown_by_role_and_endpoint() {
        let registry = MetricRegistry::default();
        let observer = register(&registry).unwrap();
        observer.circuit("default", true);
        observer.attempt_failed("default", Reason::Overloaded);
        observer.first_piece(Role::Answer, "default", Duration::from_millis(20));
        observer.call(&CallReport {
            role: Role::Answer,
            endpoint: "default",
            outcome: "ok",
            took: Duration::from_secs(2),
            usage: Usage {
                prompt_tokens: Some(100),
                completion_tokens: Some(7),
            },
        });
        let text = registry.text().unwrap();
        for part in [
            "tributary_chat_calls_total{endpoint=\"default\",outcome=\"ok\",role=\"answer\"} 1",
            "tributary_chat_seconds_count{endpoint=\"default\",role=\"answer\"} 1",
            "tributary_chat_first_piece_seconds_count{endpoint=\"default\",role=\"answer\"} 1",
            "tributary_chat_tokens_total{direction=\"out\",endpoint=\"default\",role=\"answer\"} 7",
            "tributary_chat_attempts_failed_total{endpoint=\"default\",reason=\"overloaded\"} 1",
            "tributary_chat_circuit_open{endpoint=\"default\"} 1",
        ] {
            assert!(text.contains(part), "{part} in\n{text}");
        }
    }
}
