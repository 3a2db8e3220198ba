//! Section-structured cutting.
//!
//! A section with sections below it is one chunk of kind `Section` up to the section limit; above
//! it, a `Summary` stands for it (see [`crate::summaries`]) and the sections below are cut in turn. A section without sections
//! below it is one `Section` up to the leaf limit and is cut into leaves above it, as is the text
//! between a heading and the first heading below it. Every chunk's text is a contiguous part of the
//! source, so all chunks together hold every non-blank character of it.

use std::ops::Range;

use tributary_models::TokenCounter;
use tributary_schemas::{ChunkKind, CleanDocument};

use super::assemble::{Assembly, Draft, excerpt};
use super::leaves::{self, Limits, Measure};
use super::{Cut, count};
use crate::config::ChunkerConfig;
use crate::markdown::{BlockKind, Outline, Section};
use crate::plain::plain_line;
use crate::summaries::extractive::{self, Extract};
use crate::summaries::{Child, WantedSummary};

/// Grows with every change of the code that changes what this strategy gives.
pub(super) const CODE_VERSION: u32 = 1;

/// Text of the first paragraph that a summary may quote, in bytes.
const LEAD_BYTES: usize = 4096;

/// Cuts a document with text in it.
pub(super) fn chunk(
    clean: &CleanDocument,
    config: &ChunkerConfig,
    tokens: &dyn TokenCounter,
) -> Cut {
    let outline = Outline::parse(&clean.markdown);
    let counts: Vec<usize> = outline
        .blocks
        .iter()
        .map(|block| count(tokens, outline.text(block.range.clone())))
        .collect();
    let mut before = Vec::with_capacity(counts.len() + 1);
    let mut sum = 0;
    before.push(sum);
    for count in &counts {
        sum += count;
        before.push(sum);
    }
    let cutter = Cutter {
        clean,
        outline: &outline,
        config,
        limits: Limits::new(config),
        tokens,
        counts,
        before,
        summary_of: vec![None; outline.sections.len()],
        assembly: Assembly::new(clean),
    };
    cutter.run()
}

struct Cutter<'a> {
    clean: &'a CleanDocument,
    outline: &'a Outline<'a>,
    config: &'a ChunkerConfig,
    limits: Limits,
    tokens: &'a dyn TokenCounter,
    /// Tokens of each block.
    counts: Vec<usize>,
    /// Tokens before each block, and of all of them.
    before: Vec<usize>,
    /// Position of the summary chunk of each section that has one.
    summary_of: Vec<Option<usize>>,
    assembly: Assembly<'a>,
}

/// Where chunks belong: titles down to their section, and the chunk above them.
struct Place {
    path: Vec<String>,
    parent: Option<usize>,
}

impl<'a> Cutter<'a> {
    /// Walks the sections in document order; a section that became one chunk is stepped over with
    /// all below it.
    fn run(mut self) -> Cut {
        let outline = self.outline;
        let mut index = 0;
        while let Some(section) = outline.sections.get(index) {
            index = self.section(index, section);
        }
        self.assembly.finish()
    }

    /// Cuts one section and returns the next one to look at.
    fn section(&mut self, index: usize, section: &Section) -> usize {
        let has_sections = section.sections_end > index + 1;
        let limit = if has_sections {
            self.config.section_limit_tokens
        } else {
            self.config.leaf_maximum_tokens
        };
        let place = self.place(index, section);
        if self.is_only_a_frame(index, section) {
            return index + 1;
        }
        if self.tokens_of(&section.blocks) <= limit && !self.is_mixed(section) {
            self.whole_section(section, place);
            return section.sections_end;
        }
        if !has_sections {
            self.leaves(section, &place);
            return index + 1;
        }
        let owns_leaves = self.has_text_of_its_own(section);
        let heading = if owns_leaves {
            ""
        } else {
            self.own_text(section)
        };
        let summary = self.summary(index, section, &place, heading);
        if let Some(slot) = self.summary_of.get_mut(index) {
            *slot = Some(summary);
        }
        if owns_leaves {
            let below = Place {
                parent: Some(summary),
                ..place
            };
            self.leaves(section, &below);
        }
        index + 1
    }

    /// Where the chunks of a section belong.
    fn place(&self, index: usize, section: &Section) -> Place {
        let summary = |section: usize| self.summary_of.get(section).copied().flatten();
        Place {
            path: self.outline.path(index, &self.clean.document.title),
            parent: section.parent.and_then(summary),
        }
    }

    /// What stands before the first heading below the section's own.
    fn own_text(&self, section: &Section) -> &'a str {
        let range = self.outline.span(section.own_blocks.clone());
        self.outline.text(range).trim()
    }

    /// Whether some sections in it have other security levels than others: they become no chunk
    /// together.
    fn is_mixed(&self, section: &Section) -> bool {
        let bytes = self.outline.span(section.blocks.clone());
        self.assembly.levels().are_mixed_in(&bytes)
    }

    /// The document around a single top section with all the text needs no chunk of its own.
    fn is_only_a_frame(&self, index: usize, section: &Section) -> bool {
        let only_child = self
            .outline
            .sections
            .get(1)
            .is_some_and(|child| child.sections_end == section.sections_end);
        index == 0 && section.own_blocks.is_empty() && only_child
    }

    /// Whether there is more than a short heading before the first heading below; such a heading
    /// goes into the summary instead.
    fn has_text_of_its_own(&self, section: &Section) -> bool {
        let is_short = self.tokens_of(&section.own_blocks) <= self.config.summary_limit_tokens / 4;
        match section.own_blocks.len() {
            0 => false,
            1 if section.level > 0 => !is_short,
            _ => true,
        }
    }

    fn whole_section(&mut self, section: &Section, place: Place) {
        let outline = self.outline;
        let range = outline.span(section.blocks.clone());
        let (text, images) = excerpt(outline, &range);
        let tokens = self.tokens_of(&section.blocks);
        let draft = Draft {
            kind: ChunkKind::Section,
            section_path: place.path,
            text,
            tokens,
            part: range.clone(),
            range,
            parent: place.parent,
            is_continuation: false,
            api: None,
            code: None,
            language: None,
        };
        self.assembly.push(draft, images);
    }

    /// Cuts the section's own blocks.
    fn leaves(&mut self, section: &Section, place: &Place) {
        let outline = self.outline;
        let measure = Measure {
            limits: &self.limits,
            tokens: self.tokens,
        };
        let pieces = leaves::cut(outline, section.own_blocks.clone(), &self.counts, measure);
        for (position, piece) in pieces.into_iter().enumerate() {
            let (text, images) = excerpt(outline, &piece.range);
            let kind = if piece.is_block {
                ChunkKind::Continuation
            } else {
                ChunkKind::Leaf
            };
            let is_continuation = position > 0 || piece.is_block;
            let draft = Draft {
                kind,
                section_path: place.path.clone(),
                text,
                tokens: piece.tokens,
                part: piece.range.clone(),
                range: piece.range,
                parent: place.parent,
                is_continuation,
                api: None,
                code: None,
                language: None,
            };
            self.assembly.push(draft, images);
        }
    }

    /// Plans the summary chunk of a section, below a heading that no other chunk has.
    fn summary(&mut self, index: usize, section: &Section, place: &Place, heading: &str) -> usize {
        let limit = self.config.summary_limit_tokens;
        let limit_tokens = limit.saturating_sub(count(self.tokens, heading)).max(16);
        let extract = Extract {
            lead: self.lead(section.own_blocks.clone()),
            children: self.children(index, section),
            limit_tokens,
        };
        let title = &self.clean.document.title;
        let wanted = WantedSummary {
            document_title: title.clone(),
            section_path: place.path.clone(),
            heading: heading.to_owned(),
            limit_tokens,
            extractive: extractive::summary(&extract, self.tokens),
            range: self.outline.span(section.blocks.clone()),
            own: self.outline.span(section.own_blocks.clone()),
            children: self.sections_below(index, section),
        };
        self.assembly.push_summary(wanted, place.parent)
    }

    /// Where the sections directly below are in the document.
    fn sections_below(&self, index: usize, section: &Section) -> Vec<Child> {
        let below = self.directly_below(index, section);
        below
            .map(|(_, child)| Child {
                title: child.title.clone(),
                range: self.outline.span(child.blocks.clone()),
            })
            .collect()
    }

    /// The sections directly below, each with its number.
    fn directly_below(
        &self,
        index: usize,
        section: &Section,
    ) -> impl Iterator<Item = (usize, &'a Section)> + use<'a> {
        let (outline, end) = (self.outline, section.sections_end);
        let get = move |at: usize| {
            let child = outline.sections.get(at).filter(|_| at < end);
            child.map(|child| (at, child))
        };
        std::iter::successors(get(index + 1), move |(at, child)| {
            get(child.sections_end.max(at + 1))
        })
    }

    /// Title and first paragraph of the sections directly below, no more than could be named in a
    /// summary.
    fn children(&self, index: usize, section: &Section) -> Vec<(String, String)> {
        let below = self.directly_below(index, section);
        below
            .take(self.config.summary_limit_tokens)
            .map(|(_, child)| (child.title.clone(), self.lead(child.own_blocks.clone())))
            .collect()
    }

    /// The first text block as plain text, bounded.
    fn lead(&self, blocks: Range<usize>) -> String {
        let run = self.outline.blocks.get(blocks).unwrap_or_default();
        let mut texts = run
            .iter()
            .filter(|block| block.kind == BlockKind::Text)
            .take(8);
        let bounded = |range: &Range<usize>| {
            let text = self.outline.text(range.clone());
            plain_line(
                text.get(..text.floor_char_boundary(LEAD_BYTES.min(text.len())))
                    .unwrap_or_default(),
            )
        };
        texts
            .find_map(|block| Some(bounded(&block.range)).filter(|text| !text.is_empty()))
            .unwrap_or_default()
    }

    fn tokens_of(&self, blocks: &Range<usize>) -> usize {
        match (self.before.get(blocks.start), self.before.get(blocks.end)) {
            (Some(before), Some(all)) => all - before,
            _ => 0,
        }
    }
}
