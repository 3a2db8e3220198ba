//! Large contents go to the blob store before the event becomes a record, which then carries a
//! reference. Otherwise the same bytes would be in memory as they came, in base64, and as the JSON
//! of the record.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use tributary_schemas::DocumentEvent;

use crate::problem::{Code, Problem};
use crate::server::ServerState;

/// Puts a file's content into the event: in base64, or as a reference if it is large.
pub async fn put_file(
    state: &ServerState,
    event: &mut DocumentEvent,
    content: Bytes,
) -> Result<(), Problem> {
    if content.len() > state.inline_limit_bytes {
        event.content_url = Some(state.blobs.put(content).await?);
    } else {
        event.content_base64 = Some(blocking(move || STANDARD.encode(content)).await?);
    }
    Ok(())
}

/// Replaces a large content by a reference. What does not decode stays as it is: ingest says what
/// is wrong with it.
pub async fn move_out(state: &ServerState, event: &mut DocumentEvent) -> Result<(), Problem> {
    let is_large = |content: &Option<String>| {
        content
            .as_ref()
            .is_some_and(|content| content.len() > state.inline_limit_bytes)
    };
    if is_large(&event.content)
        && let Some(content) = event.content.take()
    {
        event.content_url = Some(state.blobs.put(content.into()).await?);
    } else if is_large(&event.content_base64)
        && let Some(encoded) = event.content_base64.take()
    {
        match blocking(move || STANDARD.decode(&encoded).map_err(|_| encoded)).await? {
            Ok(content) => event.content_url = Some(state.blobs.put(content.into()).await?),
            Err(encoded) => event.content_base64 = Some(encoded),
        }
    }
    Ok(())
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Problem> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| Problem::new(Code::Internal, format!("encoder stopped: {error}")))
}
