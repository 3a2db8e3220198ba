//! Definitions in stage 2: their scores, and how the answer has them.

use std::collections::{BTreeMap, HashMap};

use tributary_schemas::ChunkId;
use tributary_schemas::code_search::CodeHit;

use super::Found;
use crate::exact_name::boosted;
use crate::fine::FineChunk;

/// How the scores of stage 2 are made.
pub(super) struct Scoring {
    pub file_weight: f32,
    pub highest_name: f32,
    /// Scores of tier 3 where it ran; what it was not asked about comes last.
    pub reranked: Option<HashMap<ChunkId, f32>>,
}

impl Scoring {
    /// See [`crate::code`].
    pub fn score(&self, chunk: &FineChunk, file: f32) -> f32 {
        let own = match &self.reranked {
            Some(reranked) => reranked.get(&chunk.chunk_id).copied().unwrap_or(0.0),
            None => chunk.standing,
        };
        let both = (1.0 - self.file_weight) * own + self.file_weight * file;
        boosted(both, chunk.exact_name, self.highest_name)
    }

    /// The same by name, for [`CodeHit::scores`].
    pub fn named(&self, chunk: &FineChunk, file: f32) -> BTreeMap<String, f32> {
        let of_both_tiers = [
            ("keyword", chunk.keyword),
            ("vector", chunk.vector),
            ("definition", chunk.standing),
            ("file", file),
        ];
        let named = (chunk.exact_name > 0.0).then_some(("exact_name", chunk.exact_name));
        let reranked = self.reranked.as_ref();
        let reranked = reranked.and_then(|scores| scores.get(&chunk.chunk_id));
        let all = of_both_tiers.into_iter().chain(named);
        all.chain(reranked.map(|score| ("rerank", *score)))
            .map(|(name, score)| (name.to_owned(), score))
            .collect()
    }
}

/// A definition as the answer has it.
pub(super) fn code_hit(
    rank: usize,
    score: f32,
    scores: BTreeMap<String, f32>,
    found: Found,
) -> CodeHit {
    let (document, code) = (found.document, *found.code);
    CodeHit {
        rank,
        score,
        relevance: None,
        chunk_id: found.stored.chunk.chunk_id,
        document_id: document.document_id.clone(),
        version: document.version,
        source: document.source.clone(),
        source_path: document.source_path.clone(),
        start_line: code.start_line,
        end_line: code.end_line,
        function: code.name,
        definition: code.definition,
        language: code.language,
        signature: code.signature,
        description: code.description,
        described_by: code.described_by,
        calls: code.calls,
        callers: code.callers,
        text: found.stored.chunk.text,
        url: document.attributes.link.clone().unwrap_or_default(),
        scores,
    }
}
