//! Lines that look like those of one cell and are rows of their own.

use super::segments::Segment;

/// Fewest columns of a grid, and share of them that have text on each of its lines.
const GRID_COLUMNS: usize = 5;
const GRID_SHARE: f32 = 0.9;

/// Fewest lines of figures, and of short words, that no text was broken into; the longest short word.
const FIGURES: usize = 3;
const WORDS: usize = 4;
const SHORT_WORD: usize = 8;

/// How far apart the baselines of one line are, in points.
const SAME_LINE: f32 = 3.0;

/// Width of a space, in sizes of the letters, and by how much the room is known, in points.
const SPACE: f32 = 0.25;
const SLACK: f32 = 1.0;

/// What would be a cell.
pub(super) struct Cell<'a> {
    pub pieces: Vec<&'a Segment>,
    /// Width that its column has for text, in points.
    pub room: f32,
}

/// Whether the lines of what would be one row are several: two have text in nearly all columns, or
/// a column has figures, or short words that would have had room beside each other, below each
/// other.
pub(super) fn are_several(cells: &[Cell]) -> bool {
    is_grid(cells) || cells.iter().any(is_column_of_values)
}

fn is_grid(cells: &[Cell]) -> bool {
    if cells.len() < GRID_COLUMNS {
        return false;
    }
    let needed = (GRID_SHARE * cells.len() as f32).ceil() as usize;
    let tallest = cells.iter().max_by_key(|cell| cell.pieces.len());
    let baselines = tallest.map_or_else(Vec::new, |cell| lines_of(&cell.pieces));
    let is_full = |baseline: &&f32| {
        let has_text = |cell: &&Cell| {
            let mut pieces = cell.pieces.iter();
            pieces.any(|piece| (piece.baseline - **baseline).abs() < SAME_LINE)
        };
        cells.iter().filter(has_text).count() >= needed
    };
    baselines.iter().filter(is_full).count() >= 2
}

/// Where the lines of a cell stand.
fn lines_of(cell: &[&Segment]) -> Vec<f32> {
    let mut baselines: Vec<f32> = cell.iter().map(|piece| piece.baseline).collect();
    baselines.sort_by(f32::total_cmp);
    baselines.dedup_by(|next, last| *next - *last < SAME_LINE);
    baselines
}

fn is_column_of_values(cell: &Cell) -> bool {
    let lines = lines_of(&cell.pieces).len();
    let are_all = |is_so: fn(&str) -> bool| {
        let mut pieces = cell.pieces.iter();
        pieces.all(|piece| is_so(piece.text.trim()))
    };
    (lines >= FIGURES && are_all(is_figure))
        || (lines >= WORDS && are_all(is_short_word) && !is_broken(cell))
}

/// Whether each line was broken because the next word had no room.
fn is_broken(cell: &Cell) -> bool {
    let mut pieces = cell.pieces.clone();
    pieces.sort_by(|one, other| one.baseline.total_cmp(&other.baseline));
    let is_full = |pair: &[&Segment]| match pair {
        [above, below] => {
            let wanted = above.area.width() + SPACE * above.size + below.area.width();
            wanted > cell.room - SLACK
        }
        _ => true,
    };
    pieces.windows(2).all(is_full)
}

fn is_figure(text: &str) -> bool {
    text.contains(char::is_numeric) && !text.contains(char::is_alphabetic)
}

fn is_short_word(text: &str) -> bool {
    text.is_ascii() && text.len() <= SHORT_WORD && !text.contains(' ')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pdf::segments::samples::text;

    fn column(left: f32, lines: &[&str]) -> Vec<Segment> {
        let lines = (0_u8..).zip(lines);
        let place = |(at, line): (u8, &&str)| text(line, left, 100.0 + 12.0 * f32::from(at));
        lines.map(place).collect()
    }

    fn several_in(room: f32, columns: &[&[&str]]) -> bool {
        let lefts = (0_u8..).map(|at| 100.0 * f32::from(at));
        let cells: Vec<Vec<Segment>> = lefts
            .zip(columns)
            .map(|(left, lines)| column(left, lines))
            .collect();
        let cells: Vec<Cell> = cells.iter().map(|cell| whole(cell, room)).collect();
        are_several(&cells)
    }

    fn whole(pieces: &[Segment], room: f32) -> Cell<'_> {
        let pieces = pieces.iter().collect();
        Cell { pieces, room }
    }

    fn several(columns: &[&[&str]]) -> bool {
        several_in(100.0, columns)
    }

    #[test]
    fn values_below_each_other_are_rows() {
        assert!(several(&[&["Pages"], &["300", "5,000", "-13.7"]]));
        assert!(several(&[&["P,T", "P", "na", "T"], &["a word of text"]]));
        assert!(several(&[
            &["Ln", "1"],
            &["Screen", "SCR-1"],
            &["Start", "12/20/24"],
            &["End", "12/25/24"],
            &["Title", "Holiday"],
        ]));
    }

    #[test]
    fn words_that_were_broken_are_one_cell() {
        assert!(!several(&[
            &["Handover", "power"],
            &["the power of a", "measured", "cell"],
            &["88.92"],
        ]));
        assert!(!several(&[&["参数", "1"], &["12", "34"]]));
        let narrow: &[&[&str]] = &[&["Each", "station", "band", "power"], &["88.92"]];
        assert!(!several_in(42.0, narrow));
        assert!(several_in(80.0, narrow));
    }
}
