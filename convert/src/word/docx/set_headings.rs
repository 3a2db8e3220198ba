//! Headings that are told by nothing but how they are set. Where no paragraph of a document has a
//! heading's style or outline level, short lines that are larger than the text, or bold
//! throughout, are its headings, by size from the largest.

use std::collections::{BTreeSet, HashMap};

use super::paragraph::Finished;
use super::styles::Role;
use crate::office::blocks::{Block, text_of};

/// How much larger than the text a line is that is larger, in percent.
const LARGER_PERCENT: u32 = 115;

/// Longest line in characters that may be a heading.
const MAXIMUM_CHARACTERS: usize = 120;

/// Share of the letters, in percent, that may be in headings; where more are, the look means
/// something else.
const MAXIMUM_PERCENT: usize = 40;

/// What a sentence or the line before a list ends with; a question may be a heading.
const SENTENCE_ENDS: [char; 8] = ['.', '。', ';', '；', ',', '，', ':', '：'];

/// How the letters of a paragraph are set.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Setting {
    letters: usize,
    bold: usize,
    /// Smallest size of any letter, in half points.
    size: Option<u16>,
}

impl Setting {
    /// Counts text of a size in half points.
    pub(super) fn add(&mut self, text: &str, is_bold: bool, size: u16) {
        let letters = text
            .chars()
            .filter(|letter| letter.is_alphanumeric())
            .count();
        if letters > 0 {
            self.letters += letters;
            self.bold += if is_bold { letters } else { 0 };
            self.size = Some(self.size.map_or(size, |smallest| smallest.min(size)));
        }
    }
}

/// What the whole document says about its headings.
#[derive(Debug, Default)]
pub(super) struct Evidence {
    /// Headings by style or outline level.
    pub told: usize,
    /// Letters of each size.
    letters: HashMap<u16, usize>,
}

impl Evidence {
    /// Counts a paragraph of the main text, and keeps how it is set if it may be a heading.
    pub(super) fn paragraph(&mut self, finished: &Finished, block: Block) -> Block {
        let setting = finished.setting;
        let Some(size) = setting.size else {
            return block;
        };
        *self.letters.entry(size).or_default() += setting.letters;
        let is_kind = matches!(
            block,
            Block::Paragraph(_)
                | Block::Item {
                    number: Some(_),
                    ..
                }
        );
        let is_line = text_of(&block).is_some_and(|text| {
            text.chars().count() <= MAXIMUM_CHARACTERS
                && !text.contains(['\n', '\u{C}'])
                && !text.trim_end_matches('*').ends_with(SENTENCE_ENDS)
        });
        if !is_line || !is_kind || finished.style.role != Role::Body {
            return block;
        }
        Block::Set {
            size,
            is_bold: setting.bold == setting.letters,
            heading: finished.inline.heading(),
            block: Box::new(block),
        }
    }

    /// The blocks with candidates as headings or as what they are otherwise.
    pub(super) fn decide(&self, blocks: Vec<Block>) -> Vec<Block> {
        let body = self.body_size();
        let is_larger = |size: u16| u32::from(size) * 100 >= u32::from(body) * LARGER_PERCENT;
        let stands_out = |block: &Block| match block {
            Block::Set { size, is_bold, .. } => is_larger(*size) || (*is_bold && *size >= body),
            _ => false,
        };
        let leads: Vec<bool> = (0..blocks.len())
            .map(|at| leads_text(&blocks, at, &stands_out, &is_larger))
            .collect();
        let candidates: Vec<&Block> = blocks
            .iter()
            .zip(&leads)
            .filter_map(|(block, leads)| leads.then_some(block))
            .collect();
        let is_believed = self.believes(&candidates);
        let sizes = largest_sizes(&candidates);
        let settle = |(block, leads): (Block, bool)| match block {
            Block::Set { size, heading, .. } if leads && is_believed => {
                Block::Heading(level(size, &sizes), heading)
            }
            Block::Set { block, .. } => *block,
            block => block,
        };
        blocks.into_iter().zip(leads).map(settle).collect()
    }

    /// The size of most letters.
    fn body_size(&self) -> u16 {
        self.letters
            .iter()
            .max_by_key(|(size, letters)| (**letters, **size))
            .map_or(0, |(size, _)| *size)
    }

    /// Whether the candidates are headings: nothing else tells any, and they are the smaller part.
    fn believes(&self, candidates: &[&Block]) -> bool {
        let letters: usize = self.letters.values().sum();
        let of_headings: usize = candidates
            .iter()
            .filter_map(|block| text_of(block))
            .map(|text| text.chars().count())
            .sum();
        self.told == 0 && candidates.len() > 1 && of_headings * 100 <= letters * MAXIMUM_PERCENT
    }
}

/// The largest sizes of headings, one for each level that Markdown has.
fn largest_sizes(candidates: &[&Block]) -> Vec<u16> {
    let sizes: BTreeSet<u16> = candidates
        .iter()
        .filter_map(|block| match block {
            Block::Set { size, .. } => Some(*size),
            _ => None,
        })
        .collect();
    sizes.into_iter().rev().take(6).collect()
}

/// Level of a heading by the rank of its size.
fn level(size: u16, largest: &[u16]) -> u8 {
    let above = largest.iter().filter(|other| **other > size).count();
    u8::try_from(above + 1).unwrap_or(6).min(6)
}

/// Whether a line that stands out stands over something: bold lines of the size of the text that
/// follow each other are a list or a form.
fn leads_text(
    blocks: &[Block],
    at: usize,
    stands_out: &impl Fn(&Block) -> bool,
    is_larger: &impl Fn(u16) -> bool,
) -> bool {
    let Some(block @ Block::Set { size, .. }) = blocks.get(at) else {
        return false;
    };
    if !stands_out(block) {
        return false;
    }
    let same = |other: Option<&Block>| matches!(other, Some(other @ Block::Set { size: next, .. }) if next == size && stands_out(other));
    let mut after = blocks
        .iter()
        .skip(at + 1)
        .filter(|block| **block != Block::Page);
    let next = after.next();
    next.is_some() && (is_larger(*size) || !same(next))
}
