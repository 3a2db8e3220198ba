//! Bodies of `POST /v1/questions/judge` and `/v1/questions/explain`: a question with the answer of a
//! student, what is to be thought of it, and why.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ask::{Source, Support, Tokens};
use crate::{Filter, strict};

/// How a question is answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum QuestionKind {
    /// By one of several options.
    Single,
    /// By one or more of several options; only exactly the right ones are right.
    Multiple,
    /// In words: a gap that is filled or a question that is answered.
    #[default]
    Text,
}

impl QuestionKind {
    /// The name used in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Single => "single",
            Self::Multiple => "multiple",
            Self::Text => "text",
        }
    }
}

/// A question with the answer of a student; body of `POST /v1/questions/judge` and
/// `POST /v1/questions/explain`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QuestionToJudge {
    /// The caller's name for it, which comes back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// How it is answered.
    pub kind: QuestionKind,
    /// The question, as written.
    pub question: String,
    /// What can be chosen, 2 to 26; they are called A, B, C… in this order. None for `text`.
    #[serde(default)]
    pub options: Vec<String>,
    /// What the student answered: letters of options such as `AC`, the text of an option, or words.
    /// Empty where nothing was answered, which is never right.
    #[serde(default)]
    pub student_answer: String,
    /// What is known to be right, in the same way. It decides; no model is shown the one of a choice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correct_answer: Option<String>,
    /// What the question is about; a title of the documents' sections when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub knowledge_point: Option<String>,
    /// The only knowledge sets that are searched: short for `filter.knowledge_sets`, not together
    /// with it.
    #[serde(
        default,
        deserialize_with = "strict::given",
        skip_serializing_if = "Option::is_none"
    )]
    pub knowledge_sets: Option<Vec<String>>,
    /// What the caller wants to be searched.
    #[serde(default, deserialize_with = "strict::object")]
    pub filter: Filter,
}

/// Who decided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum JudgedBy {
    /// The model of the role `judge`, which found an answer of its own first.
    Model,
    /// A comparison with the given answer, because no model judged.
    GivenAnswer,
    /// The words of the passages, because no model judged and no answer is given.
    Passages,
    /// Nobody: there is no model, no given answer and nothing in the passages. It counts as wrong.
    #[default]
    Nobody,
}

/// How good an answer in words is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AnswerQuality {
    /// Right and complete.
    Excellent,
    /// Right, with small gaps.
    Good,
    /// Partly right.
    Fair,
    /// Wrong, or nothing of what matters.
    Poor,
}

/// What is to be thought of one option.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OptionAnalysis {
    /// Its letter.
    pub label: String,
    /// Its text.
    pub text: String,
    /// Whether it belongs to the right answer.
    pub is_correct: bool,
    /// Why; empty where no model judged.
    pub analysis: String,
}

/// Answer of `POST /v1/questions/judge`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Judgement {
    /// As given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// As given.
    pub kind: QuestionKind,
    /// Whether the student's answer is right.
    pub is_correct: bool,
    /// How sure that is, 0 to 1; at most 0.5 where no model judged, where the passages do not deal
    /// with the question, or where the model's own answer is not the given one.
    pub confidence: f32,
    /// How the right answer was found and the student's held against it. `[1]` cites a source.
    pub reasoning: String,
    /// The right answer: letters such as `AC`, or words. The given one where one is given; empty
    /// where nobody knows.
    pub correct_answer: String,
    /// What the model answered before it saw the student's answer; absent where no model judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_answer: Option<String>,
    /// Whether the model's own answer is the given one; absent where one of them is missing, and for
    /// answers in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agrees_with_given: Option<bool>,
    /// The question in detail. `[1]` cites a source.
    pub analysis: String,
    /// What the question is about: as given, else a title of the documents' sections; empty where
    /// nothing was found.
    pub knowledge_point: String,
    /// Each option; empty for `text`.
    #[serde(default)]
    pub option_analysis: Vec<OptionAnalysis>,
    /// For `text`: how good the answer is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer_quality: Option<AnswerQuality>,
    /// For `text`: what would make it better; empty where nothing would.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub improvement_suggestions: Option<String>,
    /// Who decided.
    pub judged_by: JudgedBy,
    /// Language of the texts, a BCP 47 tag.
    pub language: String,
    /// What it was judged from, by number.
    pub sources: Vec<Source>,
    /// Statements of `analysis`, held against what they cite.
    #[serde(default)]
    pub support: Vec<Support>,
    /// Citations of numbers that were not given, which were taken out.
    #[serde(default)]
    pub removed_citations: u32,
    /// What was done in a lesser way than configured: `judge` (no model, or no reply that can be
    /// used), `grounding` (the passages do not deal with the question), and those of a search.
    pub degraded: Vec<String>,
    /// Milliseconds that it took.
    pub took_ms: f64,
    /// The model that judged, as its server names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What its last reply took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<Tokens>,
}

/// Answer of `POST /v1/questions/explain`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Explanation {
    /// As given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The explanation, 300 to 500 characters; `[1]` cites a source. Where it is shorter or longer,
    /// `degraded` names `explanation_length`.
    pub explanation: String,
    /// Its characters.
    pub characters: usize,
    /// Whether the student's answer is the given one; absent where that takes a judgement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_correct: Option<bool>,
    /// What the question is about, as in a judgement.
    pub knowledge_point: String,
    /// Language of the explanation, a BCP 47 tag.
    pub language: String,
    /// What it was made from, by number.
    pub sources: Vec<Source>,
    /// Statements of the explanation, held against what they cite.
    #[serde(default)]
    pub support: Vec<Support>,
    /// Citations of numbers that were not given, which were taken out.
    #[serde(default)]
    pub removed_citations: u32,
    /// What was done in a lesser way than configured: `explanation` (no model, or no reply that can
    /// be used), `explanation_length`, `grounding`, and those of a search.
    pub degraded: Vec<String>,
    /// Milliseconds that it took.
    pub took_ms: f64,
    /// The model that explained, as its server names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}
