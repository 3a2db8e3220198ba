//! The document's own outline: the bookmarks that a reader shows beside the pages.

use std::collections::HashMap;

use crate::pdf::blocks::Paragraph;
use crate::pdf::document::Bookmark;

/// Most characters and lines of a paragraph that an entry of the outline may name.
const MAXIMUM_CHARACTERS: usize = 300;
const MAXIMUM_LINES: usize = 4;

/// The document's own outline.
pub(super) struct Outline {
    /// Levels and pages by the letters of the title.
    entries: HashMap<String, Vec<(u8, Option<usize>)>>,
}

impl Outline {
    /// Of the bookmarks, in order.
    pub(super) fn of(bookmarks: &[Bookmark]) -> Self {
        let mut entries: HashMap<String, Vec<(u8, Option<usize>)>> = HashMap::new();
        for bookmark in bookmarks {
            let key = key(&bookmark.title);
            if !key.is_empty() {
                entries
                    .entry(key)
                    .or_default()
                    .push((bookmark.level, bookmark.page));
            }
        }
        Self { entries }
    }

    /// The level of the entry that leads to this paragraph's page (or the one beside it) and has
    /// its text.
    pub(super) fn level(&self, page: usize, paragraph: &Paragraph) -> Option<u8> {
        if self.entries.is_empty()
            || paragraph.lines > MAXIMUM_LINES
            || paragraph.text.chars().take(MAXIMUM_CHARACTERS + 1).count() > MAXIMUM_CHARACTERS
        {
            return None;
        }
        let full = key(&paragraph.text);
        let bare = full.trim_start_matches(|character: char| character.is_ascii_digit());
        let entries = self
            .entries
            .get(&full)
            .or_else(|| self.entries.get(bare).filter(|_| !bare.is_empty()))?;
        let is_here =
            |target: &Option<usize>| target.is_none_or(|target| target.abs_diff(page) <= 1);
        entries
            .iter()
            .find(|(_, target)| is_here(target))
            .map(|(level, _)| *level)
    }
}

/// Letters and digits of a text in lower case.
fn key(text: &str) -> String {
    text.chars()
        .filter(|character| character.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect()
}
