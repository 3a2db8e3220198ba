//! Settings of reports; the values live in `cli/default.toml`.

use serde::{Deserialize, Serialize};

/// The section `[query_api.answer.report]`.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ReportConfig {
    /// Passages that are found for all questions together.
    pub top_k: usize,
    /// Passages that a section is written from.
    pub passages_per_section: usize,
    /// Sections that are written at the same time.
    pub sections_at_once: usize,
    /// Longest time for the outline, in milliseconds.
    pub outline_deadline_ms: u64,
    /// Tokens of the outline at most.
    pub outline_tokens: usize,
    /// Longest time for a section, in milliseconds.
    pub deadline_ms: u64,
    /// Tokens of a section at most.
    pub reply_tokens: usize,
}

impl ReportConfig {
    /// Everything that is wrong with the values, one line each.
    pub fn problems(&self) -> impl Iterator<Item = String> {
        let rules = [
            (self.top_k > 0, "top_k"),
            (self.passages_per_section > 0, "passages_per_section"),
            (self.sections_at_once > 0, "sections_at_once"),
            (self.outline_deadline_ms > 0, "outline_deadline_ms"),
            (self.outline_tokens > 0, "outline_tokens"),
            (self.deadline_ms > 0, "deadline_ms"),
            (self.reply_tokens > 0, "reply_tokens"),
        ];
        let broken = rules.into_iter().filter(|(holds, _)| !holds);
        broken.map(|(_, key)| format!("report.{key} must be at least 1"))
    }
}
