//! Tables of contents that somebody typed, or that lost their field: lines that end with the number
//! of a page and say what the headings say.

use std::collections::HashSet;

use crate::contents::{MINIMUM_ENTRIES, is_title, key};
use crate::office::blocks::{Block, text_of};

/// Share of the lines, in percent, that must be headings of the document.
const HEADING_PERCENT: usize = 60;

/// The blocks without such tables of contents and their titles; pages that begin in them stay.
pub(super) fn without_contents(blocks: Vec<Block>) -> Vec<Block> {
    let headings: HashSet<String> = blocks
        .iter()
        .filter(|block| matches!(block, Block::Heading(..)))
        .filter_map(|block| text_of(block).map(key))
        .collect();
    let mut is_dropped = vec![false; blocks.len()];
    for (begin, end) in runs(&blocks) {
        let run = blocks.get(begin..end).unwrap_or_default();
        let entries = run.iter().filter(|block| is_line(block)).count();
        let is_known = |text: &str| headings.contains(&key(text));
        let known = run.iter().filter_map(text_of).filter(|text| is_known(text));
        if entries < MINIMUM_ENTRIES || known.count() * 100 < entries * HEADING_PERCENT {
            continue;
        }
        let is_titled =
            |before: &usize| blocks.get(*before).and_then(text_of).is_some_and(is_title);
        let title = begin.checked_sub(1).filter(is_titled);
        if let Some(dropped) = is_dropped.get_mut(title.unwrap_or(begin)..end) {
            dropped.fill(true);
        }
    }
    // Its entries were a field, which is not read.
    for (at, block) in blocks.iter().enumerate() {
        let mut below = blocks
            .iter()
            .skip(at + 1)
            .filter(|block| **block != Block::Page);
        if matches!(below.next(), Some(Block::Heading(..)))
            && text_of(block).is_some_and(is_title)
            && let Some(dropped) = is_dropped.get_mut(at)
        {
            *dropped = true;
        }
    }
    let kept =
        |(block, is_dropped): (Block, bool)| (!is_dropped || block == Block::Page).then_some(block);
    blocks
        .into_iter()
        .zip(is_dropped)
        .filter_map(kept)
        .collect()
}

/// Where lines that end with a number follow each other, first and behind the last.
fn runs(blocks: &[Block]) -> Vec<(usize, usize)> {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for (at, _) in blocks
        .iter()
        .enumerate()
        .filter(|(_, block)| is_line(block))
    {
        match runs.last_mut() {
            Some((_, end))
                if blocks
                    .get(*end..at)
                    .is_some_and(|between| between.iter().all(|block| *block == Block::Page)) =>
            {
                *end = at + 1;
            }
            _ => runs.push((at, at + 1)),
        }
    }
    runs
}

/// Whether a block is a line of text that ends with a number.
fn is_line(block: &Block) -> bool {
    matches!(block, Block::Paragraph(_) | Block::Item { .. })
        && text_of(block).is_some_and(|text| {
            !text.contains('\n')
                && text
                    .trim_end()
                    .ends_with(|last: char| last.is_ascii_digit())
        })
}
