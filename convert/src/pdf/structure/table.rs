//! Tables of the structure tree: rows, cells that span rows and columns, tables that are none.

use crate::pdf::geometry::Area;

use super::cells::{CellTags, HeaderColumns};
use super::roles::Role;
use super::told::{Teller, Told};
use super::tree::Node;

/// Most cells of a table, merged ones counted by the places that they fill.
const MAXIMUM_CELLS: usize = 20_000;

/// Most columns.
const MAXIMUM_COLUMNS: usize = 1000;

/// Longest text of a merged cell that is said in each row, in bytes.
const LONGEST_REPEATED: usize = 200;

/// A cell before its place is known.
struct Cell {
    told: Vec<Told>,
    tags: CellTags,
    /// Its text goes on from the page before.
    goes_on: bool,
    /// The column that its headers name.
    column: Option<usize>,
}

/// From where to where something goes on its lines, in points.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Extent {
    left: f32,
    right: f32,
}

impl Extent {
    fn joined(self, other: Self) -> Self {
        Self {
            left: self.left.min(other.left),
            right: self.right.max(other.right),
        }
    }

    /// How far apart both are; below 0, what they share.
    fn gap(self, other: Self) -> f32 {
        (self.left - other.right).max(other.left - self.right)
    }
}

impl Cell {
    /// Where its text stands; `None` without text.
    fn extent(&self) -> Option<Extent> {
        let areas = self
            .told
            .iter()
            .flat_map(Told::segments)
            .map(|text| text.area);
        let area = Area::around(areas)?;
        Some(Extent {
            left: area.left,
            right: area.right,
        })
    }
}

/// Tells a table: what stands beside its rows as blocks before it, then the table; the blocks of
/// its cells if they lay out the page.
pub(super) fn tell(teller: &mut Teller<'_>, node: &Node) {
    let mut rows = Vec::new();
    collect(teller, node, &mut rows);
    let grid = if lays_out(&rows) {
        None
    } else {
        grid(&mut rows, teller.headers)
    };
    match grid {
        Some(grid) => {
            let has_head = has_head(&rows);
            teller.push((!grid.is_empty()).then_some(Told::Table {
                rows: grid,
                has_head,
                goes_on: goes_on(&rows),
            }));
        }
        None => teller.push(rows.into_iter().flatten().flat_map(|cell| cell.told)),
    }
}

fn collect(teller: &mut Teller<'_>, node: &Node, rows: &mut Vec<Vec<Cell>>) {
    for kid in node.nodes() {
        match kid.role {
            Role::Row => rows.push(row(teller, kid)),
            Role::Group | Role::Section | Role::Inline if has_rows(kid) => {
                collect(teller, kid, rows);
            }
            _ => teller.block(kid),
        }
    }
}

fn has_rows(node: &Node) -> bool {
    node.nodes()
        .any(|kid| kid.role == Role::Row || has_rows(kid))
}

fn row(teller: &mut Teller<'_>, node: &Node) -> Vec<Cell> {
    let cells = node.nodes().map(|kid| Cell {
        told: teller.cell(kid),
        tags: kid.cell.clone(),
        goes_on: kid.goes_on(),
        column: None,
    });
    cells.collect()
}

/// Whether a table only lays out the page: it has one column, or cells with headings or tables.
fn lays_out(rows: &[Vec<Cell>]) -> bool {
    let mut cells = rows.iter().flatten();
    let is_block = |told: &Told| matches!(told, Told::Heading(..) | Told::Table { .. });
    rows.iter().map(Vec::len).max().unwrap_or(0) < 2
        || cells.any(|cell| cell.told.iter().any(is_block))
}

/// Whether the first row with text is of headers alone.
fn has_head(rows: &[Vec<Cell>]) -> bool {
    let has_text = |row: &&Vec<Cell>| row.iter().any(|cell| cell.extent().is_some());
    let first = rows.iter().find(has_text);
    first.is_some_and(|row| row.iter().all(|cell| cell.tags.is_header))
}

/// Whether the first row below the head goes on from the page before. A head that is printed again has
/// content on both.
fn goes_on(rows: &[Vec<Cell>]) -> bool {
    let is_head = |row: &&Vec<Cell>| row.iter().all(|cell| cell.tags.is_header);
    let Some(first) = rows.iter().find(|row| !is_head(row)) else {
        return false;
    };
    // A rest without text is no row of the grid.
    let has_text = first.iter().any(|cell| !text(&cell.told).is_empty());
    has_text && first.iter().any(|cell| cell.goes_on)
}

/// The text of each place, rows of one length; `None` for too large a table.
fn grid(rows: &mut [Vec<Cell>], headers: &mut HeaderColumns) -> Option<Vec<Vec<String>>> {
    name_columns(rows, headers)?;
    let natural = starts(rows, &[])?;
    let width = ends(rows, &natural).max().unwrap_or(0);
    if rows.len().saturating_mul(width) > MAXIMUM_CELLS {
        return None;
    }
    let placed = starts(rows, &columns(rows, &natural, width))?;
    let mut grid = vec![vec![String::new(); width]; rows.len()];
    for ((row, starts), texts) in rows.iter().zip(&placed).zip(&mut grid) {
        for (cell, start) in row.iter().zip(starts) {
            if let Some(place) = texts.get_mut(*start) {
                *place = text(&cell.told);
            }
        }
    }
    let has_own = |row: &Vec<String>| row.iter().any(|text| !text.is_empty());
    let have_own: Vec<bool> = grid.iter().map(has_own).collect();
    repeat_merged(rows, &placed, &mut grid);
    let mut have_own = have_own.into_iter();
    grid.retain(|_| have_own.next().unwrap_or_default());
    Some(grid)
}

/// Says what a merged cell says in each row that it spans, and what a header says in each column: rows
/// are read, and found, by themselves.
fn repeat_merged(rows: &[Vec<Cell>], placed: &[Vec<usize>], grid: &mut [Vec<String>]) {
    for (at, (row, starts)) in rows.iter().zip(placed).enumerate() {
        for (cell, start) in row.iter().zip(starts) {
            let columns = if cell.tags.is_header {
                cell.tags.columns
            } else {
                1
            };
            let own = grid.get(at).and_then(|texts| texts.get(*start));
            let is_merged = cell.tags.rows > 1 || columns > 1;
            let Some(own) = own
                .filter(|own| is_merged && own.len() <= LONGEST_REPEATED)
                .cloned()
            else {
                continue;
            };
            let below = grid.iter_mut().skip(at).take(cell.tags.rows);
            let spanned = below.flat_map(|texts| texts.iter_mut().skip(*start).take(columns));
            for place in spanned.filter(|place| place.is_empty()) {
                place.clone_from(&own);
            }
        }
    }
}

/// Tells each cell the column that its headers name; `None` for too many columns.
fn name_columns(rows: &mut [Vec<Cell>], headers: &mut HeaderColumns) -> Option<()> {
    let natural = starts(rows, &[])?;
    for (cell, start) in rows.iter().flatten().zip(natural.iter().flatten()) {
        headers.insert(&cell.tags, *start);
    }
    for cell in rows.iter_mut().flatten() {
        cell.column = headers.column(&cell.tags);
    }
    Some(())
}

/// Behind the last column of each row.
fn ends<'a>(rows: &'a [Vec<Cell>], starts: &'a [Vec<usize>]) -> impl Iterator<Item = usize> + 'a {
    rows.iter().zip(starts).map(|(row, starts)| {
        let last = row.last().zip(starts.last());
        last.map_or(0, |(cell, start)| start + cell.tags.columns)
    })
}

/// From where to where each column goes, by the cells of rows that fill all columns; empty if no
/// row tells all.
fn columns(rows: &[Vec<Cell>], starts: &[Vec<usize>], width: usize) -> Vec<Extent> {
    let mut columns: Vec<Option<Extent>> = vec![None; width];
    let whole = rows
        .iter()
        .zip(starts)
        .zip(ends(rows, starts))
        .filter(|(_, end)| *end == width);
    for ((row, starts), _) in whole {
        for (cell, start) in row.iter().zip(starts) {
            if let (1, Some(own), Some(column)) =
                (cell.tags.columns, cell.extent(), columns.get_mut(*start))
            {
                *column = Some(column.map_or(own, |known| known.joined(own)));
            }
        }
    }
    columns
        .into_iter()
        .collect::<Option<_>>()
        .unwrap_or_default()
}

/// The first column of each cell; `None` for too many columns. A cell stands in the column of its
/// headers, or in the next one that none above it fills; in a row with fewer cells than columns, in
/// the column at its place: some programs leave empty cells out.
fn starts(rows: &[Vec<Cell>], columns: &[Extent]) -> Option<Vec<Vec<usize>>> {
    // Rows that a cell above still fills, for each column.
    let mut filled: Vec<usize> = Vec::new();
    let mut all = Vec::with_capacity(rows.len());
    for row in rows {
        let taken: Vec<bool> = filled.iter().map(|rows| *rows > 0).collect();
        for rows in &mut filled {
            *rows = rows.saturating_sub(1);
        }
        let starts = row_starts(row, &taken, columns);
        for (cell, start) in row.iter().zip(&starts) {
            let end = start + cell.tags.columns;
            if end > MAXIMUM_COLUMNS {
                return None;
            }
            filled.resize(filled.len().max(end), 0);
            for rows in filled.iter_mut().skip(*start).take(cell.tags.columns) {
                *rows = (cell.tags.rows - 1).max(*rows);
            }
        }
        all.push(starts);
    }
    Some(all)
}

fn row_starts(row: &[Cell], taken: &[bool], columns: &[Extent]) -> Vec<usize> {
    let is_taken = |column: usize| taken.get(column).copied().unwrap_or(false);
    let mut left: usize = row.iter().map(|cell| cell.tags.columns).sum();
    let free = (0..columns.len())
        .filter(|column| !is_taken(*column))
        .count();
    let is_short = left < free;
    let mut next = 0;
    let mut starts = Vec::with_capacity(row.len());
    for cell in row {
        while is_taken(next) {
            next += 1;
        }
        let last = columns.len().saturating_sub(left);
        let nearest = || {
            let own = cell.extent()?;
            let distance = |column: &usize| columns.get(*column).map(|known| known.gap(own));
            (next..=last)
                .filter(|column| !is_taken(*column))
                .filter_map(|column| Some((column, distance(&column)?)))
                .min_by(|one, other| one.1.total_cmp(&other.1))
                .map(|(column, _)| column)
        };
        let named = cell
            .column
            .filter(|column| *column >= next && !is_taken(*column));
        let start = named
            .or_else(|| is_short.then(nearest).flatten())
            .unwrap_or(next);
        starts.push(start);
        next = start + cell.tags.columns;
        left -= cell.tags.columns;
    }
    starts
}

fn text(told: &[Told]) -> String {
    let lines = told.iter().map(|told| match told {
        Told::Item { label, text, .. } => format!("{label} {}", super::text(text)),
        Told::Description(text) => text.clone(),
        other => super::text(other.segments()),
    });
    let lines: Vec<String> = lines.filter(|line| !line.trim().is_empty()).collect();
    lines.join("\n")
}
