//! A model that replies with a text of its own for each question, and misbehaves on wish.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use futures::StreamExt;
use tributary_enrich::SummariesConfig;
use tributary_enrich::prompts::PROMPTS;
use tributary_enrich::writing::TextCounter;
use tributary_models::chat::budget::Budget;
use tributary_models::chat::config::EndpointConfig;
use tributary_models::chat::role_model::Endpoint;
use tributary_models::chat::{
    ChatConfig, ChatError, ChatModel, ChatRequest, ChatResult, Delta, DeltaStream, Ending, Finish,
    ModelDescription, Reason, Role, RoleModel, SharedObserver, Unobserved, Usage,
};
use tributary_models::prompts::Prompts;
use tributary_models::tokens::estimate::EstimatedTokens;

/// Calls at the same time.
pub const PARALLEL: usize = 4;

/// The model.
#[derive(Default)]
pub struct FakeModel {
    /// The field of its replies; `summary` for none.
    pub field: Option<&'static str>,
    /// Texts of the first replies; then those of its own.
    pub first_replies: Vec<String>,
    /// How the first attempts fail.
    pub first_failures: Vec<Reason>,
    /// Whether nothing is there.
    pub is_away: AtomicBool,
    /// How long it takes.
    pub delay: Duration,
    /// What was seen of the calls.
    pub seen: Seen,
}

/// What was seen of calls.
#[derive(Default)]
pub struct Seen {
    asked: Mutex<Vec<String>>,
    attempts: AtomicUsize,
    at_once: AtomicUsize,
    most_at_once: AtomicUsize,
}

impl FakeModel {
    /// The last message of each call that was answered.
    pub fn asked(&self) -> Vec<String> {
        self.seen.asked.lock().unwrap().clone()
    }

    /// Calls, answered or not.
    pub fn attempts(&self) -> usize {
        self.seen.attempts.load(Ordering::SeqCst)
    }

    /// The largest number of calls at the same time.
    pub fn most_at_once(&self) -> usize {
        self.seen.most_at_once.load(Ordering::SeqCst)
    }
}

#[async_trait]
impl ChatModel for FakeModel {
    async fn stream(&self, request: &ChatRequest) -> ChatResult<DeltaStream> {
        let attempt = self.seen.attempts.fetch_add(1, Ordering::SeqCst);
        if let Some(reason) = self.first_failures.get(attempt) {
            let failed = ChatError::new(*reason, "wanted");
            return Err(failed.with_retry_after(Some(Duration::from_millis(100))));
        }
        if self.is_away.load(Ordering::SeqCst) {
            return Err(ChatError::new(
                Reason::Unreachable,
                "the model is not there",
            ));
        }
        let at_once = self.seen.at_once.fetch_add(1, Ordering::SeqCst) + 1;
        self.seen.most_at_once.fetch_max(at_once, Ordering::SeqCst);
        tokio::time::sleep(self.delay).await;
        self.seen.at_once.fetch_sub(1, Ordering::SeqCst);
        let last = request.messages.last().unwrap().text.clone();
        let summary = {
            let mut asked = self.seen.asked.lock().unwrap();
            let first = self.first_replies.get(asked.len()).cloned();
            asked.push(last.clone());
            first.unwrap_or_else(|| format!("Summary {:.8}", blake3::hash(last.as_bytes())))
        };
        let field = self.field.unwrap_or("summary");
        let reply = serde_json::json!({ field: summary }).to_string();
        let ending = Ending {
            finish: Finish::Stop,
            usage: Usage::default(),
            model: "fake".to_owned(),
            calls: Vec::new(),
            logprobs: Vec::new(),
        };
        let pieces = [Ok(Delta::Text(reply)), Ok(Delta::End(ending))];
        Ok(futures::stream::iter(pieces).boxed())
    }

    fn describe(&self) -> ModelDescription {
        ModelDescription {
            endpoint: "test".to_owned(),
            model: "fake".to_owned(),
            address: String::new(),
            context_tokens: 8192,
        }
    }
}

/// The role `summarize` at this model.
pub fn role(model: &Arc<FakeModel>) -> Arc<RoleModel> {
    let defaults: toml::Table = include_str!("../../../cli/default.toml").parse().unwrap();
    let chat: ChatConfig = defaults["models"]["chat"].clone().try_into().unwrap();
    let config = EndpointConfig {
        model: "fake".to_owned(),
        context_tokens: 8192,
        parallel: PARALLEL,
        attempts: 1,
        circuit_failures: 0,
        ..chat.endpoint
    };
    let observer: SharedObserver = Arc::new(Unobserved);
    let endpoint = Endpoint::new("test", Arc::clone(model) as _, config, &observer);
    Arc::new(RoleModel::new(
        Role::Summarize,
        Arc::new(endpoint),
        Budget::new(0, 0),
        Arc::new(EstimatedTokens),
    ))
}

/// The built-in prompts.
pub fn prompts() -> Arc<Prompts> {
    Arc::new(Prompts::load(&[&PROMPTS], None).unwrap())
}

/// Settings with so much patience.
pub fn limited(patience_seconds: u64) -> SummariesConfig {
    SummariesConfig {
        input_tokens: 1500,
        patience_seconds,
    }
}

/// What a counter was told.
pub type Told = Arc<Mutex<Vec<&'static str>>>;

/// A counter, and what it was told.
pub fn counted() -> (Told, TextCounter) {
    let told = Told::default();
    let counter = {
        let told = Arc::clone(&told);
        Arc::new(move |by| told.lock().unwrap().push(by))
    };
    (told, counter)
}
