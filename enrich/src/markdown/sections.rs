//! The tree of sections that headings make.

use std::ops::Range;

use super::{Block, BlockKind, MAXIMUM_TITLE_CHARACTERS, Section};

/// The sections of a document, itself the first of them.
pub(super) fn sections(blocks: &[Block], titles: &[String]) -> Vec<Section> {
    let mut growing = Growing::new(blocks.len());
    let mut titles = titles.iter();
    for (position, block) in blocks.iter().enumerate() {
        if let BlockKind::Heading(level) = block.kind {
            let title = titles.next().map(|title| clean_title(title));
            growing.close(level, position);
            growing.open(level, title.unwrap_or_default(), position..blocks.len());
        }
    }
    growing.finish()
}

/// Sections while headings come.
struct Growing {
    sections: Vec<Section>,
    /// Indices of those that the next heading may lie in, the innermost last.
    open: Vec<usize>,
}

impl Growing {
    /// The document, which no heading closes.
    fn new(blocks: usize) -> Self {
        let mut growing = Self {
            sections: Vec::new(),
            open: Vec::new(),
        };
        growing.open(0, String::new(), 0..blocks);
        growing
    }

    /// Ends the sections that a heading of that level is not in.
    fn close(&mut self, level: u8, position: usize) {
        if let Some(previous) = self.sections.last_mut() {
            previous.own_blocks.end = position;
        }
        let end = self.sections.len();
        while let Some(section) = self
            .open
            .last()
            .and_then(|index| self.sections.get_mut(*index))
            .filter(|section| section.level >= level)
        {
            debug_assert!(
                section.level > 0,
                "the document is never closed by a heading"
            );
            section.blocks.end = position;
            section.sections_end = end;
            self.open.pop();
        }
    }

    fn open(&mut self, level: u8, title: String, blocks: Range<usize>) {
        let parent = self.open.last().copied();
        self.open.push(self.sections.len());
        self.sections.push(Section {
            level,
            title,
            parent,
            own_blocks: blocks.clone(),
            blocks,
            sections_end: 0,
        });
    }

    fn finish(mut self) -> Vec<Section> {
        let end = self.sections.len();
        for index in self.open {
            if let Some(section) = self.sections.get_mut(index) {
                section.sections_end = end;
            }
        }
        self.sections
    }
}

/// One line, single spaces, bounded.
fn clean_title(title: &str) -> String {
    let words: Vec<&str> = title.split_whitespace().collect();
    words
        .join(" ")
        .chars()
        .take(MAXIMUM_TITLE_CHARACTERS)
        .collect()
}
