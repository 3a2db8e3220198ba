//! How a workflow that judges its passages came to them: what a model suggested to search for, and
//! what each round of searching brought.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::understanding::Intent;

/// What a model suggests to search for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Suggestion {
    /// What the question wants.
    pub intent: Intent,
    /// How sure the model is of it, 0 to 1, in its own estimate.
    pub confidence: f32,
    /// The words that matter.
    pub search_keywords: Vec<String>,
    /// Queries that should find what answers the question.
    pub suggested_queries: Vec<String>,
    /// Why these, in a sentence.
    #[serde(default)]
    pub reasoning: String,
}

/// One round of searching and judging.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReviewedRound {
    /// What was searched for.
    pub queries: Vec<String>,
    /// Passages that it brought.
    pub found: usize,
    /// Those of them that were judged to say something to the question, or that nobody judged.
    pub relevant: usize,
    /// Whether all relevant passages together answer the question; absent where nobody judged it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sufficient: Option<bool>,
    /// What they lack, as queries.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
}

/// How the passages of an answer were chosen.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Review {
    /// What a model suggested to search for, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suggestion: Option<Suggestion>,
    /// The rounds: one, or two where the first was not enough.
    pub rounds: Vec<ReviewedRound>,
    /// The rounds of searching source code, where there were any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub code_rounds: Vec<ReviewedRound>,
}
