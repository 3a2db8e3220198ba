//! What the index has of one document, as far as a caller may see it.

use std::collections::BTreeMap;

use tributary_schemas::search::{FamilyMember, FoldLimits, Passage};
use tributary_schemas::{Attributes, ChunkId, Error, ErrorKind, Filter, Lineage, Result};
use tributary_store::search_index::{IndexedDocument, SearchIndex};

use crate::{families, hits, leaving};

/// Chunks that are read at once for their pictures.
const CHUNKS_AT_ONCE: usize = 500;

/// How much of a document is wanted.
#[derive(Clone, Copy, Debug, Default)]
pub struct DocumentParts {
    /// Texts, at most.
    pub passages: usize,
    /// Chunks, from the first, whose pictures are named.
    pub pictures_of: usize,
}

/// What the index has of a document.
#[derive(Clone, Debug, Default)]
pub struct DocumentView {
    /// What the producer and its own metadata say.
    pub attributes: Attributes,
    /// What it says of itself; nothing for who may not see all of its sections.
    pub metadata: BTreeMap<String, String>,
    /// Detected media type.
    pub media_type: String,
    /// The blob with the bytes that were published, if they are kept, for who may see all of its
    /// sections.
    pub original: Option<String>,
    /// Path or URL within the source; empty where there is none.
    pub source_path: String,
    /// Title.
    pub title: String,
    /// What it was made with in the serving generation.
    pub lineage: Option<Lineage>,
    /// The newer edition for which it steps aside, where the caller may see all there is.
    pub superseded_by: Option<String>,
    /// Links of its pictures in their order, each once.
    pub pictures: Vec<String>,
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

/// Those of the documents that are not there, or not for this filter.
pub async fn absent(
    index: &dyn SearchIndex,
    document_ids: &[String],
    filter: &Filter,
) -> Result<Vec<String>> {
    let stored = match index.documents(None, document_ids).await {
        Err(error) if error.kind() == ErrorKind::NotFound => vec![None; document_ids.len()],
        found => found?,
    };
    let is_there = |stored: Option<IndexedDocument>| {
        stored.is_some_and(|stored| !stored.deleted && filter.allows(&stored.document))
    };
    let found = document_ids.iter().zip(stored);
    let absent = found.filter_map(|(id, stored)| (!is_there(stored)).then(|| id.clone()));
    Ok(absent.collect())
}

/// The document with as much of it as is wanted, and its near-duplicates within `limits`. `None`
/// where it is deleted or the filter does not allow it.
pub async fn view(
    index: &dyn SearchIndex,
    document_id: &str,
    wanted: DocumentParts,
    limits: FoldLimits,
    filter: &Filter,
) -> Result<Option<DocumentView>> {
    let Some(own) = stored(index, document_id)
        .await?
        .filter(|own| !own.deleted && filter.allows(&own.document))
    else {
        return Ok(None);
    };
    let family = families::of_document(index, &own.document, limits, filter).await?;
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
    chunk_ids.truncate(wanted.passages.max(wanted.pictures_of));
    let all = chunk_ids.as_slice();
    let with_pictures = all.get(..wanted.pictures_of).unwrap_or(all);
    let pictures = pictures(index, with_pictures, filter).await?;
    chunk_ids.truncate(wanted.passages);
    let superseded_by = own.document.superseded_by.clone();
    // Neither is divided by sections.
    let is_seen_whole = filter.is_unrestricted() || filter.allows_whole(&own.document);
    let (metadata, original) = match is_seen_whole {
        true => (own.document.metadata, own.document.original),
        false => Default::default(),
    };
    Ok(Some(DocumentView {
        lineage: Some(own.document.lineage),
        superseded_by: superseded_by.filter(|_| filter.is_unrestricted()),
        attributes: leaving::told(&own.document.attributes, filter),
        metadata,
        media_type: own.document.media_type,
        original,
        source_path: own.document.source_path,
        title: own.document.title,
        duplicate_of,
        family,
        pictures,
        passages: texts(index, &chunk_ids, filter).await?,
    }))
}

/// Pictures of those chunks that the filter allows.
async fn pictures(
    index: &dyn SearchIndex,
    chunk_ids: &[ChunkId],
    filter: &Filter,
) -> Result<Vec<String>> {
    let mut pictures: Vec<String> = Vec::new();
    for some in chunk_ids.chunks(CHUNKS_AT_ONCE) {
        let stored = leaving::fetch(index, None, some, filter).await?;
        let links = stored
            .into_iter()
            .flatten()
            .flat_map(|stored| stored.chunk.images);
        for link in links {
            if !pictures.contains(&link) {
                pictures.push(link);
            }
        }
    }
    Ok(pictures)
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
