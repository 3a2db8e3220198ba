//! Tables: rows in a row whose boxes stand in the same columns. Only what is clear becomes a table:
//! every box in one column of its own, at least two rows and columns, most cells filled.

use super::escape::escape_cell;
use super::frame::Item;
use super::rows::Row;
use crate::table::{push_row, push_rule};

/// Rows that a table of two columns has at least; a wider one has one less.
const MINIMUM_ROWS: usize = 3;
/// Share of the cells that must hold text.
const MINIMUM_FILL: f32 = 0.7;
/// Longest cell in narrow characters: longer ones are lines of text that happen to stand side by
/// side.
const MAXIMUM_CELL_CHARACTERS: usize = 60;
/// Rows farther apart than this many of their heights belong to different things.
const MAXIMUM_GAP: f32 = 3.0;

/// Left and right end of a column.
type Span = (f32, f32);

/// The table that the first rows make, as Markdown, and the number of its rows.
pub(super) fn table_at(rows: &[Row]) -> Option<(String, usize)> {
    let mut spans: Vec<Span> = Vec::new();
    let mut length = 0;
    for (index, row) in rows.iter().enumerate() {
        let follows = index == 0
            || rows
                .get(index - 1)
                .is_some_and(|above| row.top() - above.bottom() < MAXIMUM_GAP * row.height());
        let fits = row.items.len() >= 2
            && row
                .items
                .iter()
                .all(|item| item.columns() <= MAXIMUM_CELL_CHARACTERS);
        let Some(wider) = Some(())
            .filter(|()| follows && fits)
            .and_then(|()| with_row(&spans, row))
        else {
            break;
        };
        spans = wider;
        length = index + 1;
    }
    let table = rows.get(..length)?;
    let filled: usize = table.iter().map(|row| row.items.len()).sum();
    let is_clear = spans.len() >= 2
        && length + usize::from(spans.len() > 2) >= MINIMUM_ROWS
        && filled as f32 >= MINIMUM_FILL * (length * spans.len()) as f32;
    is_clear.then(|| (markdown(table, &spans), length))
}

/// The columns with those of a further row; `None` if two boxes of one row would fall into one
/// column.
fn with_row(spans: &[Span], row: &Row) -> Option<Vec<Span>> {
    let mut all: Vec<Span> = spans
        .iter()
        .copied()
        .chain(row.items.iter().map(|item| (item.left, item.right)))
        .collect();
    all.sort_by(|one, other| one.0.total_cmp(&other.0));
    let mut merged: Vec<Span> = Vec::with_capacity(all.len());
    for (left, right) in all {
        match merged.last_mut().filter(|last| left < last.1) {
            Some(last) => last.1 = last.1.max(right),
            None => merged.push((left, right)),
        }
    }
    let kept_apart = |boxes: &[Span]| {
        let mut columns: Vec<Option<usize>> =
            boxes.iter().map(|span| column_of(&merged, *span)).collect();
        columns.dedup();
        columns.len() == boxes.len()
    };
    let own: Vec<Span> = row
        .items
        .iter()
        .map(|item| (item.left, item.right))
        .collect();
    (kept_apart(&own) && kept_apart(spans)).then_some(merged)
}

fn column_of(columns: &[Span], span: Span) -> Option<usize> {
    columns
        .iter()
        .position(|column| span.0 >= column.0 && span.1 <= column.1)
}

fn markdown(rows: &[Row], spans: &[Span]) -> String {
    let mut out = String::new();
    for (index, row) in rows.iter().enumerate() {
        let cell = |column: usize| {
            let is_in = |item: &&Item| column_of(spans, (item.left, item.right)) == Some(column);
            let item = row.items.iter().find(is_in);
            item.map_or_else(String::new, |item| escape_cell(&item.text))
        };
        push_row((0..spans.len()).map(cell), &mut out);
        if index == 0 {
            push_rule(spans.len(), &mut out);
        }
    }
    out
}
