//! Marks headings in the blocks of all pages, with levels from the outline, their numbers and their
//! sizes.

use std::collections::HashMap;

use super::blocks::{Block, Paragraph};
use super::document::Bookmark;
use super::statistics::{Statistics, number_depth};
use super::unicode;
use crate::escape::is_wide;

/// How much smaller a heading of the next level is, relative; smaller differences are none.
const TIER_STEP: f32 = 0.9;

/// What bold letters add to the size of a heading, relative.
const BOLD_SIZE: f32 = 1.12;

/// Deepest level of Markdown.
const MAXIMUM_LEVEL: u8 = 6;

/// Most characters of a paragraph that an entry of the outline may name.
const MAXIMUM_CHARACTERS: usize = 300;

/// Turns paragraphs into headings; `statistics` are those of each page. Headings that tags name
/// stand in the blocks already.
pub(super) fn mark(pages: &mut [Vec<Block>], statistics: &[Statistics], bookmarks: &[Bookmark]) {
    let outline = Outline::of(bookmarks);
    let tiers = Tiers::of(pages, statistics);
    // Tags that name no heading at all know of none: a document of nothing but paragraphs.
    let tags_know = pages
        .iter()
        .flatten()
        .any(|block| matches!(block, Block::Heading(..)));
    for ((page, blocks), statistics) in pages.iter_mut().enumerate().zip(statistics) {
        for block in blocks {
            let Block::Paragraph(paragraph) = block else {
                continue;
            };
            if paragraph.is_told && tags_know {
                continue;
            }
            let level = match outline.level(page, paragraph) {
                Some(level) => level,
                None if statistics.is_heading(paragraph) => tiers.level(paragraph),
                None => continue,
            };
            *block = Block::Heading(
                level.clamp(1, MAXIMUM_LEVEL),
                std::mem::take(&mut paragraph.text),
            );
        }
    }
}

/// The first heading of the highest level on the first pages, one of several words if there is any:
/// the title, if the metadata has none.
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
    let text = highest(true).or_else(|| highest(false))?;
    Some(
        text.chars()
            .filter(|character| !unicode::is_mark(*character))
            .collect(),
    )
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

/// The document's own outline.
struct Outline {
    /// Levels and pages by the letters of the title.
    entries: HashMap<String, Vec<(u8, Option<usize>)>>,
}

impl Outline {
    fn of(bookmarks: &[Bookmark]) -> Self {
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
    fn level(&self, page: usize, paragraph: &Paragraph) -> Option<u8> {
        if self.entries.is_empty()
            || paragraph.lines > 4
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

/// The sizes of headings, the largest first.
struct Tiers {
    sizes: Vec<f32>,
    /// Headings without a number that are larger than all with one: the title stands above chapter
    /// 1.
    has_title: bool,
}

impl Tiers {
    fn of(pages: &[Vec<Block>], statistics: &[Statistics]) -> Self {
        let mut sizes = Vec::new();
        let (mut numbered, mut plain) = (0.0_f32, 0.0_f32);
        for (block, statistics) in pages
            .iter()
            .zip(statistics)
            .flat_map(|(blocks, statistics)| blocks.iter().map(move |block| (block, statistics)))
        {
            if let Block::Paragraph(paragraph) = block
                && statistics.is_heading(paragraph)
            {
                let size = tier(paragraph);
                sizes.push(size);
                let largest = if number_depth(&paragraph.text) > 0 {
                    &mut numbered
                } else {
                    &mut plain
                };
                *largest = size.max(*largest);
            }
        }
        sizes.sort_by(|one, other| f32::total_cmp(other, one));
        sizes.dedup_by(|next, kept| *next > TIER_STEP * *kept);
        Self {
            sizes,
            has_title: plain * TIER_STEP > numbered && numbered > 0.0,
        }
    }

    fn level(&self, paragraph: &Paragraph) -> u8 {
        let depth = number_depth(&paragraph.text);
        if depth > 0 {
            return depth + u8::from(self.has_title);
        }
        let size = tier(paragraph);
        self.sizes
            .iter()
            .position(|known| size > TIER_STEP * known)
            .map_or(MAXIMUM_LEVEL, |index| (index + 1).min(6) as u8)
    }
}

/// Size by which headings are ranked; bold ones stand above others of their size.
fn tier(paragraph: &Paragraph) -> f32 {
    if paragraph.is_bold {
        paragraph.size * BOLD_SIZE
    } else {
        paragraph.size
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paragraph(text: &str, size: f32) -> Block {
        Block::Paragraph(Paragraph {
            text: text.to_owned(),
            lines: 1,
            size,
            ..Paragraph::default()
        })
    }

    #[test]
    fn levels_come_from_outline_number_and_size() {
        let mut pages = vec![vec![
            paragraph("The Title", 20.0),
            paragraph("1 One", 14.0),
            paragraph("1.1 Inner", 14.0),
            paragraph("Plain", 10.0),
        ]];
        let bookmarks = [Bookmark {
            title: "Plain".into(),
            level: 4,
            page: Some(0),
        }];
        mark(
            &mut pages,
            &[Statistics {
                body_size: 10.0,
                ..Statistics::default()
            }],
            &bookmarks,
        );
        let levels: Vec<u8> = pages
            .concat()
            .iter()
            .filter_map(|block| {
                if let Block::Heading(level, _) = block {
                    Some(*level)
                } else {
                    None
                }
            })
            .collect();
        assert_eq!(levels, [1, 2, 3, 4]);
        assert_eq!(title(&pages).as_deref(), Some("The Title"));
    }
}
