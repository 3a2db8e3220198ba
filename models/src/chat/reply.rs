//! The reply of an endpoint while it comes in: bytes to events to pieces of text, within deadlines
//! and a largest size, without the reasoning.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::{FutureExt, StreamExt, stream};
use reqwest::Response;
use reqwest::header::CONTENT_TYPE;
use tokio::time::{Instant, timeout_at};

use super::DeltaStream;
use super::calls::Calls;
use super::config::EndpointConfig;
use super::error::{ChatError, ChatResult, Reason};
use super::refusal::{self, Refusal, words_of};
use super::request::{ChatRequest, Delta, Ending, Finish, Format, TokenLogprob, Usage};
use super::sse::{Event, EventReader};
use super::thinking::ThinkingFilter;
use super::wire::Chunk;
use crate::http_client::innermost;

/// What ends a stream.
const DONE: &str = "[DONE]";

/// How long is waited.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    whole: Instant,
    first_piece: Instant,
    between: Duration,
    last_piece: Option<Instant>,
}

impl Limits {
    /// From now on.
    pub fn new(config: &EndpointConfig, request: &ChatRequest) -> Self {
        let now = Instant::now();
        let own = now + config.timeout();
        let whole = match request.deadline {
            Some(deadline) => own.min(Instant::from_std(deadline)),
            None => own,
        };
        Self {
            whole,
            first_piece: now + Duration::from_millis(config.first_piece_timeout_ms),
            between: Duration::from_millis(config.piece_timeout_ms),
            last_piece: None,
        }
    }

    /// Until when something must come.
    pub fn until(&self) -> Instant {
        let next = match self.last_piece {
            Some(last) => last + self.between,
            None => self.first_piece,
        };
        next.min(self.whole)
    }

    fn failed(&self, endpoint: &str) -> ChatError {
        let what = match self.last_piece {
            _ if self.until() == self.whole => "did not finish its reply in time",
            None => "began no reply in time",
            Some(_) => "stopped in the middle of its reply",
        };
        ChatError::new(Reason::Deadline, format!("endpoint `{endpoint}` {what}"))
    }
}

/// A reply that is being read. Dropping it closes the connection, which ends the call at the
/// server.
pub struct Reply {
    endpoint: String,
    model: String,
    response: Response,
    limits: Limits,
    room: usize,
    is_stream: bool,
    reader: EventReader,
    whole: Vec<u8>,
    events: VecDeque<Event>,
    filter: ThinkingFilter,
    /// Whether replies of the endpoint may begin with reasoning that no tag opens.
    reasons_unopened: Arc<AtomicBool>,
    /// Whether a text was asked for: JSON by a grammar comes without reasoning.
    is_text: bool,
    finish: Option<Finish>,
    usage: Usage,
    has_text: bool,
    has_reasoning: bool,
    calls: Calls,
    logprobs: Vec<Vec<TokenLogprob>>,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Reading,
    /// Everything was read; the ending is yet to be told.
    Read,
    Over,
}

impl Reply {
    /// After the head.
    pub fn new(
        endpoint: &str,
        config: &EndpointConfig,
        response: Response,
        limits: Limits,
        request: &ChatRequest,
        reasons_unopened: Arc<AtomicBool>,
    ) -> Self {
        let filter = match reasons_unopened.load(Ordering::Relaxed) {
            true => ThinkingFilter::unopened(),
            false => ThinkingFilter::default(),
        };
        let media_type = response.headers().get(CONTENT_TYPE);
        let is_json = media_type
            .and_then(|value| value.to_str().ok())
            .is_some_and(|value| value.contains("json"));
        Self {
            endpoint: endpoint.to_owned(),
            model: config.model.clone(),
            response,
            limits,
            room: config.maximum_reply_bytes,
            is_stream: !is_json,
            reader: EventReader::default(),
            whole: Vec::new(),
            events: VecDeque::new(),
            filter,
            reasons_unopened,
            is_text: request.format == Format::Text,
            finish: None,
            usage: Usage::default(),
            has_text: false,
            has_reasoning: false,
            calls: Calls::default(),
            logprobs: Vec::new(),
            state: State::Reading,
        }
    }

    /// Its pieces.
    pub fn into_stream(self) -> DeltaStream {
        let next = |mut reply: Self| async move {
            let delta = reply.next().await?;
            Some((delta, reply))
        };
        stream::unfold(self, next).boxed()
    }

    async fn next(&mut self) -> Option<ChatResult<Delta>> {
        if self.state == State::Over {
            return None;
        }
        let next = self.read().await;
        if !matches!(next, Ok(Delta::Text(_))) {
            self.state = State::Over;
        }
        Some(next)
    }

    async fn read(&mut self) -> ChatResult<Delta> {
        while self.state == State::Reading {
            match self.events.pop_front() {
                Some(event) => {
                    let text = self.take(event)?;
                    if !text.is_empty() {
                        return Ok(self.text(text));
                    }
                }
                None => self.fill().await?,
            }
        }
        if self.filter.is_held() {
            self.end_held();
        }
        let held = self.filter.finish();
        if !held.is_empty() {
            return Ok(self.text(held));
        }
        self.ending()
    }

    /// Reasoning that reached its largest length has no closing tag. A text without one is a text: its
    /// endpoint does not reason, and the tag that was seen once was one of an answer.
    fn end_held(&mut self) {
        match self.finish {
            Some(Finish::Length) => self.filter.drop_held(),
            _ if self.is_text => self.reasons_unopened.store(false, Ordering::Relaxed),
            _ => {}
        }
    }

    fn text(&mut self, text: String) -> Delta {
        self.has_text = true;
        Delta::Text(text)
    }

    /// Waits for more bytes.
    async fn fill(&mut self) -> ChatResult<()> {
        match timeout_at(self.limits.until(), self.response.chunk()).await {
            Ok(Ok(Some(bytes))) => self.feed(&bytes),
            Ok(Ok(None)) => self.at_the_end(),
            Ok(Err(error)) => self.broken_off(&innermost(&error)),
            // Some servers leave the connection open.
            Err(_) if self.finish.is_some() => {
                self.state = State::Read;
                Ok(())
            }
            Err(_) => Err(self.limits.failed(&self.endpoint)),
        }
    }

    fn feed(&mut self, bytes: &[u8]) -> ChatResult<()> {
        let Some(room) = self.room.checked_sub(bytes.len()) else {
            return Err(self.too_large());
        };
        self.room = room;
        if !self.is_stream {
            self.whole.extend_from_slice(bytes);
            return Ok(());
        }
        let fed = self.reader.feed(bytes, &mut self.events);
        fed.map_err(|_| self.too_large())
    }

    fn at_the_end(&mut self) -> ChatResult<()> {
        let last = match self.is_stream {
            true => self.reader.finish(),
            false => Some(Event::Data(
                String::from_utf8_lossy(&std::mem::take(&mut self.whole)).into_owned(),
            )),
        };
        // The last event is read first; the end is met again after it.
        match last.filter(|event| *event != Event::Data(String::new())) {
            Some(event) => {
                self.events.push_back(event);
                Ok(())
            }
            None if self.finish.is_some() => {
                self.state = State::Read;
                Ok(())
            }
            None => self.broken_off("the connection was closed"),
        }
    }

    fn broken_off(&mut self, cause: &str) -> ChatResult<()> {
        if self.finish.is_some() {
            self.state = State::Read;
            return Ok(());
        }
        if self.is_stream && !self.has_text && self.limits.last_piece.is_none() {
            return Err(self.no_stream(cause));
        }
        let message = format!(
            "the reply of endpoint `{}` broke off: {cause}",
            self.endpoint
        );
        Err(ChatError::new(Reason::BrokenOff, message))
    }

    /// Not one piece came: a web page, or a connection that was cut early.
    fn no_stream(&self, cause: &str) -> ChatError {
        let media_type = self.response.headers().get(CONTENT_TYPE);
        let media_type = media_type.and_then(|value| value.to_str().ok());
        match media_type {
            Some(other) if !other.contains("event-stream") => self.not_an_endpoint(other),
            _ => ChatError::new(
                Reason::BrokenOff,
                format!("endpoint `{}` sent no reply: {cause}", self.endpoint),
            ),
        }
    }

    fn not_an_endpoint(&self, what: &str) -> ChatError {
        let message = format!(
            "endpoint `{}` answers, but not with chat completions: {what}",
            self.endpoint
        );
        let failed = ChatError::new(Reason::NotAnEndpoint, message);
        match refusal::hint(Reason::NotAnEndpoint, &self.endpoint, &self.model) {
            Some(hint) => failed.with_hint(hint),
            None => failed,
        }
    }

    fn too_large(&self) -> ChatError {
        let message = format!(
            "the reply of endpoint `{}` is larger than maximum_reply_bytes",
            self.endpoint
        );
        ChatError::new(Reason::TooLarge, message)
    }

    /// The text of an event that may be shown.
    fn take(&mut self, event: Event) -> ChatResult<String> {
        let data = match event {
            Event::Data(data) if data.trim() == DONE => return self.done(),
            Event::Data(data) if data.trim().is_empty() => return Ok(String::new()),
            Event::Data(data) => data,
            Event::Error(error) => return Err(self.error_within(&error)),
        };
        let chunk = Chunk::read(&data).map_err(|error| {
            let message = format!(
                "endpoint `{}` sent an event that is no chunk of a reply: {error}",
                self.endpoint
            );
            ChatError::new(Reason::Malformed, message)
        })?;
        if let Some(error) = chunk.failure() {
            return Err(self.error_within(&error.to_string()));
        }
        if !self.is_stream && !chunk.is_of_the_protocol() {
            return Err(self.not_an_endpoint("JSON of another kind"));
        }
        self.read_chunk(&chunk)
    }

    /// `Reasoning` where that is what was given out before.
    fn read_chunk(&mut self, chunk: &Chunk) -> ChatResult<String> {
        if let Some(usage) = chunk.usage() {
            self.usage = usage;
        }
        if let Some(model) = chunk.model() {
            model.clone_into(&mut self.model);
        }
        if let Some(finish) = chunk.finish() {
            self.finish = Some(finish);
        }
        let text = chunk.text();
        if !chunk.has_reasoning() {
            self.logprobs.extend_from_slice(chunk.logprobs());
        }
        self.has_reasoning |= chunk.has_reasoning();
        for piece in chunk.calls() {
            self.calls.push(piece);
        }
        if !text.is_empty() || chunk.has_reasoning() || !chunk.calls().is_empty() {
            self.limits.last_piece = Some(Instant::now());
        }
        let shown = self.filter.push(&text);
        if self.filter.take_unopened() {
            self.reasons_unopened.store(true, Ordering::Relaxed);
            if self.has_text {
                return Err(self.unopened());
            }
        }
        Ok(shown)
    }

    fn unopened(&self) -> ChatError {
        let message = format!(
            "the reply of endpoint `{}` began with reasoning that no tag opened; it is known from \
             now on",
            self.endpoint
        );
        ChatError::new(Reason::Reasoning, message)
    }

    /// The end of the body usually comes in the same packet; having read it, the connection can be
    /// used again.
    fn done(&mut self) -> ChatResult<String> {
        self.state = State::Read;
        if self.finish.is_none() {
            self.finish = Some(Finish::Stop);
        }
        drop(self.response.chunk().now_or_never());
        Ok(String::new())
    }

    /// An error after status 200 means what it would have meant as a status.
    fn error_within(&self, error: &str) -> ChatError {
        let json: Option<serde_json::Value> = serde_json::from_str(error).ok();
        let code = json.as_ref().and_then(|json| {
            let inner = json.get("error").unwrap_or(json);
            inner["code"].as_u64().or(json["code"].as_u64())
        });
        let words = json.as_ref().and_then(words_of);
        let refusal = Refusal {
            status: code
                .and_then(|code| u16::try_from(code).ok())
                .unwrap_or(500),
            body: error.to_owned(),
            retry_after: None,
        };
        let reason = match refusal.reason() {
            Reason::Overloaded | Reason::RateLimited if self.limits.last_piece.is_some() => {
                Reason::BrokenOff
            }
            reason => reason,
        };
        let message = format!(
            "endpoint `{}` sent an error instead of the rest of its reply: {}",
            self.endpoint,
            words.unwrap_or_else(|| refusal.message())
        );
        ChatError::new(reason, message)
    }

    fn ending(&mut self) -> ChatResult<Delta> {
        if !self.has_text && self.calls.is_empty() {
            return Err(self.empty());
        }
        let calls = self.calls.take();
        let finish = match self.finish.take() {
            // Some servers end calls of tools like a text.
            Some(Finish::Stop) | None if !calls.is_empty() => Finish::ToolCalls,
            finish => finish.unwrap_or(Finish::Stop),
        };
        Ok(Delta::End(Ending {
            finish,
            usage: self.usage,
            model: self.model.clone(),
            calls,
            logprobs: std::mem::take(&mut self.logprobs),
        }))
    }

    fn empty(&self) -> ChatError {
        let is_cut = self.finish == Some(Finish::Length);
        let what = match self.has_reasoning || self.filter.has_removed() {
            true if is_cut => "reached its largest length while it was reasoning",
            true => "has reasoning and no text",
            false => "is empty",
        };
        let reason = if is_cut {
            Reason::CutOff
        } else {
            Reason::Empty
        };
        let message = format!("the reply of endpoint `{}` {what}", self.endpoint);
        ChatError::new(reason, message)
    }
}
