//! Reads request bodies within limits of size, pace and memory, and turns whatever is wrong with
//! them into a problem that names it. Used by every route with a body.

use std::time::{Duration, Instant};

use actix_web::http::header;
use actix_web::{HttpMessage, HttpRequest, web};
use bytes::{Bytes, BytesMut};
use futures::StreamExt;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::json;
use tributary_schemas::Filter;

use super::budget::{FORM_COPIES, JSON_COPIES, Share};
use super::trace::Progress;
use super::words::{in_words, probably_meant};
use crate::config::ServerConfig;
use crate::problem::{Code, Problem};
use crate::server::ServerState;

/// Bodies up to this size are parsed where they are; larger ones on a blocking thread.
const QUICK_BYTES: usize = 64 * 1024;
/// Pieces of a body that is not needed in one: each is freed when it is done with.
const BLOCK_BYTES: usize = 256 * 1024;
/// How long the rest of a body that is refused is read and thrown away, so that the sender gets to
/// read the answer.
const DRAIN: Duration = Duration::from_secs(5);

/// Media type of the request without parameters, lowercase; empty when it has none.
pub fn media_type(request: &HttpRequest) -> String {
    let value = request
        .headers()
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    value
        .split(';')
        .next()
        .unwrap_or_default()
        .trim()
        .to_ascii_lowercase()
}

/// A body on its way in. It holds its share of the memory for bodies, so it is kept for as long as
/// what was made of it.
pub struct Incoming {
    payload: web::Payload,
    limit_bytes: usize,
    declared_bytes: usize,
    received_bytes: usize,
    share: Share,
    pace: Pace,
    /// Told of each part where the time for the answer starts with the last one.
    progress: Option<Progress>,
}

/// How slowly a body may come.
struct Pace {
    started: Instant,
    idle: Duration,
    /// For any body, however small.
    base: Duration,
    bytes_per_second: u64,
}

impl Incoming {
    /// A body of any request but a publication.
    pub fn small(state: &ServerState, request: &HttpRequest, payload: web::Payload) -> Self {
        Self::new(state, request, payload, state.config.request_limit_bytes)
    }

    /// A document. It may take its time while it makes progress.
    pub fn document(state: &ServerState, request: &HttpRequest, payload: web::Payload) -> Self {
        let progress = request.extensions().get::<Progress>().cloned();
        Self {
            progress,
            ..Self::new(state, request, payload, state.config.document_limit_bytes)
        }
    }

    fn new(
        state: &ServerState,
        request: &HttpRequest,
        payload: web::Payload,
        limit_bytes: usize,
    ) -> Self {
        let declared = request
            .headers()
            .get(header::CONTENT_LENGTH)
            .and_then(|length| length.to_str().ok()?.parse().ok());
        Self {
            payload,
            limit_bytes,
            declared_bytes: declared.unwrap_or(0),
            received_bytes: 0,
            share: state.bodies.share(),
            pace: Pace::new(&state.config),
            progress: None,
        }
    }

    /// The whole body in one piece, to be parsed as JSON or the like.
    pub async fn read(&mut self) -> Result<Bytes, Problem> {
        let mut body = BytesMut::new();
        self.each_part(JSON_COPIES, |part| body.extend_from_slice(part))
            .await?;
        Ok(body.freeze())
    }

    /// The whole body in pieces, to be parsed one after the other.
    pub async fn read_blocks(&mut self) -> Result<Vec<Bytes>, Problem> {
        let mut blocks = Vec::new();
        let mut block = BytesMut::new();
        self.each_part(FORM_COPIES, |part| {
            block.extend_from_slice(part);
            if block.len() >= BLOCK_BYTES {
                blocks.push(std::mem::take(&mut block).freeze());
            }
        })
        .await?;
        blocks.push(block.freeze());
        Ok(blocks)
    }

    async fn each_part(
        &mut self,
        copies: usize,
        mut take: impl FnMut(&[u8]),
    ) -> Result<(), Problem> {
        if let Err(problem) = self.admit(self.declared_bytes, copies) {
            return self.refuse(problem).await;
        }
        loop {
            let Ok(part) = tokio::time::timeout(self.pace.idle, self.payload.next()).await else {
                return Err(self.pace.too_slow(self.received_bytes));
            };
            let Some(part) = part else { return Ok(()) };
            let part = part.map_err(|error| {
                Problem::new(Code::MalformedBody, format!("body did not arrive: {error}"))
            })?;
            self.received_bytes += part.len();
            if let Err(problem) = self.admit(self.received_bytes, copies) {
                return self.refuse(problem).await;
            }
            self.pace.check(self.received_bytes)?;
            if let Some(progress) = &self.progress {
                progress.note();
            }
            take(&part);
        }
    }

    fn admit(&mut self, bytes: usize, copies: usize) -> Result<(), Problem> {
        if bytes > self.limit_bytes {
            let hint = "send less, or raise `query_api.server.document_limit_bytes` (documents) or `request_limit_bytes` (all else) there";
            return Err(Problem::new(
                Code::BodyTooLarge,
                format!("body is larger than {} bytes", self.limit_bytes),
            )
            .with_hint(hint));
        }
        self.share.grow_to(bytes, copies)
    }

    async fn refuse(&mut self, problem: Problem) -> Result<(), Problem> {
        let rest = async { while let Some(Ok(_)) = self.payload.next().await {} };
        if tokio::time::timeout(DRAIN, rest).await.is_err() {
            tracing::debug!("sender of a refused body kept sending");
        }
        Err(problem)
    }
}

impl Pace {
    fn new(config: &ServerConfig) -> Self {
        Self {
            started: Instant::now(),
            idle: Duration::from_millis(config.body_idle_timeout_ms),
            base: Duration::from_millis(config.request_timeout_ms),
            bytes_per_second: config.body_minimum_bytes_per_second,
        }
    }

    /// The longer a body takes, the more of it must have come.
    fn check(&self, received_bytes: usize) -> Result<(), Problem> {
        let earned = Duration::from_millis(
            (received_bytes as u64).saturating_mul(1000) / self.bytes_per_second.max(1),
        );
        if self.started.elapsed() > self.base + earned {
            Err(self.too_slow(received_bytes))
        } else {
            Ok(())
        }
    }

    fn too_slow(&self, received_bytes: usize) -> Problem {
        let what = format!(
            "{received_bytes} bytes of the body came within {} ms",
            self.started.elapsed().as_millis()
        );
        let hint = "send it faster, or change `query_api.server.body_idle_timeout_ms` or `body_minimum_bytes_per_second` there";
        Problem::new(Code::BodyTooSlow, what).with_hint(hint)
    }
}

/// The body as JSON. The content type must say so.
pub async fn read_json<T>(
    state: &ServerState,
    request: &HttpRequest,
    payload: web::Payload,
) -> Result<T, Problem>
where
    T: DeserializeOwned + Send + 'static,
{
    let media_type = media_type(request);
    if media_type != "application/json" && !media_type.ends_with("+json") {
        return Err(unsupported_media_type(&media_type, "application/json"));
    }
    let mut incoming = Incoming::small(state, request, payload);
    parse_json(incoming.read().await?).await
}

/// Parses JSON, a large one on a blocking thread.
pub async fn parse_json<T: DeserializeOwned + Send + 'static>(body: Bytes) -> Result<T, Problem> {
    if body.len() <= QUICK_BYTES {
        return parse_object(&body);
    }
    let parsing = tokio::task::spawn_blocking(move || parse_object(&body));
    parsing
        .await
        .map_err(|error| Problem::new(Code::Internal, format!("parser stopped: {error}")))?
}

/// serde would also take an array, its elements being the fields in their order; nobody means that.
fn parse_object<T: DeserializeOwned>(body: &[u8]) -> Result<T, Problem> {
    let value = serde_json::from_slice(body).map_err(|error| json_problem(&error, body))?;
    if body.trim_ascii_start().first() != Some(&b'{') {
        return Err(Problem::new(
            Code::Invalid,
            "body does not follow its schema: it is no JSON object",
        ));
    }
    Ok(value)
}

/// A condition that stands beside `filter` and belongs into it.
fn condition(message: &str) -> Option<String> {
    let mut names = message.split('`').skip(1).step_by(2);
    let unknown = names.next()?;
    let values = [json!([]), json!({}), json!(0)];
    let is_condition = values
        .into_iter()
        .any(|value| serde_json::from_value::<Filter>(json!({unknown: value})).is_ok());
    let takes_conditions = names.any(|known| known == "filter");
    (is_condition && takes_conditions)
        .then(|| format!("put `{unknown}` into `filter`: conditions on documents stand there; "))
}

fn json_problem(error: &serde_json::Error, body: &[u8]) -> Problem {
    let text = in_words(&error.to_string());
    // A number where a name is expected is an error of syntax to serde_json.
    let text_of_body = std::str::from_utf8(body).ok();
    let is_json = text_of_body.is_some_and(|body| serde_json::from_str::<IgnoredAny>(body).is_ok());
    if (error.is_syntax() || error.is_eof()) && !is_json {
        return Problem::new(Code::MalformedBody, format!("body is not JSON: {text}"));
    }
    if text.starts_with("unknown field") {
        let meant = probably_meant(&text).map(|name| format!("did you mean `{name}`? "));
        let hint = meant.or_else(|| condition(&text)).unwrap_or_default()
            + "the schema is at /openapi.json";
        return Problem::new(Code::UnknownField, text).with_hint(hint);
    }
    Problem::new(
        Code::Invalid,
        format!("body does not follow its schema: {text}"),
    )
    .with_hint("the schema is at /openapi.json")
}

/// The content type is none that the route reads.
pub fn unsupported_media_type(found: &str, accepted: &str) -> Problem {
    let found = if found.is_empty() {
        "no content type"
    } else {
        found
    };
    Problem::new(
        Code::UnsupportedMediaType,
        format!("{found} is not supported here"),
    )
    .with_hint(format!("send {accepted}"))
}
