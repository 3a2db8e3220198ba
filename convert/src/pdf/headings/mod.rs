//! Marks headings in the blocks of all pages: entries of the outline, and paragraphs that look like
//! headings by the sum of what speaks for it and against it (`features`, `weights`); then their
//! levels.

mod doubts;
mod examples;
mod features;
mod habits;
mod levels;
mod looks;
mod numbers;
mod outline;
mod weights;

use super::blocks::{Block, Paragraph};
use super::document::Bookmark;
use super::statistics::Statistics;
use super::unicode;
use crate::escape::is_wide;
pub use examples::{HeadingExample, heading_examples};
use features::Document;
pub(super) use features::is_caption;
pub(super) use numbers::number_depth;
use outline::Outline;

/// A heading that was found.
#[derive(Debug)]
struct Found {
    /// Index of its page, and of its block there.
    page: usize,
    block: usize,
    looks: Paragraph,
    /// Larger than the running text.
    is_large: bool,
    /// Its level by the outline.
    told: Option<u8>,
    /// Nothing stands before it in the document.
    is_first: bool,
    /// Text stands right below it.
    is_before_text: bool,
}

/// Turns paragraphs into headings; `statistics` are those of each page. Headings that tags name
/// stand in the blocks already.
pub(super) fn mark(pages: &mut [Vec<Block>], statistics: &[Statistics], bookmarks: &[Bookmark]) {
    let mut found = find(pages, statistics, bookmarks);
    doubts::remove(&mut found, pages);
    levels::put_below_title(&mut found);
    let levels = levels::levels(&found);
    for (heading, level) in found.into_iter().zip(levels) {
        let page = pages.get_mut(heading.page);
        if let Some(block) = page.and_then(|page| page.get_mut(heading.block)) {
            *block = Block::Heading(level, heading.looks.text);
        }
    }
}

fn find(pages: &[Vec<Block>], statistics: &[Statistics], bookmarks: &[Bookmark]) -> Vec<Found> {
    let outline = Outline::of(bookmarks);
    let document = Document::of(pages, statistics);
    // Tags that name no heading at all know of none: a document of nothing but paragraphs.
    let is_heading = |block: &Block| matches!(block, Block::Heading(..));
    let tags_know = pages.iter().flatten().any(is_heading);
    let mut found = Vec::new();
    for candidate in document.candidates() {
        let paragraph = candidate.paragraph;
        if paragraph.is_told && tags_know {
            continue;
        }
        let told = outline.level(candidate.page, paragraph);
        let is_title = || document.is_title(&candidate);
        if told.is_some() || document.is_heading(&candidate) || is_title() {
            found.push(Found {
                page: candidate.page,
                block: candidate.block,
                looks: paragraph.clone(),
                is_large: document.is_large(&candidate),
                told,
                is_first: candidate.at == 0,
                is_before_text: document.is_before_text(&candidate),
            });
        }
    }
    found
}

/// Fewest letters of a title that is one word.
const MINIMUM_LETTERS: usize = 4;

/// The first heading if it alone has the highest level on the first pages, else the first one of the
/// highest level, one of several words if there is any: the title, if the metadata has none.
pub(super) fn title(pages: &[Vec<Block>]) -> Option<String> {
    let headings = || pages.iter().take(2).flatten().filter_map(heading);
    let highest = |long: bool| {
        let level = headings()
            .filter(|(_, text)| !long || is_long(text))
            .map(|(level, _)| level)
            .min()?;
        headings()
            .find(|(other, text)| *other == level && (!long || is_long(text)))
            .map(|(_, text)| text)
    };
    let text = alone_above(headings())
        .or_else(|| highest(true))
        .or_else(|| highest(false))?;
    Some(
        text.chars()
            .filter(|character| !unicode::is_mark(*character))
            .collect(),
    )
}

/// The first heading if all others stand below it, whatever it says.
fn alone_above<'a>(mut headings: impl Iterator<Item = (u8, &'a String)>) -> Option<&'a String> {
    let (level, first) = headings.next()?;
    let letters = first.chars().filter(|letter| letter.is_alphabetic());
    let is_word = letters.take(MINIMUM_LETTERS).count() == MINIMUM_LETTERS;
    let mut has_others = false;
    let are_below = headings.all(|(other, _)| {
        has_others = true;
        other > level
    });
    (is_word && has_others && are_below).then_some(first)
}

fn heading(block: &Block) -> Option<(u8, &String)> {
    if let Block::Heading(level, text) = block {
        Some((*level, text))
    } else {
        None
    }
}

fn is_long(text: &str) -> bool {
    text.chars()
        .map(|character| if is_wide(character) { 3 } else { 1 })
        .sum::<usize>()
        >= 12
}

#[cfg(test)]
mod tests;
