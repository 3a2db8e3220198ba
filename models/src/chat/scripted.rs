//! A chat model whose replies stand in a file: for tests and demonstrations. The file is a JSON
//! list; the first entry that matches and is not used up answers.
//!
//! ```json
//! [
//!   {"prompt": "section_summary", "contains": "antenna", "reply": "{\"summary\": \"…\"}"},
//!   {"prompt": "answer", "reply": "Six degrees [1].", "piece_characters": 4, "piece_delay_ms": 50},
//!   {"prompt": "on_demand", "calls": [{"name": "search", "arguments": {"query": "tilt"}}], "times": 1},
//!   {"prompt": "rerank", "reply": "yes", "logprobs": {"yes": -0.1, "no": -2.4}},
//!   {"prompt": "judge", "failure": "overloaded", "retry_after_ms": 100, "times": 2},
//!   {"reply": "no"}
//! ]
//! ```

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use futures::{StreamExt, stream};
use serde::Deserialize;
use serde_json::Value;
use tributary_schemas::{Error, ErrorKind, Result};

use super::error::{ChatError, ChatResult, Reason};
use super::request::{
    ChatRequest, Delta, Ending, Finish, ModelDescription, TokenLogprob, ToolCall, Usage,
};
use super::{ChatModel, DeltaStream};
use crate::TokenCounter;
use crate::tokens::estimate::EstimatedTokens;

/// One entry of the file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    /// Name of the prompt; any if it is left out.
    prompt: Option<String>,
    /// Text that stands in one of the messages.
    contains: Option<String>,
    /// How often it answers; always if it is left out.
    times: Option<u32>,
    /// The reply.
    reply: Option<String>,
    /// Tools that the reply calls: such an entry answers only requests that have tools.
    #[serde(default)]
    calls: Vec<ScriptedCall>,
    /// Tokens that could have stood in its first place, with their log-probabilities.
    #[serde(default)]
    logprobs: BTreeMap<String, f64>,
    /// Characters of each piece of it; the whole reply if left out.
    piece_characters: Option<usize>,
    /// Pause before the first piece.
    delay_ms: Option<u64>,
    /// Pause before each further one.
    piece_delay_ms: Option<u64>,
    /// How the server says that the reply ended; `stop` if left out.
    finish: Option<String>,
    /// Fails this way, after the reply if there is one.
    failure: Option<Reason>,
    /// What the failure says about when to try again.
    retry_after_ms: Option<u64>,
}

/// A call of a tool in a script.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ScriptedCall {
    name: String,
    arguments: Value,
}

impl ScriptedCall {
    fn call(&self, at: usize) -> ToolCall {
        ToolCall {
            id: format!("call_{at}"),
            name: self.name.clone(),
            arguments: match &self.arguments {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            },
        }
    }
}

/// The model.
pub struct ScriptedModel {
    endpoint: String,
    model: String,
    file: String,
    context_tokens: usize,
    entries: Vec<(Entry, AtomicU32)>,
    calls: AtomicU32,
}

/// A scripted stream: pieces and pauses, then how it ends.
struct Performance {
    pieces: std::vec::IntoIter<String>,
    ending: Option<ChatResult<Delta>>,
    pause: Duration,
    next_pause: Duration,
}

fn read_entries(file: &Path) -> Result<Vec<Entry>> {
    let invalid = |what: String| {
        Error::new(
            ErrorKind::Invalid,
            format!("the script {}: {what}", file.display()),
        )
    };
    let json = tributary_schemas::files::read(file).map_err(|error| invalid(error.to_string()))?;
    let entries: Vec<Entry> =
        serde_json::from_slice(&json).map_err(|error| invalid(error.to_string()))?;
    if let Some(at) = entries.iter().position(Entry::is_empty) {
        return Err(invalid(format!(
            "entry {at} has neither reply nor calls nor failure"
        )));
    }
    Ok(entries)
}

impl ScriptedModel {
    /// Reads the file. `Invalid` if it is no script.
    pub fn open(endpoint: &str, model: &str, file: &Path, context_tokens: usize) -> Result<Self> {
        let entries = read_entries(file)?;
        Ok(Self {
            endpoint: endpoint.to_owned(),
            model: model.to_owned(),
            file: file.display().to_string(),
            context_tokens,
            entries: entries
                .into_iter()
                .map(|entry| (entry, AtomicU32::new(0)))
                .collect(),
            calls: AtomicU32::new(0),
        })
    }

    /// Calls so far.
    pub fn calls(&self) -> u32 {
        self.calls.load(Ordering::Relaxed)
    }

    fn entry(&self, request: &ChatRequest) -> ChatResult<&Entry> {
        let fitting = self
            .entries
            .iter()
            .filter(|(entry, _)| entry.matches(request));
        for (entry, used) in fitting {
            let times = entry.times.unwrap_or(u32::MAX);
            let take = |count: u32| (count < times).then_some(count.saturating_add(1));
            if used
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, take)
                .is_ok()
            {
                return Ok(entry);
            }
        }
        let message = format!(
            "the script {} has no reply left for the prompt `{}`",
            self.file, request.prompt
        );
        Err(ChatError::new(Reason::Refused, message))
    }

    fn ending(&self, entry: &Entry, request: &ChatRequest, reply: &str) -> ChatResult<Delta> {
        if let Some(reason) = entry.failure {
            let message = format!("endpoint `{}` fails as its script says", self.endpoint);
            let pause = entry.retry_after_ms.map(Duration::from_millis);
            return Err(ChatError::new(reason, message).with_retry_after(pause));
        }
        if reply.is_empty() && entry.calls.is_empty() {
            let message = format!("the script {} has an empty reply", self.file);
            return Err(ChatError::new(Reason::Empty, message));
        }
        let prompt: usize = request
            .messages
            .iter()
            .map(|message| EstimatedTokens.count(&message.text))
            .sum();
        let usage = Usage {
            prompt_tokens: Some(prompt as u64),
            completion_tokens: Some(EstimatedTokens.count(reply) as u64),
        };
        let whole = match entry.calls.is_empty() {
            true => Finish::Stop,
            false => Finish::ToolCalls,
        };
        let calls = entry.calls.iter().enumerate();
        Ok(Delta::End(Ending {
            finish: entry.finish.as_deref().map_or(whole, Finish::named),
            usage,
            model: self.model.clone(),
            calls: calls.map(|(at, call)| call.call(at)).collect(),
            logprobs: entry.logprobs(request.top_logprobs),
        }))
    }
}

impl Entry {
    fn is_empty(&self) -> bool {
        self.reply.is_none() && self.calls.is_empty() && self.failure.is_none()
    }

    fn matches(&self, request: &ChatRequest) -> bool {
        let is_named = match &self.prompt {
            Some(prompt) => *prompt == request.prompt,
            None => true,
        };
        let holds = |text: &str| request.messages.iter().any(|said| said.text.contains(text));
        let may_call = self.calls.is_empty() || !request.tools.is_empty();
        is_named && may_call && self.contains.as_deref().is_none_or(holds)
    }

    /// As a server gives them: the likeliest first, so many at most, nothing where none are wanted.
    fn logprobs(&self, wanted: usize) -> Vec<Vec<TokenLogprob>> {
        let logprob = |(token, logprob): (&String, &f64)| TokenLogprob {
            token: token.clone(),
            logprob: *logprob,
        };
        let mut first: Vec<TokenLogprob> = self.logprobs.iter().map(logprob).collect();
        first.sort_by(|one, other| other.logprob.total_cmp(&one.logprob));
        first.truncate(wanted);
        match first.is_empty() {
            true => Vec::new(),
            false => vec![first],
        }
    }

    fn pieces(&self) -> Vec<String> {
        let reply: Vec<char> = self.reply.iter().flat_map(|reply| reply.chars()).collect();
        let size = self.piece_characters.unwrap_or(reply.len()).max(1);
        reply
            .chunks(size)
            .map(|piece| piece.iter().collect())
            .collect()
    }
}

impl Performance {
    async fn next(&mut self) -> Option<ChatResult<Delta>> {
        if self.pieces.as_slice().is_empty() && self.ending.is_none() {
            return None;
        }
        if !self.pause.is_zero() {
            tokio::time::sleep(self.pause).await;
        }
        self.pause = self.next_pause;
        match self.pieces.next() {
            Some(piece) => Some(Ok(Delta::Text(piece))),
            None => self.ending.take(),
        }
    }
}

#[async_trait]
impl ChatModel for ScriptedModel {
    async fn stream(&self, request: &ChatRequest) -> ChatResult<DeltaStream> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        let entry = self.entry(request)?;
        let reply = entry.reply.as_deref().unwrap_or_default();
        let performance = Performance {
            pieces: entry.pieces().into_iter(),
            ending: Some(self.ending(entry, request, reply)),
            pause: Duration::from_millis(entry.delay_ms.unwrap_or_default()),
            next_pause: Duration::from_millis(entry.piece_delay_ms.unwrap_or_default()),
        };
        let next = |mut performance: Performance| async move {
            let delta = performance.next().await?;
            Some((delta, performance))
        };
        let pieces = stream::unfold(performance, next).boxed();
        Ok(within_deadline(pieces, request, &self.endpoint))
    }

    fn describe(&self) -> ModelDescription {
        ModelDescription {
            endpoint: self.endpoint.clone(),
            model: self.model.clone(),
            address: self.file.clone(),
            context_tokens: self.context_tokens,
        }
    }
}

/// Ends a stream with an error at the caller's deadline, as an endpoint does.
fn within_deadline(pieces: DeltaStream, request: &ChatRequest, endpoint: &str) -> DeltaStream {
    let Some(deadline) = request.deadline else {
        return pieces;
    };
    let deadline = tokio::time::Instant::from_std(deadline);
    let endpoint = endpoint.to_owned();
    let next = move |state: Option<DeltaStream>| {
        let endpoint = endpoint.clone();
        async move {
            let mut pieces = state?;
            match tokio::time::timeout_at(deadline, pieces.next()).await {
                Ok(delta) => delta.map(|delta| (delta, Some(pieces))),
                Err(_) => {
                    let message = format!("endpoint `{endpoint}` did not finish in time");
                    Some((Err(ChatError::new(Reason::Deadline, message)), None))
                }
            }
        }
    };
    stream::unfold(Some(pieces), next).boxed()
}
