//! Reads request bodies within a limit and turns whatever is wrong with them into a problem that names it. Used by every route with
//! a body.

use std::time::Duration;

use actix_web::http::header;
use actix_web::{HttpRequest, web};
use bytes::{Bytes, BytesMut};
use futures::StreamExt;
use serde::de::DeserializeOwned;

use crate::problem::{Code, Problem};

/// Bodies up to this size are parsed where they are; larger ones on a blocking thread.
const QUICK_BYTES: usize = 64 * 1024;
/// How long the rest of a body over the limit is read and thrown away, so that the sender gets to read the answer.
const DRAIN: Duration = Duration::from_secs(5);

/// Media type of the request without parameters, lowercase; empty when it has none.
pub fn media_type(request: &HttpRequest) -> String {
    let value = request.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// The whole body.
pub async fn read(mut payload: web::Payload, limit_bytes: usize) -> Result<Bytes, Problem> {
    let mut body = BytesMut::new();
    while let Some(part) = payload.next().await {
        let part = part.map_err(|error| Problem::new(Code::MalformedBody, format!("body did not arrive: {error}")))?;
        if body.len() + part.len() > limit_bytes {
            drop(body);
            drain(payload).await;
            let hint = "send less, or raise `query_api.server.document_limit_bytes` (documents) or `request_limit_bytes` (all else) there";
            return Err(Problem::new(Code::BodyTooLarge, format!("body is larger than {limit_bytes} bytes")).with_hint(hint));
        }
        body.extend_from_slice(&part);
    }
    Ok(body.freeze())
}

async fn drain(mut payload: web::Payload) {
    let rest = async { while let Some(Ok(_)) = payload.next().await {} };
    if tokio::time::timeout(DRAIN, rest).await.is_err() {
        tracing::debug!("sender of a body over the limit kept sending");
    }
}

/// The body as JSON. The content type must say so.
pub async fn read_json<T>(request: &HttpRequest, payload: web::Payload, limit_bytes: usize) -> Result<T, Problem>
where
    T: DeserializeOwned + Send + 'static,
{
    let media_type = media_type(request);
    if media_type != "application/json" && !media_type.ends_with("+json") {
        return Err(unsupported_media_type(&media_type, "application/json"));
    }
    parse_json(read(payload, limit_bytes).await?).await
}

/// Parses JSON, a large one on a blocking thread.
pub async fn parse_json<T: DeserializeOwned + Send + 'static>(body: Bytes) -> Result<T, Problem> {
    if body.len() <= QUICK_BYTES {
        return parse_object(&body);
    }
    let parsing = tokio::task::spawn_blocking(move || parse_object(&body));
    parsing.await.map_err(|error| Problem::new(Code::Internal, format!("parser stopped: {error}")))?
}

/// serde would also take an array, its elements being the fields in their order; nobody means that.
fn parse_object<T: DeserializeOwned>(body: &[u8]) -> Result<T, Problem> {
    let value = serde_json::from_slice(body).map_err(|error| json_problem(&error))?;
    if body.trim_ascii_start().first() != Some(&b'{') {
        return Err(Problem::new(Code::Invalid, "body does not follow its schema: it is no JSON object"));
    }
    Ok(value)
}

fn json_problem(error: &serde_json::Error) -> Problem {
    let text = error.to_string();
    if error.is_syntax() || error.is_eof() {
        return Problem::new(Code::MalformedBody, format!("body is not JSON: {text}"));
    }
    if text.starts_with("unknown field") {
        return Problem::new(Code::UnknownField, text).with_hint("the schema is at /openapi.json");
    }
    Problem::new(Code::Invalid, format!("body does not follow its schema: {text}")).with_hint("the schema is at /openapi.json")
}

/// The content type is none that the route reads.
pub fn unsupported_media_type(found: &str, accepted: &str) -> Problem {
    let found = if found.is_empty() { "no content type" } else { found };
    Problem::new(Code::UnsupportedMediaType, format!("{found} is not supported here")).with_hint(format!("send {accepted}"))
}
