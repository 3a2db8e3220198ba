//! Settings of the workflow `textbook`; the values live in `cli/default.toml`.

use serde::{Deserialize, Serialize};

/// The section `[query_api.answer.textbook]`.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct TextbookConfig {
    /// Queries of the first round at most, the question among them.
    pub queries: usize,
    /// Queries of the second round at most.
    pub second_queries: usize,
    /// Hits of each of them.
    pub second_top_k: usize,
    /// Passages that the second round adds at most.
    pub second_passages: usize,
    /// Passages that are judged at the same time.
    pub judgements_at_once: usize,
    /// Longest time for the suggestion, for judging the passages of a round and for judging whether
    /// they are enough, in milliseconds each.
    pub deadline_ms: u64,
    /// Tokens of each of these replies at most.
    pub reply_tokens: usize,
}

impl TextbookConfig {
    /// Everything that is wrong with the values, one line each.
    pub fn problems(&self) -> impl Iterator<Item = String> {
        let rules = [
            (self.queries > 0, "queries"),
            (self.second_top_k > 0, "second_top_k"),
            (self.judgements_at_once > 0, "judgements_at_once"),
            (self.deadline_ms > 0, "deadline_ms"),
            (self.reply_tokens > 0, "reply_tokens"),
        ];
        let broken = rules.into_iter().filter(|(holds, _)| !holds);
        broken.map(|(_, key)| format!("textbook.{key} must be at least 1"))
    }
}
