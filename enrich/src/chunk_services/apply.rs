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

#[cfg(test)]
mod tests {
    use tributary_models::tokens::estimate::EstimatedTokens;
    use tributary_schemas::ChunkKind;

    use super::*;

    fn chunk(id: u128, kind: ChunkKind, level: Option<u8>) -> Chunk {
        Chunk {
            chunk_id: ChunkId(id),
            kind,
            ordinal: 0,
            section_path: Vec::new(),
            text: format!("text {id}"),
            tokens: 1,
            parent_id: (id > 1).then_some(ChunkId(1)),
            child_ids: Vec::new(),
            pages: Vec::new(),
            is_continuation: false,
            parent_summary: None,
            images: Vec::new(),
            api: None,
            code: None,
            language: None,
            security_level: level,
            analyzed: String::new(),
        }
    }

    #[test]
    fn what_a_service_writes_has_the_highest_level_of_all_that_it_saw() {
        let chunks = vec![
            chunk(1, ChunkKind::Summary, Some(1)),
            chunk(2, ChunkKind::Leaf, None),
            chunk(3, ChunkKind::Leaf, Some(1)),
            chunk(4, ChunkKind::Leaf, Some(7)),
        ];
        let change = |id, text: Option<&str>, remove| ChangedChunk {
            chunk_id: ChunkId(id),
            text: text.map(str::to_owned),
            remove,
        };
        let reply = ExternalChunksReply {
            chunks: vec![change(2, Some("other"), false), change(4, None, true)],
            ..ExternalChunksReply::default()
        };
        let applied = apply("d", chunks, reply, &EstimatedTokens);
        let levels: Vec<_> = applied.iter().map(|chunk| chunk.security_level).collect();
        assert_eq!(levels, [Some(1), Some(7), Some(1)]);
        let summaries: Vec<_> = applied
            .iter()
            .map(|chunk| chunk.parent_summary.as_deref())
            .collect();
        assert_eq!(summaries, [None, Some("text 1"), Some("text 1")]);
    }

    #[test]
    fn a_summary_of_a_higher_level_stands_with_no_lower_chunk() {
        let chunks = vec![
            chunk(1, ChunkKind::Summary, Some(3)),
            chunk(2, ChunkKind::Leaf, None),
            chunk(3, ChunkKind::Leaf, Some(3)),
        ];
        let kept = without(chunks, |_| false);
        let summaries = kept.iter().map(|chunk| chunk.parent_summary.is_some());
        assert_eq!(Vec::from_iter(summaries), [false, false, true]);
    }
}
