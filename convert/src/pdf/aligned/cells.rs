//! The cells of rows that share columns: which lines make one row, and the text of each column.

use super::{is_note, step};
use crate::pdf::geometry::{Area, SAME_EDGE};
use crate::pdf::lines::{self, Line};
use crate::pdf::segments::Segment;

/// Least step between two lines of one cell, in sizes.
const LINE_STEP: f32 = 0.9;

/// How much wider than the closest step of a table those from row to row are, relative.
const BAND_STEP: f32 = 1.15;

/// The texts of the cells; a row that goes on with the one above is added to it.
pub(super) fn texts(rows: &[Vec<Segment>], columns: &[Area]) -> Vec<Vec<String>> {
    let threshold = band_step(rows, columns);
    let usual_step = usual_step(rows);
    let mut texts: Vec<Vec<String>> = Vec::new();
    let mut above: Option<&[Segment]> = None;
    for row in rows {
        let cells = cells(row, columns);
        let is_continued = above.is_some_and(|above| {
            let in_band = threshold.map_or_else(
                || continues(above, row, columns, usual_step),
                |threshold| step(above, row) < threshold,
            );
            is_note(columns, row) || in_band
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

/// The step from which a line begins another row, where lines of cells stand closer than rows do:
/// of those that follow closely, none is full. `None` if all lines are rows.
fn band_step(rows: &[Vec<Segment>], columns: &[Area]) -> Option<f32> {
    let pairs = || {
        rows.windows(2).filter_map(|pair| match pair {
            [above, below] => Some((step(above, below), below.len())),
            _ => None,
        })
    };
    // Cells in the middle of their rows put lines between the lines of others.
    let closest = pairs()
        .map(|(step, _)| step)
        .filter(|step| *step > LINE_STEP);
    let threshold = BAND_STEP * closest.fold(f32::MAX, f32::min);
    let is_wide = |step: f32| step >= threshold;
    let has_rows = pairs().any(|(step, _)| is_wide(step));
    let are_parts = pairs().all(|(step, pieces)| is_wide(step) || pieces < columns.len());
    (has_rows && are_parts).then_some(threshold)
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
        let starts_here = columns
            .iter()
            .position(|column| (column.left - segment.area.left).abs() < SAME_EDGE);
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
