//! Takes back headings that nothing needs: where a document has clear ones, a line of the lowest
//! rank among other short lines (labels of a drawing, captions side by side), and the head of the
//! first page above the title.

use super::Found;
use super::features::length;
use crate::pdf::blocks::{Block, Paragraph};

/// Clear headings from which a document needs no doubtful ones.
const MINIMUM_CLEAR: usize = 3;

/// How much larger what follows the head of the first page is, at least.
const TITLE: f32 = 1.3;

/// Difference of sizes that is none, relative.
const SAME_SIZE: f32 = 0.03;

/// Columns from which a line is text.
const TEXT_LENGTH: usize = 90;

/// What the lines around a heading say of it.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    /// Text, a table or the like follows.
    Clear,
    /// Short lines stand before and behind it, or another beside it.
    Doubtful,
    Neither,
}

/// Leaves out the doubtful headings; `pages` are the blocks of each page.
pub(super) fn remove(found: &mut Vec<Found>, pages: &[Vec<Block>]) {
    let places: Vec<Place> = found
        .iter()
        .map(|heading| place(heading, found, pages))
        .collect();
    let all = || found.iter().zip(&places);
    let clear = || all().filter(|(_, place)| **place == Place::Clear);
    // A style that stands more often above text than among short lines is one of headings.
    let is_clear_style = |style: &Paragraph| {
        let alike = all().filter(|(heading, _)| is_alike(&heading.looks, style));
        let balance = alike.map(|(_, place)| match place {
            Place::Clear => 1,
            Place::Doubtful => -1,
            Place::Neither => 0,
        });
        balance.sum::<i32>() > 0
    };
    let sizes = clear().filter(|(heading, _)| is_clear_style(&heading.looks));
    let sizes: Vec<f32> = sizes.map(|(heading, _)| heading.looks.size).collect();
    let is_lowest = |heading: &Found| {
        let larger = sizes
            .iter()
            .filter(|size| heading.looks.size < (1.0 - SAME_SIZE) * **size);
        larger.count() >= MINIMUM_CLEAR
    };
    let stays: Vec<bool> = all()
        .enumerate()
        .map(|(at, (heading, place))| {
            let is_doubtful =
                *place == Place::Doubtful && is_lowest(heading) && !is_clear_style(&heading.looks);
            let is_named = heading.told.is_some() || super::number_depth(&heading.looks.text) > 0;
            is_named || !is_doubtful && !is_page_head(heading, found.get(at + 1))
        })
        .collect();
    let mut stays = stays.into_iter();
    found.retain(|_| stays.next().unwrap_or(true));
}

/// Whether it is the first line of the document, no larger than the text and right above a title.
fn is_page_head(heading: &Found, next: Option<&Found>) -> bool {
    let is_above_title = next.is_some_and(|next| {
        next.page == heading.page
            && next.block == heading.block + 1
            && next.looks.size >= TITLE * heading.looks.size
    });
    heading.is_first && !heading.is_large && !heading.looks.is_bold && is_above_title
}

fn is_alike(one: &Paragraph, other: &Paragraph) -> bool {
    let difference = (one.size - other.size).abs();
    difference <= SAME_SIZE * one.size
        && (one.is_bold, one.is_italic, one.colour)
            == (other.is_bold, other.is_italic, other.colour)
}

fn place(heading: &Found, found: &[Found], pages: &[Vec<Block>]) -> Place {
    let block = |at: Option<usize>| pages.get(heading.page)?.get(at?);
    let before = block(heading.block.checked_sub(1));
    let after = block(Some(heading.block + 1));
    let is_beside = |block: Option<&Block>| {
        let Some(Block::Paragraph(other)) = block else {
            return false;
        };
        let (own, area) = (heading.looks.area, other.area);
        is_short(other) && own.shared_height(area) * 2.0 > own.height().min(area.height())
    };
    if is_beside(before) || is_beside(after) {
        return Place::Doubtful;
    }
    let is_heading = |block: usize| {
        let at = found.partition_point(|other| (other.page, other.block) < (heading.page, block));
        found
            .get(at)
            .is_some_and(|other| (other.page, other.block) == (heading.page, block))
    };
    let is_short_line = |block: Option<&Block>| matches!(block, Some(Block::Paragraph(paragraph)) if is_short(paragraph));
    let is_among_lines = heading.block > 0
        && is_short_line(before)
        && !is_heading(heading.block - 1)
        && is_short_line(after)
        && !is_heading(heading.block + 1);
    match after {
        _ if is_among_lines => Place::Doubtful,
        Some(Block::Paragraph(next)) if is_short(next) => Place::Neither,
        Some(_) => Place::Clear,
        None => Place::Neither,
    }
}

/// Whether it is one line that is no full line of text.
fn is_short(paragraph: &Paragraph) -> bool {
    paragraph.lines <= 1 && length(&paragraph.text) < TEXT_LENGTH
}
