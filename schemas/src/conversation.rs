//! Conversations: what was asked and answered, and what people said of it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ask::{Answer, AskFailure};

/// A conversation, without its turns.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Conversation {
    /// 32 hexadecimal digits.
    pub id: String,
    /// What it is called: given, or the beginning of its first question.
    pub title: String,
    /// Whose it is; `None` where the server does not tell its callers apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// Milliseconds since 1970 at which it began.
    pub created_at_ms: u64,
    /// Milliseconds since 1970 of its last turn or change.
    pub updated_at_ms: u64,
    /// Turns that it has.
    pub turns: u64,
}

/// What became of a question.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TurnState {
    /// It is being answered.
    #[default]
    Pending,
    /// It has an answer.
    Answered,
    /// It has none; `failure` says why.
    Failed,
}

/// What somebody thinks of an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Feedback {
    /// Whether it helped.
    pub helpful: bool,
    /// Why.
    #[serde(default)]
    pub reason: String,
}

/// A question of a conversation with what became of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Turn {
    /// 32 hexadecimal digits; the answer has the same.
    pub id: String,
    /// The conversation.
    pub conversation_id: String,
    /// Position in it, from 1.
    pub number: u64,
    /// The question, as received.
    pub question: String,
    /// What became of it.
    pub state: TurnState,
    /// Milliseconds since 1970 at which it was asked.
    pub asked_at_ms: u64,
    /// Milliseconds since 1970 at which it was answered or failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at_ms: Option<u64>,
    /// The answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Box<Answer>>,
    /// Why there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<AskFailure>,
    /// What somebody thinks of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feedback: Option<Feedback>,
}

/// What was said in a conversation before its last rounds, in short.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConversationSummary {
    /// It holds the turns up to this number.
    pub through: u64,
    /// What was said.
    pub text: String,
    /// The model that wrote it, as its server names it.
    pub model: String,
}
