//! A server that speaks OpenAI's chat completions: vLLM, Ollama, llama.cpp, DashScope, DeepSeek,
//! OpenAI. Every call streams, since only a streamed call can be broken off everywhere, and the
//! reply is joined here where a whole one is wanted. One attempt a call; a refusal that names a
//! field is followed by one without it (see [`super::capabilities`]).

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use futures::{StreamExt, TryStreamExt};
use reqwest::header::{CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use reqwest::{Client, Response, Url};
use serde_json::{Map, Value};
use tokio::time::{Instant, timeout_at};
use tributary_schemas::{Error, ErrorKind, Result};

use super::capabilities::Capabilities;
use super::config::{EndpointConfig, section};
use super::error::{ChatError, ChatResult, Reason};
use super::in_order::InOrder;
use super::refusal::{self, Refusal};
use super::reply::{Limits, Reply};
use super::request::{ChatRequest, Format, ModelDescription};
use super::wire;
use super::{ChatModel, DeltaStream};
use crate::http_client::{client, innermost};

/// Bytes of a refusal that are read.
const MAXIMUM_REFUSAL_BYTES: usize = 64 << 10;
/// Longest time for reading them.
const MAXIMUM_REFUSAL_TIME: Duration = Duration::from_secs(5);
const PATH: &str = "chat/completions";

/// The client of one endpoint.
pub struct OpenAiModel {
    endpoint: String,
    client: Client,
    url: Url,
    key: Option<HeaderValue>,
    extra: Map<String, Value>,
    capabilities: Mutex<Capabilities>,
    /// Whether a reply began with reasoning that no tag opened.
    reasons_unopened: Arc<AtomicBool>,
    config: EndpointConfig,
}

/// A setting of an endpoint that cannot be used.
fn invalid(endpoint: &str, key: &str, what: &dyn std::fmt::Display) -> Error {
    let message = format!("{}.{key}: {what}", section(endpoint));
    Error::new(ErrorKind::Invalid, message)
}

impl OpenAiModel {
    /// Prepares connections; makes none yet. `Invalid` for an address or a key that cannot be used.
    pub fn new(endpoint: &str, config: EndpointConfig) -> Result<Self> {
        let wrong = |key: &str, what: &dyn std::fmt::Display| invalid(endpoint, key, what);
        let url = address(&config.url).map_err(|what| wrong("url", &what))?;
        let key = key(&config).map_err(|what| wrong("api_key", &what))?;
        let extra = config
            .extra_fields()
            .map_err(|what| wrong("extra", &what))?;
        let connect_timeout = Duration::from_millis(config.connect_timeout_ms);
        let client = client(&url, connect_timeout).map_err(|what| wrong("url", &what))?;
        let capabilities =
            Capabilities::new(config.structured, config.length_field, config.thinking);
        Ok(Self {
            endpoint: endpoint.to_owned(),
            client,
            url,
            key,
            extra,
            capabilities: Mutex::new(capabilities),
            reasons_unopened: Arc::default(),
            config,
        })
    }

    /// What is sent now.
    pub fn capabilities(&self) -> Capabilities {
        *self.lock()
    }

    /// The key, which no message may hold: some servers say it back.
    fn secret(&self) -> Option<&str> {
        let header = self.key.as_ref()?.to_str().ok()?;
        header.strip_prefix("Bearer ")
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Capabilities> {
        self.capabilities
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// The head of a reply with status 200.
    async fn open(&self, request: &ChatRequest, until: Instant) -> ChatResult<Response> {
        loop {
            let used = self.capabilities();
            let response = self.send(request, used, until).await?;
            if response.status().is_success() {
                return Ok(response);
            }
            let refusal = read_refusal(response).await;
            if !self.step_down(used, request, &refusal) {
                return Err(refusal.into_error(&self.endpoint, &self.config.model));
            }
        }
    }

    async fn send(
        &self,
        request: &ChatRequest,
        capabilities: Capabilities,
        until: Instant,
    ) -> ChatResult<Response> {
        let body = wire::body(request, &self.config, &self.extra, capabilities);
        let body = InOrder(&body).to_string();
        let mut call = self
            .client
            .post(self.url.clone())
            .header(CONTENT_TYPE, "application/json")
            .body(body);
        if let Some(key) = &self.key {
            call = call.header(reqwest::header::AUTHORIZATION, key);
        }
        match timeout_at(until, call.send()).await {
            Ok(Ok(response)) => Ok(response),
            Ok(Err(error)) => Err(self.unreachable(&error)),
            Err(_) => Err(ChatError::new(
                Reason::Deadline,
                format!("endpoint `{}` did not answer in time", self.endpoint),
            )),
        }
    }

    /// Remembers to do without the field that a refusal names; `false` if it names none.
    fn step_down(&self, used: Capabilities, request: &ChatRequest, refusal: &Refusal) -> bool {
        if !matches!(refusal.status, 400 | 422) || refusal.reason() == Reason::TooLong {
            return false;
        }
        let asks_for_json = matches!(request.format, Format::Json(_));
        let field = self.config.thinking_field;
        let Some(next) = used.step_down(&refusal.body, asks_for_json, field) else {
            return false;
        };
        tracing::warn!(
            endpoint = self.endpoint,
            refusal = refusal.message().replace(self.secret().unwrap_or("\0"), "…"),
            now = ?next,
            "the endpoint refuses a field and is asked without it from now on"
        );
        *self.lock() = next;
        true
    }

    fn unreachable(&self, error: &reqwest::Error) -> ChatError {
        let cause = innermost(error);
        // A server that closes a kept connection just as it is used again looks the same.
        let message = format!("endpoint `{}` cannot be reached: {cause}", self.endpoint);
        let failed = ChatError::new(Reason::Unreachable, message);
        match refusal::hint(Reason::Unreachable, &self.endpoint, &self.config.model) {
            Some(hint) => failed.with_hint(hint),
            None => failed,
        }
    }
}

#[async_trait]
impl ChatModel for OpenAiModel {
    async fn stream(&self, request: &ChatRequest) -> ChatResult<DeltaStream> {
        let limits = Limits::new(&self.config, request);
        let response = self.open(request, limits.until()).await;
        let response = response.map_err(|failed| failed.without(self.secret()))?;
        let unopened = Arc::clone(&self.reasons_unopened);
        let reply = Reply::new(
            &self.endpoint,
            &self.config,
            response,
            limits,
            request,
            unopened,
        );
        let secret = self.secret().map(str::to_owned);
        let pieces = reply.into_stream();
        let safe = move |failed: ChatError| failed.without(secret.as_deref());
        Ok(pieces.map_err(safe).boxed())
    }

    fn describe(&self) -> ModelDescription {
        ModelDescription {
            endpoint: self.endpoint.clone(),
            model: self.config.model.clone(),
            address: shown(&self.url),
            context_tokens: self.config.context_tokens,
        }
    }
}

/// Where chat completions are.
pub(super) fn address(url: &str) -> std::result::Result<Url, String> {
    let unread = |error| format!("{error} (http://HOST:PORT/v1)");
    // One without a host would take the path for it.
    Url::parse(url).map_err(unread)?;
    let base = url.trim_end_matches('/');
    let base = base.strip_suffix(PATH).unwrap_or(base);
    let full = format!("{}/{PATH}", base.trim_end_matches('/'));
    let address = Url::parse(&full).map_err(unread)?;
    match address.scheme() {
        "http" | "https" => Ok(address),
        other => Err(format!("`{other}` is no scheme of HTTP")),
    }
}

/// The address without what may be secret.
fn shown(url: &Url) -> String {
    let port = url.port().map(|port| format!(":{port}"));
    format!(
        "{}://{}{}{}",
        url.scheme(),
        url.host_str().unwrap_or_default(),
        port.unwrap_or_default(),
        url.path().trim_end_matches(PATH)
    )
}

/// The header with the key, if there is one.
fn key(config: &EndpointConfig) -> std::result::Result<Option<HeaderValue>, String> {
    let key = match (config.api_key.reveal(), config.api_key_file.as_str()) {
        ("", "") => return Ok(None),
        ("", file) => tributary_schemas::files::read_to_string(file)
            .map_err(|error| format!("cannot read the file {file}: {error}"))?,
        (key, _) => key.to_owned(),
    };
    let key = key.trim();
    let header = HeaderValue::from_str(&format!("Bearer {key}")).ok();
    let mut header = header
        .filter(|_| !key.is_empty())
        .ok_or("it is no key of one line")?;
    header.set_sensitive(true);
    Ok(Some(header))
}

pub(crate) async fn read_refusal(mut response: Response) -> Refusal {
    let status = response.status().as_u16();
    let header = response.headers().get(RETRY_AFTER);
    let retry_after = header
        .and_then(|value| value.to_str().ok())
        .and_then(|value| refusal::retry_after(value, SystemTime::now()));
    let until = Instant::now() + MAXIMUM_REFUSAL_TIME;
    let mut body = Vec::new();
    // What was read until then says enough.
    while let Ok(Ok(Some(bytes))) = timeout_at(until, response.chunk()).await {
        body.extend_from_slice(&bytes);
        if body.len() >= MAXIMUM_REFUSAL_BYTES {
            break;
        }
    }
    Refusal {
        status,
        body: String::from_utf8_lossy(&body).into_owned(),
        retry_after,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn addresses_with_and_without_their_end_are_the_same() {
        let expected = "http://h:1/v1/chat/completions";
        for url in [
            "http://h:1/v1",
            "http://h:1/v1/",
            "http://h:1/v1/chat/completions",
        ] {
            assert_eq!(address(url).unwrap().as_str(), expected);
        }
        assert!(address("h:1/v1").is_err() && address("ftp://h/v1").is_err());
        assert!(address("").is_err() && address("http://").is_err());
    }

    #[test]
    fn an_address_is_shown_without_its_credentials() {
        let url = address("http://me:secret@h:1/v1").unwrap();
        assert_eq!(shown(&url), "http://h:1/v1/");
    }
}
