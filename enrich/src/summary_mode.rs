//! What stands for long sections of one document, and with it whether a model describes its code: what its knowledge sets say, else what the profile
//! of its source says, else what its generation of the index has.

use std::collections::HashMap;

use tributary_schemas::{Chunk, ChunkId, ChunkKind, DocumentHeader};
use tributary_taxonomy::{SourceProfile, SummaryMode};

use crate::chunkers::summary_for;
use crate::config::Chunkers;

/// What was said of summaries for a document; nothing where the generation decides.
pub(crate) fn of(
    document: &DocumentHeader,
    profile: &SourceProfile,
    chunkers: &Chunkers,
) -> Option<SummaryMode> {
    let by_sets = chunkers.summaries_of(&document.knowledge_sets);
    by_sets.or(profile.summaries)
}

/// The variant of the prompts that is asked for a document; the built-in ones where there is none.
pub(crate) fn prompts_of<'a>(
    document: &DocumentHeader,
    profile: &'a SourceProfile,
    chunkers: &'a Chunkers,
) -> Option<&'a str> {
    let by_sets = chunkers.prompts_of(&document.knowledge_sets);
    by_sets.or(profile.prompts.as_deref())
}

/// The chunks without summaries. What was below one is below what was above it.
pub(crate) fn without_summaries(chunks: Vec<Chunk>) -> Vec<Chunk> {
    without(chunks, |chunk| chunk.kind == ChunkKind::Summary)
}

/// The chunks without some of them. What was below one is below what was above it.
pub(crate) fn without(chunks: Vec<Chunk>, is_out: impl Fn(&Chunk) -> bool) -> Vec<Chunk> {
    let above: HashMap<ChunkId, Option<ChunkId>> = chunks
        .iter()
        .filter(|chunk| is_out(chunk))
        .map(|chunk| (chunk.chunk_id, chunk.parent_id))
        .collect();
    let mut kept: Vec<Chunk> = chunks.into_iter().filter(|chunk| !is_out(chunk)).collect();
    let summaries: HashMap<ChunkId, Chunk> = kept
        .iter()
        .filter(|chunk| chunk.kind == ChunkKind::Summary)
        .map(|chunk| (chunk.chunk_id, chunk.clone()))
        .collect();
    let mut below: HashMap<ChunkId, Vec<ChunkId>> = HashMap::new();
    for (ordinal, chunk) in kept.iter_mut().enumerate() {
        while let Some(parent) = chunk.parent_id
            && let Some(next) = above.get(&parent)
        {
            chunk.parent_id = *next;
        }
        chunk.ordinal = u32::try_from(ordinal).unwrap_or(u32::MAX);
        let parent = chunk.parent_id.as_ref();
        let parent = parent.and_then(|parent| summaries.get(parent));
        chunk.parent_summary = parent.and_then(|parent| summary_for(parent, chunk));
        if let Some(parent) = chunk.parent_id {
            below.entry(parent).or_default().push(chunk.chunk_id);
        }
    }
    for chunk in &mut kept {
        chunk.child_ids = below.remove(&chunk.chunk_id).unwrap_or_default();
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_below_a_summary_is_below_what_is_above_it() {
        let id = |text: &str| ChunkId::derive("d", "leaf", &[], text, 0);
        let chunk = |name: &str, kind, parent: Option<&str>, children: &[&str]| Chunk {
            chunk_id: id(name),
            kind,
            ordinal: 9,
            section_path: Vec::new(),
            text: name.to_owned(),
            tokens: 1,
            parent_id: parent.map(id),
            child_ids: children.iter().map(|child| id(child)).collect(),
            pages: Vec::new(),
            is_continuation: false,
            parent_summary: parent.map(str::to_owned),
            images: Vec::new(),
            api: None,
            code: None,
            language: None,
            security_level: None,
            analyzed: String::new(),
        };
        let chunks = vec![
            chunk("top", ChunkKind::Summary, None, &["section", "inner"]),
            chunk("section", ChunkKind::Section, Some("top"), &["leaf"]),
            chunk("leaf", ChunkKind::Leaf, Some("section"), &[]),
            chunk("inner", ChunkKind::Summary, Some("top"), &["last"]),
            chunk("last", ChunkKind::Leaf, Some("inner"), &[]),
        ];
        let kept = without_summaries(chunks);
        let seen: Vec<_> = kept
            .iter()
            .map(|chunk| (chunk.text.as_str(), chunk.ordinal, chunk.parent_id))
            .collect();
        let expected = [
            ("section", 0, None),
            ("leaf", 1, Some(id("section"))),
            ("last", 2, None),
        ];
        assert_eq!(seen, expected);
        assert_eq!(kept[0].child_ids, [id("leaf")]);
        assert!(kept.iter().all(|chunk| chunk.parent_summary.is_none()));
    }
}
