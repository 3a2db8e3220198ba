//! Tables without lines in a region: rows whose pieces stand below each other. Only what is surely
//! a table is taken.

use super::geometry::Area;
use super::lines::{self, Line};
use super::lists;
use super::segments::Segment;
use super::tables::Table;
use crate::slices::part;

/// Fewest rows of a table, and of one that has four columns or more, which begin at the same places
/// in all rows.
const MINIMUM_ROWS: usize = 3;
const MINIMUM_ROWS_OF_FOUR: usize = 2;

/// Most rows of a table on one page.
const MAXIMUM_ROWS: usize = 400;

/// Share of pieces that must stand below each other, and how exactly, in points.
const ALIGNED_SHARE: f32 = 0.66;
const SAME_EDGE: f32 = 3.0;

/// Most characters of an average cell: longer ones are prose.
const MAXIMUM_CELL_CHARACTERS: usize = 36;
const MAXIMUM_CELL_CHARACTERS_OF_TWO: usize = 28;

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
pub(super) fn parts(rows: Vec<Vec<Segment>>) -> Vec<Part> {
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
                text.push(row.clone());
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
        if last.is_some_and(|last| step(last, row) > MAXIMUM_STEP || is_headline(last, row)) {
            break;
        }
        let is_note = is_note(&columns, row);
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
        let mut homes = (0..columns.len()).filter(|index| {
            columns
                .get(*index)
                .is_some_and(|column| overlaps(*column, segment.area))
        });
        match (homes.next(), homes.next()) {
            (Some(home), None) if !std::mem::replace(taken.get_mut(home)?, true) => {
                let column = next.get_mut(home)?;
                *column = column.joined(segment.area);
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

fn overlaps(column: Area, piece: Area) -> bool {
    column.left < piece.right && piece.left < column.right
}

/// A single piece that begins with a column other than the first and runs on into the next ones.
fn is_note(columns: &[Area], row: &[Segment]) -> bool {
    let [piece] = row else { return false };
    columns.len() >= 3
        && columns
            .iter()
            .skip(1)
            .any(|column| (column.left - piece.area.left).abs() < SAME_EDGE)
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
    let texts = texts(rows, &columns);
    (texts.len() >= 2).then_some(Table { area, rows: texts })
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
        || is_prose(rows, is_two)
    {
        return false;
    }
    // Two columns in a font of one width are code and its comments.
    let is_code = is_two && rows.iter().flatten().all(Segment::is_fixed);
    !is_code
        && edge_share(rows, columns, false) >= ALIGNED_SHARE
        && (is_two || is_filled(rows, columns.len()))
}

/// The texts of the cells; a row that goes on with the one above is added to it.
fn texts(rows: &[Vec<Segment>], columns: &[Area]) -> Vec<Vec<String>> {
    let usual_step = usual_step(rows);
    let mut texts: Vec<Vec<String>> = Vec::new();
    let mut above: Option<&[Segment]> = None;
    for row in rows {
        let cells = cells(row, columns);
        let is_continued = above.is_some_and(|above| {
            is_note(columns, row) || continues(above, row, columns, usual_step)
        });
        match texts.last_mut().filter(|_| is_continued) {
            Some(last) => last
                .iter_mut()
                .zip(cells)
                .filter(|(_, cell)| !cell.is_empty())
                .for_each(|(text, cell)| lines::append(text, &cell, false)),
            None => texts.push(cells),
        }
        above = Some(row);
    }
    texts
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
            .filter(|area| overlaps(*column, *area))
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

/// Most pieces that share an edge.
fn most_aligned(pieces: &[Area], edge: fn(Area) -> f32) -> usize {
    let mut edges: Vec<f32> = pieces.iter().map(|area| edge(*area)).collect();
    edges.sort_by(f32::total_cmp);
    edges
        .chunk_by(|one, other| other - one < SAME_EDGE)
        .map(<[f32]>::len)
        .max()
        .unwrap_or(0)
}

/// Median step from row to row.
fn usual_step(rows: &[Vec<Segment>]) -> f32 {
    let mut steps: Vec<f32> = rows
        .windows(2)
        .filter_map(|pair| {
            if let [above, below] = pair {
                Some(step(above, below))
            } else {
                None
            }
        })
        .collect();
    steps.sort_by(f32::total_cmp);
    steps.get(steps.len() / 2).copied().unwrap_or(1.2)
}

/// Whether a row goes on with the cells of the row above: it has no first cell, its cells are words
/// (figures stand for themselves), and it follows closely or below cells that fill their columns.
fn continues(above: &[Segment], row: &[Segment], columns: &[Area], usual_step: f32) -> bool {
    let starts_later = columns
        .first()
        .is_some_and(|first| row.iter().all(|segment| segment.area.left > first.right));
    let is_words = row
        .iter()
        .all(|segment| segment.text.chars().any(char::is_alphabetic));
    if !starts_later || !is_words || row.len() * 2 > columns.len() || step(above, row) > 2.0 {
        return false;
    }
    let is_close = step(above, row) < 0.85 * usual_step;
    let is_below_full = |segment: &Segment| is_below_full(segment, above, columns);
    is_close || row.iter().all(is_below_full)
}

/// Whether the cell above a segment fills its column.
fn is_below_full(segment: &Segment, above: &[Segment], columns: &[Area]) -> bool {
    let column = columns
        .iter()
        .find(|column| column.left < segment.area.right && segment.area.left < column.right);
    let cell = above
        .iter()
        .find(|cell| cell.area.left < segment.area.right && segment.area.left < cell.area.right);
    column
        .zip(cell)
        .is_some_and(|(column, cell)| cell.area.width() > 0.75 * column.width())
}

fn cells(row: &[Segment], columns: &[Area]) -> Vec<String> {
    let home = |segment: &Segment| {
        let shared = |column: &Area| {
            column.right.min(segment.area.right) - column.left.max(segment.area.left)
        };
        let is_note = is_note(columns, std::slice::from_ref(segment)) && row.len() == 1;
        let starts_here = columns
            .iter()
            .position(|column| is_note && (column.left - segment.area.left).abs() < SAME_EDGE);
        starts_here.or_else(|| {
            (0..columns.len()).max_by(|one, other| {
                columns
                    .get(*one)
                    .map_or(f32::MIN, shared)
                    .total_cmp(&columns.get(*other).map_or(f32::MIN, shared))
            })
        })
    };
    let homes: Vec<Option<usize>> = row.iter().map(home).collect();
    let text = |column: usize| {
        let inside: Vec<Segment> = row
            .iter()
            .zip(&homes)
            .filter(|(_, home)| **home == Some(column))
            .map(|(segment, _)| segment.clone())
            .collect();
        lines::line(&inside)
            .map(|Line { text, .. }| text.trim().to_owned())
            .unwrap_or_default()
    };
    (0..columns.len()).map(text).collect()
}

/// At least half of the cells have text.
fn is_filled(rows: &[Vec<Segment>], columns: usize) -> bool {
    rows.iter().map(Vec::len).sum::<usize>() * 2 >= rows.len() * columns
}

fn is_list(rows: &[Vec<Segment>]) -> bool {
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

fn is_prose(rows: &[Vec<Segment>], is_two: bool) -> bool {
    let cells: usize = rows.iter().map(Vec::len).sum();
    let characters: usize = rows
        .iter()
        .flatten()
        .map(|segment| segment.characters)
        .sum();
    let maximum = if is_two {
        MAXIMUM_CELL_CHARACTERS_OF_TWO
    } else {
        MAXIMUM_CELL_CHARACTERS
    };
    characters > cells * maximum
}
