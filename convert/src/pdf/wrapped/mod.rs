//! Tables without lines whose cells wrap: text in columns, in bands of lines that stand closer to
//! each other than the bands do, wherever in its band a cell stands.
//!
//! Lines that share columns are collected (`run`). Of the steps from line to line within the
//! columns the small ones are those within cells and the others those from row to row (`bands`).
//! It is a table only if the lines of its cells were broken because they were full (`check`): rows
//! that stand in groups are not.

mod bands;
pub(super) mod between_rules;
mod check;
mod run;

use super::cuts;
use super::geometry::Area;
use super::lines;
use super::ruled;
use super::segments::Segment;
use super::tables::{self, Table};
use crate::slices::part;
use run::{Line, Run};

/// Starts of lines that are tried without success until the rest of a run is passed over.
const MAXIMUM_FAILURES: usize = 4;

/// Where tables are looked for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Within {
    /// All of a page, whose columns of text are not parted yet.
    Page,
    /// Text that is read from top to bottom.
    Region,
}

/// Part of a region.
#[derive(Debug, PartialEq)]
pub(super) enum Part {
    /// Runs of text.
    Text(Vec<Segment>),
    /// A table.
    Table(Table),
}

/// Takes the text of such tables of a page out of the segments, before its columns of text are looked
/// for: cells in the middle of their rows would be taken for these.
pub(super) fn take(segments: Vec<Segment>) -> (Vec<Table>, Vec<Segment>) {
    let (mut tables, mut rest) = (Vec::new(), Vec::new());
    for part in parts_of(segments, Within::Page) {
        match part {
            Part::Text(segments) => rest.extend(segments),
            Part::Table(table) => tables.push(table),
        }
    }
    (tables, rest)
}

/// Finds such tables among the runs of text of a region, from top to bottom.
pub(super) fn parts(segments: Vec<Segment>) -> Vec<Part> {
    parts_of(segments, Within::Region)
}

fn parts_of(segments: Vec<Segment>, within: Within) -> Vec<Part> {
    let lines = run::lines(cuts::with_cuts(&lines::rows(segments.clone())));
    let mut rest = segments;
    let mut parts = Vec::new();
    for found in tables(&lines, within) {
        let top = found.first - 0.1;
        let (before, others): (Vec<_>, Vec<_>) =
            rest.into_iter().partition(|piece| piece.baseline < top);
        rest = others;
        rest.retain(|piece| piece.baseline > found.last + 0.1);
        parts.push(Part::Text(before));
        parts.push(Part::Table(found.table));
    }
    parts.push(Part::Text(rest));
    parts.retain(|part| !matches!(part, Part::Text(text) if text.is_empty()));
    parts
}

/// A table and the heights of its first and last line.
struct Found {
    table: Table,
    first: f32,
    last: f32,
}

fn tables(lines: &[Line], within: Within) -> Vec<Found> {
    let mut found = Vec::new();
    let (mut at, mut failures) = (0, 0);
    while at < lines.len() {
        let Some(run) = Run::of(lines, at) else {
            at += 1;
            continue;
        };
        if let Some((table, end)) = table(lines, &run, within) {
            found.push(table);
            (at, failures) = (end, 0);
        } else if failures < MAXIMUM_FAILURES {
            (at, failures) = (at + 1, failures + 1);
        } else {
            (at, failures) = (run.end.max(at + 1), 0);
        }
    }
    found
}

/// The table in a run, and the line behind it.
fn table(lines: &[Line], run: &Run, within: Within) -> Option<(Found, usize)> {
    let mut all = bands::of(lines, run, within).into_iter();
    let (bands, columns) = all.find_map(|bands| {
        let (first, last) = (bands.first()?, bands.last()?);
        let columns = run::columns(part(lines, first.first..last.end), &run.columns);
        let is_table = check::is_table(lines, &bands, &columns)
            && (within == Within::Region || check::is_centred(lines, &bands, &columns));
        is_table.then_some((bands, columns))
    })?;
    let (first, last) = (bands.first()?, bands.last()?);
    let inside = part(lines, first.first..last.end);
    let pieces = || inside.iter().flat_map(|line| &line.pieces);
    let mut rows: Vec<Vec<String>> = bands
        .iter()
        .map(|band| cells(part(lines, band.first..band.end), &columns))
        .collect();
    tables::turn_if_right_to_left(&mut rows, pieces());
    let found = Found {
        table: Table {
            area: Area::around(pieces().map(|piece| piece.area))?,
            rows,
            ..Table::default()
        },
        first: inside.first()?.baseline(),
        last: inside.last()?.lowest(),
    };
    Some((found, last.end))
}

/// The text of each column of a band, its lines joined.
fn cells(band: &[Line], columns: &[Area]) -> Vec<String> {
    let mut cells = vec![Vec::new(); columns.len()];
    for piece in band.iter().flat_map(|line| &line.pieces) {
        if let Some(cell) = run::home(columns, piece).and_then(|home| cells.get_mut(home)) {
            cell.push(piece.clone());
        }
    }
    cells.into_iter().map(ruled::text).collect()
}

#[cfg(test)]
mod tests;
