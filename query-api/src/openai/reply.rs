//! Answers in OpenAI's shapes: a completion, and the chunks of a stream.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};
use tributary_schemas::ask::{Answer, Verdict};

use super::request::CompletionRequest;
use crate::problem::Problem;
use crate::sources::{Citation, citations, footer, title, url};
use crate::trace_id;

/// What all parts of one answer say.
pub struct About {
    id: String,
    created: i64,
    model: String,
    ignored: Vec<String>,
    /// Whether a stream ends with the count of tokens.
    pub counts_usage: bool,
}

/// Answer of `POST /v1/chat/completions`; with `stream` its parts come as `chat.completion.chunk`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Completion {
    /// Of this answer.
    id: String,
    /// `chat.completion`.
    object: &'static str,
    /// When it was asked for, in seconds since 1970.
    created: i64,
    /// As asked for.
    model: String,
    /// The one answer.
    choices: Vec<Choice>,
    /// What it took, as the language model's server counts; zeros where none answered.
    usage: Usage,
    /// What OpenAI's shape has no place for.
    tributary: Details,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Choice {
    /// 0.
    index: u32,
    /// The answer.
    message: AnswerMessage,
    /// `stop`.
    finish_reason: &'static str,
    /// Not known.
    logprobs: Option<bool>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct AnswerMessage {
    /// `assistant`.
    role: &'static str,
    /// The answer as Markdown, with its sources below it.
    content: String,
    /// None: what the documents do not answer is said in `content`.
    refusal: Option<String>,
    /// A citation each, with its place in `content` in characters.
    annotations: Vec<Annotation>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Annotation {
    /// `url_citation`.
    r#type: &'static str,
    /// What is cited.
    url_citation: UrlCitation,
}

#[derive(Debug, Serialize, JsonSchema)]
struct UrlCitation {
    /// First character.
    start_index: usize,
    /// The character after the last one.
    end_index: usize,
    /// Title and sections.
    title: String,
    /// The original, or `tributary://documents/{id}`.
    url: String,
}

/// Tokens of an answer.
#[derive(Clone, Copy, Debug, Default, Serialize, JsonSchema)]
pub struct Usage {
    /// Of the prompts.
    prompt_tokens: u64,
    /// Of the replies.
    completion_tokens: u64,
    /// Both.
    total_tokens: u64,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Details {
    /// What kind of answer it is.
    verdict: Verdict,
    /// What was done in a lesser way than configured.
    degraded: Vec<String>,
    /// Words of the question that stand in no passage that was searched.
    unmatched_terms: Vec<String>,
    /// What of the request was left out, such as `system` for its messages.
    ignored: Vec<String>,
}

/// A failure, under the key `error`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ErrorBody {
    /// What is wrong, and what can be done about it.
    message: String,
    /// `invalid_request_error`, `rate_limit_error` or `server_error`.
    r#type: &'static str,
    /// Not known.
    param: Option<String>,
    /// A code of `application/problem+json`.
    code: &'static str,
}

/// A problem as OpenAI says it.
pub fn error(problem: &Problem) -> ErrorBody {
    let told = problem.body(trace_id::current());
    let message = match told.hint {
        Some(hint) => format!("{} ({hint})", told.detail),
        None => told.detail,
    };
    let kind = match problem.code().status() {
        429 => "rate_limit_error",
        400..=499 => "invalid_request_error",
        _ => "server_error",
    };
    ErrorBody {
        message,
        r#type: kind,
        param: None,
        code: problem.code().as_str(),
    }
}

impl About {
    /// Of one request.
    pub fn new(request: &CompletionRequest) -> Self {
        Self {
            id: format!("chatcmpl-{}", trace_id::new_trace_id()),
            created: jiff::Timestamp::now().as_second(),
            model: request.model.clone(),
            ignored: request.ignored(),
            counts_usage: request.streams() && request.counts_usage(),
        }
    }

    /// The whole answer.
    pub fn completion(&self, answer: &Answer) -> Completion {
        let message = AnswerMessage {
            role: "assistant",
            content: format!("{}{}", answer.answer, footer_of(answer)),
            refusal: None,
            annotations: annotations(answer),
        };
        let choice = Choice {
            index: 0,
            message,
            finish_reason: "stop",
            logprobs: None,
        };
        Completion {
            id: self.id.clone(),
            object: "chat.completion",
            created: self.created,
            model: self.model.clone(),
            choices: vec![choice],
            usage: usage(answer),
            tributary: self.details(answer),
        }
    }

    fn details(&self, answer: &Answer) -> Details {
        Details {
            verdict: answer.verdict,
            degraded: answer.degraded.clone(),
            unmatched_terms: answer.unmatched_terms.clone(),
            ignored: self.ignored.clone(),
        }
    }

    /// The beginning of a stream.
    pub fn opening(&self) -> Value {
        self.chunk(json!({"role": "assistant", "content": ""}), None)
    }

    /// More of the answer.
    pub fn more(&self, text: &str) -> Value {
        self.chunk(json!({"content": text}), None)
    }

    /// The last parts of a stream: sources, end, and usage where it is counted.
    pub fn ending(&self, answer: &Answer) -> Vec<Value> {
        let mut parts = Vec::new();
        let footer = footer_of(answer);
        if !footer.is_empty() {
            parts.push(self.more(&footer));
        }
        let mut last = self.chunk(json!({"annotations": annotations(answer)}), Some("stop"));
        last["tributary"] = json!(self.details(answer));
        parts.push(last);
        if self.counts_usage {
            let mut counted = self.chunk(Value::Null, None);
            counted["choices"] = json!([]);
            counted["usage"] = json!(usage(answer));
            parts.push(counted);
        }
        parts
    }

    fn chunk(&self, delta: Value, finish_reason: Option<&str>) -> Value {
        let choice =
            json!({"index": 0, "delta": delta, "finish_reason": finish_reason, "logprobs": null});
        let mut chunk = json!({"id": self.id, "object": "chat.completion.chunk", "created": self.created,
            "model": self.model, "choices": [choice]});
        if self.counts_usage {
            chunk["usage"] = Value::Null;
        }
        chunk
    }
}

fn usage(answer: &Answer) -> Usage {
    let tokens = answer.tokens.unwrap_or_default();
    Usage {
        prompt_tokens: tokens.prompt,
        completion_tokens: tokens.completion,
        total_tokens: tokens.prompt.saturating_add(tokens.completion),
    }
}

fn annotations(answer: &Answer) -> Vec<Annotation> {
    let annotation = |citation: Citation| {
        let sources = &answer.sources;
        let source = sources
            .iter()
            .find(|source| source.number == citation.number)?;
        let url_citation = UrlCitation {
            start_index: citation.start,
            end_index: citation.end,
            title: title(source),
            url: url(source),
        };
        Some(Annotation {
            r#type: "url_citation",
            url_citation,
        })
    };
    citations(answer)
        .into_iter()
        .filter_map(annotation)
        .collect()
}
/// The sources below an answer. A refusal has none: what is only close to the question would be
/// read as where its answer stands.
fn footer_of(answer: &Answer) -> String {
    match answer.verdict {
        Verdict::Refused => String::new(),
        _ => footer(answer),
    }
}
