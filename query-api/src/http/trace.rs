//! Around every request: its trace id (W3C trace context), timeout, refusal of foreign web pages,
//! metrics and security headers.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use actix_web::body::MessageBody;
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::error::InternalError;
use actix_web::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use actix_web::http::{Method, StatusCode};
use actix_web::middleware::Next;
use actix_web::{Error, HttpMessage, web};

use super::cors::Cors;
use super::head::{Sent, sent};
use crate::operations::Operations;
use crate::problem::{Code, Problem};
use crate::trace_id::{self, new_trace_id};

/// How often progress is noted where work alone is progress.
const NOTED_EVERY: Duration = Duration::from_secs(1);

/// Only what the server itself sends runs in its pages, and no page frames them.
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
     base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const SECURITY_HEADERS: [(&str, &str); 5] = [
    ("content-security-policy", CONTENT_SECURITY_POLICY),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-resource-policy", "same-origin"),
];

/// The middleware of the whole server.
pub async fn around<B: MessageBody + 'static>(
    operations: web::Data<Operations>,
    request: ServiceRequest,
    next: Next<B>,
) -> Result<ServiceResponse<Sent<B>>, Error> {
    let trace_id = trace_id_of(request.headers());
    let answer = answer(operations, request, next, trace_id.clone());
    trace_id::within(trace_id, answer).await
}

async fn answer<B: MessageBody + 'static>(
    operations: web::Data<Operations>,
    mut request: ServiceRequest,
    next: Next<B>,
    trace_id: String,
) -> Result<ServiceResponse<Sent<B>>, Error> {
    let started = Instant::now();
    let method = request.method().clone();
    if method == Method::HEAD {
        // Every path that can be read has its head, and the same one.
        request.head_mut().method = Method::GET;
    }
    let timeout = Duration::from_millis(operations.config.request_timeout_ms);
    let progress = Progress::start();
    request.extensions_mut().insert(progress.clone());
    let cors = Cors::of(&request, &operations.config.cors_origins);
    let preflight = cors.as_ref().and_then(|cors| cors.preflight(&request));
    if cors.is_some() {
        Cors::without_cookies(&mut request, &operations.config.identity.proxy);
    }
    let refused = refusal(&request, &operations.config.host_names, cors.is_some())
        .or_else(|| misplaced_parameters(&request));
    let answered = match (refused, preflight) {
        (Some(problem), _) => Err(problem.into()),
        (None, Some(preflight)) => Err(InternalError::from_response("preflight", preflight).into()),
        (None, None) => bounded(timeout, &progress, next.call(request)).await,
    };
    let observe = |route: &str, status: StatusCode| {
        operations.metrics.observe_request(
            method_label(&method),
            route,
            status.as_u16(),
            started.elapsed(),
        );
        tracing::debug!(%method, route, status = status.as_u16(), trace_id, "request answered");
    };
    match answered {
        Ok(mut response) => {
            let route = response
                .request()
                .match_pattern()
                .unwrap_or_else(|| "other".to_owned());
            observe(&route, response.status());
            add_headers(response.headers_mut(), &trace_id, cors.as_ref());
            let is_head = method == Method::HEAD;
            Ok(response.map_body(|_, body| sent(body, is_head)))
        }
        // written here, where the trace id is known
        Err(error) => {
            let mut response = error.error_response();
            observe("other", response.status());
            add_headers(response.headers_mut(), &trace_id, cors.as_ref());
            Err(InternalError::from_response(error, response).into())
        }
    }
}

/// When the last part came of a body that may take its time; the time for an answer begins there.
#[derive(Clone)]
pub struct Progress {
    started: Instant,
    last_part_ms: Arc<AtomicU64>,
}

impl Progress {
    fn start() -> Self {
        Self {
            started: Instant::now(),
            last_part_ms: Arc::default(),
        }
    }

    /// A part came just now.
    pub fn note(&self) {
        self.last_part_ms.store(
            u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX),
            Ordering::Relaxed,
        );
    }

    /// Says so for as long as the work takes, which has a bound of its own.
    pub async fn during<T>(&self, work: impl Future<Output = T>) -> T {
        let mut work = std::pin::pin!(work);
        loop {
            self.note();
            if let Ok(done) = tokio::time::timeout(NOTED_EVERY, work.as_mut()).await {
                return done;
            }
        }
    }

    fn deadline(&self, timeout: Duration) -> Instant {
        self.started + Duration::from_millis(self.last_part_ms.load(Ordering::Relaxed)) + timeout
    }
}

/// What `work` gives, unless it takes too long.
async fn bounded<T>(
    timeout: Duration,
    progress: &Progress,
    work: impl Future<Output = Result<T, Error>>,
) -> Result<T, Error> {
    let mut work = std::pin::pin!(work);
    loop {
        let deadline = progress.deadline(timeout);
        if let Ok(answer) = tokio::time::timeout_at(deadline.into(), work.as_mut()).await {
            return answer;
        }
        if progress.deadline(timeout) <= deadline {
            let what = format!("no answer within {} ms of the request", timeout.as_millis());
            return Err(Problem::new(Code::Timeout, what).into());
        }
    }
}

/// Methods are a closed list in metrics: a caller can make up any number of them.
fn method_label(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::DELETE => "DELETE",
        Method::OPTIONS => "OPTIONS",
        _ => "other",
    }
}

/// Refuses requests that a web page of another origin makes through the user's browser, unless the
/// origin is on the list.
fn refusal(
    request: &ServiceRequest,
    host_names: &[String],
    is_listed_origin: bool,
) -> Option<Problem> {
    let host = request
        .headers()
        .get(header::HOST)
        .and_then(|host| host.to_str().ok());
    let name = host.map(host_name).unwrap_or_default();
    if host.is_some()
        && !host_names.is_empty()
        && !host_names
            .iter()
            .any(|allowed| allowed.eq_ignore_ascii_case(name))
    {
        let hint = "call it by a name of query_api.server.host_names, or add this one there";
        return Some(
            Problem::new(Code::Denied, format!("this server is not called `{name}`"))
                .with_hint(hint),
        );
    }
    if is_listed_origin {
        return None;
    }
    if let Some(problem) = foreign_fetch(request) {
        return Some(problem);
    }
    let origin = request
        .headers()
        .get(header::ORIGIN)?
        .to_str()
        .unwrap_or("null");
    let origin_host = origin.split_once("://").map_or(origin, |(_, host)| host);
    let same_origin = host.is_some_and(|host| host.eq_ignore_ascii_case(origin_host));
    (!same_origin).then(|| {
        Problem::new(
            Code::Denied,
            format!("requests of pages from `{origin}` are refused"),
        )
        .with_hint("query_api.server.cors_origins lists those that are not")
    })
}

/// Paths below `/v1` that take parameters in their address when they are read.
const WITH_PARAMETERS: [&str; 16] = [
    "/v1/audit",
    "/v1/conversations",
    "/v1/conversations/{id}/export",
    "/v1/conversations/{id}/turns",
    "/v1/feedback",
    "/v1/user-profiles",
    "/v1/documents",
    "/v1/documents/{id:.+}",
    "/v1/dead-letters",
    "/v1/evaluations",
    "/v1/evaluations/{id}",
    "/v1/evaluations/{id}/comparison",
    "/v1/tables",
    "/v1/tables/{id}",
    "/v1/terms",
    "/v1/missed-searches",
];

/// A filter in the address of what takes none would be left out without a word: only some of what
/// is read takes any, and nothing that has a body does.
fn misplaced_parameters(request: &ServiceRequest) -> Option<Problem> {
    if request.query_string().is_empty() {
        return None;
    }
    let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
    // Its version: a deletion has no body.
    let is_deletion = *request.method() == Method::DELETE
        && request.match_pattern().as_deref() == Some("/v1/documents/{id:.+}");
    if is_deletion {
        return None;
    }
    // Pages, health checks and what is not there look at none.
    let pattern = request
        .match_pattern()
        .filter(|pattern| pattern.starts_with("/v1/"));
    if is_read && pattern.is_none_or(|pattern| WITH_PARAMETERS.contains(&pattern.as_str())) {
        return None;
    }
    let what = format!(
        "{} {} takes no parameters in its address",
        request.method(),
        request.path()
    );
    let hint = if is_read {
        "leave them out; what each path takes is at /openapi.json"
    } else {
        "write them into the body; /openapi.json has its form"
    };
    Some(Problem::new(Code::InvalidParameter, what).with_hint(hint))
}

/// A browser says where a request comes from, also where it sends no `Origin`: that of a picture, a
/// script or a link of another page. Only a link that opens the page itself is followed, and the
/// way back from the identity provider.
fn foreign_fetch(request: &ServiceRequest) -> Option<Problem> {
    let header = |name: &str| {
        request
            .headers()
            .get(name)
            .map(|value| value.to_str().unwrap_or(""))
    };
    let site = header("sec-fetch-site").filter(|site| !matches!(*site, "same-origin" | "none"))?;
    let opens_a_page = header("sec-fetch-mode") == Some("navigate")
        && header("sec-fetch-dest") == Some("document");
    let is_for_people = matches!(request.path(), "/" | "/sign-in/callback");
    if opens_a_page && request.method() == Method::GET && is_for_people {
        return None;
    }
    let shown = if site == "same-site" {
        "same-site"
    } else {
        "cross-site"
    };
    Some(
        Problem::new(
            Code::Denied,
            format!("{shown} requests of browsers are refused"),
        )
        .with_hint("open the page of this server itself"),
    )
}

/// `Host` without the port; `[::1]:80` is `::1`.
fn host_name(host: &str) -> &str {
    if let Some(rest) = host.strip_prefix('[') {
        return rest.split_once(']').map_or(rest, |(name, _)| name);
    }
    host.split_once(':').map_or(host, |(name, _)| name)
}

/// The trace id of `traceparent` (`00-<32 hex>-<16 hex>-<2 hex>`), else a new one.
fn trace_id_of(headers: &HeaderMap) -> String {
    let given = headers
        .get("traceparent")
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.split('-').nth(1));
    let valid = |id: &&str| {
        id.len() == 32
            && id.bytes().all(|byte| byte.is_ascii_hexdigit())
            && id.bytes().any(|byte| byte != b'0')
    };
    given
        .filter(valid)
        .map_or_else(new_trace_id, str::to_ascii_lowercase)
}

fn add_headers(headers: &mut HeaderMap, trace_id: &str, cors: Option<&Cors>) {
    if let Some(cors) = cors {
        cors.allow(headers);
    }
    for (name, value) in SECURITY_HEADERS {
        headers.insert(
            HeaderName::from_static(name),
            HeaderValue::from_static(value),
        );
    }
    if !headers.contains_key(header::CACHE_CONTROL) {
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
    if let Ok(value) = HeaderValue::from_str(trace_id) {
        headers.insert(HeaderName::from_static("x-trace-id"), value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trace_ids_are_taken_over_when_valid_and_differ_otherwise() {
        let with = |value: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(
                HeaderName::from_static("traceparent"),
                HeaderValue::from_static(value),
            );
            trace_id_of(&headers)
        };
        assert_eq!(
            with("00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01"),
            "4bf92f3577b34da6a3ce929d0e0e4736"
        );
        for bad in ["", "00-xyz-1-1", "00-00000000000000000000000000000000-1-1"] {
            assert_eq!(with(bad).len(), 32);
        }
        assert_ne!(new_trace_id(), new_trace_id());
    }

    #[test]
    fn hosts_lose_their_port() {
        for (host, name) in [
            ("localhost:80", "localhost"),
            ("127.0.0.1", "127.0.0.1"),
            ("[::1]:7470", "::1"),
            ("", ""),
            ("[", ""),
        ] {
            assert_eq!(host_name(host), name);
        }
    }
}
