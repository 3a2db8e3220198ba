//! Settings of judging; the values live in `cli/default.toml`.

use serde::{Deserialize, Serialize};

/// The section `[query_api.answer.judge]`.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct JudgeConfig {
    /// Passages that a question is judged from.
    pub top_k: usize,
    /// Longest time that the model has for both of its tries, in milliseconds.
    pub deadline_ms: u64,
    /// Tokens of a reply at most.
    pub reply_tokens: usize,
    /// Characters of an explanation, at least and at most.
    pub minimum_characters: usize,
    /// See `minimum_characters`.
    pub maximum_characters: usize,
    /// Share of the words of the given answer from which an answer in words counts as right where
    /// no model judges, 0 to 1.
    pub least_similarity: f32,
}

impl JudgeConfig {
    /// Everything that is wrong with the values, one line each.
    pub fn problems(&self) -> impl Iterator<Item = String> {
        let characters = self.minimum_characters < self.maximum_characters;
        let rules = [
            (self.top_k > 0, "top_k must be at least 1"),
            (self.deadline_ms > 0, "deadline_ms must be at least 1"),
            (self.reply_tokens > 0, "reply_tokens must be at least 1"),
            (
                characters,
                "minimum_characters must be below maximum_characters",
            ),
            (
                (0.0..=1.0).contains(&self.least_similarity),
                "least_similarity must lie between 0 and 1",
            ),
        ];
        let broken = rules.into_iter().filter(|(holds, _)| !holds);
        broken.map(|(_, rule)| format!("judge.{rule}"))
    }
}
