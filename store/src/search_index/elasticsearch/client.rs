//! Requests to the cluster: one at a time with its time limit, again with pauses while the cluster
//! is away or has no room, failures in our kinds. Every request of this index is idempotent or
//! guarded by a sequence number, so that all may be sent twice.

use std::sync::Arc;
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
use super::silence::Silence;

/// Media type of requests and answers: of version 8, which 9.x speaks too.
const JSON: &str = "application/vnd.elasticsearch+json; compatible-with=8";
/// Media type of a bulk request.
const NDJSON: &str = "application/vnd.elasticsearch+x-ndjson; compatible-with=8";
/// First pause before a request is sent again; doubles each time.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
/// Longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
/// How long a question waits while the cluster answers nobody; then it is not tried again either.
const WHILE_SILENT: Duration = Duration::from_secs(2);

/// The way to the cluster.
#[derive(Clone)]
pub struct Client {
    transport: Transport,
    timeout: Duration,
    patience: Duration,
    silence: Arc<Silence>,
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

impl Request<'_> {
    /// Whether it changes nothing: somebody waits for the answer, and can ask again.
    fn is_question(&self) -> bool {
        let last = self.path.rsplit('/').next().unwrap_or_default();
        matches!(self.method, Method::Get | Method::Head)
            || matches!(last, "_search" | "_msearch" | "_mget" | "_count")
    }
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
            silence: Arc::new(Silence::new(WHILE_SILENT)),
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

    /// The answer's bytes; tries again for as long as the patience lasts. While the cluster is
    /// known to answer nobody, a question is tried once, for a short time.
    pub async fn send(&self, request: Request<'_>) -> std::result::Result<Bytes, Attempt> {
        if request.is_question() && self.silence.lasts() {
            let hasty = self.impatient(self.silence.limit());
            return hasty.attempt(&request).await;
        }
        let mut patience = self.patience();
        loop {
            match self.attempt(&request).await {
                Err(attempt) if attempt.may_pass() && patience.pause().await => {}
                Err(Attempt::Unanswered(error)) if !self.patience.is_zero() => {
                    self.silence.begins();
                    return Err(Attempt::Unanswered(error));
                }
                result => return result,
            }
        }
    }

    async fn attempt(&self, request: &Request<'_>) -> std::result::Result<Bytes, Attempt> {
        let waiting = self.silence.waiting();
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
        let response = match sent.await {
            Ok(response) => response,
            Err(error) if error.is_timeout() => return Err(unanswered(error)),
            Err(error) => {
                waiting.refused();
                return Err(unanswered(error));
            }
        };
        waiting.answered();
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;

    use super::*;

    /// A server that hangs for as long as it is told to.
    fn hanging() -> (String, Arc<AtomicBool>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let hangs = Arc::new(AtomicBool::new(true));
        let told = Arc::clone(&hangs);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (mut stream, told) = (stream.unwrap(), Arc::clone(&told));
                thread::spawn(move || {
                    let mut bytes = [0; 4096];
                    while stream.read(&mut bytes).is_ok_and(|count| count > 0) {
                        if !told.load(Ordering::Acquire) {
                            let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-type: application/json\r\n\r\n{}";
                            stream.write_all(answer).unwrap();
                        }
                    }
                });
            }
        });
        (url, hangs)
    }

    fn client(url: &str, request_timeout_ms: u64) -> Client {
        let config = serde_json::json!({
            "urls": [url], "index_prefix": "test", "username": "", "password_file": "",
            "api_key_file": "", "ca_file": "", "shards": 1, "replicas": 0,
            "replicas_while_loading": 0, "vector_index": "flat", "oversample": 5.0,
            "durability": "request", "delete_memory_seconds": 3600, "bulk_bytes": 8 << 20,
            "bulk_documents": 500, "bulk_concurrency": 2,
            "request_timeout_ms": request_timeout_ms, "retry_ms": 500,
        });
        Client::new(&serde_json::from_value(config).unwrap()).unwrap()
    }

    async fn asked(client: &Client, method: Method) -> String {
        let request = Request {
            what: "cannot ask",
            method,
            path: "/one",
            query: &[],
            body: Body::Empty,
        };
        match client.call::<serde_json::Value>(request).await {
            Ok(answer) => answer.to_string(),
            Err(error) => error.to_string(),
        }
    }

    #[tokio::test]
    async fn questions_to_a_cluster_that_answers_nobody_wait_a_short_time_until_it_answers() {
        let (url, hangs) = hanging();
        let mut client = client(&url, 900);
        client.silence = Arc::new(Silence::new(Duration::from_millis(200)));
        let said = |limit: u32| format!("no answer within {limit} ms");
        let first = asked(&client, Method::Get).await;
        assert!(first.contains(&said(900)), "{first}");
        let second = asked(&client, Method::Get).await;
        assert!(second.contains(&said(200)), "{second}");
        // What changes something is given all of its time.
        let change = asked(&client, Method::Put).await;
        assert!(change.contains(&said(900)), "{change}");

        hangs.store(false, Ordering::Release);
        assert_eq!(asked(&client, Method::Get).await, "{}");
        hangs.store(true, Ordering::Release);
        let again = asked(&client, Method::Get).await;
        assert!(again.contains(&said(900)), "{again}");
    }

    #[tokio::test]
    async fn a_question_that_is_given_up_while_it_waits_tells_of_the_silence() {
        let (url, _hangs) = hanging();
        let mut client = client(&url, 10_000);
        client.silence = Arc::new(Silence::new(Duration::from_millis(200)));
        let given_up =
            tokio::time::timeout(Duration::from_millis(400), asked(&client, Method::Get));
        assert!(given_up.await.is_err());
        let next = asked(&client, Method::Get).await;
        assert!(next.contains("no answer within 200 ms"), "{next}");
    }
}
