//! Settings of understanding; the values live in `cli/default.toml`.

use serde::{Deserialize, Serialize};

/// How questions are understood, `[query_api.retrieval.understanding]`.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct UnderstandingConfig {
    /// After this time without a model's reply the rules stand, and `degraded` names
    /// `understanding`.
    pub deadline_ms: u64,
    /// Rounds of the history that the model is shown, the last ones; the first one beside them.
    pub history_rounds: usize,
    /// Tokens of a model's reply at most.
    pub reply_tokens: usize,
    /// Ask the model for a passage that could answer the question, and search by its vector too.
    pub hypothetical_passage: bool,
}

impl UnderstandingConfig {
    /// Everything that is wrong with the values: the key, and what it must be.
    pub fn problems(&self) -> Vec<(&'static str, &'static str)> {
        let rules = [
            (self.deadline_ms > 0, "understanding.deadline_ms"),
            (self.history_rounds > 0, "understanding.history_rounds"),
            (self.reply_tokens > 0, "understanding.reply_tokens"),
        ];
        rules
            .into_iter()
            .filter(|(holds, _)| !holds)
            .map(|(_, key)| (key, "must be at least 1"))
            .collect()
    }
}
