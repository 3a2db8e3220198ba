//! Metrics of the query server, in the registry that `/metrics` prints.

use std::time::Duration;

use serde_json::Value;
use tributary_schemas::Result;
use tributary_schemas::ask::Answer;
use tributary_schemas::code_search::CodeSearchResponse;
use tributary_schemas::search::SearchResponse;
use tributary_store::metrics::{Counters, Histograms, MetricRegistry};

/// Upper bounds in seconds, around the budgets of the tiers (.5 s, .5 s, 1 s).
const SECONDS: [f64; 12] = [
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0,
];
/// Upper bounds in chunks, around the limits of the tiers (10, 80, 3000).
const CANDIDATES: [f64; 10] = [
    0.0, 1.0, 5.0, 10.0, 40.0, 80.0, 320.0, 1000.0, 2000.0, 3000.0,
];

/// What a search can do without.
const DEGRADABLE: [&str; 4] = ["chunks", "documents", "embedder", "reranker"];

/// What a server can have too much of.
const SHEDDABLE: [&str; 9] = [
    "body",
    "bytes",
    "drawing",
    "question",
    "rendering",
    "requests",
    "search",
    "streams",
    "wrong_keys",
];

/// What becomes of a call that is to be recorded.
const AUDITED: [&str; 2] = ["left_out", "written"];

/// Upper bounds in seconds of an answer, which a language model may write.
const ANSWER_SECONDS: [f64; 12] = [
    0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0,
];

/// Handles of all metrics of this crate.
#[derive(Clone)]
pub struct Metrics {
    search_seconds: Histograms,
    search_candidates: Histograms,
    searches_degraded: Counters,
    requests_shed: Counters,
    questions: Counters,
    answer_seconds: Histograms,
    answers_degraded: Counters,
    citations_removed: Counters,
    audit_calls: Counters,
    http_requests: Counters,
    http_request_seconds: Histograms,
}

impl Metrics {
    /// Registers the metrics. `Conflict` if they are registered already.
    pub fn register(registry: &MetricRegistry) -> Result<Self> {
        let metrics = Self {
            search_seconds: registry.histograms(
                "tributary_search_seconds",
                "Seconds that a tier of a search took, or a stage of a search over source code (code_…)",
                &["tier"],
                &SECONDS,
            )?,
            search_candidates: registry.histograms(
                "tributary_search_candidates",
                "Chunks that a tier of a search handed on",
                &["tier"],
                &CANDIDATES,
            )?,
            searches_degraded: registry.counters(
                "tributary_searches_degraded_total",
                "Searches answered in a lesser way, by what was missing",
                &["what"],
            )?,
            requests_shed: registry.counters(
                "tributary_requests_shed_total",
                "Requests refused because too much was asked at once, by what there was too much of",
                &["what"],
            )?,
            questions: registry.counters(
                "tributary_questions_total",
                "Questions by what became of them: the verdict of the answer, or the code of the failure",
                &["outcome"],
            )?,
            answer_seconds: registry.histograms(
                "tributary_answer_seconds",
                "Seconds from a question to a step of its answer: first_token, total",
                &["step"],
                &ANSWER_SECONDS,
            )?,
            answers_degraded: registry.counters(
                "tributary_answers_degraded_total",
                "Answers given in a lesser way, by what was missing",
                &["what"],
            )?,
            citations_removed: registry.counters(
                "tributary_citations_removed_total",
                "Citations of sources that a model was not given, taken out of its answers",
                &[],
            )?,
            audit_calls: registry.counters(
                "tributary_audit_calls_total",
                "Calls for the audit record, by whether they were written or left out",
                &["outcome"],
            )?,
            http_requests: registry.counters(
                "tributary_http_requests_total",
                "HTTP requests answered",
                &["method", "route", "status"],
            )?,
            http_request_seconds: registry.histograms(
                "tributary_http_request_seconds",
                "Seconds from the head of a request to the head of its answer",
                &["method", "route"],
                &SECONDS,
            )?,
        };
        // There from the first moment on, so that a rise can be seen.
        for what in DEGRADABLE {
            metrics.searches_degraded.with(&[what]);
        }
        for what in SHEDDABLE {
            metrics.requests_shed.with(&[what]);
        }
        for outcome in AUDITED {
            metrics.audit_calls.with(&[outcome]);
        }
        metrics.citations_removed.with(&[]);
        Ok(metrics)
    }

    /// Counts one search: its tiers, its whole time (tier `total`) and what was degraded.
    pub fn observe_search(&self, response: &SearchResponse) {
        for (tier, summary) in &response.tiers {
            self.search_seconds
                .with(&[tier])
                .observe(summary.ms / 1000.0);
            #[expect(
                clippy::cast_precision_loss,
                reason = "a tier hands on far fewer than 2^52 chunks"
            )]
            self.search_candidates
                .with(&[tier])
                .observe(summary.candidates as f64);
        }
        self.search_seconds
            .with(&["total"])
            .observe(response.took_ms / 1000.0);
        for what in &response.degraded {
            self.searches_degraded.with(&[what]).inc();
        }
    }

    /// Counts a search over source code, by stage.
    pub fn observe_code_search(&self, response: &CodeSearchResponse) {
        for (stage, summary) in &response.stages {
            self.search_seconds
                .with(&[&format!("code_{stage}")])
                .observe(summary.ms / 1000.0);
        }
        self.search_seconds
            .with(&["code_total"])
            .observe(response.took_ms / 1000.0);
        for what in &response.degraded {
            self.searches_degraded.with(&[what]).inc();
        }
    }

    /// Counts an answer: its verdict, its steps and what was degraded.
    pub fn observe_answer(&self, answer: &Answer) {
        let verdict = serde_json::to_value(answer.verdict).ok();
        let verdict = verdict.as_ref().and_then(Value::as_str).unwrap_or("other");
        self.questions.with(&[verdict]).inc();
        let timed = ["first_token", "total"];
        for step in answer
            .steps
            .iter()
            .filter(|one| timed.contains(&one.step.as_str()))
        {
            let seconds = step.ms / 1000.0;
            self.answer_seconds.with(&[&step.step]).observe(seconds);
        }
        for what in &answer.degraded {
            self.answers_degraded.with(&[what]).inc();
        }
        self.citations_removed
            .with(&[])
            .inc_by(answer.removed_citations.into());
    }

    /// Counts a question that got no answer.
    pub fn observe_unanswered(&self, code: &str) {
        self.questions.with(&[code]).inc();
    }

    /// Counts a request that was refused because there was too much of `what`, one of
    /// [`SHEDDABLE`].
    pub fn observe_shed(&self, what: &str) {
        self.requests_shed.with(&[what]).inc();
    }

    /// Counts calls of the audit record, by one of [`AUDITED`].
    pub fn observe_audit(&self, outcome: &str, calls: u64) {
        self.audit_calls.with(&[outcome]).inc_by(calls);
    }

    /// Counts one request. `route` is a pattern, never a path: labels stay a closed list.
    pub fn observe_request(&self, method: &str, route: &str, status: u16, took: Duration) {
        self.http_requests
            .with(&[method, route, &status.to_string()])
            .inc();
        self.http_request_seconds
            .with(&[method, route])
            .observe(took.as_secs_f64());
    }
}
