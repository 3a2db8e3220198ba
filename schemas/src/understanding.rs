//! What a question means and how else it can be asked: plain data, made before anything is searched.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the question wants.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Intent {
    /// Anything else: a fact, a value, yes or no.
    #[default]
    Fact,
    /// What something is.
    Definition,
    /// How something is done.
    HowTo,
    /// Why something is so.
    Reason,
    /// How things differ, or which of them is better.
    Comparison,
    /// What a function, class or parameter does, named by its identifier.
    Api,
    /// What an error message, an error code or a traceback means and what helps.
    Error,
    /// A greeting, thanks or the like: nothing to look for.
    Smalltalk,
}

/// Who understood it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum UnderstoodBy {
    /// The rules.
    #[default]
    Rules,
    /// The model of the role `understand`; what it left out is of the rules.
    Model,
}

/// What a question means. Every list is in the order in which it was found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Understanding {
    /// The question, as written, trimmed.
    pub question: String,
    /// The question as it would be asked without what was said before; the question itself without
    /// a history.
    pub standalone_question: String,
    /// Other ways to ask the standalone question, such as with an abbreviation written out: 0 to 3
    /// (4 where a model suggested what to search for),
    /// none of them the standalone question.
    #[serde(default)]
    pub variants: Vec<String>,
    /// What it wants.
    #[serde(default)]
    pub intent: Intent,
    /// Terms of the lexicon, identifiers and codes in the standalone question.
    #[serde(default)]
    pub entities: Vec<String>,
    /// What a keyword search should look for.
    #[serde(default)]
    pub search_keywords: Vec<String>,
    /// Questions that it consists of, such as the two sides of a comparison.
    #[serde(default)]
    pub sub_queries: Vec<String>,
    /// The error message or traceback in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_log: Option<String>,
    /// A passage that could answer it, made up, to search by its vector.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hypothetical_passage: Option<String>,
    /// How sure the standalone question is the one that was meant, 0 to 1.
    pub confidence: f32,
    /// Who understood it.
    #[serde(default)]
    pub made_by: UnderstoodBy,
    /// Milliseconds that it took.
    #[serde(default)]
    pub took_ms: f64,
}

impl Understanding {
    /// A question that stands for itself.
    pub fn of(question: &str) -> Self {
        Self {
            question: question.to_owned(),
            standalone_question: question.to_owned(),
            confidence: 1.0,
            ..Self::default()
        }
    }

    /// All that is searched for: the standalone question first, no text twice.
    pub fn searches(&self) -> Vec<&str> {
        let mut searches: Vec<&str> = vec![&self.standalone_question];
        for other in self.variants.iter().chain(&self.sub_queries) {
            if !other.trim().is_empty() && !searches.contains(&other.as_str()) {
                searches.push(other);
            }
        }
        searches
    }
}
