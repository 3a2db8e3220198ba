//! Endpoints, requests and scripts of these tests.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tributary_models::chat::budget::Budget;
use tributary_models::chat::config::EndpointConfig;
use tributary_models::chat::openai::OpenAiModel;
use tributary_models::chat::role_model::Endpoint;
use tributary_models::chat::{
    CallReport, ChatModel, ChatObserver, ChatRequest, Format, Message, Reason, Role, RoleModel,
    SharedObserver, Speaker,
};
use tributary_models::tokens::estimate::EstimatedTokens;

use crate::common::chat_config;

/// Long enough for any machine.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// An endpoint at this address; deadlines are long, pauses short.
pub fn endpoint(url: &str) -> EndpointConfig {
    EndpointConfig {
        url: url.to_owned(),
        model: "test-model".to_owned(),
        retry_pause_ms: 1,
        first_piece_timeout_ms: 120_000,
        piece_timeout_ms: 120_000,
        timeout_ms: 120_000,
        circuit_failures: 0,
        ..chat_config().endpoint
    }
}

/// What was told of calls, one line each.
#[derive(Default)]
pub struct Notes(Mutex<Vec<String>>);

impl Notes {
    /// The lines that begin so.
    pub fn of(&self, start: &str) -> Vec<String> {
        let lines = self.0.lock().unwrap();
        let begin_so = lines.iter().filter(|line| line.starts_with(start));
        begin_so.cloned().collect()
    }

    fn note(&self, line: String) {
        self.0.lock().unwrap().push(line);
    }
}

impl ChatObserver for Notes {
    fn first_piece(&self, role: Role, endpoint: &str, _: Duration) {
        self.note(format!("first piece {role} {endpoint}"));
    }

    fn call(&self, call: &CallReport<'_>) {
        let (tokens, usage) = (|count: Option<u64>| count.unwrap_or_default(), call.usage);
        let (sent, got) = (tokens(usage.prompt_tokens), tokens(usage.completion_tokens));
        let (role, endpoint, outcome) = (call.role, call.endpoint, call.outcome);
        self.note(format!("call {role} {endpoint} {outcome} {sent} {got}"));
    }

    fn attempt_failed(&self, endpoint: &str, reason: Reason) {
        self.note(format!("attempt {endpoint} {}", reason.as_str()));
    }

    fn prompt_cut(&self, endpoint: &str) {
        self.note(format!("cut {endpoint}"));
    }

    fn circuit(&self, endpoint: &str, is_open: bool) {
        self.note(format!("circuit {endpoint} {is_open}"));
    }
}

/// The client of an endpoint.
pub fn client(config: &EndpointConfig) -> Arc<dyn ChatModel> {
    Arc::new(OpenAiModel::new("test", config.clone()).unwrap())
}

/// A role at an endpoint, without a budget.
pub fn role(config: &EndpointConfig) -> RoleModel {
    role_of(client(config), config, &Arc::default())
}

/// A role around a model; what is told of its calls is noted.
pub fn role_of(
    model: Arc<dyn ChatModel>,
    config: &EndpointConfig,
    noted: &Arc<Notes>,
) -> RoleModel {
    let observer: SharedObserver = Arc::clone(noted) as _;
    let endpoint = Arc::new(Endpoint::new("test", model, config.clone(), &observer));
    RoleModel::new(
        Role::Answer,
        endpoint,
        Budget::new(0, 0),
        Arc::new(EstimatedTokens),
    )
}

/// A request.
pub fn request(text: &str) -> ChatRequest {
    ChatRequest {
        prompt: "test".to_owned(),
        messages: vec![
            Message::new(Speaker::System, "Answer in one sentence."),
            Message::new(Speaker::User, text),
        ],
        tools: Vec::new(),
        maximum_tokens: 40,
        temperature: Some(0.0),
        format: Format::Text,
        top_logprobs: 0,
        deadline: Some(Instant::now() + PATIENCE),
    }
}

/// Writes a script into a folder of this test.
pub fn script(entries: &serde_json::Value) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("script.json");
    std::fs::write(&file, entries.to_string()).unwrap();
    (folder, file)
}

/// Waits until a condition holds.
pub async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < deadline, "{what}: not within {PATIENCE:?}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
