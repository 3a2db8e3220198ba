//! Tables as papers and books set them: a line above the head, one below it and one below the last
//! row, and none between rows. Cells wrap at the same step at which rows follow each other, so that
//! what begins a row is told by the room that the line above had left.

use std::collections::BTreeSet;
use std::ops::Range;

use super::bands::Band;
use super::run::{self, Line, step};
use super::{cells, check};
use crate::pdf::geometry::Area;
use crate::pdf::segments::Segment;
use crate::pdf::tables;
use crate::slices::part;

/// Most lines between rules of such a table, the outer ones included, and of its head.
pub(in crate::pdf) const MAXIMUM_EDGES: usize = 4;
const MAXIMUM_HEAD: usize = 4;

/// Step below which small letters above or below a line belong to it, in sizes.
const SCRIPT_STEP: f32 = 0.6;

/// Characters (Chinese ones count twice) from which on the text above is more than a short value.
const SHORTEST_TEXT: usize = 10;

/// How much wider than within cells the step to the next row is, where it is wider, relative.
const ROW_STEP: f32 = 1.12;

/// The rows of cells in columns that begin at `lefts`; `None` if it is no such table, or each band
/// between two lines is one row.
pub(in crate::pdf) fn rows(
    pieces: &[Segment],
    lefts: &[f32],
    edges: &[f32],
) -> Option<Vec<Vec<String>>> {
    if edges.len() > MAXIMUM_EDGES {
        return None;
    }
    let lines = with_scripts(run::lines(vec![pieces.to_vec()]));
    let columns = columns(pieces, lefts);
    let mut bands = Vec::new();
    for (number, edge) in edges.windows(2).enumerate() {
        let inside = within(&lines, edge);
        match inside.len() {
            0 => {}
            1..=MAXIMUM_HEAD if number == 0 => bands.push(Band {
                first: inside.start,
                end: inside.end,
            }),
            _ => bands.extend(body(&lines, inside, &columns)),
        }
    }
    if bands.len() < edges.len() {
        return None;
    }
    rows_of(&lines, &bands, &columns, pieces)
}

/// The rows of the text below the head of such a table, in columns that begin at `lefts`.
pub(in crate::pdf) fn rows_of_body(pieces: &[Segment], lefts: &[f32]) -> Option<Vec<Vec<String>>> {
    let lines = with_scripts(run::lines(vec![pieces.to_vec()]));
    let columns = columns(pieces, lefts);
    let bands = body(&lines, 0..lines.len(), &columns);
    let are_all = columns.len() == lefts.len();
    rows_of(&lines, &bands, &columns, pieces).filter(|_| are_all)
}

fn rows_of(
    lines: &[Line],
    bands: &[Band],
    columns: &[Area],
    pieces: &[Segment],
) -> Option<Vec<Vec<String>>> {
    if !check::holds(lines, bands, columns) {
        return None;
    }
    let of = |band: &Band| cells(part(lines, band.first..band.end), columns);
    let mut rows: Vec<Vec<String>> = bands.iter().map(of).collect();
    tables::turn_if_right_to_left(&mut rows, pieces.iter());
    Some(rows)
}

/// The lines with what stands a little above or below them, as signs of notes do.
fn with_scripts(lines: Vec<Line>) -> Vec<Line> {
    let mut whole: Vec<Line> = Vec::new();
    for line in lines {
        match whole.last_mut() {
            Some(last) if step(last, &line) < SCRIPT_STEP => join(last, line),
            _ => whole.push(line),
        }
    }
    whole
}

/// Puts the pieces of both on the baseline of the one with more letters.
fn join(line: &mut Line, other: Line) {
    let letters = |line: &Line| {
        line.pieces
            .iter()
            .map(|piece| piece.characters)
            .sum::<usize>()
    };
    let baseline = match letters(line) >= letters(&other) {
        true => line.baseline(),
        false => other.baseline(),
    };
    line.pieces.extend(other.pieces);
    line.pieces
        .sort_by(|one, other| one.area.left.total_cmp(&other.area.left));
    line.pieces
        .iter_mut()
        .for_each(|piece| piece.baseline = baseline);
}

/// The columns as wide as the pieces that begin in them and end before the next one.
fn columns(pieces: &[Segment], lefts: &[f32]) -> Vec<Area> {
    let ends = lefts.iter().skip(1).copied().chain([f32::MAX]);
    let of = |(left, end): (&f32, f32)| {
        let is_own = |piece: &&Segment| {
            piece.area.left >= left - 1.0 && piece.area.left < end && piece.area.right <= end
        };
        Area::around(pieces.iter().filter(is_own).map(|piece| piece.area))
    };
    lefts.iter().zip(ends).filter_map(of).collect()
}

/// The lines between two heights.
fn within(lines: &[Line], edge: &[f32]) -> Range<usize> {
    let (Some(top), Some(bottom)) = (edge.first(), edge.last()) else {
        return 0..0;
    };
    let first = lines.partition_point(|line| line.baseline() <= *top);
    let end = lines.partition_point(|line| line.baseline() <= *bottom);
    first..end.max(first)
}

/// The rows of the lines between two rules: parted where the step is wider, if what stands closer was
/// broken for want of room, else where a line does not go on with the one above.
fn body(lines: &[Line], inside: Range<usize>, columns: &[Area]) -> Vec<Band> {
    let steps = part(lines, inside.clone()).windows(2);
    let steps: Vec<f32> = steps
        .filter_map(|pair| Some(step(pair.first()?, pair.last()?)))
        .collect();
    let smallest = steps.iter().copied().fold(f32::MAX, f32::min);
    let is_far = |at: usize| {
        let before = at.checked_sub(inside.start + 1);
        let step = before.and_then(|before| steps.get(before));
        step.is_none_or(|step| *step >= ROW_STEP * smallest)
    };
    let by_step = parted(inside.clone(), is_far);
    let wraps = by_step.len() < inside.len() && by_step.len() > 1;
    if wraps && check::are_broken(lines, &by_step, columns) {
        return by_step;
    }
    let mut row = BTreeSet::new();
    parted(inside.clone(), |at| {
        let own = homes(lines, at, columns);
        let begins = is_far(at) || !goes_on(lines, at, &row, columns);
        match begins {
            true => row = own,
            false => row.extend(own),
        }
        begins
    })
}

/// Bands of lines: the first one and each that `begins` begin one. Asked of all in their order.
fn parted(inside: Range<usize>, mut begins: impl FnMut(usize) -> bool) -> Vec<Band> {
    let mut bands: Vec<Band> = Vec::new();
    for at in inside {
        let begins = begins(at);
        match bands.last_mut() {
            Some(band) if !begins => band.end = at + 1,
            _ => bands.push(Band {
                first: at,
                end: at + 1,
            }),
        }
    }
    bands
}

/// The columns that have text on a line.
fn homes(lines: &[Line], at: usize, columns: &[Area]) -> BTreeSet<usize> {
    let pieces = lines.get(at).into_iter().flat_map(|line| &line.pieces);
    pieces
        .filter_map(|piece| run::home(columns, piece))
        .collect()
}

/// Whether all text of a line goes on with text right above that had no room for its first word, and
/// a column of the row has none. Figures beside other text begin a row, and so do a merged cell and what
/// stands below short values in several columns.
fn goes_on(lines: &[Line], at: usize, row: &BTreeSet<usize>, columns: &[Area]) -> bool {
    let (Some(line), Some(above)) = (
        lines.get(at),
        at.checked_sub(1).and_then(|at| lines.get(at)),
    ) else {
        return false;
    };
    let own = homes(lines, at, columns);
    let is_broken = |home: &usize| {
        let ends = first_and_last(above, *home, columns);
        let next = first_and_last(line, *home, columns);
        let (Some((first, last)), Some((next, _)), Some(column)) = (ends, next, columns.get(*home))
        else {
            return false;
        };
        let width = last.area.right - first.area.left;
        check::is_broken(last, width, next, *column)
    };
    let has_figures = || own.len() > 1 && line.pieces.iter().any(is_figure);
    let has_text = || {
        own.iter().any(|home| {
            let pieces = above.pieces.iter();
            let own = pieces.filter(|piece| run::home(columns, piece) == Some(*home));
            own.map(check::columns_of).sum::<usize>() >= SHORTEST_TEXT
        })
    };
    let is_merged = || {
        line.pieces
            .iter()
            .any(|piece| !run::is_in_one(columns, piece))
    };
    !own.is_empty()
        && !has_figures()
        && !is_merged()
        && (own.len() == 1 || has_text())
        && own.iter().all(is_broken)
        && row.iter().any(|column| !own.contains(column))
}

fn is_figure(piece: &Segment) -> bool {
    let text = piece.text.trim();
    let is_part =
        |sign: char| sign.is_numeric() || matches!(sign, '.' | ',' | '%' | '+' | '-' | '−');
    text.contains(char::is_numeric) && text.chars().all(is_part)
}

/// The first and the last piece of a line in a column.
fn first_and_last<'a>(
    line: &'a Line,
    home: usize,
    columns: &[Area],
) -> Option<(&'a Segment, &'a Segment)> {
    let pieces = line.pieces.iter();
    let mut own = pieces.filter(|piece| run::home(columns, piece) == Some(home));
    let first = own.next()?;
    Some((first, own.next_back().unwrap_or(first)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pdf::segments::samples::text;

    /// Lines of cells in columns at 50, 120 and 240 points, 12 points below each other.
    fn rows_of(lines: &[[&str; 3]], head: usize) -> Option<Vec<Vec<String>>> {
        let heights = (0_u8..).map(|line| 100.0 + 12.0 * f32::from(line));
        let cells = lines
            .iter()
            .zip(heights.clone())
            .flat_map(|(cells, height)| {
                let placed = cells.iter().zip([50.0, 120.0, 240.0]);
                let filled = placed.filter(|(cell, _)| !cell.is_empty());
                filled.map(move |(cell, left)| text(cell, left, height))
            });
        let pieces: Vec<Segment> = cells.collect();
        let edge = |line: usize| heights.clone().nth(line).unwrap_or_default() - 9.0;
        rows(
            &pieces,
            &[50.0, 120.0, 240.0],
            &[edge(0), edge(head), edge(lines.len())],
        )
    }

    #[test]
    fn a_line_goes_on_where_the_one_above_had_no_room() {
        let found = rows_of(
            &[
                ["Part", "Hours", "What was done"],
                ["Body labour", "2", "The bumper was taken"],
                ["", "", "off and painted anew"],
                ["Paint labour", "1.5", "All of it"],
                ["Supplies", "", "Paint"],
            ],
            1,
        );
        let wanted = [
            ["Part", "Hours", "What was done"],
            [
                "Body labour",
                "2",
                "The bumper was taken off and painted anew",
            ],
            ["Paint labour", "1.5", "All of it"],
            ["Supplies", "", "Paint"],
        ];
        assert_eq!(
            found,
            Some(wanted.map(|row| row.map(str::to_owned).to_vec()).to_vec())
        );
    }

    #[test]
    fn signs_of_notes_stand_in_the_cells_of_their_line() {
        let mut pieces = vec![
            text("Site", 50.0, 100.0),
            text("Rain", 120.0, 100.0),
            text("Glendhu", 50.0, 112.0),
            text("1310", 120.0, 112.0),
            text("Redhill", 50.0, 124.0),
            text("783", 120.0, 124.0),
        ];
        let mut sign = text("a", 145.0, 96.0);
        sign.size = 6.0;
        pieces.push(sign);
        let found = rows(&pieces, &[50.0, 120.0], &[85.0, 103.0, 130.0]).unwrap_or_default();
        assert_eq!(found.len(), 3, "{found:?}");
        assert_eq!(found.first().map(Vec::len), Some(2));
    }

    #[test]
    fn prose_in_two_columns_is_none() {
        let line = [
            "a line of prose that is",
            "long enough to be one of many",
            "",
        ];
        assert_eq!(rows_of(&[line; 12], 1), None);
    }
}
