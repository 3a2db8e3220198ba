//! Rows that share columns and are no table: lists, tables of contents, prose in columns.

use super::edge_share;
use crate::pdf::geometry::{Area, share_width};
use crate::pdf::lists;
use crate::pdf::segments::Segment;

/// Most characters of an average cell: longer ones are prose.
const MAXIMUM_CELL_CHARACTERS: usize = 36;
const MAXIMUM_CELL_CHARACTERS_OF_TWO: usize = 28;

/// The same for pieces that all begin with their column and do not fill it as prose would.
const MAXIMUM_ALIGNED_CHARACTERS: usize = 70;
const FULLY_ALIGNED: f32 = 0.95;
const MAXIMUM_FULL_SHARE: f32 = 0.6;

/// Rows that begin with signs of lists or numbers of sections, or end with page numbers.
pub(super) fn is_list(rows: &[Vec<Segment>]) -> bool {
    let marked = rows
        .iter()
        .filter(|row| {
            row.first()
                .is_some_and(|first| lists::is_marker(first.text.trim()))
        })
        .count();
    let leaders = rows
        .iter()
        .filter(|row| row.iter().any(|segment| lists::has_leader(&segment.text)))
        .count();
    let numbered = rows
        .iter()
        .filter(|row| {
            row.len() == 2
                && row
                    .first()
                    .is_some_and(|first| is_section(first.text.trim()))
        })
        .count();
    let full = rows.iter().filter(|row| row.len() >= 2).count();
    marked * 2 > full || leaders * 2 > rows.len() || numbered * 2 > full
}

/// `3` or `2.1`: numbers before the entries of a list.
fn is_section(text: &str) -> bool {
    text.len() <= 6
        && text.starts_with(|first: char| first.is_ascii_digit())
        && text
            .chars()
            .all(|character| character.is_ascii_digit() || character == '.')
}

/// Whether the cells are as long as lines of prose.
pub(super) fn is_prose(rows: &[Vec<Segment>], columns: &[Area]) -> bool {
    let cells: usize = rows.iter().map(Vec::len).sum();
    let characters: usize = rows
        .iter()
        .flatten()
        .map(|segment| segment.characters + segment.wide)
        .sum();
    let is_aligned = edge_share(rows, columns, true) >= FULLY_ALIGNED
        && full_share(rows, columns) <= MAXIMUM_FULL_SHARE;
    let maximum = if is_aligned {
        MAXIMUM_ALIGNED_CHARACTERS
    } else if columns.len() == 2 {
        MAXIMUM_CELL_CHARACTERS_OF_TWO
    } else {
        MAXIMUM_CELL_CHARACTERS
    };
    characters > cells * maximum
}

/// Share of the pieces that fill their column, the last one left out, as lines of prose do.
fn full_share(rows: &[Vec<Segment>], columns: &[Area]) -> f32 {
    let before_last = columns.len().saturating_sub(1);
    let (mut full, mut all) = (0, 0);
    for column in columns.iter().take(before_last) {
        let pieces = rows
            .iter()
            .flatten()
            .filter(|piece| share_width(*column, piece.area));
        for piece in pieces {
            all += 1;
            full += usize::from(piece.area.width() > 0.85 * column.width());
        }
    }
    full as f32 / all.max(1) as f32
}
