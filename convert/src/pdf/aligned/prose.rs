//! Rows that share columns and are no table: lists, tables of contents, prose in columns.

use super::edge_share;
use crate::pdf::geometry::{Area, share_width};
use crate::pdf::lists;
use crate::pdf::segments::Segment;

/// Most characters of an average cell: longer ones are prose.
const MAXIMUM_CELL_CHARACTERS: usize = 36;
const MAXIMUM_CELL_CHARACTERS_OF_TWO: usize = 28;

/// Fewest numbers whose order says that they are values.
const MINIMUM_VALUES: usize = 4;

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
    let numbers = rows.iter().filter_map(|row| match row.as_slice() {
        [first, _] => section(first.text.trim()),
        _ => None,
    });
    let numbers: Vec<Vec<u32>> = numbers.collect();
    let numbered = match are_values(&numbers) {
        true => 0,
        false => numbers.len(),
    };
    let full = rows.iter().filter(|row| row.len() >= 2).count();
    marked * 2 > full || leaders * 2 > rows.len() || numbered * 2 > full
}

/// The parts of `3` or `2.1`: numbers before the entries of a list.
fn section(text: &str) -> Option<Vec<u32>> {
    let parts = text.strip_suffix('.').unwrap_or(text).split('.');
    let parts: Option<Vec<u32>> = parts.map(|part| part.parse().ok()).collect();
    parts.filter(|_| text.len() <= 6 && text.starts_with(|first: char| first.is_ascii_digit()))
}

/// Whether numbers are values with decimals, which come in any order: those of sections ascend.
fn are_values(numbers: &[Vec<u32>]) -> bool {
    let ascending = numbers.windows(2).filter(|pair| pair.is_sorted()).count();
    numbers.len() >= MINIMUM_VALUES
        && numbers.iter().all(|number| number.len() == 2)
        && ascending * 4 < (numbers.len() - 1) * 3
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pdf::segments::samples::text;

    #[test]
    fn numbers_that_ascend_are_those_of_sections() {
        let rows = |numbers: [&str; 4]| -> Vec<Vec<Segment>> {
            let row = |number| vec![text(number, 50.0, 100.0), text("Antenna", 100.0, 100.0)];
            numbers.map(row).to_vec()
        };
        assert!(is_list(&rows(["1", "1.1", "1.2.", "2"])));
        assert!(is_list(&rows(["1", "2", "3", "3.1"])));
        assert!(!is_list(&rows(["90.84", "64.86", "14.41", "97.23"])));
        assert!(is_list(&rows(["3788", "3789", "3790", "14.8"])));
    }
}
