//! Requests to the cluster: one at a time with its time limit, again with pauses while the cluster
//! is away or has no room, failures in our kinds. Every request of this index is idempotent or
//! guarded by a sequence number, so that all may be sent twice.

use std::time::{Duration, Instant};

use bytes::Bytes;
use elasticsearch::auth::Credentials;
use elasticsearch::cert::{Certificate, CertificateValidation};
use elasticsearch::http::headers::{ACCEPT, ACCEPT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderValue};
use elasticsearch::http::transport::{MultiNodeConnectionPool, Transport, TransportBuilder};
use elasticsearch::http::{Method, Url};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tributary_schemas::{Error, ErrorKind, Result};

use super::config::Config;
use super::errors::{Failure, UNREACHABLE_HINT};

/// Media type of requests and answers: of version 8, which 9.x speaks too.
const JSON: &str = "application/vnd.elasticsearch+json; compatible-with=8";
/// Media type of a bulk request.
const NDJSON: &str = "application/vnd.elasticsearch+x-ndjson; compatible-with=8";
/// First pause before a request is sent again; doubles each time.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
/// Longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// The way to the cluster.
#[derive(Clone)]
pub struct Client {
    transport: Transport,
    timeout: Duration,
    patience: Duration,
}

/// What goes into a request's body.
#[derive(Clone)]
pub enum Body {
    /// Nothing.
    Empty,
    /// A JSON value.
    Json(Bytes),
    /// One JSON value a line.
    Lines(Bytes),
}

impl Body {
    /// Encodes a value.
    pub fn json(value: &impl Serialize) -> Result<Self> {
        let bytes = serde_json::to_vec(value).map_err(|error| {
            Error::new(
                ErrorKind::Internal,
                format!("cannot encode a request: {error}"),
            )
        })?;
        Ok(Self::Json(bytes.into()))
    }
}

/// One request.
#[derive(Clone)]
pub struct Request<'a> {
    /// What is being done, for messages: "cannot …".
    pub what: &'a str,
    /// Verb.
    pub method: Method,
    /// Path below the node's address.
    pub path: &'a str,
    /// Parameters.
    pub query: &'a [(&'a str, &'a str)],
    /// Body.
    pub body: Body,
}

/// Why an attempt did not work.
pub enum Attempt {
    /// The server answered with an error.
    Refused(Failure),
    /// There was no answer.
    Unanswered(Error),
}

impl Attempt {
    fn may_pass(&self) -> bool {
        match self {
            Self::Refused(failure) => failure.may_pass(),
            Self::Unanswered(_) => true,
        }
    }

    /// In our words.
    pub fn error(self, what: &str) -> Error {
        match self {
            Self::Refused(failure) => failure.error(what),
            Self::Unanswered(error) => error,
        }
    }
}

impl Client {
    /// Prepares connections; makes none yet. `Invalid` for files that cannot be read, without
    /// saying what is in them.
    pub fn new(config: &Config) -> Result<Self> {
        let urls = config.urls.iter().map(|url| {
            Url::parse(url).map_err(|error| {
                Error::new(
                    ErrorKind::Invalid,
                    format!("store.search_index.elasticsearch.urls: {url}: {error}"),
                )
            })
        });
        let pool = MultiNodeConnectionPool::round_robin(urls.collect::<Result<Vec<_>>>()?, None);
        let timeout = Duration::from_millis(config.request_timeout_ms);
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        let mut builder = TransportBuilder::new(pool)
            .timeout(timeout)
            .headers(headers)
            .enable_meta_header(false);
        if let Some(credentials) = credentials(config)? {
            builder = builder.auth(credentials);
        }
        if !config.ca_file.is_empty() {
            let certificate = certificate(&config.ca_file)?;
            builder = builder.cert_validation(CertificateValidation::Full(certificate));
        }
        let transport = builder.build().map_err(|error| {
            Error::new(
                ErrorKind::Invalid,
                format!("cannot prepare connections to Elasticsearch: {error}"),
            )
        })?;
        Ok(Self {
            transport,
            timeout,
            patience: Duration::from_millis(config.retry_ms),
        })
    }

    /// The same with other limits, for the question whether anybody is there.
    pub fn impatient(&self, timeout: Duration) -> Self {
        Self {
            timeout: timeout.min(self.timeout),
            patience: Duration::ZERO,
            ..self.clone()
        }
    }

    /// How long work that the cluster has no room for is tried again.
    pub fn patience(&self) -> Patience {
        Patience {
            until: Instant::now() + self.patience,
            pause: FIRST_PAUSE,
        }
    }

    /// The answer, decoded.
    pub async fn call<T: DeserializeOwned + Send + 'static>(
        &self,
        request: Request<'_>,
    ) -> Result<T> {
        let what = request.what;
        let bytes = self
            .send(request)
            .await
            .map_err(|attempt| attempt.error(what))?;
        decode(what, &bytes)
    }

    /// The same, `None` where what the path names does not exist.
    pub async fn find<T: DeserializeOwned + Send + 'static>(
        &self,
        request: Request<'_>,
    ) -> Result<Option<T>> {
        let what = request.what;
        match self.send(request).await {
            Ok(bytes) => decode(what, &bytes).map(Some),
            Err(Attempt::Refused(failure)) if failure.status == 404 => Ok(None),
            Err(attempt) => Err(attempt.error(what)),
        }
    }

    /// The answer's bytes; tries again for as long as the patience lasts.
    pub async fn send(&self, request: Request<'_>) -> std::result::Result<Bytes, Attempt> {
        let mut patience = self.patience();
        loop {
            match self.attempt(&request).await {
                Err(attempt) if attempt.may_pass() && patience.pause().await => {}
                result => return result,
            }
        }
    }

    async fn attempt(&self, request: &Request<'_>) -> std::result::Result<Bytes, Attempt> {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static(JSON));
        // Always sent by the client, also without a body, and both must be of one version.
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
        let body = match &request.body {
            Body::Empty => None,
            Body::Json(bytes) => Some(bytes.clone()),
            Body::Lines(bytes) => {
                headers.insert(CONTENT_TYPE, HeaderValue::from_static(NDJSON));
                Some(bytes.clone())
            }
        };
        let unanswered = |error: elasticsearch::Error| {
            Attempt::Unanswered(self.unanswered(request.what, &error))
        };
        let sent = self.transport.send(
            request.method,
            request.path,
            headers,
            Some(request.query),
            body,
            Some(self.timeout),
        );
        let response = sent.await.map_err(unanswered)?;
        let status = response.status_code().as_u16();
        let bytes = response.bytes().await.map_err(unanswered)?;
        if (200..300).contains(&status) {
            Ok(bytes)
        } else {
            Err(Attempt::Refused(Failure::of_answer(status, &bytes)))
        }
    }

    fn unanswered(&self, what: &str, error: &elasticsearch::Error) -> Error {
        let reason = if error.is_timeout() {
            format!("no answer within {} ms", self.timeout.as_millis())
        } else {
            let mut innermost: &dyn std::error::Error = error;
            while let Some(source) = innermost.source() {
                innermost = source;
            }
            innermost.to_string()
        };
        Error::new(
            ErrorKind::Unavailable,
            format!("{what}: Elasticsearch cannot be reached: {reason}"),
        )
        .with_hint(UNREACHABLE_HINT)
    }
}

/// Who we are to the servers; nobody in particular where nothing says so.
fn credentials(config: &Config) -> Result<Option<Credentials>> {
    Ok(if !config.api_key_file.is_empty() {
        let key = secret("api_key_file", &config.api_key_file)?;
        Some(Credentials::EncodedApiKey(key))
    } else if !config.username.is_empty() {
        let password = secret("password_file", &config.password_file)?;
        Some(Credentials::Basic(config.username.clone(), password))
    } else {
        None
    })
}

fn certificate(file: &str) -> Result<Certificate> {
    let wrong = |error: &dyn std::fmt::Display| {
        Error::new(
            ErrorKind::Invalid,
            format!("store.search_index.elasticsearch.ca_file: {file}: {error}"),
        )
    };
    let pem = tributary_schemas::files::read(file).map_err(|error| wrong(&error))?;
    Certificate::from_pem(&pem).map_err(|error| wrong(&error))
}

/// Pauses that grow, until the time is over.
pub struct Patience {
    until: Instant,
    pause: Duration,
}

impl Patience {
    /// Waits; `false` at once when the time is over.
    pub async fn pause(&mut self) -> bool {
        if Instant::now() + self.pause > self.until {
            return false;
        }
        tokio::time::sleep(self.pause).await;
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
        true
    }
}

fn decode<T: DeserializeOwned>(what: &str, bytes: &[u8]) -> Result<T> {
    serde_json::from_slice(bytes).map_err(|error| {
        Error::new(
            ErrorKind::Corrupt,
            format!("{what}: the answer of Elasticsearch cannot be read: {error}"),
        )
        .of_environment()
    })
}

fn secret(key: &str, path: &str) -> Result<String> {
    let text = tributary_schemas::files::read_to_string(path).map_err(|error| {
        Error::new(
            ErrorKind::Invalid,
            format!("store.search_index.elasticsearch.{key}: cannot read {path}: {error}"),
        )
    })?;
    let secret = text.trim();
    // The client would panic on a key that is no header value.
    if secret.is_empty() || HeaderValue::from_str(secret).is_err() {
        return Err(Error::new(
            ErrorKind::Invalid,
            format!("store.search_index.elasticsearch.{key}: {path} holds no secret of one line"),
        ));
    }
    Ok(secret.to_owned())
}
