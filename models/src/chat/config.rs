//! `[models.chat]`: which endpoint serves which role, and what each endpoint can do. The values
//! live in the command line's default configuration; an endpoint of another name says only what is
//! different.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tributary_schemas::{Error, ErrorKind, Result};

use super::capabilities::{LengthField, Structured, Thinking, ThinkingField};
use super::openai;
use super::role::Role;

/// Name of the endpoint `[models.chat.endpoint]`.
pub const DEFAULT_ENDPOINT: &str = "default";

/// `[models.chat]`.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ChatConfig {
    /// Folder of prompts that replace the built-in ones by name; empty = none.
    pub prompts_folder: String,
    /// What each role uses.
    pub roles: BTreeMap<Role, RoleConfig>,
    /// The endpoint that is named `default`, and what the others have in common.
    pub endpoint: EndpointConfig,
    /// Other endpoints by name: the settings that differ.
    pub endpoints: BTreeMap<String, Map<String, Value>>,
}

/// What one role uses.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct RoleConfig {
    /// Name of the endpoint; empty = none, callers take their lesser way.
    pub endpoint: String,
    /// Most tokens in a minute, prompts and replies; 0 = no limit.
    pub tokens_per_minute: u64,
    /// Most tokens in a day; 0 = no limit.
    pub tokens_per_day: u64,
}

/// What answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum EndpointKind {
    /// A server that speaks OpenAI's chat completions.
    Openai,
    /// Replies from a file.
    Scripted,
}

/// An API key: it is written nowhere.
#[derive(Clone, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(transparent)]
pub struct Key(String);

impl Key {
    /// From a file or a form.
    pub fn new(key: impl Into<String>) -> Self {
        Self(key.into())
    }

    /// The key itself.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for Key {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("(hidden)")
    }
}

/// One endpoint.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct EndpointConfig {
    /// What answers.
    pub kind: EndpointKind,
    /// Address of the API without `/chat/completions`; empty = there is no such endpoint.
    pub url: String,
    /// Model as the server names it.
    pub model: String,
    /// The key.
    pub api_key: Key,
    /// File that holds the key, if `api_key` does not.
    pub api_key_file: String,
    /// File of the replies of `kind = "scripted"`.
    pub script_file: String,
    /// Tokens that prompt and reply have together.
    pub context_tokens: usize,
    /// By how much the model may count more tokens than we do.
    pub token_margin: f64,
    /// Calls at the same time; more wait within their deadline.
    pub parallel: usize,
    /// 0 is the likeliest reply.
    pub temperature: f64,
    /// How JSON is asked for.
    pub structured: Structured,
    /// Name of the field that limits the reply.
    pub length_field: LengthField,
    /// Whether the model should reason before it replies.
    pub thinking: Thinking,
    /// How the server is told so.
    pub thinking_field: ThinkingField,
    /// JSON object that is merged into each request; empty = none.
    pub extra: String,
    /// Longest time for a connection.
    pub connect_timeout_ms: u64,
    /// Longest time from the request to the first piece of the reply.
    pub first_piece_timeout_ms: u64,
    /// Longest time between two pieces.
    pub piece_timeout_ms: u64,
    /// Longest time for the whole call, waiting for a turn and other attempts included.
    pub timeout_ms: u64,
    /// Largest reply in bytes as sent, reasoning and JSON around it included.
    pub maximum_reply_bytes: usize,
    /// Attempts of a call that fails before its first piece.
    pub attempts: u32,
    /// Pause before the second attempt, doubled for each further one.
    pub retry_pause_ms: u64,
    /// Failed calls in a row after which the endpoint is left alone; 0 = never.
    pub circuit_failures: u32,
    /// For how long.
    pub circuit_pause_ms: u64,
}

impl ChatConfig {
    /// The endpoint of this name; `None` if it has no address. `Invalid` for an unknown name or
    /// settings that cannot be.
    pub fn endpoint(&self, name: &str) -> Result<Option<EndpointConfig>> {
        let endpoint = match name {
            DEFAULT_ENDPOINT => self.endpoint.clone(),
            _ => self.named(name)?,
        };
        Ok(endpoint.is_there().then_some(endpoint))
    }

    /// Everything that is wrong with the values, one line each.
    pub fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        for name in self.names() {
            match self.endpoint(name) {
                Ok(Some(endpoint)) => problems.extend(endpoint.problems(&section(name))),
                Ok(None) => {}
                Err(error) => problems.push(error.to_string()),
            }
        }
        problems
    }

    /// The folder of prompts, if there is one.
    pub fn prompts_folder(&self) -> Option<&Path> {
        (!self.prompts_folder.is_empty()).then(|| Path::new(&self.prompts_folder))
    }

    /// Names of all endpoints, those that only a role knows included.
    fn names(&self) -> impl Iterator<Item = &str> {
        let of_roles = self.roles.values().map(|role| role.endpoint.as_str());
        let defined = self.endpoints.keys().map(String::as_str);
        let all: std::collections::BTreeSet<&str> = of_roles.chain(defined).collect();
        all.into_iter().filter(|name| !name.is_empty())
    }

    fn named(&self, name: &str) -> Result<EndpointConfig> {
        let own = self.endpoints.get(name).ok_or_else(|| {
            let message = format!("models.chat.roles: there is no endpoint `{name}`");
            Error::new(ErrorKind::Invalid, message).with_hint(format!(
                "`{DEFAULT_ENDPOINT}` is [models.chat.endpoint], others are \
                 [models.chat.endpoints.NAME]"
            ))
        })?;
        let invalid = |error: serde_json::Error| {
            Error::new(ErrorKind::Invalid, format!("{}: {error}", section(name)))
        };
        let mut settings = serde_json::to_value(&self.endpoint).map_err(invalid)?;
        if let Some(table) = settings.as_object_mut() {
            table.extend(own.clone());
        }
        serde_json::from_value(settings).map_err(invalid)
    }
}

/// Where an endpoint is configured.
pub fn section(name: &str) -> String {
    match name {
        DEFAULT_ENDPOINT => "models.chat.endpoint".to_owned(),
        _ => format!("models.chat.endpoints.{name}"),
    }
}

impl EndpointConfig {
    fn is_there(&self) -> bool {
        match self.kind {
            EndpointKind::Openai => !self.url.is_empty(),
            EndpointKind::Scripted => !self.script_file.is_empty(),
        }
    }

    /// `extra` as an object.
    pub fn extra_fields(&self) -> std::result::Result<Map<String, Value>, String> {
        match self.extra.trim() {
            "" => Ok(Map::new()),
            text => serde_json::from_str(text)
                .map_err(|error| format!("extra is no JSON object: {error}")),
        }
    }

    /// Longest time of a whole call.
    pub fn timeout(&self) -> Duration {
        Duration::from_millis(self.timeout_ms)
    }

    fn problems(&self, section: &str) -> Vec<String> {
        let positive = [
            ("context_tokens", self.context_tokens as u64),
            ("parallel", self.parallel as u64),
            ("connect_timeout_ms", self.connect_timeout_ms),
            ("first_piece_timeout_ms", self.first_piece_timeout_ms),
            ("piece_timeout_ms", self.piece_timeout_ms),
            ("timeout_ms", self.timeout_ms),
            ("maximum_reply_bytes", self.maximum_reply_bytes as u64),
            ("attempts", u64::from(self.attempts)),
        ];
        let zero = positive.iter().filter(|(_, value)| *value == 0);
        let mut problems: Vec<String> = zero
            .map(|(key, _)| format!("{section}.{key} must be at least 1"))
            .collect();
        if !(1.0..=4.0).contains(&self.token_margin) {
            problems.push(format!("{section}.token_margin must be between 1 and 4"));
        }
        if !(0.0..=2.0).contains(&self.temperature) {
            problems.push(format!("{section}.temperature must be between 0 and 2"));
        }
        if self.kind == EndpointKind::Openai && self.model.is_empty() {
            problems.push(format!("{section}.model must name the server's model"));
        }
        if self.kind == EndpointKind::Openai
            && let Err(problem) = openai::address(&self.url)
        {
            problems.push(format!("{section}.url: {problem}"));
        }
        if let Err(problem) = self.extra_fields() {
            problems.push(format!("{section}.{problem}"));
        }
        problems
    }
}
