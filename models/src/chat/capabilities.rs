//! What an endpoint can do. It begins as configured; a server that refuses a field with status 400
//! and names it is asked without it from then on, for as long as the process lives.

use serde::{Deserialize, Serialize};

/// How JSON is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Structured {
    /// `response_format` with a schema that the server enforces.
    JsonSchema,
    /// `response_format` that promises JSON of any shape; the schema stands in the prompt.
    JsonObject,
    /// The prompt alone.
    Prompt,
}

/// Name of the field that limits the reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LengthField {
    /// What nearly all servers take.
    MaxTokens,
    /// What newer models of OpenAI and DashScope take.
    MaxCompletionTokens,
}

impl LengthField {
    /// The name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::MaxTokens => "max_tokens",
            Self::MaxCompletionTokens => "max_completion_tokens",
        }
    }

    fn other(self) -> Self {
        match self {
            Self::MaxTokens => Self::MaxCompletionTokens,
            Self::MaxCompletionTokens => Self::MaxTokens,
        }
    }
}

/// Whether the model should reason before it replies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Thinking {
    /// Nothing is said: as the server is set up.
    Unset,
    /// No.
    Off,
    /// Yes.
    On,
}

/// How a server is told whether to reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ThinkingField {
    /// vLLM and llama.cpp.
    ChatTemplateKwargs,
    /// DashScope.
    EnableThinking,
    /// OpenAI and Ollama.
    ReasoningEffort,
}

impl ThinkingField {
    /// The name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ChatTemplateKwargs => "chat_template_kwargs",
            Self::EnableThinking => "enable_thinking",
            Self::ReasoningEffort => "reasoning_effort",
        }
    }
}

/// What is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// How JSON is asked for.
    pub structured: Structured,
    /// What limits the reply.
    pub length_field: LengthField,
    /// Whether the other name of that field was tried.
    pub is_length_field_settled: bool,
    /// Whether the server is told about reasoning.
    pub thinking: bool,
    /// Whether a temperature is sent.
    pub temperature: bool,
    /// Whether tokens are asked for at the end of the stream.
    pub stream_options: bool,
    /// Whether the likeliest tokens are asked for where a request wants them.
    pub logprobs: bool,
}

/// Words by which servers complain about structured output.
const OF_STRUCTURED: [&str; 5] = [
    "response_format",
    "json_schema",
    "json_object",
    "structured output",
    "guided",
];

impl Capabilities {
    /// As configured.
    pub fn new(structured: Structured, length_field: LengthField, thinking: Thinking) -> Self {
        Self {
            structured,
            length_field,
            is_length_field_settled: false,
            thinking: thinking != Thinking::Unset,
            temperature: true,
            stream_options: true,
            logprobs: true,
        }
    }

    /// The same without the field that a refusal names; `None` if it names none that can be left
    /// out. `asks_for_json`: whether the refused request did.
    pub fn step_down(
        self,
        refusal: &str,
        asks_for_json: bool,
        field: ThinkingField,
    ) -> Option<Self> {
        let refusal = refusal.to_lowercase();
        let names = |words: &[&str]| words.iter().any(|word| refusal.contains(word));
        if self.thinking && names(&[field.as_str(), "enable_thinking"]) {
            return Some(Self {
                thinking: false,
                ..self
            });
        }
        if asks_for_json && names(&OF_STRUCTURED) {
            return self.with_less_structure();
        }
        if self.logprobs && names(&["logprobs"]) {
            return Some(Self {
                logprobs: false,
                ..self
            });
        }
        if self.stream_options && names(&["stream_options", "include_usage"]) {
            return Some(Self {
                stream_options: false,
                ..self
            });
        }
        if !self.is_length_field_settled && names(&[self.length_field.as_str()]) {
            return Some(Self {
                length_field: self.length_field.other(),
                is_length_field_settled: true,
                ..self
            });
        }
        (self.temperature && names(&["temperature"])).then_some(Self {
            temperature: false,
            ..self
        })
    }

    fn with_less_structure(self) -> Option<Self> {
        let structured = match self.structured {
            Structured::JsonSchema => Structured::JsonObject,
            Structured::JsonObject => Structured::Prompt,
            Structured::Prompt => return None,
        };
        Some(Self { structured, ..self })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Capabilities {
        Capabilities::new(
            Structured::JsonSchema,
            LengthField::MaxTokens,
            Thinking::Off,
        )
    }

    fn step(capabilities: Capabilities, refusal: &str) -> Option<Capabilities> {
        capabilities.step_down(refusal, true, ThinkingField::EnableThinking)
    }

    #[test]
    fn the_field_that_is_named_is_left_out() {
        let cases = [
            (
                "'response_format.type' must be 'text' or 'json_object'",
                Capabilities {
                    structured: Structured::JsonObject,
                    ..all()
                },
            ),
            (
                "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
                Capabilities {
                    length_field: LengthField::MaxCompletionTokens,
                    is_length_field_settled: true,
                    ..all()
                },
            ),
            (
                "Unrecognized request argument supplied: enable_thinking",
                Capabilities {
                    thinking: false,
                    ..all()
                },
            ),
            (
                "extra fields not permitted: stream_options",
                Capabilities {
                    stream_options: false,
                    ..all()
                },
            ),
            (
                "top_logprobs is not supported by this model",
                Capabilities {
                    logprobs: false,
                    ..all()
                },
            ),
            (
                "Unsupported value: 'temperature' does not support 0",
                Capabilities {
                    temperature: false,
                    ..all()
                },
            ),
        ];
        for (refusal, expected) in cases {
            assert_eq!(step(all(), refusal), Some(expected), "{refusal}");
        }
        assert_eq!(step(all(), "messages: too few"), None);
    }

    #[test]
    fn stepping_down_ends() {
        let refusal = "response_format, max_tokens, max_completion_tokens, temperature, \
                       stream_options, logprobs, enable_thinking";
        let mut capabilities = all();
        let mut steps = 0;
        while let Some(next) = step(capabilities, refusal) {
            (capabilities, steps) = (next, steps + 1);
            assert!(steps < 10, "{capabilities:?}");
        }
        assert_eq!(capabilities.structured, Structured::Prompt);
    }

    #[test]
    fn plain_text_does_not_cost_the_schema() {
        let refusal = "unknown field response_format";
        let stepped = all().step_down(refusal, false, ThinkingField::EnableThinking);
        assert_eq!(stepped, None);
    }
}
