//! `GET /v1/audit`: the calls that were recorded, newest page first, or those to come, one JSON object
//! a line.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};
use bytes::Bytes;
use futures::stream;
use tokio::sync::watch;
use tributary_schemas::ErrorKind;
use tributary_schemas::audit::{AuditEntry, AuditQuery};
use tributary_store::audit::{AuditTopic, Following};

use super::ask::working;
use super::json;
use crate::authentication::{OwnedShown, Shown};
use crate::operations::Operations;
use crate::problem::{Code, Problem};
use crate::server::ServerState;

/// An empty line goes out after so long a silence, so that both sides notice a broken connection.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// How long what was recorded is looked for when the server stops.
const LAST_LOOK: Duration = Duration::from_millis(200);

/// `GET /v1/audit`.
pub async fn list(
    state: web::Data<ServerState>,
    operations: web::Data<Operations>,
    request: HttpRequest,
    query: web::Query<AuditQuery>,
) -> Result<HttpResponse, Problem> {
    let mut query = query.into_inner();
    let limit = state.page_limit(query.limit)?;
    let topic = state.audit_topic().ok_or_else(nothing_recorded)?;
    if let Some(name) = &query.document {
        query.document = Some(document_id(&state, name).await?);
    }
    if query.follow {
        let follower = Follower {
            following: following(topic, query).await?,
            stopping: state.stopping.subscribe(),
            request: Shown::from(&request).to_owned(),
            operations: operations.into_inner(),
        };
        return Ok(followed(follower));
    }
    // It reads the whole topic.
    let page = working(&request, topic.newest(&query, limit)).await?;
    json(StatusCode::OK, &page)
}

/// The id of a document by its id or `source/path`. One that is not there (any more) may be in the
/// record by its id.
async fn document_id(state: &ServerState, name: &str) -> Result<String, Problem> {
    match state.documents.resolve(name, None).await {
        Ok(id) => Ok(id),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(name.to_owned()),
        Err(error) => Err(error.into()),
    }
}

async fn following(topic: &AuditTopic, query: AuditQuery) -> Result<Following, Problem> {
    let following = topic.follow(query).await;
    following.map_err(|error| match error.kind() {
        ErrorKind::NotFound => nothing_recorded(),
        _ => error.into(),
    })
}

fn followed(follower: Follower) -> HttpResponse {
    let lines = stream::unfold(follower, |mut follower| async {
        let lines = follower.next().await?;
        Some((Ok::<_, Infallible>(lines), follower))
    });
    HttpResponse::Ok()
        .content_type("application/x-ndjson")
        .insert_header(("cache-control", "no-store"))
        .insert_header(("x-accel-buffering", "no"))
        .streaming(lines)
}

fn nothing_recorded() -> Problem {
    Problem::new(
        Code::NotFound,
        "calls are not recorded here, and never were",
    )
    .with_hint("query_api.server.audit.enabled = true records them from the next start on")
}

/// What one connection waits for.
struct Follower {
    following: Following,
    stopping: watch::Receiver<bool>,
    request: OwnedShown,
    operations: Arc<Operations>,
}

impl Follower {
    /// The next lines; `None` when the server stops and everything that was recorded has left, the log
    /// cannot be read, or the key that it was asked with is no administrator's any more.
    async fn next(&mut self) -> Option<Bytes> {
        let entries = match self.entries().await {
            Ok(entries) => entries?,
            Err(error) => {
                tracing::warn!(error = %error.full_message(), "the audit record cannot be read on");
                return None;
            }
        };
        if !self.may_read().await {
            return None;
        }
        let mut lines = Vec::new();
        for entry in &entries {
            // Text, numbers and lists can always be written.
            if let Ok(line) = serde_json::to_vec(entry) {
                lines.extend(line);
                lines.push(b'\n');
            }
        }
        if lines.is_empty() {
            lines.push(b'\n');
        }
        Some(lines.into())
    }

    /// Those that came; none after a silence, `None` when there are no more and the server stops.
    async fn entries(&mut self) -> tributary_schemas::Result<Option<Vec<AuditEntry>>> {
        let came = tokio::select! {
            _ = self.stopping.wait_for(|stopping| *stopping) => None,
            entries = self.following.next(HEARTBEAT) => Some(entries?),
        };
        if came.is_some() {
            return Ok(came);
        }
        let until = Instant::now() + LAST_LOOK;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let last = self.following.next(left).await?;
            if !last.is_empty() {
                return Ok(Some(last));
            }
            if left.is_zero() {
                return Ok(None);
            }
        }
    }

    async fn may_read(&self) -> bool {
        let caller = self.operations.authentication.caller(self.request.shown());
        let caller = caller.await;
        caller.is_ok_and(|caller| caller.is_administrator())
    }
}
