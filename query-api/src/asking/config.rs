//! Settings of asking, section `[query_api.ask]`; the values live in `cli/default.toml`.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// How questions are taken.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct AskConfig {
    /// Questions that are answered at the same time; more are refused with `overloaded`.
    pub questions_at_once: usize,
    /// Longest time that an answer may take, in milliseconds.
    pub timeout_ms: u64,
    /// How long an answer goes on that nobody reads, in milliseconds: who comes back within it with
    /// `Last-Event-ID` has missed nothing.
    pub abandoned_after_ms: u64,
    /// How long an answer that is over can be read again, in seconds.
    pub resume_seconds: u64,
    /// Answers that are kept for it, at most.
    pub resumable: usize,
    /// Longest silence of a stream before a comment goes out, in milliseconds.
    pub heartbeat_ms: u64,
}

impl AskConfig {
    /// Longest time that an answer may take.
    pub fn timeout(&self) -> Duration {
        Duration::from_millis(self.timeout_ms)
    }

    /// Everything that is wrong with the values, one line each.
    pub fn problems(&self) -> Vec<String> {
        let positive = [
            ("questions_at_once", self.questions_at_once as u64),
            ("timeout_ms", self.timeout_ms),
            ("heartbeat_ms", self.heartbeat_ms),
        ];
        let zero = positive.iter().filter(|(_, value)| *value == 0);
        zero.map(|(key, _)| format!("query_api.ask.{key} must be at least 1"))
            .collect()
    }
}
