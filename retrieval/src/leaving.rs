//! What leaves is checked: the one way by which texts get out of the index, as hits, parents,
//! neighbours, passages or for the reranker.
//!
//! Tier 1 filters, but a document may change between tier 1 and the reading of its texts, and ids
//! of chunks survive a change of attributes. So the header that was read together with a text
//! decides, every time, and with it the security level of the text's own section.

use std::sync::Arc;

use tributary_schemas::{Attributes, ChunkId, DocumentHeader, ErrorKind, Filter, Result};
use tributary_store::search_index::{SearchIndex, StoredChunk, VectorField, VectorQuery};

use crate::serving::Serving;

/// The chunks, in the order of the ids; `None` for those that do not exist (any more) and those
/// that the filter does not allow.
pub async fn fetch(
    index: &dyn SearchIndex,
    generation: Option<&str>,
    chunks: &[ChunkId],
    filter: &Filter,
) -> Result<Vec<Option<StoredChunk>>> {
    Ok(read(index, generation, chunks, filter).await?.chunks)
}

/// Chunks that were read, and those that could not be.
pub struct Read {
    /// As [`fetch`] gives them.
    pub chunks: Vec<Option<StoredChunk>>,
    /// Those that do not exist (any more), or are damaged.
    pub absent: Vec<ChunkId>,
}

/// The same as [`fetch`], which does not tell what is not there from what is not allowed.
pub async fn read(
    index: &dyn SearchIndex,
    generation: Option<&str>,
    chunks: &[ChunkId],
    filter: &Filter,
) -> Result<Read> {
    let stored = index.fetch(generation, chunks).await?;
    let absent = chunks.iter().zip(&stored);
    let absent = absent.filter(|(_, stored)| stored.is_none());
    Ok(Read {
        absent: absent.map(|(id, _)| *id).collect(),
        chunks: stored
            .into_iter()
            .map(|stored| stored.filter(|stored| chunk_may_leave(stored, filter)))
            .collect(),
    })
}

/// Chunks with one picture that are looked at: they may change between the two readings.
const LOOKED_AT: usize = 10;

/// A document that the filter allows, of which a chunk shows a picture; the filter has it as its
/// condition.
pub async fn showing(
    index: &dyn SearchIndex,
    serving: &Serving,
    image: &str,
    filter: &Filter,
) -> Result<Option<String>> {
    let any = any_vector(serving);
    let generation = serving.generation.as_deref();
    let query = VectorQuery {
        generation,
        vector: &any,
        field: VectorField::Coarse,
        filter,
        candidates: None,
        limit: LOOKED_AT,
    };
    let found = match index.vector(query).await {
        // Nothing was indexed yet.
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        found => found?,
    };
    let chunks: Vec<ChunkId> = found.iter().map(|found| found.chunk_id).collect();
    let stored = fetch(index, generation, &chunks, filter).await?;
    let has_it = |stored: &StoredChunk| stored.chunk.images.iter().any(|own| own == image);
    let mut showing = stored.iter().flatten().filter(|stored| has_it(stored));
    let shown = showing.find_map(|stored| visible(&stored.document, filter).into_iter().next());
    Ok(shown.map(|document| document.document_id.clone()))
}

/// Vectors find something for any question: this one is for whatever meets a filter.
pub fn any_vector(serving: &Serving) -> Vec<f32> {
    let mut any = vec![0.0; serving.models.embedder.coarse_dimensions()];
    if let Some(first) = any.first_mut() {
        *first = 1.0;
    }
    any
}

/// What a caller may be told of a document's attributes: who else may see it is not for its readers.
pub fn told(attributes: &Attributes, filter: &Filter) -> Attributes {
    let mut told = attributes.clone();
    if filter.viewer.is_some() {
        hide_rights(&mut told);
    }
    told
}

/// Takes out who else may see a document, and which of its sections only some may see.
pub fn hide_rights(attributes: &mut Attributes) {
    attributes.access = None;
    attributes.section_levels = None;
}

fn chunk_may_leave(stored: &StoredChunk, filter: &Filter) -> bool {
    may_leave(&stored.document, filter) && filter.allows_level(stored.chunk.security_level)
}

/// Whether a caller may see a stored document under at least one name.
pub fn may_leave(stored: &DocumentHeader, filter: &Filter) -> bool {
    if filter.is_unrestricted() {
        return true;
    }
    if stored.duplicates.is_empty() {
        return filter.allows(stored);
    }
    stored.members().iter().any(|member| filter.allows(member))
}

/// The documents under which a caller may see a stored one, in canonical order. The index found the
/// chunk by the terms of all exact duplicates together: one of them alone must meet the filter.
pub fn visible(stored: &Arc<DocumentHeader>, filter: &Filter) -> Vec<Arc<DocumentHeader>> {
    if stored.duplicates.is_empty() {
        return filter
            .allows(stored)
            .then(|| Arc::clone(stored))
            .into_iter()
            .collect();
    }
    stored
        .members()
        .into_iter()
        .filter(|member| filter.allows(member))
        .map(Arc::new)
        .collect()
}
