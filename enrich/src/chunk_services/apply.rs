//! What goes to a service, and what its answer changes.

use std::collections::HashMap;

use tributary_models::TokenCounter;
use tributary_schemas::external_step::{
    ChangedChunk, ExternalChunk, ExternalChunksReply, ExternalChunksRequest,
};
use tributary_schemas::{Chunk, ChunkId, DocumentHeader};

use crate::chunkers::{count, renewed};
use crate::summary_mode::without;

/// All chunks of a document for a service.
pub(super) fn request(document: &DocumentHeader, chunks: &[Chunk]) -> ExternalChunksRequest {
    let chunk = |chunk: &Chunk| ExternalChunk {
        chunk_id: chunk.chunk_id,
        kind: chunk.kind,
        section_path: chunk.section_path.clone(),
        text: chunk.text.clone(),
    };
    ExternalChunksRequest {
        document_id: document.document_id.clone(),
        version: document.version,
        source: document.source.clone(),
        source_path: document.source_path.clone(),
        title: document.title.clone(),
        knowledge_sets: document.knowledge_sets.clone(),
        tags: document.tags.clone(),
        attributes: document.attributes.clone(),
        chunks: chunks.iter().map(chunk).collect(),
    }
}

/// The chunks as a checked answer says. Those whose text changes get ids and tokens anew; what was
/// below one that goes is below what was above it.
pub(super) fn apply(
    document_id: &str,
    chunks: Vec<Chunk>,
    reply: ExternalChunksReply,
    tokens: &dyn TokenCounter,
) -> Vec<Chunk> {
    if reply.chunks.is_empty() {
        return chunks;
    }
    let changes = reply.chunks.into_iter();
    let changes: HashMap<ChunkId, ChangedChunk> =
        changes.map(|change| (change.chunk_id, change)).collect();
    let is_removed = |chunk: &Chunk| {
        let change = changes.get(&chunk.chunk_id);
        change.is_some_and(|change| change.remove)
    };
    // A service sees all chunks: what it writes may say what stands in any of them.
    let highest = chunks.iter().map(|chunk| chunk.security_level).max();
    let mut kept = without(chunks, is_removed);
    for chunk in &mut kept {
        let change = changes.get(&chunk.chunk_id);
        if let Some(text) = change.and_then(|change| change.text.as_ref()) {
            chunk.text.clone_from(text);
            chunk.security_level = highest.flatten();
            chunk.tokens = u32::try_from(count(tokens, text)).unwrap_or(u32::MAX);
        }
    }
    renewed(document_id, kept)
}
