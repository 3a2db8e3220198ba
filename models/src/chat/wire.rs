//! OpenAI's chat completions as JSON: the body of a request, and what a chunk of a stream says.
//! Reading is lenient: servers leave fields out, add some, and send `null` for either.

use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value, json};

use super::calls::WireCall;
use super::capabilities::{Capabilities, Structured, Thinking, ThinkingField};
use super::config::EndpointConfig;
use super::in_order::InOrder;
use super::request::{
    ChatRequest, Finish, Format, Message, ReplySchema, TokenLogprob, Tool, ToolCall, Usage,
};

/// The body of a request.
pub fn body(
    request: &ChatRequest,
    config: &EndpointConfig,
    extra: &Map<String, Value>,
    capabilities: Capabilities,
) -> Value {
    let mut body = Map::new();
    body.insert("model".to_owned(), config.model.clone().into());
    body.insert(
        "messages".to_owned(),
        messages(request, capabilities.structured).into(),
    );
    body.insert("stream".to_owned(), true.into());
    body.insert(
        capabilities.length_field.as_str().to_owned(),
        request.maximum_tokens.into(),
    );
    if capabilities.stream_options {
        body.insert("stream_options".to_owned(), json!({"include_usage": true}));
    }
    if capabilities.temperature {
        let temperature = request.temperature.unwrap_or(config.temperature);
        body.insert("temperature".to_owned(), temperature.into());
    }
    if !request.tools.is_empty() {
        let tools: Vec<Value> = request.tools.iter().map(tool).collect();
        body.insert("tools".to_owned(), tools.into());
    }
    if let Format::Json(schema) = &request.format
        && let Some(format) = response_format(schema, capabilities.structured)
    {
        body.insert("response_format".to_owned(), format);
    }
    if capabilities.logprobs && request.top_logprobs > 0 {
        body.insert("logprobs".to_owned(), true.into());
        body.insert("top_logprobs".to_owned(), request.top_logprobs.into());
    }
    if capabilities.thinking {
        let value = thinking(config.thinking, config.thinking_field);
        body.insert(config.thinking_field.as_str().to_owned(), value);
    }
    body.extend(extra.clone());
    Value::Object(body)
}

fn messages(request: &ChatRequest, structured: Structured) -> Vec<Value> {
    let mut messages: Vec<Value> = request.messages.iter().map(message).collect();
    let Format::Json(schema) = &request.format else {
        return messages;
    };
    if structured == Structured::JsonSchema {
        return messages;
    }
    let rule = format!(
        "Reply with one JSON object and nothing else. It fits this JSON Schema, its fields in this order:\n{}",
        InOrder(&schema.schema)
    );
    match messages.first_mut() {
        Some(first) if first["role"] == "system" => {
            let text = first["content"].as_str().map(str::to_owned);
            first["content"] = format!("{}\n\n{rule}", text.unwrap_or_default()).into();
        }
        _ => messages.insert(0, json!({"role": "system", "content": rule})),
    }
    messages
}

fn message(message: &Message) -> Value {
    let mut wire = json!({"role": message.speaker.as_str(), "content": message.text});
    if let Some(id) = &message.call_id {
        wire["tool_call_id"] = id.as_str().into();
    }
    if !message.calls.is_empty() {
        wire["tool_calls"] = message.calls.iter().map(call).collect();
    }
    wire
}

fn call(call: &ToolCall) -> Value {
    let function = json!({"name": call.name, "arguments": call.arguments});
    json!({"id": call.id, "type": "function", "function": function})
}

fn tool(tool: &Tool) -> Value {
    let Tool {
        name,
        description,
        parameters,
    } = tool;
    let function = json!({"name": name, "description": description, "parameters": parameters});
    json!({"type": "function", "function": function})
}

fn response_format(schema: &ReplySchema, structured: Structured) -> Option<Value> {
    match structured {
        Structured::JsonSchema => Some(json!({
            "type": "json_schema",
            "json_schema": {"name": schema.name, "strict": true, "schema": schema.schema},
        })),
        Structured::JsonObject => Some(json!({"type": "json_object"})),
        Structured::Prompt => None,
    }
}

fn thinking(thinking: Thinking, field: ThinkingField) -> Value {
    let is_on = thinking == Thinking::On;
    match field {
        ThinkingField::ChatTemplateKwargs => json!({"enable_thinking": is_on}),
        ThinkingField::EnableThinking => is_on.into(),
        ThinkingField::ReasoningEffort => if is_on { "medium" } else { "none" }.into(),
    }
}

/// A chunk of a stream, or a whole reply of a server that does not stream.
#[derive(Debug, Default, Deserialize)]
pub struct Chunk {
    choices: Option<Vec<Choice>>,
    usage: Option<WireUsage>,
    error: Option<Value>,
    model: Option<String>,
    object: Option<Value>,
    message: Option<Value>,
}

#[derive(Debug, Deserialize)]
struct Choice {
    delta: Option<WireDelta>,
    message: Option<WireDelta>,
    finish_reason: Option<String>,
    #[serde(default, deserialize_with = "readable_logprobs")]
    logprobs: Vec<Vec<TokenLogprob>>,
}

/// `{"content": [{"token", "logprob", "top_logprobs": [{"token", "logprob"}]}]}`; nothing where it
/// has another shape.
fn readable_logprobs<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<Vec<TokenLogprob>>, D::Error> {
    let written = Value::deserialize(deserializer)?;
    let logprob = |one: &Value| {
        Some(TokenLogprob {
            token: one["token"].as_str()?.to_owned(),
            logprob: one["logprob"].as_f64()?,
        })
    };
    let of_place = |place: &Value| {
        let top = place["top_logprobs"]
            .as_array()
            .filter(|top| !top.is_empty());
        match top {
            Some(top) => top.iter().filter_map(logprob).collect(),
            None => logprob(place).into_iter().collect(),
        }
    };
    let places = written["content"].as_array();
    Ok(places.map_or_else(Vec::new, |places| places.iter().map(of_place).collect()))
}

#[derive(Debug, Default, Deserialize)]
struct WireDelta {
    content: Option<Value>,
    reasoning_content: Option<Value>,
    reasoning: Option<Value>,
    #[serde(default, deserialize_with = "readable_calls")]
    tool_calls: Vec<WireCall>,
}

/// Those that can be read: what a model writes where a call belongs may be anything, and the rest of
/// the reply counts all the same.
fn readable_calls<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<WireCall>, D::Error> {
    let written = Value::deserialize(deserializer)?;
    let all = match written {
        Value::Array(all) => all,
        _ => Vec::new(),
    };
    let read = |one| serde_json::from_value(one).ok();
    Ok(all.into_iter().filter_map(read).collect())
}

#[derive(Clone, Copy, Debug, Deserialize)]
struct WireUsage {
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
}

impl Chunk {
    /// Reads a chunk.
    pub fn read(json: &str) -> serde_json::Result<Self> {
        serde_json::from_str(json)
    }

    /// Whether it is of the protocol at all: another server's JSON reads as a chunk without fields.
    pub fn is_of_the_protocol(&self) -> bool {
        self.choices.is_some() || self.usage.is_some() || self.failure().is_some()
    }

    /// An error within a stream.
    pub fn failure(&self) -> Option<Value> {
        if let Some(error) = &self.error {
            return Some(error.clone());
        }
        let is_error = self.object.as_ref().is_some_and(|object| object == "error");
        is_error.then(|| json!({"message": self.message}))
    }

    /// Its text, empty if it has none.
    pub fn text(&self) -> String {
        self.delta()
            .and_then(|delta| delta.content.as_ref())
            .map(plain)
            .unwrap_or_default()
    }

    /// Pieces of calls of tools.
    pub fn calls(&self) -> &[WireCall] {
        self.delta()
            .map_or(&[], |delta| delta.tool_calls.as_slice())
    }

    /// The likeliest tokens at each place of its text.
    pub fn logprobs(&self) -> &[Vec<TokenLogprob>] {
        self.choice()
            .map_or(&[], |choice| choice.logprobs.as_slice())
    }

    /// Whether it carries reasoning.
    pub fn has_reasoning(&self) -> bool {
        let Some(delta) = self.delta() else {
            return false;
        };
        let fields = [&delta.reasoning_content, &delta.reasoning];
        let mut texts = fields.into_iter().flatten().map(plain);
        texts.any(|text| !text.is_empty())
    }

    /// Why the reply ends with it.
    pub fn finish(&self) -> Option<Finish> {
        let word = self.choice()?.finish_reason.as_deref()?;
        (!word.is_empty()).then(|| Finish::named(word))
    }

    /// Tokens so far.
    pub fn usage(&self) -> Option<Usage> {
        self.usage.map(|usage| Usage {
            prompt_tokens: usage.prompt_tokens.or(usage.input_tokens),
            completion_tokens: usage.completion_tokens.or(usage.output_tokens),
        })
    }

    /// Who answers.
    pub fn model(&self) -> Option<&str> {
        self.model.as_deref().filter(|model| !model.is_empty())
    }

    fn choice(&self) -> Option<&Choice> {
        self.choices.as_deref().and_then(<[Choice]>::first)
    }

    fn delta(&self) -> Option<&WireDelta> {
        let choice = self.choice()?;
        choice.delta.as_ref().or(choice.message.as_ref())
    }
}

/// A text, or a list of parts with text.
fn plain(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts
            .iter()
            .filter_map(|part| part["text"].as_str())
            .collect(),
        _ => String::new(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn chunks_of_all_servers_are_read() {
        let text = |json: &str| Chunk::read(json).unwrap().text();
        assert_eq!(text(r#"{"choices":[{"delta":{"content":"a"}}]}"#), "a");
        assert_eq!(text(r#"{"choices":[{"delta":{"content":null}}]}"#), "");
        assert_eq!(text(r#"{"choices":[],"usage":{"prompt_tokens":1}}"#), "");
        assert_eq!(text(r#"{"choices":null,"x":[1]}"#), "");
        let parts = r#"{"choices":[{"message":{"content":[{"type":"text","text":"b"}]}}]}"#;
        assert_eq!(text(parts), "b");
        let logprobs = r#"{"choices":[{"delta":{"content":"y"},"logprobs":{"content":[
            {"token":"y","logprob":0,"top_logprobs":[{"token":"y","logprob":0},{"token":"n"}]},
            {"token":"es","logprob":-1000}]}},{"logprobs":null}]}"#;
        let read = |token: &str, logprob| TokenLogprob {
            token: token.to_owned(),
            logprob,
        };
        assert_eq!(
            Chunk::read(logprobs).unwrap().logprobs(),
            [vec![read("y", 0.0)], vec![read("es", -1000.0)]]
        );
        let odd = r#"{"choices":[{"delta":{"content":"y"},"logprobs":[1]}]}"#;
        assert!(Chunk::read(odd).unwrap().logprobs().is_empty());
        let reasoning = r#"{"choices":[{"delta":{"content":"","reasoning":"hm"}}]}"#;
        assert!(Chunk::read(reasoning).unwrap().has_reasoning());
    }

    #[test]
    fn other_peoples_json_is_no_chunk() {
        let is_of = |json: &str| Chunk::read(json).unwrap().is_of_the_protocol();
        assert!(!is_of(r#"{"status":"ok","message":"hello"}"#));
        assert!(is_of(r#"{"error":"busy"}"#));
        assert!(is_of(
            r#"{"object":"error","message":"too long","code":400}"#
        ));
    }
}
