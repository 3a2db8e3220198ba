//! One request to a service and its reply as JSON: within a deadline, bounded in size, without
//! redirects or proxies, and to public addresses unless others are allowed.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::HeaderValue;
use reqwest::redirect::Policy;
use reqwest::{Certificate, Client, RequestBuilder, Response, Url};
use serde_json::Value;
use tributary_schemas::{Error, ErrorKind, Result};

use super::addresses::{PublicNames, is_public};
use super::config::LiveConfig;
use super::{LiveResult, taken};

/// What stands before the name of every setting of answers.
pub const SECTION: &str = "query_api.answer.";

/// The way to one service.
pub struct Exchange {
    pub client: Client,
    /// Where it is searched.
    pub url: Url,
    /// Of the header `Authorization`, if there is a key.
    pub key: Option<HeaderValue>,
    deadline: Duration,
    maximum_reply_bytes: usize,
    results: usize,
    text_characters: usize,
}

/// Names of the fields of a result.
pub struct Fields {
    pub text: &'static str,
    pub published: &'static str,
}

impl Exchange {
    /// Makes no connection yet.
    pub fn new(config: &LiveConfig) -> Result<Self> {
        let url = address(config)?;
        let deadline = Duration::from_millis(config.deadline_ms);
        let mut client = Client::builder()
            .connect_timeout(deadline)
            .redirect(Policy::none())
            .no_proxy()
            .user_agent("tributary");
        if !config.allow_private_addresses {
            client = client.dns_resolver(Arc::new(PublicNames));
        }
        let certificates = match url.scheme() {
            "https" => rustls_native_certs::load_native_certs().certs,
            _ => Vec::new(),
        };
        for certificate in certificates {
            if let Ok(certificate) = Certificate::from_der(&certificate) {
                client = client.add_root_certificate(certificate);
            }
        }
        let client = client.build();
        Ok(Self {
            client: client.map_err(|error| invalid("url", format!("cannot be used: {error}")))?,
            url,
            key: key(config)?,
            deadline,
            maximum_reply_bytes: config.maximum_reply_bytes,
            results: config.results,
            text_characters: config.text_characters,
        })
    }

    /// Results of a reply: objects in its list `results`.
    pub async fn results(
        &self,
        request: RequestBuilder,
        fields: &Fields,
    ) -> Result<Vec<LiveResult>> {
        let replied = tokio::time::timeout(self.deadline, self.reply(request)).await;
        let Ok(reply) = replied else {
            let ms = self.deadline.as_millis();
            return Err(failed(format!("it did not answer within {ms} ms")));
        };
        let reply = reply?;
        let Some(items) = reply.get("results").and_then(Value::as_array) else {
            return Err(failed("its reply has no list of results"));
        };
        let text = |item: &Value, name: &str| {
            let text = item.get(name).and_then(Value::as_str);
            text.map(str::to_owned)
        };
        let results = items.iter().filter_map(|item| {
            let published = text(item, fields.published);
            taken(
                text(item, "title").as_deref().unwrap_or(""),
                text(item, "url").as_deref()?,
                text(item, fields.text).as_deref()?,
                published.as_deref(),
                self.text_characters,
            )
        });
        Ok(results.take(self.results).collect())
    }

    async fn reply(&self, request: RequestBuilder) -> Result<Value> {
        let sent = request.send().await;
        let response =
            sent.map_err(|error| failed(format!("it cannot be reached: {}", innermost(&error))))?;
        let status = response.status();
        if status.is_redirection() {
            let status = status.as_u16();
            return Err(failed(format!(
                "it answered {status}: redirects are not followed"
            )));
        }
        if !status.is_success() {
            return Err(failed(format!("it answered {}", status.as_u16())));
        }
        let body = self.body(response).await?;
        serde_json::from_slice(&body).map_err(|_| failed("its reply is no JSON"))
    }

    async fn body(&self, mut response: Response) -> Result<Vec<u8>> {
        let limit = self.maximum_reply_bytes;
        let mut body = Vec::new();
        loop {
            let piece = response.chunk().await;
            let piece = piece
                .map_err(|error| failed(format!("its reply broke off: {}", innermost(&error))))?;
            let Some(piece) = piece else {
                return Ok(body);
            };
            if body.len() + piece.len() > limit {
                return Err(failed(format!("its reply has more than {limit} bytes")));
            }
            body.extend_from_slice(&piece);
        }
    }
}

/// `/search` below the address of the settings.
/// Where the service is.
pub fn address(config: &LiveConfig) -> Result<Url> {
    let base = config.url.trim().trim_end_matches('/');
    let parsed = Url::parse(&format!("{base}/search"));
    let url = parsed.map_err(|error| invalid("url", format!("is no address: {error}")))?;
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err(invalid("url", "is no address of HTTP"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(invalid("url", "has credentials in it")
            .with_hint("put the key into a file and name it with `api_key_file`"));
    }
    let host = url.host_str().unwrap_or_default();
    let literal = host.trim_start_matches('[').trim_end_matches(']');
    let is_private = literal
        .parse()
        .is_ok_and(|address: IpAddr| !is_public(address));
    if is_private && !config.allow_private_addresses {
        return Err(invalid("url", "is a private address")
            .with_hint("set query_api.answer.live.allow_private_addresses, if it is yours"));
    }
    Ok(url)
}

fn key(config: &LiveConfig) -> Result<Option<HeaderValue>> {
    let key = match (config.api_key.reveal(), config.api_key_file.as_str()) {
        ("", "") => return Ok(None),
        ("", file) => tributary_schemas::files::read_to_string(file)
            .map_err(|error| invalid("api_key_file", format!("{file} cannot be read: {error}")))?,
        (key, _) => key.to_owned(),
    };
    let key = key.trim();
    let header = HeaderValue::from_str(&format!("Bearer {key}")).ok();
    let header = header.filter(|_| !key.is_empty());
    let mut header = header.ok_or_else(|| invalid("api_key", "is no key of one line"))?;
    header.set_sensitive(true);
    Ok(Some(header))
}

/// What was at the bottom of it; the layers above name the address.
fn innermost(error: &reqwest::Error) -> String {
    let mut innermost: &dyn std::error::Error = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    match std::ptr::addr_eq(innermost, error) {
        true => "no reason is known".to_owned(),
        false => innermost.to_string(),
    }
}

fn failed(what: impl Into<String>) -> Error {
    Error::new(ErrorKind::Unavailable, what.into())
}

fn invalid(key: &str, what: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::Invalid, format!("{SECTION}live.{key} {what}"))
}
