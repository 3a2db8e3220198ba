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
    /// A tool that the model called.
    Tool,
}

impl Speaker {
    /// The name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Tool => "tool",
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
    /// Tools that the model calls with it.
    pub calls: Vec<ToolCall>,
    /// What a tool says: the call that it answers.
    pub call_id: Option<String>,
}

/// A tool that the model may call.
#[derive(Clone, Debug, PartialEq)]
pub struct Tool {
    /// Letters, digits, `_` and `-`.
    pub name: String,
    /// What it does and when to call it, for the model.
    pub description: String,
    /// JSON Schema of its arguments, an object.
    pub parameters: Value,
}

/// A tool that the model wants called.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolCall {
    /// What the answer to it names.
    pub id: String,
    /// Name of the tool, as the model writes it: there may be no such tool.
    pub name: String,
    /// The arguments as the model writes them: JSON, or what it takes for JSON.
    pub arguments: String,
}

impl Message {
    /// A message.
    pub fn new(speaker: Speaker, text: impl Into<String>) -> Self {
        Self {
            speaker,
            text: text.into(),
            calls: Vec::new(),
            call_id: None,
        }
    }

    /// The model's turn in which it calls tools.
    pub fn calling(text: impl Into<String>, calls: Vec<ToolCall>) -> Self {
        Self {
            calls,
            ..Self::new(Speaker::Assistant, text)
        }
    }

    /// What a tool says to a call.
    pub fn result(call: &ToolCall, text: impl Into<String>) -> Self {
        Self {
            call_id: Some(call.id.clone()),
            ..Self::new(Speaker::Tool, text)
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
    /// The conversation; the last message is the user's or a tool's.
    pub messages: Vec<Message>,
    /// What the model may call; it then ends its reply and is asked again with the results.
    pub tools: Vec<Tool>,
    /// Most tokens of the reply, reasoning included.
    pub maximum_tokens: usize,
    /// 0 is the likeliest reply; `None` = as the endpoint is configured.
    pub temperature: Option<f64>,
    /// Shape of the reply.
    pub format: Format,
    /// How many of the likeliest tokens the server names at each place of the reply; 0 = none.
    /// Servers allow 5 to 20, and some do not know the wish.
    pub top_logprobs: usize,
    /// When the caller needs it; the endpoint's own deadline holds as well.
    pub deadline: Option<Instant>,
}

/// Why a reply ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finish {
    /// It is whole.
    Stop,
    /// The model wants tools called.
    ToolCalls,
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
            "tool_calls" | "function_call" => Self::ToolCalls,
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

/// A token that could have stood at a place of the reply.
#[derive(Clone, Debug, PartialEq)]
pub struct TokenLogprob {
    /// As the model writes it, often with a space before it.
    pub token: String,
    /// Natural logarithm of its probability.
    pub logprob: f64,
}

/// The end of a reply.
#[derive(Clone, Debug, PartialEq)]
pub struct Ending {
    /// Why.
    pub finish: Finish,
    /// What it took.
    pub usage: Usage,
    /// The model that answered, in the server's words, else the one that was asked for.
    pub model: String,
    /// Tools that the model wants called, in its order.
    pub calls: Vec<ToolCall>,
    /// For each token of the reply the likeliest ones at its place, where the request asked for
    /// them and the server knows them.
    pub logprobs: Vec<Vec<TokenLogprob>>,
}

/// A part of a streamed reply. A stream is any number of texts, none of them empty, and then
/// exactly one ending or one error.
#[derive(Clone, Debug, PartialEq)]
pub enum Delta {
    /// More text. Reasoning is never among it.
    Text(String),
    /// The reply is over.
    End(Ending),
}

/// A whole reply.
#[derive(Clone, Debug, PartialEq)]
pub struct Completion {
    /// Never empty, unless tools are called.
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
