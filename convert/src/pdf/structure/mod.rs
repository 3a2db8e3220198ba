//! Tagged PDF: what the file itself says of headings, lists, tables and reading order.
//!
//! The route of a page: its structure tree as nodes (`tree`) → the characters of each piece of
//! marked content (`marks`, `contents`) → text with its role, in the order of the tree (`told`,
//! `table`) → believed or not (`belief`) → the blocks that geometry makes, too (`blocks`). A page
//! whose tree is not believed is read by geometry, like one without.

mod attributes;
mod belief;
mod blocks;
mod cells;
mod contents;
mod marks;
mod roles;
mod size;
mod table;
mod told;
mod tree;

use super::characters::{Characters, Glyph};
use super::document::{Document, Page};
use super::page_text::MARGIN_SHARE;
use super::second_fonts::CHROMIUM;
use super::segments::Segment;
use belief::Share;
use cells::HeaderColumns;
use contents::Contents;
use tree::{Node, Trees};

pub(super) use blocks::with_told;
pub(super) use marks::{Content, Marks};
pub(super) use told::{Told, segments};

/// The structure of a document, page by page.
pub(super) struct Structure<'a> {
    trees: Option<Trees<'a>>,
    headers: HeaderColumns,
    /// Text outside of the tree is in no case part of the document: it is the head or the foot of a
    /// page, as in those of Chromium.
    is_complete: bool,
}

/// A page as its tags tell it.
pub(super) struct TaggedPage {
    /// Its text in reading order.
    pub told: Vec<Told>,
    /// Glyphs that the tree does not name.
    pub loose: Vec<Glyph>,
    /// Lines of running heads and feet.
    pub running: Vec<String>,
}

impl<'a> Structure<'a> {
    /// The structure of a document; it says nothing if the document is not tagged, or too large.
    pub(super) fn of(document: &'a Document<'a>) -> Self {
        // SAFETY: the document is open.
        let is_tagged = unsafe { document.pdfium.FPDFCatalog_IsTagged(document.handle) } != 0
            && size::is_bearable(document.bytes);
        let producer = || document.metadata().remove("producer");
        Self {
            trees: is_tagged.then(|| Trees::new(document.pdfium)),
            headers: HeaderColumns::default(),
            is_complete: is_tagged && producer().is_some_and(|name| name.starts_with(CHROMIUM)),
        }
    }

    /// The tree of a page; `None` if it has none that can be read within the limits.
    pub(super) fn tree(&mut self, page: &Page) -> Option<Node> {
        self.trees.as_mut()?.read(page)
    }

    /// What a page with this tree says; `None` if it is not to be believed. `height` is that of the
    /// page in points.
    pub(super) fn page(
        &mut self,
        tree: &Node,
        characters: &Characters,
        height: f32,
    ) -> Option<TaggedPage> {
        let mut contents = Contents::of(&characters.glyphs);
        let telling = told::tell(tree, &mut contents, &mut self.headers);
        let share = Share::of(&telling.told, &contents, height * MARGIN_SHARE, height);
        if !belief::is_believable(&telling.told, &share) {
            return None;
        }
        let mut running = contents::lines(&contents.artifacts);
        running.extend(telling.artifacts);
        if self.is_complete {
            let margin = std::mem::take(&mut contents.loose);
            running.extend(contents::lines(&margin));
        }
        Some(TaggedPage {
            told: telling.told,
            loose: contents.rest(),
            running,
        })
    }
}

/// The text of segments in their order, lines joined as in a paragraph.
fn text(segments: &[Segment]) -> String {
    blocks::joined(&contents::lines_of(segments))
}

#[cfg(test)]
mod tests;
