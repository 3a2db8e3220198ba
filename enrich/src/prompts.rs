//! The prompts of this crate and the replies that its code reads. The texts are files in
//! `enrich/prompts/`; a profile replaces them by name, see [`tributary_models::prompts`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tributary_models::chat::Role;
use tributary_models::chat::structured::reply_schema;
use tributary_models::prompts::{PromptSet, PromptSpec, Prompts, UNTRUSTED};

/// Name of the prompt for a summary of a section.
pub const SECTION_SUMMARY: &str = "section_summary";

/// All of them.
pub const PROMPTS: PromptSet = PromptSet {
    specs: &[PromptSpec {
        name: SECTION_SUMMARY,
        role: Role::Summarize,
        reply: Some(reply_schema::<SectionSummary>),
        sample: || {
            json!(SectionToSummarize {
                path: UNTRUSTED,
                text: UNTRUSTED,
                limit_tokens: 256,
            })
        },
    }],
    files: &[
        (
            "section_summary.en.md",
            include_str!("../prompts/section_summary.en.md"),
        ),
        (
            "section_summary.zh.md",
            include_str!("../prompts/section_summary.zh.md"),
        ),
    ],
};

/// Which texts exactly summaries are asked with, in all languages.
pub fn section_summary_ids(prompts: &Prompts) -> Vec<String> {
    let all = prompts.iter();
    all.filter(|prompt| prompt.name() == SECTION_SUMMARY)
        .map(|prompt| prompt.id())
        .collect()
}

/// What the prompt is given.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct SectionToSummarize<'a> {
    /// Titles from the document's down to the section's, joined by ` › `.
    pub path: &'a str,
    /// The section as Markdown.
    pub text: &'a str,
    /// Tokens of the summary at most.
    pub limit_tokens: usize,
}

/// What the model replies.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SectionSummary {
    /// What the section states, in its own language.
    #[schemars(length(min = 1, max = 4000))]
    pub summary: String,
}
