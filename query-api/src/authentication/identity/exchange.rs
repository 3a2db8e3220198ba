//! One request to the identity provider: within a deadline, bounded in size, without redirects.

use std::time::Duration;

use reqwest::{RequestBuilder, Url};
use tributary_models::http_client::innermost;
use tributary_schemas::{Error, ErrorKind, Result};

/// More than any of its replies has.
pub const MAXIMUM_BYTES: usize = 1 << 20;

/// The body of a reply with status 200. `Denied` where the provider refuses what was sent,
/// `Unavailable` for any other outcome, with the address.
pub async fn reply(request: RequestBuilder, url: &Url, deadline: Duration) -> Result<Vec<u8>> {
    let late = || {
        (
            ErrorKind::Unavailable,
            "it did not answer in time".to_owned(),
        )
    };
    let replied = tokio::time::timeout(deadline, body(request)).await;
    let replied = replied.unwrap_or_else(|_| Err(late()));
    replied.map_err(|(kind, why)| {
        let what = format!("cannot get {url} of the identity provider: {why}");
        Error::new(kind, what)
            .with_hint("see query_api.server.identity; redirects are not followed")
    })
}

async fn body(request: RequestBuilder) -> std::result::Result<Vec<u8>, (ErrorKind, String)> {
    let broken = |error: reqwest::Error| (ErrorKind::Unavailable, innermost(&error));
    let mut response = request.send().await.map_err(broken)?;
    let status = response.status().as_u16();
    if status != 200 {
        let kind = match status {
            400 | 401 | 403 => ErrorKind::Denied,
            _ => ErrorKind::Unavailable,
        };
        return Err((kind, format!("it answered {status}")));
    }
    let mut body = Vec::new();
    while let Some(piece) = response.chunk().await.map_err(broken)? {
        if body.len() + piece.len() > MAXIMUM_BYTES {
            return Err((ErrorKind::Unavailable, "it has more than 1 MiB".to_owned()));
        }
        body.extend_from_slice(&piece);
    }
    Ok(body)
}
