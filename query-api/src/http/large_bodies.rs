//! Contents in base64 are checked, and large ones go to the blob store before the event becomes a record, which then carries a
//! reference. Otherwise the same bytes would be in memory as they came, in base64, and as the JSON
//! of the record.

use base64::engine::general_purpose::STANDARD;
use base64::{DecodeError, Engine};
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

/// Replaces a large content by a reference. `Invalid` for a content in base64 that does not decode.
pub async fn move_out(state: &ServerState, event: &mut DocumentEvent) -> Result<(), Problem> {
    let is_large = |content: &str| content.len() > state.inline_limit_bytes;
    if event.content.as_deref().is_some_and(is_large)
        && let Some(content) = event.content.take()
    {
        event.content_url = Some(state.blobs.put(content.into()).await?);
    }
    let Some(encoded) = event.content_base64.take() else {
        return Ok(());
    };
    let is_large = is_large(&encoded);
    let decode = move || STANDARD.decode(&encoded).map(|content| (content, encoded));
    let (content, encoded) = blocking(decode)
        .await?
        .map_err(|error| not_base64(&error))?;
    if is_large {
        event.content_url = Some(state.blobs.put(content.into()).await?);
    } else {
        event.content_base64 = Some(encoded);
    }
    Ok(())
}

fn not_base64(error: &DecodeError) -> Problem {
    let what = match error {
        DecodeError::InvalidByte(at, byte) | DecodeError::InvalidLastSymbol(at, byte) => {
            let shown = char::from(*byte).escape_default();
            format!("`{shown}` at byte {at}")
        }
        DecodeError::InvalidLength(_) => "it ends in the middle".to_owned(),
        DecodeError::InvalidPadding => "it is not padded with `=`".to_owned(),
    };
    Problem::new(
        Code::Invalid,
        format!("`content_base64` is not base64: {what}"),
    )
    .with_hint(
        "use the standard alphabet with padding, without line ends; text goes into `content`",
    )
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Problem> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| Problem::new(Code::Internal, format!("encoder stopped: {error}")))
}
