//! What the index has of one document, as far as a caller may see it.

use tributary_schemas::search::{FamilyMember, Passage};
use tributary_schemas::{ChunkId, Error, ErrorKind, Filter, Result};
use tributary_store::search_index::{IndexedDocument, SearchIndex};

use crate::{families, hits};

/// What the index has of a document.
#[derive(Clone, Debug, Default)]
pub struct DocumentView {
    /// The document whose chunks stand for this one's: an exact duplicate is stored once.
    pub duplicate_of: Option<String>,
    /// Near-duplicates, most similar first.
    pub family: Vec<FamilyMember>,
    /// Its chunks by ordinal; those of the document that stands for it where it has none of its
    /// own.
    pub passages: Vec<Passage>,
}

/// A document of the serving generation; `None` also where nothing was indexed yet.
pub async fn stored(index: &dyn SearchIndex, document_id: &str) -> Result<Option<IndexedDocument>> {
    match index.documents(None, &[document_id.to_owned()]).await {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        found => Ok(found?.pop().flatten()),
    }
}

/// The document with at most `passages` of its texts; near-duplicates are similar by at least
/// `threshold`. `None` where the filter does not allow it.
pub async fn view(
    index: &dyn SearchIndex,
    document_id: &str,
    passages: usize,
    threshold: f32,
    filter: &Filter,
) -> Result<Option<DocumentView>> {
    let Some(own) = stored(index, document_id)
        .await?
        .filter(|own| filter.allows(&own.document))
    else {
        return Ok(None);
    };
    let family = families::of_document(index, &own.document, threshold, filter).await?;
    let canonical = match &own.document.duplicate_of {
        Some(canonical) => stored(index, canonical).await?,
        None => None,
    };
    let may_be_named = filter.is_unrestricted()
        || canonical
            .as_ref()
            .is_some_and(|canonical| filter.allows(&canonical.document));
    let duplicate_of = own.document.duplicate_of.clone().filter(|_| may_be_named);
    let mut chunk_ids = if own.document.duplicate_of.is_some() {
        canonical.map(|found| found.chunk_ids).unwrap_or_default()
    } else {
        own.chunk_ids
    };
    chunk_ids.truncate(passages);
    Ok(Some(DocumentView {
        duplicate_of,
        family,
        passages: texts(index, &chunk_ids, filter).await?,
    }))
}

/// `Corrupt` if some are there and damaged.
async fn texts(
    index: &dyn SearchIndex,
    chunk_ids: &[ChunkId],
    filter: &Filter,
) -> Result<Vec<Passage>> {
    let passages = hits::passages(index, None, chunk_ids, filter).await?;
    let is_shown = |id: &ChunkId| passages.iter().any(|passage| passage.chunk_id == *id);
    let absent: Vec<ChunkId> = chunk_ids
        .iter()
        .copied()
        .filter(|id| !is_shown(id))
        .collect();
    let damaged = if absent.is_empty() {
        Vec::new()
    } else {
        index.damaged(None, &absent).await?
    };
    if damaged.is_empty() {
        return Ok(passages);
    }
    let message = format!(
        "{} of {} passages are damaged in the index",
        damaged.len(),
        chunk_ids.len()
    );
    Err(Error::new(ErrorKind::Corrupt, message)
        .with_hint("`tributary knowledge-sets reindex --all` builds the index again from the log"))
}
