//! Presentations: a slide is a chunk, or several where it is long, and never a part of a chunk with
//! other slides, so that a hit shows the slide that it was found on. Only slides of a few words, such
//! as the title of a part, go with the next one.
//!
//! Each slide is read as Markdown by itself: the end of one and the beginning of the next may not
//! become one paragraph.

use std::ops::Range;

use tributary_models::TokenCounter;
use tributary_schemas::{ChunkKind, CleanDocument};

use super::assemble::{Assembly, Draft, excerpt};
use super::leaves::{self, Limits, Measure};
use super::{Cut, count};
use crate::config::ChunkerConfig;
use crate::markdown::Outline;

/// Grows with every change of the code that changes how presentations are cut.
pub(super) const CODE_VERSION: u32 = 1;

/// Slides below this share of the smallest leaf say too little to stand alone.
const TINY_SHARE: usize = 16;

/// Whether the document is a presentation whose slides are known.
pub(super) fn is_deck(clean: &CleanDocument) -> bool {
    let media_type = &clean.document.media_type;
    let is_presentation =
        media_type.contains("presentation") || media_type == "application/vnd.ms-powerpoint";
    is_presentation && !clean.page_starts.is_empty()
}

/// Cuts a presentation with text in it.
pub(super) fn chunk(
    clean: &CleanDocument,
    config: &ChunkerConfig,
    tokens: &dyn TokenCounter,
) -> Cut {
    let mut deck = Deck {
        clean,
        limits: Limits::new(config),
        maximum: config.leaf_maximum_tokens,
        tokens,
        assembly: Assembly::new(clean),
    };
    for range in deck.groups(config.leaf_minimum_tokens / TINY_SHARE) {
        deck.cut(range);
    }
    deck.assembly.finish()
}

struct Deck<'a> {
    clean: &'a CleanDocument,
    limits: Limits,
    maximum: usize,
    tokens: &'a dyn TokenCounter,
    assembly: Assembly<'a>,
}

impl Deck<'_> {
    fn text(&self, range: &Range<usize>) -> &str {
        self.clean.markdown.get(range.clone()).unwrap_or_default()
    }

    /// Slides with text, as bytes of the document; one of at most `tiny` tokens together with the
    /// next, and at the end with the one before.
    fn groups(&self, tiny: usize) -> Vec<Range<usize>> {
        let mut groups: Vec<Range<usize>> = Vec::new();
        let mut waits: Option<Range<usize>> = None;
        for slide in self.slides() {
            let size = count(self.tokens, self.text(&slide));
            let start = waits.take().map_or(slide.start, |tiny| tiny.start);
            let group = start..slide.end;
            if size <= tiny {
                waits = Some(group);
            } else {
                groups.push(group);
            }
        }
        match (waits, groups.last_mut()) {
            (Some(rest), Some(last)) => last.end = rest.end,
            (Some(rest), None) => groups.push(rest),
            (None, _) => {}
        }
        groups
    }

    fn slides(&self) -> Vec<Range<usize>> {
        let length = self.clean.markdown.len();
        // What stands before the first slide belongs to it.
        let later = self.clean.page_starts.iter().skip(1);
        let starts: Vec<usize> = std::iter::once(0)
            .chain(later.filter_map(|start| usize::try_from(*start).ok()))
            .collect();
        let ends = starts.iter().skip(1).copied().chain([length]);
        starts
            .iter()
            .zip(ends)
            .map(|(start, end)| *start..end)
            .filter(|slide| !self.text(slide).trim().is_empty())
            .collect()
    }

    fn cut(&mut self, slide: Range<usize>) {
        let base = slide.start;
        let text = self.clean.markdown.get(slide).unwrap_or_default();
        let outline = Outline::parse(text);
        let counts: Vec<usize> = outline
            .blocks
            .iter()
            .map(|block| count(self.tokens, outline.text(block.range.clone())))
            .collect();
        let section_path = self.path(&outline);
        let all = 0..outline.blocks.len();
        let tokens = counts.iter().sum();
        if tokens <= self.maximum {
            let whole = Part {
                range: outline.span(all),
                kind: ChunkKind::Section,
                tokens,
                is_continuation: false,
            };
            self.push(&outline, base, whole, section_path);
            return;
        }
        let measure = Measure {
            limits: &self.limits,
            tokens: self.tokens,
        };
        let pieces = leaves::cut(&outline, all, &counts, measure);
        for (position, piece) in pieces.into_iter().enumerate() {
            let kind = if piece.is_block {
                ChunkKind::Continuation
            } else {
                ChunkKind::Leaf
            };
            let part = Part {
                range: piece.range,
                kind,
                tokens: piece.tokens,
                is_continuation: position > 0 || piece.is_block,
            };
            self.push(&outline, base, part, section_path.clone());
        }
    }

    fn push(&mut self, outline: &Outline<'_>, base: usize, part: Part, section_path: Vec<String>) {
        let (text, images) = excerpt(outline, &part.range);
        let draft = Draft {
            kind: part.kind,
            section_path,
            text,
            tokens: part.tokens,
            range: base + part.range.start..base + part.range.end,
            part: base..base + outline.source.len(),
            parent: None,
            is_continuation: part.is_continuation,
            api: None,
            code: None,
            language: None,
        };
        self.assembly.push(draft, images);
    }

    /// The slide's title, unless it is the document's.
    fn path(&self, outline: &Outline<'_>) -> Vec<String> {
        let titles = outline.sections.iter().map(|section| &section.title);
        let own = titles
            .filter(|title| !title.is_empty())
            .find(|title| title.trim() != self.clean.document.title.trim());
        own.into_iter().cloned().collect()
    }
}

/// A part of a slide.
struct Part {
    /// Bytes of the slide.
    range: Range<usize>,
    kind: ChunkKind,
    tokens: usize,
    is_continuation: bool,
}
