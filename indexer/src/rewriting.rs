//! A stored document written again, from the record that was kept of it or without its chunks. Used
//! by [`crate::exact_duplicates`] and [`crate::editions`], which decide what stands.

use bytes::Bytes;
use tributary_schemas::{EmbeddedDocument, Error, ErrorKind, Result};
use tributary_store::search_index::{Operation, Outcome, SearchIndex};

/// Whether it was done; not if a newer version is stored.
pub async fn write(
    index: &dyn SearchIndex,
    generation: &str,
    operation: Operation,
) -> Result<bool> {
    match index
        .write(generation, vec![operation])
        .await?
        .into_iter()
        .next()
    {
        Some(Outcome::Applied) => Ok(true),
        Some(Outcome::Older { .. }) => Ok(false),
        Some(Outcome::Failed(error)) => Err(error),
        None => Err(Error::new(
            ErrorKind::Internal,
            "the index gave no outcome for an operation",
        )),
    }
}

/// A kept record; `None` if it came without vectors (the index had them), so that no document can
/// be written from it.
pub async fn read(record: Bytes) -> Result<Option<EmbeddedDocument>> {
    let parsed =
        tokio::task::spawn_blocking(move || serde_json::from_slice::<EmbeddedDocument>(&record))
            .await;
    let parsed = parsed.map_err(|error| {
        Error::new(
            ErrorKind::Internal,
            format!("a record was not read: {error}"),
        )
    })?;
    let document = parsed.map_err(|error| {
        Error::new(
            ErrorKind::Corrupt,
            format!("a kept record cannot be read: {error}"),
        )
    })?;
    Ok(Some(document).filter(|document| document.vectors.len() == document.chunks.len()))
}
