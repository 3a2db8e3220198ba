//! The model of one role: an endpoint with everything around a call that callers should not have to
//! think about. Budget, token count, a turn, the circuit, retries before the first piece, metrics.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use futures::{StreamExt, stream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::backoff;
use super::budget::{Budget, Reservation};
use super::circuit::Circuit;
use super::config::EndpointConfig;
use super::error::{ChatError, ChatResult, Reason};
use super::observer::{CallRecord, SharedObserver};
use super::refusal::hint;
use super::request::{ChatRequest, Delta, Ending, Finish, Message, ModelDescription, Tool, Usage};
use super::role::Role;
use super::{ChatModel, DeltaStream};
use crate::TokenCounter;
use crate::tokens::estimate::EstimatedTokens;

/// Tokens that a chat template puts around a message.
const TOKENS_AROUND_A_MESSAGE: usize = 6;
/// Bytes of a reply for each token that was asked for at most: several times what texts and code
/// have on average.
const BYTES_PER_TOKEN: usize = 24;
/// A server that counts a smaller share of our count than this has cut the prompt: tokenizers do
/// not differ that much.
const MINIMUM_SHARE_COUNTED: f64 = 0.5;
/// Shorter prompts say nothing about that.
const MINIMUM_TOKENS_TO_JUDGE: usize = 1000;

/// An endpoint that several roles may share.
pub struct Endpoint {
    name: String,
    model: Arc<dyn ChatModel>,
    circuit: Circuit,
    /// Why it was left alone last.
    ill_of: Mutex<Reason>,
    turns: Arc<Semaphore>,
    config: EndpointConfig,
    observer: SharedObserver,
}

impl Endpoint {
    /// Around a model.
    pub fn new(
        name: &str,
        model: Arc<dyn ChatModel>,
        config: EndpointConfig,
        observer: &SharedObserver,
    ) -> Self {
        let pause = Duration::from_millis(config.circuit_pause_ms);
        observer.circuit(name, false);
        Self {
            name: name.to_owned(),
            model,
            circuit: Circuit::new(config.circuit_failures, pause),
            ill_of: Mutex::new(Reason::Unreachable),
            turns: Arc::new(Semaphore::new(config.parallel)),
            config,
            observer: Arc::clone(observer),
        }
    }

    /// Name in the configuration.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Calls that it takes at the same time.
    pub fn parallel(&self) -> usize {
        self.config.parallel
    }

    /// Whether it is left alone because it failed.
    pub fn is_away(&self) -> bool {
        self.circuit.is_open()
    }

    /// Asks it again with the next call, also where it is left alone: somebody says that it is back.
    pub fn expect_back(&self) {
        self.circuit.try_now(Instant::now());
    }

    async fn turn(&self, deadline: Instant) -> ChatResult<OwnedSemaphorePermit> {
        let turn = Arc::clone(&self.turns).acquire_owned();
        let until = tokio::time::Instant::from_std(deadline);
        match tokio::time::timeout_at(until, turn).await {
            Ok(Ok(turn)) => Ok(turn),
            _ => Err(ChatError::new(
                Reason::Deadline,
                format!(
                    "{} calls of endpoint `{}` were before this one for too long",
                    self.config.parallel, self.name
                ),
            )),
        }
    }

    /// The first piece and the rest, after as many attempts as there is time for.
    async fn begin(
        &self,
        request: &ChatRequest,
        deadline: Instant,
    ) -> ChatResult<(Delta, DeltaStream)> {
        let mut attempt = 1;
        loop {
            self.admit()?;
            let asked = Instant::now();
            let failed = match self.attempt(request).await {
                Ok(begun) => {
                    self.answered();
                    return Ok(begun);
                }
                Err(failed) => failed,
            };
            self.observer.attempt_failed(&self.name, failed.reason);
            self.failed(failed.reason, asked, self.config.first_piece_timeout_ms);
            let pause = self.pause(attempt, failed.retry_after);
            let is_last = attempt >= self.config.attempts || Instant::now() + pause >= deadline;
            if is_last || !failed.reason.may_pass() || self.is_away() {
                return Err(failed);
            }
            tracing::debug!(
                endpoint = self.name,
                error = %failed,
                pause_ms = u64::try_from(pause.as_millis()).unwrap_or(u64::MAX),
                "the call is tried again"
            );
            tokio::time::sleep(pause).await;
            attempt += 1;
        }
    }

    async fn attempt(&self, request: &ChatRequest) -> ChatResult<(Delta, DeltaStream)> {
        let mut pieces = self.model.stream(request).await?;
        match pieces.next().await {
            Some(first) => Ok((first?, pieces)),
            None => Err(ChatError::new(
                Reason::BrokenOff,
                format!("endpoint `{}` sent no reply", self.name),
            )),
        }
    }

    fn admit(&self) -> ChatResult<()> {
        self.circuit.admit(Instant::now()).map_err(|pause| {
            let message = format!(
                "endpoint `{}` failed several times in a row and is left alone for {} s",
                self.name,
                pause.as_secs() + 1
            );
            let failed = ChatError::new(Reason::CircuitOpen, message).with_retry_after(Some(pause));
            let ill_of = *self.ill_of.lock().unwrap_or_else(PoisonError::into_inner);
            match hint(ill_of, &self.name, &self.config.model) {
                Some(hint) => failed.with_hint(hint),
                None => failed,
            }
        })
    }

    fn answered(&self) {
        self.circuit.succeeded();
        self.observer.circuit(&self.name, false);
    }

    /// `limit_ms` is how long it may be silent, and has been silent since `heard`.
    fn failed(&self, reason: Reason, heard: Instant, limit_ms: u64) {
        if !reason.is_illness() {
            self.answered();
            return;
        }
        // Who has little time gives up early. That tells nothing of a model that others wait for.
        let telling = Duration::from_millis(limit_ms) / 2;
        if reason == Reason::Deadline && heard.elapsed() < telling {
            self.circuit.try_now(Instant::now());
            return;
        }
        *self.ill_of.lock().unwrap_or_else(PoisonError::into_inner) = reason;
        if self.circuit.failed(Instant::now()) {
            tracing::warn!(
                endpoint = self.name,
                reason = reason.as_str(),
                hint = hint(reason, &self.name, &self.config.model),
                "the endpoint fails and is left alone for a while"
            );
            self.observer.circuit(&self.name, true);
        }
    }

    fn pause(&self, attempt: u32, retry_after: Option<Duration>) -> Duration {
        let first = Duration::from_millis(self.config.retry_pause_ms);
        backoff::pause(first, attempt, retry_after)
    }
}

/// A role's model.
pub struct RoleModel {
    role: Role,
    endpoint: Arc<Endpoint>,
    budget: Arc<Budget>,
    tokens: Arc<dyn TokenCounter>,
}

/// A call whose reply has begun.
struct Call {
    first: Option<Delta>,
    /// When its last piece came.
    heard: Instant,
    /// None behind a reply that was cut here.
    rest: Option<DeltaStream>,
    /// Bytes that may still come.
    room: usize,
    endpoint: Arc<Endpoint>,
    record: CallRecord,
    reservation: Reservation,
    prompt_tokens: usize,
    reply_tokens: usize,
    /// The next call waits for it.
    _turn: OwnedSemaphorePermit,
}

impl RoleModel {
    /// A role at an endpoint.
    pub fn new(
        role: Role,
        endpoint: Arc<Endpoint>,
        budget: Arc<Budget>,
        tokens: Arc<dyn TokenCounter>,
    ) -> Self {
        Self {
            role,
            endpoint,
            budget,
            tokens,
        }
    }

    /// The role.
    pub fn role(&self) -> Role {
        self.role
    }

    /// Its endpoint.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// How long the budget has no room for so many tokens, prompt and reply together. Work that can
    /// wait waits that long; a question goes the lesser way.
    pub fn room_in(&self, tokens: usize) -> Duration {
        self.budget.room_in(tokens as u64, Instant::now())
    }

    /// Most tokens that a prompt may have, as we count them, if the reply has so many at most.
    pub fn prompt_room(&self, maximum_tokens: usize) -> usize {
        let config = &self.endpoint.config;
        let room = config.context_tokens.saturating_sub(maximum_tokens);
        (room as f64 / config.token_margin) as usize
    }

    /// Tokens of a request's messages, as we count them.
    pub async fn count(&self, request: &ChatRequest) -> ChatResult<usize> {
        let texts = texts(request);
        let counter = Arc::clone(&self.tokens);
        let count = move || {
            let counted = texts
                .iter()
                .map(|text| counter.count(text) + TOKENS_AROUND_A_MESSAGE);
            counted.sum()
        };
        let counted = tokio::task::spawn_blocking(count).await;
        counted.map_err(|error| {
            ChatError::new(Reason::Refused, format!("cannot count tokens: {error}"))
        })
    }

    /// Whether so long a prompt fits.
    fn check_length(&self, prompt_tokens: usize, request: &ChatRequest) -> ChatResult<()> {
        if prompt_tokens <= self.prompt_room(request.maximum_tokens) {
            return Ok(());
        }
        let message = format!(
            "the prompt `{}` has {prompt_tokens} tokens; with {} for the reply that is more than \
             the {} of endpoint `{}` (margin {})",
            request.prompt,
            request.maximum_tokens,
            self.endpoint.config.context_tokens,
            self.endpoint.name,
            self.endpoint.config.token_margin
        );
        let failed = ChatError::new(Reason::TooLong, message);
        Err(
            match hint(
                Reason::TooLong,
                &self.endpoint.name,
                &self.endpoint.config.model,
            ) {
                Some(hint) => failed.with_hint(hint),
                None => failed,
            },
        )
    }

    fn reserve(&self, tokens: usize) -> ChatResult<Reservation> {
        let reserved = self.budget.reserve(tokens as u64, Instant::now());
        reserved.map_err(|wait| {
            let message = format!(
                "the budget of tokens of role `{}` has no room for {tokens} more for {} s",
                self.role,
                wait.as_secs() + 1
            );
            ChatError::new(Reason::BudgetUsedUp, message)
                .with_retry_after(Some(wait))
                .with_hint(format!(
                    "raise models.chat.roles.{}.tokens_per_minute or .tokens_per_day",
                    self.role
                ))
        })
    }

    async fn begin(&self, request: &ChatRequest) -> ChatResult<Call> {
        let endpoint = &self.endpoint;
        let mut record = CallRecord::begin(&endpoint.observer, self.role, &endpoint.name);
        let begun = self.begin_recorded(request, &record).await;
        match begun {
            Ok(Begun {
                first,
                rest,
                turn,
                reservation,
                prompt_tokens,
            }) => Ok(Call {
                first: Some(first),
                heard: Instant::now(),
                rest: Some(rest),
                room: request.maximum_tokens.saturating_mul(BYTES_PER_TOKEN),
                endpoint: Arc::clone(endpoint),
                record,
                reservation,
                prompt_tokens,
                reply_tokens: 0,
                _turn: turn,
            }),
            Err(failed) => {
                record.failed(failed.reason);
                Err(failed)
            }
        }
    }

    async fn begin_recorded(
        &self,
        request: &ChatRequest,
        record: &CallRecord,
    ) -> ChatResult<Begun> {
        let own = Instant::now() + self.endpoint.config.timeout();
        let deadline = request.deadline.map_or(own, |given| given.min(own));
        let request = ChatRequest {
            deadline: Some(deadline),
            ..request.clone()
        };
        let prompt_tokens = self.count(&request).await?;
        self.check_length(prompt_tokens, &request)?;
        let reservation = self.reserve(prompt_tokens + request.maximum_tokens)?;
        let turn = self.endpoint.turn(deadline).await?;
        let (first, rest) = self.endpoint.begin(&request, deadline).await?;
        record.first_piece();
        Ok(Begun {
            first,
            rest,
            turn,
            reservation,
            prompt_tokens,
        })
    }
}

/// Everything of a request that a model reads, a text for each message and tool.
fn texts(request: &ChatRequest) -> Vec<String> {
    let message = |message: &Message| {
        let calls = message.calls.iter();
        let calls = calls.map(|call| format!("{}{}", call.name, call.arguments));
        std::iter::once(message.text.clone())
            .chain(calls)
            .collect::<Vec<_>>()
            .join("\n")
    };
    let tool = |tool: &Tool| format!("{}\n{}\n{}", tool.name, tool.description, tool.parameters);
    let messages = request.messages.iter().map(message);
    messages.chain(request.tools.iter().map(tool)).collect()
}

struct Begun {
    first: Delta,
    rest: DeltaStream,
    turn: OwnedSemaphorePermit,
    reservation: Reservation,
    prompt_tokens: usize,
}

impl Call {
    async fn next(&mut self) -> Option<ChatResult<Delta>> {
        let delta = match self.first.take() {
            Some(first) => Ok(first),
            None => self.rest.as_mut()?.next().await?,
        };
        let delta = delta.map(|delta| self.within_room(delta));
        match &delta {
            Ok(Delta::Text(text)) => {
                self.heard = Instant::now();
                self.reply_tokens += EstimatedTokens.count(text);
            }
            Ok(Delta::End(ending)) => self.ended(ending),
            Err(failed) => {
                let limit_ms = self.endpoint.config.piece_timeout_ms;
                self.endpoint.failed(failed.reason, self.heard, limit_ms);
                self.record.failed(failed.reason);
            }
        }
        Some(delta)
    }

    /// A server that does not mind `maximum_tokens` is cut here, and its connection closed. Everything
    /// behind is made for replies of about that length.
    fn within_room(&mut self, delta: Delta) -> Delta {
        let Delta::Text(mut text) = delta else {
            return delta;
        };
        if text.len() <= self.room {
            self.room -= text.len();
            return Delta::Text(text);
        }
        self.rest = None;
        let ending = Delta::End(Ending {
            finish: Finish::Length,
            usage: Usage::default(),
            model: self.endpoint.config.model.clone(),
            calls: Vec::new(),
            logprobs: Vec::new(),
        });
        text.truncate(text.floor_char_boundary(self.room));
        self.room = 0;
        if text.is_empty() {
            return ending;
        }
        self.first = Some(ending);
        Delta::Text(text)
    }

    fn ended(&mut self, ending: &Ending) {
        self.reply_tokens = match ending.usage.completion_tokens {
            Some(tokens) => usize::try_from(tokens).unwrap_or(usize::MAX),
            None => self.reply_tokens,
        };
        if let Some(tokens) = ending.usage.prompt_tokens {
            let tokens = usize::try_from(tokens).unwrap_or(usize::MAX);
            self.compare(tokens);
            self.prompt_tokens = tokens;
        }
        self.record.ended(&ending.finish);
    }

    /// Some servers cut the front of a prompt, where the rules stand, and say nothing.
    fn compare(&self, counted_by_server: usize) {
        let least = self.prompt_tokens as f64 * MINIMUM_SHARE_COUNTED;
        if self.prompt_tokens < MINIMUM_TOKENS_TO_JUDGE || counted_by_server as f64 >= least {
            return;
        }
        self.endpoint.observer.prompt_cut(&self.endpoint.name);
        tracing::warn!(
            endpoint = self.endpoint.name,
            sent = self.prompt_tokens,
            counted_by_server,
            "the endpoint seems to have cut the prompt; set its context_tokens to what the server has"
        );
    }
}

/// Also of a call that was cancelled: what came until then was paid for.
impl Drop for Call {
    fn drop(&mut self) {
        let used = self.prompt_tokens + self.reply_tokens;
        self.reservation.settle(used as u64);
        self.record.usage = Usage {
            prompt_tokens: Some(self.prompt_tokens as u64),
            completion_tokens: Some(self.reply_tokens as u64),
        };
    }
}

#[async_trait]
impl ChatModel for RoleModel {
    async fn stream(&self, request: &ChatRequest) -> ChatResult<DeltaStream> {
        let call = self.begin(request).await?;
        let next = |mut call: Call| async move {
            let delta = call.next().await?;
            Some((delta, call))
        };
        Ok(stream::unfold(call, next).boxed())
    }

    fn describe(&self) -> ModelDescription {
        self.endpoint.model.describe()
    }
}
