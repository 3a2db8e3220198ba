//! One request to a service and its answer: bounded in size, no redirects, JSON or nothing. Messages
//! name neither address nor path; of a refusal they quote what its JSON says.

use bytes::Bytes;
use reqwest::header::{
    ACCEPT, AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HOST, HeaderName, HeaderValue,
    TRANSFER_ENCODING,
};
use reqwest::{Client, RequestBuilder, Response, StatusCode, Url};
use serde_json::Value;

use super::{ServiceSettings, invalid};
use crate::Result;
use crate::chat::config::Key;
use crate::chat::openai::read_refusal;
use crate::chat::refusal::{Refusal, words_of};
use crate::chat::{ChatError, ChatResult, Reason};
use crate::http_client::{client, innermost};

const JSON: &str = "application/json";
/// Characters of a service's words that a message quotes.
const MAXIMUM_QUOTED_CHARACTERS: usize = 200;

/// Sends bodies to one address.
pub(super) struct Exchange {
    client: Client,
    url: Url,
    key: Option<HeaderValue>,
    header: Option<(HeaderName, HeaderValue)>,
    /// What is never quoted: key, address, query.
    secrets: Vec<String>,
    maximum_reply_bytes: usize,
}

impl Exchange {
    /// Makes no connection yet.
    pub fn new(settings: &ServiceSettings) -> Result<Self> {
        let url = address(&settings.url)?;
        let client = client(&url, settings.connect_timeout).map_err(|what| invalid("url", what))?;
        let key = settings
            .key
            .as_ref()
            .map(|key| key.reveal().trim().to_owned());
        let query = url.query().map(str::to_owned);
        let header = settings.header.as_ref().map(header).transpose()?;
        let value = header.as_ref().and_then(|(_, value)| value.to_str().ok());
        let value = value.map(str::to_owned);
        let secrets = key.into_iter().chain([url.to_string()]).chain(query);
        let secrets = secrets.chain(value);
        Ok(Self {
            secrets: secrets.collect(),
            client,
            url,
            key: settings.key.as_ref().map(bearer).transpose()?,
            header,
            maximum_reply_bytes: settings.maximum_reply_bytes,
        })
    }

    /// The answer's body; none where there is none to come. Dropping this ends the connection.
    pub async fn send(&self, body: Bytes) -> ChatResult<Option<Vec<u8>>> {
        let response = self.request(body).send().await.map_err(|error| {
            let message = format!("cannot be reached: {}", innermost(&error));
            ChatError::new(Reason::Unreachable, message)
        })?;
        let status = response.status();
        match status {
            StatusCode::NO_CONTENT => Ok(None),
            _ if status.is_success() => self.read(response).await.map(Some),
            _ if status.is_redirection() => Err(ChatError::new(
                Reason::Refused,
                format!("answered {}: redirects are not followed", status.as_u16()),
            )),
            _ => Err(self.refused(read_refusal(response).await)),
        }
    }

    fn request(&self, body: Bytes) -> RequestBuilder {
        let call = self
            .client
            .post(self.url.clone())
            .header(CONTENT_TYPE, JSON)
            .header(ACCEPT, JSON)
            .body(body);
        let call = match &self.key {
            Some(key) => call.header(AUTHORIZATION, key),
            None => call,
        };
        match &self.header {
            Some((name, value)) => call.header(name, value),
            None => call,
        }
    }

    fn refused(&self, refusal: Refusal) -> ChatError {
        let secrets = self.secrets.iter().map(String::as_str);
        refused(refusal, &secrets.collect::<Vec<_>>())
    }

    async fn read(&self, mut response: Response) -> ChatResult<Vec<u8>> {
        check_media_type(&response)?;
        let announced = response.content_length().unwrap_or(0);
        if announced > self.maximum_reply_bytes as u64 {
            return Err(self.too_large());
        }
        let mut body = Vec::new();
        while let Some(piece) = response.chunk().await.map_err(|error| broken_off(&error))? {
            if body.len() + piece.len() > self.maximum_reply_bytes {
                return Err(self.too_large());
            }
            body.extend_from_slice(&piece);
        }
        if body.is_empty() {
            let message = "answered with an empty body (204 says that nothing changes)";
            return Err(ChatError::new(Reason::Empty, message));
        }
        Ok(body)
    }

    fn too_large(&self) -> ChatError {
        let limit = self.maximum_reply_bytes;
        let message = format!("answered with more than the limit of {limit} bytes");
        ChatError::new(Reason::TooLarge, message)
    }
}

/// Only an address that can be shown: credentials have a file.
fn address(url: &str) -> Result<Url> {
    let example = "such as \"http://127.0.0.1:9000/clean\"";
    let address = Url::parse(url).map_err(|error| {
        invalid("url", format!("is no address: {error}")).with_hint(format!("write one {example}"))
    })?;
    if !matches!(address.scheme(), "http" | "https") {
        let scheme = address.scheme();
        return Err(invalid(
            "url",
            format!("has the scheme `{scheme}`, which is not HTTP"),
        )
        .with_hint(format!("write an address {example}")));
    }
    if !address.username().is_empty() || address.password().is_some() {
        return Err(invalid("url", "has credentials in it")
            .with_hint("put the key into a file and name it with `key_file`"));
    }
    Ok(address)
}

fn bearer(key: &Key) -> Result<HeaderValue> {
    let key = key.reveal().trim();
    let header = HeaderValue::from_str(&format!("Bearer {key}")).ok();
    let mut header = header
        .filter(|_| !key.is_empty())
        .ok_or_else(|| invalid("key_file", "holds no key of one line"))?;
    header.set_sensitive(true);
    Ok(header)
}

/// Messages never quote it.
fn header(text: &Key) -> Result<(HeaderName, HeaderValue)> {
    let wrong =
        |what: &str| invalid("header_file", what).with_hint("one line, such as `X-Api-Key: …`");
    let line = text.reveal().trim();
    let (name, value) = line
        .split_once(':')
        .ok_or_else(|| wrong("holds no line `Name: value`"))?;
    let name = HeaderName::from_bytes(name.trim().as_bytes());
    let name = name.map_err(|_| wrong("has a name that is none of a header"))?;
    if [
        CONTENT_TYPE,
        CONTENT_LENGTH,
        HOST,
        TRANSFER_ENCODING,
        ACCEPT,
    ]
    .contains(&name)
    {
        return Err(wrong(
            "names a header that says how a request is to be read",
        ));
    }
    let value = value.trim();
    let mut value = HeaderValue::from_str(value)
        .ok()
        .filter(|_| !value.is_empty())
        .ok_or_else(|| wrong("holds no value of one line"))?;
    value.set_sensitive(true);
    Ok((name, value))
}

/// An error page is no answer, whatever its status.
fn check_media_type(response: &Response) -> ChatResult<()> {
    let Some(named) = response.headers().get(CONTENT_TYPE) else {
        return Ok(());
    };
    let named = String::from_utf8_lossy(named.as_bytes());
    if named.contains("json") {
        return Ok(());
    }
    let shown: String = named.chars().take(80).collect();
    let message = format!("answered with `{shown}` instead of JSON");
    Err(ChatError::new(Reason::Malformed, message))
}

fn broken_off(error: &reqwest::Error) -> ChatError {
    let message = format!("broke off its answer: {}", innermost(error));
    ChatError::new(Reason::BrokenOff, message)
}

/// Services echo what they were sent: neither key nor address is quoted, and no sign that nobody sees.
fn refused(refusal: Refusal, secrets: &[&str]) -> ChatError {
    let reason = match refusal.status {
        429 => Reason::RateLimited,
        408 | 500..=599 => Reason::Overloaded,
        401 | 403 => Reason::Denied,
        _ => Reason::Refused,
    };
    let words = serde_json::from_str::<Value>(&refusal.body)
        .ok()
        .and_then(|json| words_of(&json));
    let words = words.map_or_else(String::new, |words| {
        let seen = |sign: &char| sign.is_whitespace() || !sign.is_control();
        let seen: String = words.chars().filter(seen).collect();
        let mut line = seen.split_whitespace().collect::<Vec<_>>().join(" ");
        for secret in secrets.iter().filter(|secret| !secret.is_empty()) {
            line = line.replace(secret, "…");
        }
        let quoted: String = line.chars().take(MAXIMUM_QUOTED_CHARACTERS).collect();
        format!(": {quoted}")
    });
    let message = format!("answered {}{words}", refusal.status);
    ChatError::new(reason, message).with_retry_after(refusal.retry_after)
}
