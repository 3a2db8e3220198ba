//! The prompts of this crate and the replies that its code reads. The texts are files in
//! `enrich/prompts/`; a profile replaces them by name, see [`tributary_models::prompts`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tributary_models::chat::Role;
use tributary_models::chat::structured::reply_schema;
use tributary_models::prompts::{LANGUAGES, PromptSet, PromptSpec, Prompts, UNTRUSTED};

/// A file of `enrich/prompts/` and its text.
macro_rules! prompt_file {
    ($name:literal) => {
        ($name, include_str!(concat!("../prompts/", $name)))
    };
}

/// Name of the prompt for a summary of a section.
pub const SECTION_SUMMARY: &str = "section_summary";
/// Name of the prompt for a description of a function, type or macro.
pub const CODE_DESCRIPTION: &str = "code_description";
/// Name of the prompt for a summary of a file of source code.
pub const CODE_FILE_SUMMARY: &str = "code_file_summary";

/// All of them.
pub const PROMPTS: PromptSet = PromptSet {
    specs: &[
        PromptSpec {
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
        },
        of_code(CODE_DESCRIPTION),
        of_code(CODE_FILE_SUMMARY),
    ],
    files: &[
        prompt_file!("section_summary.en.md"),
        prompt_file!("section_summary.zh.md"),
        prompt_file!("code_description.en.md"),
        prompt_file!("code_description.zh.md"),
        prompt_file!("code_file_summary.en.md"),
        prompt_file!("code_file_summary.zh.md"),
    ],
};

const fn of_code(name: &'static str) -> PromptSpec {
    PromptSpec {
        name,
        role: Role::DescribeCode,
        reply: Some(reply_schema::<CodeDescription>),
        sample: || {
            json!(CodeToDescribe {
                path: UNTRUSTED,
                text: UNTRUSTED,
                limit_tokens: 128,
            })
        },
    }
}

/// Which texts exactly these prompts are, in all languages.
pub fn prompt_ids(prompts: &Prompts, names: &[&str]) -> Vec<String> {
    let all = prompts.iter();
    all.filter(|prompt| names.contains(&prompt.name()))
        .map(|prompt| prompt.id())
        .collect()
}

/// The same with a variant before the built-in ones, where it has them.
pub fn variant_ids(prompts: &Prompts, names: &[&str], variant: Option<&str>) -> Vec<String> {
    let in_language = |name: &str, language| {
        let prompt = prompts.get_variant(name, variant, Some(language));
        prompt.ok().map(|prompt| prompt.id())
    };
    let all = names.iter();
    all.flat_map(|name| LANGUAGES.map(|language| in_language(name, language)))
        .flatten()
        .collect()
}

/// What the prompt for a section is given.
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

/// What the prompts for code are given.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct CodeToDescribe<'a> {
    /// Title of the file and names down to the definition's, joined by ` › `.
    pub path: &'a str,
    /// The code of a definition; head and definitions of a file.
    pub text: &'a str,
    /// Tokens of the description at most.
    pub limit_tokens: usize,
}

/// What the model replies.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CodeDescription {
    /// What the code does.
    #[schemars(length(min = 1, max = 4000))]
    pub description: String,
}
