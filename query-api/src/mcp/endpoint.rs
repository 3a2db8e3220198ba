//! `/mcp`: the Streamable HTTP transport. `rmcp` speaks it over `http`'s types; requests and answers
//! of actix are made into those and back.
//!
//! There are no sessions: each message is answered by itself, so that any process of several answers
//! it and none has to be remembered. A call that the client gives up ends with its connection; the
//! notification `cancelled` of clients of before 2026 names a request of another connection, and
//! changes nothing. Who may call, from which pages and by which name, the middleware of the whole
//! server says (`http/trace.rs`).

use std::sync::Arc;

use actix_web::http::StatusCode;
use actix_web::http::header::{ACCEPT, CONTENT_TYPE, HeaderName};
use actix_web::{HttpMessage, HttpRequest, HttpResponse, web};
use bytes::Bytes;
use futures::StreamExt;
use http_body_util::{BodyExt, Full};
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::Value;

use super::engine::Engine;
use crate::audit;
use crate::http::body::Incoming;
use crate::http::caller::Caller;
use crate::http::trace::Progress;
use crate::problem::{Code, Problem};
use crate::server::ServerState;
use crate::trace_id;

type Answer = http::Response<http_body_util::combinators::BoxBody<Bytes, std::convert::Infallible>>;

/// Of the id of a request.
const MAXIMUM_ID_BYTES: usize = 256;

/// `POST /mcp`.
pub async fn answer(
    state: web::Data<ServerState>,
    caller: Caller,
    request: HttpRequest,
    payload: web::Payload,
) -> Result<HttpResponse, Problem> {
    let body = Incoming::small(&state, &request, payload).read().await?;
    if let Some(refused) = no_message(&body) {
        return Ok(refused);
    }
    let state = state.into_inner();
    let limit = state.config.request_limit_bytes;
    let stopping = state.stopping.subscribe();
    let (trace_id, principal) = (trace_id::current(), caller.principal);
    let progress = request.extensions().get::<Progress>().cloned();
    let trail = audit::current();
    let engine = move || {
        Ok(Engine {
            state: Arc::clone(&state),
            principal: principal.clone(),
            trace_id: trace_id.clone(),
            progress: progress.clone(),
            trail: trail.clone(),
        })
    };
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_max_request_body_bytes(limit)
        // The middleware has compared host and origin with the settings.
        .disable_allowed_hosts();
    let sessions = Arc::new(NeverSessionManager::default());
    let service = StreamableHttpService::new(engine, sessions, config);
    let answered = service.handle(as_http(&request, body)?).await;
    as_actix(answered, stopping).await
}

/// What JSON-RPC says to a body that is no JSON, and to JSON that is no message of this protocol:
/// several messages at once, and requests with `null` for an id, which have no answer.
fn no_message(body: &[u8]) -> Option<HttpResponse> {
    let (code, message) = match serde_json::from_slice::<Value>(body) {
        Err(error) => (-32700, format!("the body is no JSON: {error}")),
        Ok(Value::Array(_)) => {
            let what = "several messages at once are not accepted; send one after the other";
            (-32600, what.to_owned())
        }
        Ok(Value::Object(message)) if message.get("id").is_some_and(Value::is_null) => {
            let what = "the id is null; give the request a number or a text, or leave it out of a \
                        notification";
            (-32600, what.to_owned())
        }
        // The transport writes ids of what fails into the log, as they are.
        Ok(Value::Object(message)) if message.get("id").is_some_and(is_no_id) => {
            let what = format!(
                "the id is too long or has control characters; at most {MAXIMUM_ID_BYTES} bytes"
            );
            (-32600, what)
        }
        Ok(Value::Object(_)) => return None,
        Ok(_) => (-32600, "a message is a JSON object".to_owned()),
    };
    let error = serde_json::json!({"code": code, "message": message});
    let answer = serde_json::json!({"jsonrpc": "2.0", "id": null, "error": error});
    let mut response = HttpResponse::BadRequest();
    response.content_type("application/json");
    Some(response.body(answer.to_string()))
}

fn is_no_id(id: &Value) -> bool {
    let text = id.as_str().unwrap_or_default();
    text.len() > MAXIMUM_ID_BYTES || text.contains(char::is_control)
}

/// Whoever accepts anything accepts both that the transport wants to be named.
fn accepts_all(request: &HttpRequest) -> bool {
    let mut accepted = request.headers().get_all(ACCEPT).peekable();
    let is_silent = accepted.peek().is_none();
    is_silent || accepted.any(|value| value.to_str().is_ok_and(|value| value.contains("*/*")))
}

fn as_http(request: &HttpRequest, body: Bytes) -> Result<http::Request<Full<Bytes>>, Problem> {
    let mut builder = http::Request::builder()
        .method(request.method().as_str())
        .uri(request.uri().to_string());
    let accepts_all = accepts_all(request);
    if accepts_all {
        builder = builder.header("accept", "application/json, text/event-stream");
    }
    let is_replaced = |name: &HeaderName| accepts_all && *name == ACCEPT;
    let kept = request.headers().iter();
    for (name, value) in kept.filter(|(name, _)| !is_replaced(name)) {
        builder = builder.header(name.as_str(), value.as_bytes());
    }
    builder.body(Full::new(body)).map_err(|error| {
        let what = format!("the head of the request cannot be read: {error}");
        Problem::new(Code::Invalid, what)
    })
}

async fn as_actix(
    answer: Answer,
    mut stopping: tokio::sync::watch::Receiver<bool>,
) -> Result<HttpResponse, Problem> {
    let (head, body) = answer.into_parts();
    let status = StatusCode::from_u16(head.status.as_u16());
    let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = HttpResponse::build(status);
    for (name, value) in &head.headers {
        response.append_header((name.as_str(), value.as_bytes()));
    }
    let media_type = head.headers.get(CONTENT_TYPE.as_str());
    let is_stream =
        media_type.is_some_and(|value| value.as_bytes().starts_with(b"text/event-stream"));
    if is_stream {
        let end = async move {
            stopping.wait_for(|stopping| *stopping).await.ok();
        };
        return Ok(response.streaming(body.into_data_stream().take_until(Box::pin(end))));
    }
    let Ok(whole) = body.collect().await;
    let text = whole.to_bytes();
    if status.is_client_error() && media_type.is_none() {
        return Err(refused(status, &text));
    }
    Ok(response.body(text))
}

/// What the transport says in plain words, as the rest of the server does.
fn refused(status: StatusCode, text: &[u8]) -> Problem {
    let code = match status {
        StatusCode::UNSUPPORTED_MEDIA_TYPE => Code::UnsupportedMediaType,
        StatusCode::PAYLOAD_TOO_LARGE => Code::BodyTooLarge,
        StatusCode::METHOD_NOT_ALLOWED => Code::MethodNotAllowed,
        _ => Code::Invalid,
    };
    Problem::new(code, String::from_utf8_lossy(text)).with_hint(
        "a client sends JSON and accepts application/json and text/event-stream, \
         as the Streamable HTTP transport of the Model Context Protocol says",
    )
}
