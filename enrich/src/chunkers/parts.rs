//! Parts of a document as chunks: for strategies that find parts and leave all else alone. A part
//! that is too long is cut into leaves.

use std::ops::Range;

use tributary_models::TokenCounter;
use tributary_schemas::api_entry::ApiEntry;
use tributary_schemas::{ChunkKind, CleanDocument};

use super::assemble::{Assembly, Draft, excerpt};
use super::leaves::{self, Limits, Measure};
use super::levels::SectionLevels;
use super::{Cut, count};
use crate::config::ChunkerConfig;
use crate::markdown::Outline;

/// A run of blocks that belong together.
pub(super) struct Part {
    pub blocks: Range<usize>,
    /// What it is if it is not cut.
    pub kind: ChunkKind,
    pub section_path: Vec<String>,
    /// Position of the chunk above.
    pub parent: Option<usize>,
    /// It is cut into leaves above this many tokens.
    pub limit_tokens: usize,
    pub api: Option<Box<ApiEntry>>,
}

impl Part {
    /// A section that is cut above the limit of a leaf.
    pub fn of(blocks: Range<usize>, section_path: Vec<String>, parent: Option<usize>) -> Self {
        Self {
            blocks,
            kind: ChunkKind::Section,
            section_path,
            parent,
            limit_tokens: 0,
            api: None,
        }
    }
}

/// Collects parts in document order.
pub(super) struct Parts<'a> {
    clean: &'a CleanDocument,
    outline: &'a Outline<'a>,
    limits: Limits,
    leaf_tokens: usize,
    tokens: &'a dyn TokenCounter,
    /// Tokens of each block.
    counts: Vec<usize>,
    assembly: Assembly<'a>,
}

impl<'a> Parts<'a> {
    pub fn new(
        clean: &'a CleanDocument,
        outline: &'a Outline<'a>,
        config: &ChunkerConfig,
        tokens: &'a dyn TokenCounter,
    ) -> Self {
        let blocks = outline.blocks.iter();
        Self {
            clean,
            outline,
            limits: Limits::new(config),
            leaf_tokens: config.leaf_maximum_tokens,
            tokens,
            counts: blocks
                .map(|block| count(tokens, outline.text(block.range.clone())))
                .collect(),
            assembly: Assembly::new(clean),
        }
    }

    /// Titles from the top down to a section, see [`Outline::path`].
    pub fn path(&self, section: usize) -> Vec<String> {
        self.outline.path(section, &self.clean.document.title)
    }

    /// What the rules make of the document's sections.
    pub fn levels(&self) -> &SectionLevels {
        self.assembly.levels()
    }

    /// Tokens of a run of blocks.
    pub fn tokens_of(&self, blocks: &Range<usize>) -> usize {
        let counts = self.counts.get(blocks.clone()).unwrap_or_default();
        counts.iter().sum()
    }

    /// Adds a part; the position of its first chunk, none of one without blocks.
    pub fn push(&mut self, part: Part) -> Option<usize> {
        let tokens = self.tokens_of(&part.blocks);
        if part.blocks.is_empty() {
            return None;
        }
        if tokens > part.limit_tokens.max(self.leaf_tokens) {
            return self.leaves(part);
        }
        let range = self.outline.span(part.blocks.clone());
        let (text, images) = excerpt(self.outline, &range);
        let draft = Draft {
            kind: part.kind,
            section_path: part.section_path,
            text,
            tokens,
            part: range.clone(),
            range,
            parent: part.parent,
            is_continuation: false,
            api: part.api,
            code: None,
            language: None,
        };
        Some(self.assembly.push(draft, images))
    }

    fn leaves(&mut self, mut part: Part) -> Option<usize> {
        let measure = Measure {
            limits: &self.limits,
            tokens: self.tokens,
        };
        let pieces = leaves::cut(self.outline, part.blocks.clone(), &self.counts, measure);
        let bytes = self.outline.span(part.blocks);
        let mut first = None;
        for (at, piece) in pieces.into_iter().enumerate() {
            let (text, images) = excerpt(self.outline, &piece.range);
            let draft = Draft {
                kind: match piece.is_block {
                    true => ChunkKind::Continuation,
                    false => ChunkKind::Leaf,
                },
                section_path: part.section_path.clone(),
                text,
                tokens: piece.tokens,
                range: piece.range,
                part: bytes.clone(),
                parent: part.parent,
                is_continuation: at > 0 || piece.is_block,
                // What was read of the whole belongs to its beginning.
                api: part.api.take(),
                code: None,
                language: None,
            };
            let position = self.assembly.push(draft, images);
            first.get_or_insert(position);
        }
        first
    }

    pub fn finish(self) -> Cut {
        self.assembly.finish()
    }
}
