//! Pages of other origins that may call the server from a browser (`query_api.server.cors_origins`):
//! preflights, and the headers that let such a page read an answer. Cookies are none of it: a page of
//! another origin shows its key in `Authorization`.

use actix_web::HttpResponse;
use actix_web::dev::ServiceRequest;
use actix_web::http::Method;
use actix_web::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_METHOD, COOKIE,
    HeaderMap, HeaderValue, ORIGIN, VARY,
};

use crate::authentication::identity::config::ProxyConfig;

const METHODS: &str = "GET, POST, PUT, PATCH, DELETE";
/// What a page may send.
const SENT: &str = "authorization, content-type, accept, idempotency-key, last-event-id, traceparent, mcp-protocol-version";
/// What a page may read beside the body.
const READ: &str = "x-answer-id, x-report-id, x-trace-id, retry-after, content-disposition, etag";
/// Seconds for which a browser remembers a preflight.
const REMEMBERED: &str = "600";

/// An origin of the list that a request came from.
#[derive(Clone, Debug)]
pub struct Cors(HeaderValue);

impl Cors {
    /// `None` for a request of no page, or of one that is not on the list.
    pub fn of(request: &ServiceRequest, origins: &[String]) -> Option<Self> {
        let mut shown = request.headers().get_all(ORIGIN);
        let (Some(origin), None) = (shown.next(), shown.next()) else {
            return None;
        };
        let text = origin.to_str().ok()?;
        let is_listed = origins
            .iter()
            .any(|listed| listed.eq_ignore_ascii_case(text));
        is_listed.then(|| Self(origin.clone()))
    }

    /// Takes away who a browser's cookies say to be, here or at a proxy that tells by headers.
    pub fn without_cookies(request: &mut ServiceRequest, proxy: &ProxyConfig) {
        request.headers_mut().remove(COOKIE);
        for name in proxy.header_names() {
            request.headers_mut().remove(name);
        }
    }

    /// The answer to a browser that asks whether a page may send a request.
    pub fn preflight(&self, request: &ServiceRequest) -> Option<HttpResponse> {
        let asks = request
            .headers()
            .contains_key(ACCESS_CONTROL_REQUEST_METHOD);
        if request.method() != Method::OPTIONS || !asks {
            return None;
        }
        let mut response = HttpResponse::NoContent();
        response.insert_header((ACCESS_CONTROL_ALLOW_METHODS, METHODS));
        response.insert_header((ACCESS_CONTROL_ALLOW_HEADERS, SENT));
        response.insert_header((ACCESS_CONTROL_MAX_AGE, REMEMBERED));
        Some(response.finish())
    }

    /// Lets the page read an answer.
    pub fn allow(&self, headers: &mut HeaderMap) {
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, self.0.clone());
        headers.insert(
            ACCESS_CONTROL_EXPOSE_HEADERS,
            HeaderValue::from_static(READ),
        );
        headers.append(VARY, HeaderValue::from_static("Origin"));
    }
}

/// What is wrong with an origin of the list.
pub fn problem(origin: &str) -> Option<String> {
    let problem = |what: &str| {
        Some(format!(
            "query_api.server.cors_origins has `{origin}`, {what}"
        ))
    };
    if origin.contains('*') {
        return problem(
            "and every page of the world may not call the server: name origins one by one",
        );
    }
    let host = ["https://", "http://"]
        .iter()
        .find_map(|scheme| origin.strip_prefix(scheme));
    let is_host = |host: &str| {
        let is_sign = |sign: char| sign.is_ascii_alphanumeric() || "-._:[]".contains(sign);
        !host.is_empty() && host.chars().all(is_sign)
    };
    match host {
        Some(host) if is_host(host) => None,
        _ => problem(
            "which is no origin, such as https://intranet.example.com (no path, no slash at its end)",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_are_checked() {
        for right in [
            "https://a.example.com",
            "http://localhost:3000",
            "http://[::1]:3000",
        ] {
            assert_eq!(problem(right), None);
        }
        for wrong in [
            "*",
            "https://*.example.com",
            "null",
            "",
            "a.example.com",
            "https://a/",
            "https://",
            "ftp://a",
        ] {
            assert!(problem(wrong).is_some(), "{wrong}");
        }
    }
}
