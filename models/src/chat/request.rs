//! What a chat model is asked, and what it answers: messages in, pieces of text and an ending out.

use std::sync::Arc;
use std::time::Instant;

use serde_json::Value;

/// Who says a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speaker {
    /// The rules of the conversation.
    System,
    /// The program, or the person it speaks for.
    User,
    /// The model; also in examples, which are earlier turns that never happened.
    Assistant,
}

impl Speaker {
    /// The name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Assistant => "assistant",
        }
    }
}

/// One turn of a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Who says it.
    pub speaker: Speaker,
    /// What is said.
    pub text: String,
}

impl Message {
    /// A message.
    pub fn new(speaker: Speaker, text: impl Into<String>) -> Self {
        Self {
            speaker,
            text: text.into(),
        }
    }
}

/// The shape of a JSON reply.
#[derive(Clone, Debug, PartialEq)]
pub struct ReplySchema {
    /// Letters, digits, `_` and `-`.
    pub name: String,
    /// A JSON Schema without references, see [`super::structured::reply_schema`].
    pub schema: Value,
}

/// What the reply should look like.
#[derive(Clone, Debug, PartialEq)]
pub enum Format {
    /// Text.
    Text,
    /// One JSON object. The endpoint enforces as much of it as it can; the caller reads it with
    /// [`super::structured`].
    Json(Arc<ReplySchema>),
}

/// One call.
#[derive(Clone, Debug, PartialEq)]
pub struct ChatRequest {
    /// Name of the prompt that the messages were rendered from, for logs and scripts.
    pub prompt: String,
    /// The conversation; the last message is the user's.
    pub messages: Vec<Message>,
    /// Most tokens of the reply, reasoning included.
    pub maximum_tokens: usize,
    /// 0 is the likeliest reply; `None` = as the endpoint is configured.
    pub temperature: Option<f64>,
    /// Shape of the reply.
    pub format: Format,
    /// When the caller needs it; the endpoint's own deadline holds as well.
    pub deadline: Option<Instant>,
}

/// Why a reply ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finish {
    /// It is whole.
    Stop,
    /// `maximum_tokens` or the context was reached: the reply is cut.
    Length,
    /// The server withheld the rest.
    Filtered,
    /// In the server's words.
    Other(String),
}

impl Finish {
    /// From the server's word.
    pub fn named(word: &str) -> Self {
        match word {
            "stop" | "eos" | "stop_sequence" => Self::Stop,
            "length" | "max_tokens" => Self::Length,
            "content_filter" => Self::Filtered,
            other => Self::Other(other.to_owned()),
        }
    }
}

/// Tokens as the server counted them; `None` where it does not say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Of the messages.
    pub prompt_tokens: Option<u64>,
    /// Of the reply, reasoning included.
    pub completion_tokens: Option<u64>,
}

/// The end of a reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ending {
    /// Why.
    pub finish: Finish,
    /// What it took.
    pub usage: Usage,
    /// The model that answered, in the server's words, else the one that was asked for.
    pub model: String,
}

/// A part of a streamed reply. A stream is any number of texts, none of them empty, and then
/// exactly one ending or one error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delta {
    /// More text. Reasoning is never among it.
    Text(String),
    /// The reply is over.
    End(Ending),
}

/// A whole reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completion {
    /// Never empty.
    pub text: String,
    /// How it ended; the text may be cut, see [`Finish`].
    pub ending: Ending,
}

/// What is behind a [`super::ChatModel`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelDescription {
    /// Name of the endpoint in the configuration.
    pub endpoint: String,
    /// Model as it is asked for; a part of cache keys and of the lineage.
    pub model: String,
    /// Address without credentials, or the script's file.
    pub address: String,
    /// Tokens that prompt and reply have together.
    pub context_tokens: usize,
}
