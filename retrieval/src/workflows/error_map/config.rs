//! Settings of the workflow `error_map`; the values live in `cli/default.toml`, what differs from
//! domain to domain in a profile.

use serde::{Deserialize, Serialize};

use crate::workflows::sides::{self, Side};

/// The section `[query_api.answer.error_map]`.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ErrorMapConfig {
    /// Parts of the documents that are searched apart, each in its own way; one search like any
    /// other where there is none.
    pub sides: Vec<Side>,
    /// Passages of all sides together at most.
    pub passages: usize,
    /// Relevance of the best passage below which the question is refused, 0 to 1.
    pub refuse_below: f32,
    /// Relevance from which the answer to a frequent question is the solution, word for word, 0 to
    /// 1; above 1 for never.
    pub verbatim_from: f32,
    /// Longest log that is accepted, in bytes of UTF-8.
    pub log_limit_bytes: usize,
    /// Characters of the text that is searched for at most.
    pub query_characters: usize,
    /// Longest time for telling a log from a question where the rules do not, in milliseconds.
    pub deadline_ms: u64,
    /// What of the environment an answer names, in this order.
    pub environment: Vec<EnvironmentField>,
}

/// A line of the environment, and what documents call it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct EnvironmentField {
    /// What programs call it.
    pub name: String,
    /// What a Chinese answer calls it.
    pub zh: String,
    /// What other answers call it.
    pub en: String,
    /// Beginnings of lines in documents after which, behind a colon or in the next cell of a table,
    /// the value stands. Case does not count.
    pub labels: Vec<String>,
}

impl ErrorMapConfig {
    /// Everything that is wrong with the values, one line each.
    pub fn problems(&self) -> Vec<String> {
        let rules = [
            (self.passages > 0, "passages must be at least 1"),
            (
                (0.0..=1.0).contains(&self.refuse_below),
                "refuse_below must lie between 0 and 1",
            ),
            (self.verbatim_from >= 0.0, "verbatim_from must be 0 or more"),
            (
                self.log_limit_bytes > 0,
                "log_limit_bytes must be at least 1",
            ),
            (
                self.query_characters > 0,
                "query_characters must be at least 1",
            ),
            (self.deadline_ms > 0, "deadline_ms must be at least 1"),
            (
                self.environment.iter().all(EnvironmentField::is_whole),
                "environment: each line needs a name, zh, en and labels",
            ),
        ];
        let broken = rules.into_iter().filter(|(holds, _)| !holds);
        let broken = broken.map(|(_, rule)| format!("error_map.{rule}"));
        broken
            .chain(sides::problems(&self.sides, "error_map"))
            .collect()
    }
}

impl EnvironmentField {
    fn is_whole(&self) -> bool {
        let says = |text: &String| !text.trim().is_empty();
        [&self.name, &self.zh, &self.en].into_iter().all(says)
            && !self.labels.is_empty()
            && self.labels.iter().all(says)
    }
}
