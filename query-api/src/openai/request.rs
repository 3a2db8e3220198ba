//! Requests for a completion, and the question that one is.
//!
//! Refused is what would change the meaning of the answer and cannot be done: tools of the caller,
//! several answers, other formats, pictures. Left out, and said in `tributary.ignored` of the answer,
//! are system messages, since what an answer may say is a matter of the server's prompts, the
//! settings of sampling and length, which belong to its configuration, and whatever is not known here.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use tributary_schemas::ask::{AskRequest, Round};

use super::models;
use crate::problem::{Code, Problem};
use crate::sources::without_footer;

/// What is looked at: refused where it asks for something, see [`refusal`].
const LOOKED_AT: [&str; 13] = [
    "tools",
    "functions",
    "tool_choice",
    "function_call",
    "n",
    "logprobs",
    "top_logprobs",
    "stop",
    "audio",
    "prediction",
    "web_search_options",
    "modalities",
    "response_format",
];

/// Body of `POST /v1/chat/completions`, as OpenAI describes it.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct CompletionRequest {
    /// A workflow such as `general`, or `workflow@set,set` for those knowledge sets alone.
    pub model: String,
    /// The conversation; its last message is the user's question. System messages are left out.
    messages: Vec<Message>,
    /// Whether the answer comes in server-sent events.
    #[serde(default)]
    stream: Option<bool>,
    /// `include_usage` for a last event with the count of tokens.
    #[serde(default)]
    stream_options: Option<StreamOptions>,
    /// Everything else. `tools`, `functions`, `n` over 1, `stop`, `logprobs`, `audio` and formats
    /// other than text are refused; settings of sampling and length are left out.
    #[serde(flatten)]
    others: Map<String, Value>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct StreamOptions {
    /// Whether usage is counted.
    #[serde(default)]
    include_usage: Option<bool>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Message {
    /// `system`, `developer`, `user` or `assistant`.
    role: String,
    /// A text, or parts of type `text`.
    #[serde(default)]
    content: Option<Content>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
enum Content {
    Text(String),
    Parts(Vec<Part>),
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Part {
    /// `text`.
    r#type: String,
    /// The text.
    #[serde(default)]
    text: Option<String>,
}

impl CompletionRequest {
    /// Whether the answer is streamed.
    pub fn streams(&self) -> bool {
        self.stream.unwrap_or_default()
    }

    /// Whether a stream ends with the count of tokens.
    pub fn counts_usage(&self) -> bool {
        let options = self.stream_options.as_ref();
        options.is_some_and(|options| options.include_usage.unwrap_or_default())
    }

    /// The question that it is.
    pub fn question(&self) -> Result<AskRequest, Problem> {
        self.check()?;
        let (workflow, knowledge_sets) = models::parse(&self.model)?;
        let mut rounds = self.rounds()?;
        let ends_with_question = self.messages.last().is_some_and(|last| last.role == "user");
        let last = rounds.pop().filter(|_| ends_with_question);
        let last = last.ok_or_else(|| {
            Problem::new(Code::Invalid, "the last message is not the user's")
                .with_hint("end `messages` with the question, as role `user`")
        })?;
        Ok(AskRequest {
            question: last.question,
            history: rounds,
            workflow: Some(workflow),
            knowledge_sets,
            ..AskRequest::default()
        })
    }

    /// What was left out, by name.
    pub fn ignored(&self) -> Vec<String> {
        let has_system = self.messages.iter().any(Message::is_of_system);
        let system = has_system.then_some("system");
        let others = self
            .others
            .iter()
            .filter(|(name, value)| !value.is_null() && !LOOKED_AT.contains(&name.as_str()));
        let others = others.map(|(name, _)| name.as_str());
        system
            .into_iter()
            .chain(others)
            .map(str::to_owned)
            .collect()
    }

    fn check(&self) -> Result<(), Problem> {
        for (name, value) in &self.others {
            if let Some(reason) = refusal(name, value) {
                return Err(refused(name, reason));
            }
        }
        Ok(())
    }

    /// Questions and their answers; that of the last question is empty.
    fn rounds(&self) -> Result<Vec<Round>, Problem> {
        let mut rounds: Vec<Round> = Vec::new();
        for message in &self.messages {
            let text = message.text()?;
            match message.role.as_str() {
                "system" | "developer" => {}
                "user" => rounds.push(Round {
                    question: text,
                    answer: String::new(),
                }),
                // Before the first question it is a greeting, which answers nothing.
                "assistant" => {
                    if let Some(round) = rounds.last_mut() {
                        round.answer = without_footer(&text).to_owned();
                    }
                }
                other => {
                    let reason = "tools are none of this model's";
                    return Err(refused(&format!("role `{other:.50}`"), reason));
                }
            }
        }
        Ok(rounds)
    }
}

impl Message {
    fn is_of_system(&self) -> bool {
        matches!(self.role.as_str(), "system" | "developer")
    }

    fn text(&self) -> Result<String, Problem> {
        let parts = match &self.content {
            None => return Ok(String::new()),
            Some(Content::Text(text)) => return Ok(text.clone()),
            Some(Content::Parts(parts)) => parts,
        };
        let mut texts = Vec::new();
        for part in parts {
            match (part.r#type.as_str(), &part.text) {
                ("text", Some(text)) => texts.push(text.as_str()),
                (other, _) => {
                    let name = format!("a part of type `{other:.50}`");
                    return Err(refused(&name, "questions are text"));
                }
            }
        }
        Ok(texts.join("\n"))
    }
}

/// Why a field is refused; nothing where it asks for nothing.
fn refusal(name: &str, value: &Value) -> Option<&'static str> {
    let is_empty = match value {
        Value::Null | Value::Bool(false) => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::String(text) => text.is_empty(),
        _ => false,
    };
    if is_empty {
        return None;
    }
    match name {
        "tools" | "functions" => {
            Some("the answer is made from documents and calls no tools; leave them out")
        }
        "tool_choice" | "function_call" => {
            (value != "none" && value != "auto").then_some("no tools are called")
        }
        "n" => (*value != 1).then_some("there is one answer to a question"),
        "logprobs" | "top_logprobs" => Some("probabilities of tokens are not known"),
        "stop" => Some("an answer ends where it ends; cut it yourself"),
        "audio" | "prediction" | "web_search_options" => Some("there is nothing of the kind here"),
        "modalities" => (*value != serde_json::json!(["text"])).then_some("answers are text"),
        "response_format" => (value["type"] != "text").then_some("answers are Markdown"),
        _ => None,
    }
}

fn refused(name: &str, reason: &str) -> Problem {
    let what = format!("{name} is not supported here: {reason}");
    Problem::new(Code::Unsupported, what)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn request(body: Value) -> CompletionRequest {
        serde_json::from_value(body).unwrap_or_else(|error| panic!("{error}"))
    }

    fn with(name: &str, value: Value) -> CompletionRequest {
        let mut body = json!({"model": "general", "messages": [{"role": "user", "content": "q"}]});
        body[name] = value;
        request(body)
    }

    #[test]
    fn messages_become_a_question_and_its_history() {
        let asked = request(
            json!({"model": "general@radio", "temperature": 0.2, "user": "u", "n": 1, "messages": [
                {"role": "system", "content": "You are a pirate"},
                {"role": "assistant", "content": "Hello!"},
                {"role": "user", "content": "What is tilt?"},
                {"role": "assistant", "content": "An angle [1].\n\n---\n**Sources**\n- [1] Tilt — wiki/tilt.md"},
                {"role": "user", "content": [{"type": "text", "text": "How large"}, {"type": "text", "text": "at most?"}]},
            ]}),
        );
        let question = asked
            .question()
            .unwrap_or_else(|problem| panic!("{problem}"));
        assert_eq!(question.question, "How large\nat most?");
        assert_eq!(question.knowledge_sets, Some(vec!["radio".to_owned()]));
        let round = Round {
            question: "What is tilt?".into(),
            answer: "An angle [1].".into(),
        };
        assert_eq!(question.history, vec![round]);
        assert_eq!(asked.ignored(), ["system", "temperature", "user"]);
    }

    #[test]
    fn what_cannot_be_done_is_refused_and_what_asks_for_nothing_is_not() {
        let tool = json!([{"type": "function", "function": {"name": "f"}}]);
        for (name, value) in [
            ("tools", tool),
            ("n", json!(2)),
            ("stop", json!(["\n"])),
            ("logprobs", json!(true)),
            ("response_format", json!({"type": "json_object"})),
            ("modalities", json!(["text", "audio"])),
            ("tool_choice", json!("required")),
            (
                "messages",
                json!([{"role": "tool", "content": "x", "tool_call_id": "1"}]),
            ),
            ("messages", json!([{"role": "assistant", "content": "x"}])),
            ("messages", json!([])),
            (
                "messages",
                json!([{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}]),
            ),
            ("model", json!("gpt-4o")),
        ] {
            let refused = with(name, value.clone()).question();
            assert!(refused.is_err(), "{name} {value}");
        }
        for (name, value) in [
            ("tools", json!([])),
            ("n", json!(1)),
            ("stop", json!(null)),
            ("logprobs", json!(false)),
            ("response_format", json!({"type": "text"})),
            ("tool_choice", json!("auto")),
            ("user", json!("anna")),
            ("metadata", json!({"a": "b"})),
        ] {
            let taken = with(name, value.clone()).question();
            assert!(taken.is_ok(), "{name} {value}: {taken:?}");
        }
    }
}
