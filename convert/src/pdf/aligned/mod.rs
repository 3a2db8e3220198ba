//! Tables without lines in a region: rows whose pieces stand below each other. Only what is surely
//! a table is taken.
//!
//! Runs of text are parted first where the lines around them are (`cuts`); rows that share
//! columns are collected; lines that stand closer than the rows do are lines of one row (`cells`).

mod cells;
mod prose;

use super::cuts;
use super::geometry::{Area, SAME_EDGE, most_aligned, share_width};
use super::segments::Segment;
use super::tables::{self, Table};
use crate::slices::part;
use cells::texts;
use prose::{is_list, is_prose};

/// Fewest rows of a table, and of one that has four columns or more, which begin at the same places
/// in all rows.
const MINIMUM_ROWS: usize = 3;
const MINIMUM_ROWS_OF_FOUR: usize = 2;

/// Most rows of a table on one page.
const MAXIMUM_ROWS: usize = 400;

/// Share of pieces that must stand below each other.
const ALIGNED_SHARE: f32 = 0.66;

/// How much larger than the row above a headline is, relative.
const HEADLINE_SIZE: f32 = 1.12;

/// Widest step from row to row, in sizes.
const MAXIMUM_STEP: f32 = 4.2;

/// Part of a region.
#[derive(Debug, PartialEq)]
pub(super) enum Part {
    /// Rows of text.
    Rows(Vec<Vec<Segment>>),
    /// A table.
    Table(Table),
}

/// Finds the tables among the rows of a region.
pub(super) fn parts(uncut: Vec<Vec<Segment>>) -> Vec<Part> {
    let rows = cuts::with_cuts(&uncut);
    let mut parts = Vec::new();
    let mut text: Vec<Vec<Segment>> = Vec::new();
    let mut index = 0;
    while let Some(row) = rows.get(index) {
        let length = if row.len() >= 2 {
            table_length(part(&rows, index..))
        } else {
            0
        };
        let found = rows
            .get(index..index + length)
            .filter(|rows| !rows.is_empty())
            .and_then(table);
        match found {
            Some(table) => {
                if !text.is_empty() {
                    parts.push(Part::Rows(std::mem::take(&mut text)));
                }
                parts.push(Part::Table(table));
                index += length;
            }
            None => {
                text.extend(uncut.get(index).cloned());
                index += 1;
            }
        }
    }
    if !text.is_empty() {
        parts.push(Part::Rows(text));
    }
    parts
}

/// How many rows from the first one on have their pieces in common columns.
fn table_length(rows: &[Vec<Segment>]) -> usize {
    let mut columns: Vec<Area> = Vec::new();
    let (mut length, mut sure) = (0, 0);
    let mut last: Option<&[Segment]> = None;
    for row in rows.iter().take(MAXIMUM_ROWS) {
        let is_note = is_note(&columns, row);
        let ends = |last: &[Segment]| {
            step(last, row) > MAXIMUM_STEP
                || (is_headline(last, row) && !starts_later(&columns, row))
        };
        if last.is_some_and(ends) {
            break;
        }
        let Some(next) = with_row(&columns, row) else {
            break;
        };
        columns = next;
        length += 1;
        if row.len() >= 2 || is_note {
            sure = length;
        }
        last = Some(row);
    }
    sure
}

/// Whether a row is a single piece that stands out from the row above: the headline of what
/// follows.
fn is_headline(above: &[Segment], row: &[Segment]) -> bool {
    let ([piece], Some(first)) = (row, above.first()) else {
        return false;
    };
    piece.size > HEADLINE_SIZE * first.size || (piece.is_bold() && !first.is_bold())
}

/// Distance of two rows in sizes of their letters.
fn step(above: &[Segment], below: &[Segment]) -> f32 {
    match (above.first(), below.first()) {
        (Some(above), Some(below)) => {
            (below.baseline - above.baseline) / above.size.max(below.size).max(1.0)
        }
        _ => 0.0,
    }
}

/// The columns with a row added; `None` if a piece of it stands in two columns, or two pieces in
/// one.
fn with_row(columns: &[Area], row: &[Segment]) -> Option<Vec<Area>> {
    if is_note(columns, row) {
        return Some(columns.to_vec());
    }
    let mut next = columns.to_vec();
    let mut taken = vec![false; columns.len()];
    for segment in row {
        let is_below = |index: &usize| {
            let column = columns.get(*index);
            column.is_some_and(|column| share_width(*column, segment.area))
        };
        // No merged cell leaves no column to the others of its row: a line of text does.
        if columns.len() >= 3 && (0..columns.len()).all(|index| is_below(&index)) {
            return None;
        }
        let mut homes = (0..columns.len()).filter(is_below);
        match (homes.next(), homes.next()) {
            (Some(home), None) if !std::mem::replace(taken.get_mut(home)?, true) => {
                let column = next.get_mut(home)?;
                *column = column.joined(segment.area);
            }
            (Some(first), Some(second)) if spans(columns, first, segment) && row.len() >= 2 => {
                for home in [first, second] {
                    if std::mem::replace(taken.get_mut(home)?, true) {
                        return None;
                    }
                }
            }
            (None, _) if columns.is_empty() || row.len() >= 2 => next.push(segment.area),
            _ => return None,
        }
    }
    // A piece that grew a column into its neighbour stands in both.
    next.sort_by(|one, other| one.left.total_cmp(&other.left));
    let overlap = next
        .windows(2)
        .any(|pair| matches!(pair, [one, other] if one.right > other.left));
    (!overlap).then_some(next)
}

/// Whether a piece is a merged cell: it begins with its first column, of at least three.
fn spans(columns: &[Area], first: usize, piece: &Segment) -> bool {
    let begins = |column: &Area| (column.left - piece.area.left).abs() < SAME_EDGE;
    columns.len() >= 3 && columns.get(first).is_some_and(begins)
}

/// A single piece that begins with a column other than the first and runs on into the next ones.
fn is_note(columns: &[Area], row: &[Segment]) -> bool {
    columns.len() >= 3 && row.len() == 1 && starts_later(columns, row)
}

/// Whether a row begins with a column other than the first.
fn starts_later(columns: &[Area], row: &[Segment]) -> bool {
    let begins = |column: &Area, piece: &Segment| (column.left - piece.area.left).abs() < SAME_EDGE;
    let mut later = columns.iter().skip(1);
    row.first()
        .is_some_and(|piece| later.any(|column| begins(column, piece)))
}

/// The table of rows that share columns; `None` if they are prose, a list or a table of contents.
fn table(rows: &[Vec<Segment>]) -> Option<Table> {
    let mut columns: Vec<Area> = Vec::new();
    for row in rows {
        columns = with_row(&columns, row)?;
    }
    if !is_table(rows, &columns) {
        return None;
    }
    let area = Area::around(columns.iter().copied())?;
    let mut texts = texts(rows, &columns);
    tables::turn_if_right_to_left(&mut texts, rows.iter().flatten());
    (texts.len() >= 2).then_some(Table {
        area,
        rows: texts,
        ..Table::default()
    })
}

/// Whether rows that share columns are a table, by how many there are, how they line up and what
/// they say.
fn is_table(rows: &[Vec<Segment>], columns: &[Area]) -> bool {
    let full = rows.iter().filter(|row| row.len() >= 2).count();
    let is_two = columns.len() == 2;
    let minimum = if columns.len() >= 4 && edge_share(rows, columns, true) > 0.9 {
        MINIMUM_ROWS_OF_FOUR
    } else {
        MINIMUM_ROWS
    };
    if columns.len() < 2
        || full < minimum
        || full * 2 < rows.len()
        || is_list(rows)
        || is_prose(rows, columns)
    {
        return false;
    }
    // Two columns in a font of one width are code and its comments.
    let is_code = is_two && rows.iter().flatten().all(Segment::is_fixed);
    !is_code
        && edge_share(rows, columns, false) >= ALIGNED_SHARE
        && (is_two || is_filled(rows, columns.len()))
}

/// Share of the pieces whose left edge, right edge or middle (only the left edge if so wanted) is
/// that of most pieces of their column.
fn edge_share(rows: &[Vec<Segment>], columns: &[Area], only_left: bool) -> f32 {
    let (mut aligned, mut all) = (0, 0);
    for column in columns {
        let pieces: Vec<Area> = rows
            .iter()
            .flatten()
            .map(|segment| segment.area)
            .filter(|area| share_width(*column, *area))
            .collect();
        let of = |edge: fn(Area) -> f32| most_aligned(&pieces, edge);
        let left = of(|area| area.left);
        aligned += if only_left {
            left
        } else {
            left.max(of(|area| area.right)).max(of(Area::centre))
        };
        all += pieces.len();
    }
    aligned as f32 / all.max(1) as f32
}

/// At least half of the cells have text.
fn is_filled(rows: &[Vec<Segment>], columns: usize) -> bool {
    rows.iter().map(Vec::len).sum::<usize>() * 2 >= rows.len() * columns
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pdf::segments::samples::text;

    #[test]
    fn a_line_of_text_over_all_columns_is_no_row() {
        let cells = |baseline: f32, cells: [&str; 3]| {
            let lefts = [50.0, 200.0, 350.0];
            let cells = lefts.into_iter().zip(cells);
            cells
                .map(|(left, words)| text(words, left, baseline))
                .collect()
        };
        let mut rows: Vec<Vec<Segment>> = vec![
            cells(100.0, ["Channel", "Handover", "Network"]),
            cells(114.0, ["Band", "38.62", "Between"]),
            cells(128.0, ["39.83", "Measured", "Each"]),
            vec![text("Result", 50.0, 152.0)],
        ];
        // Bold words at the end of a justified line stand apart from it.
        let line = "A line of text that goes on over all of the columns and on, and then";
        rows.push(vec![text(line, 50.0, 176.0), text("Bold", 410.0, 176.0)]);
        let parts = parts(rows.clone());
        let [Part::Table(table), Part::Rows(rest)] = parts.as_slice() else {
            panic!("{parts:?}");
        };
        assert_eq!(table.rows.len(), 3);
        assert_eq!(rest.as_slice(), part(&rows, 3..));
    }
}
