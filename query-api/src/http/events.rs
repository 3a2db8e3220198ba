//! `GET /v1/events`: server-sent events that say that something changed, so that a page asks again
//! for what it shows. They carry no documents: a client that missed some has missed nothing.

use std::convert::Infallible;
use std::time::Duration;

use actix_web::{HttpResponse, web};
use bytes::Bytes;
use futures::stream;
use tokio::sync::watch;
use tributary_store::manifest::changes::Changes;

use crate::server::ServerState;

/// A comment goes out after so long a silence, so that both sides notice a broken connection.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// Changes within this time are one event.
const PAUSE: Duration = Duration::from_millis(500);

/// What one connection waits for.
struct Follower {
    changes: Changes,
    stopping: watch::Receiver<bool>,
}

/// `GET /v1/events`.
pub async fn follow(state: web::Data<ServerState>) -> HttpResponse {
    let follower = Follower {
        changes: state.documents.changes(),
        stopping: state.stopping.subscribe(),
    };
    let opening = stream::iter([Ok::<_, Infallible>(Bytes::from_static(b": connected\n\n"))]);
    let events = stream::unfold(follower, |mut follower| async {
        let event = follower.next().await?;
        Some((Ok::<_, Infallible>(event), follower))
    });
    HttpResponse::Ok()
        .content_type("text/event-stream")
        .insert_header(("cache-control", "no-store"))
        .insert_header(("x-accel-buffering", "no"))
        .streaming(stream::StreamExt::chain(opening, events))
}

impl Follower {
    /// The next event or heartbeat; `None` when the server stops or the table follows no more.
    async fn next(&mut self) -> Option<Bytes> {
        tokio::select! {
            _ = self.stopping.wait_for(|stopping| *stopping) => None,
            changed = tokio::time::timeout(HEARTBEAT, self.changes.next()) => match changed {
                Err(_) => Some(Bytes::from_static(b": still here\n\n")),
                Ok(false) => None,
                Ok(true) => {
                    tokio::time::sleep(PAUSE).await;
                    Some(Bytes::from_static(b"event: documents\ndata: {}\n\n"))
                }
            },
        }
    }
}
