//! Finds the tables of a sheet from where its cells are: empty rows and columns part them. Called
//! by the spreadsheet readers while rows come in, and once at the end.

use super::value::Row;

/// Rectangles of cells that are kept before the layout becomes coarse.
const MAXIMUM_RECTANGLES: usize = 100_000;

/// Cuts within cuts.
const MAXIMUM_DEPTH: usize = 32;

/// A rectangle of cells, all bounds included, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Area {
    /// First row.
    pub top: u32,
    /// Last row.
    pub bottom: u32,
    /// First column.
    pub left: u32,
    /// Last column.
    pub right: u32,
}

impl Area {
    /// Number of columns.
    pub(crate) fn width(&self) -> usize {
        (self.right - self.left) as usize + 1
    }

    /// Number of rows.
    pub(crate) fn height(&self) -> usize {
        (self.bottom - self.top) as usize + 1
    }

    fn covering(self, other: Self) -> Self {
        Self {
            top: self.top.min(other.top),
            bottom: self.bottom.max(other.bottom),
            left: self.left.min(other.left),
            right: self.right.max(other.right),
        }
    }
}

/// Occupied rectangles of a sheet. A regular table of any length is one rectangle.
#[derive(Debug, Default)]
pub(crate) struct Layout {
    closed: Vec<Area>,
    /// Rectangles that the last row belongs to.
    open: Vec<Area>,
    is_coarse: bool,
}

impl Layout {
    /// Takes note of a row; rows come in ascending order.
    pub(crate) fn add(&mut self, row: &Row<'_>) {
        let mut runs = runs(row);
        if self.is_coarse {
            runs = runs
                .into_iter()
                .reduce(Area::covering)
                .into_iter()
                .collect();
        }
        if runs.is_empty() {
            return;
        }
        let mut open = std::mem::take(&mut self.open);
        for run in &mut runs {
            let above = open.iter().position(|area| {
                area.bottom + 1 == run.top && area.left == run.left && area.right == run.right
            });
            if let Some(at) = above {
                run.top = open.swap_remove(at).top;
            }
        }
        self.closed.extend(open);
        self.open = runs;
        if self.closed.len() > MAXIMUM_RECTANGLES {
            self.coarsen();
        }
    }

    /// Takes note of a row with content that is not shown: the tables above go on below it. In the
    /// order of the other rows.
    pub(crate) fn pass(&mut self, index: u32) {
        for area in self.open.iter_mut().filter(|area| area.bottom + 1 == index) {
            area.bottom = index;
        }
    }

    /// Only blocks of adjoining rows are told apart from now on; if there are too many of these,
    /// nothing is.
    fn coarsen(&mut self) {
        self.is_coarse = true;
        let areas = std::mem::take(&mut self.closed);
        let bands = groups(areas, |area| (area.top, area.bottom), 0);
        let covers = bands
            .into_iter()
            .filter_map(|band| band.into_iter().reduce(Area::covering));
        self.closed = if covers.clone().count() > MAXIMUM_RECTANGLES / 2 {
            covers.reduce(Area::covering).into_iter().collect()
        } else {
            covers.collect()
        };
    }

    /// The tables from top to bottom and left to right; one over everything if there would be more
    /// than `maximum`.
    pub(crate) fn areas(mut self, maximum: usize) -> Vec<Area> {
        self.closed.append(&mut self.open);
        let Some(all) = self.closed.iter().copied().reduce(Area::covering) else {
            return Vec::new();
        };
        let mut areas = Vec::new();
        cut(self.closed, MAXIMUM_DEPTH, &mut areas);
        if areas.len() > maximum {
            vec![all]
        } else {
            areas
        }
    }
}

/// Runs of cells without an empty column between them.
fn runs(row: &Row<'_>) -> Vec<Area> {
    let mut runs: Vec<Area> = Vec::new();
    for cell in row.cells.iter().filter(|cell| !cell.is_blank()) {
        match runs.last_mut() {
            Some(run) if run.right + 1 == cell.column => run.right = cell.column,
            _ => runs.push(Area {
                top: row.index,
                bottom: row.index,
                left: cell.column,
                right: cell.column,
            }),
        }
    }
    runs
}

/// Cuts at empty rows, then at empty columns, then where what is above and below share no column.
fn cut(areas: Vec<Area>, depth: usize, found: &mut Vec<Area>) {
    let Some(all) = areas.iter().copied().reduce(Area::covering) else {
        return;
    };
    if depth == 0 || areas.len() == 1 {
        found.push(all);
        return;
    }
    let parts = parts(areas, all);
    if parts.len() > 1 {
        parts
            .into_iter()
            .for_each(|part| cut(part, depth - 1, found));
    } else {
        found.push(all);
    }
}

/// The bands of what stands in `all`; of a single band its columns, of a single column the tables
/// that stand corner to corner.
fn parts(areas: Vec<Area>, all: Area) -> Vec<Vec<Area>> {
    let bands = groups(areas, |area| (area.top, area.bottom), 0);
    if bands.len() > 1 {
        return bands;
    }
    let band = bands.into_iter().flatten().collect();
    match <[_; 1]>::try_from(columns(band, all)) {
        Ok([block]) => diagonal(block),
        Err(blocks) => blocks,
    }
}

/// Parts side by side. A single row is never cut, nor is a single column cut off: both mostly
/// belong to what stands beside them.
fn columns(band: Vec<Area>, all: Area) -> Vec<Vec<Area>> {
    if all.height() == 1 {
        return vec![band];
    }
    let mut blocks: Vec<Vec<Area>> = Vec::new();
    for block in groups(band, |area| (area.left, area.right), 0) {
        let is_narrow = |block: &[Area]| {
            block
                .iter()
                .copied()
                .reduce(Area::covering)
                .is_none_or(|cover| cover.width() == 1)
        };
        match blocks.last_mut() {
            Some(last) if is_narrow(last) || is_narrow(&block) => last.extend(block),
            _ => blocks.push(block),
        }
    }
    blocks
}

/// Two parts if there is a row from which on no column is used that was used above.
fn diagonal(block: Vec<Area>) -> Vec<Vec<Area>> {
    let mut sorted = block;
    sorted.sort_by_key(|area| (area.top, area.left));
    let mut below: Vec<(u32, u32)> = Vec::with_capacity(sorted.len());
    let mut cover = (u32::MAX, 0);
    for area in sorted.iter().rev() {
        cover = (cover.0.min(area.left), cover.1.max(area.right));
        below.push(cover);
    }
    below.reverse();
    let mut above = (u32::MAX, 0, 0);
    let mut at = None;
    for (index, (area, (left, right))) in sorted.iter().zip(&below).enumerate() {
        // Both parts need two columns: an indented outline is one table.
        let is_apart = *left > above.1 || *right < above.0;
        if index > 0 && is_apart && area.top > above.2 && above.1 > above.0 && right > left {
            at = Some(index);
            break;
        }
        above = (
            above.0.min(area.left),
            above.1.max(area.right),
            above.2.max(area.bottom),
        );
    }
    match at {
        Some(at) => {
            let second = sorted.drain(at..).collect();
            vec![sorted, second]
        }
        None => vec![sorted],
    }
}

/// Groups of rectangles whose extents along one axis touch or overlap.
fn groups(mut areas: Vec<Area>, extent: impl Fn(&Area) -> (u32, u32), gap: u32) -> Vec<Vec<Area>> {
    areas.sort_by_key(|area| extent(area).0);
    let mut groups: Vec<Vec<Area>> = Vec::new();
    let mut end = 0;
    for area in areas {
        let (first, last) = extent(&area);
        match groups.last_mut() {
            Some(group) if first <= end + 1 + gap => group.push(area),
            _ => groups.push(vec![area]),
        }
        end = if groups.last().is_some_and(|group| group.len() == 1) {
            last
        } else {
            end.max(last)
        };
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::super::value::{Cell, Value};
    use super::*;

    /// Areas of a picture: `x` is a cell.
    fn areas(picture: &str) -> Vec<(u32, u32, u32, u32)> {
        let mut layout = Layout::default();
        for (index, line) in picture.lines().enumerate() {
            let cells = (0..)
                .zip(line.chars())
                .filter(|(_, mark)| *mark == 'x')
                .map(|(column, _)| Cell::new(column, Value::Integer(1)));
            layout.add(&Row {
                index: index as u32,
                cells: cells.collect(),
            });
        }
        layout
            .areas(64)
            .iter()
            .map(|area| (area.top, area.bottom, area.left, area.right))
            .collect()
    }

    #[test]
    fn empty_rows_and_columns_part_tables() {
        assert_eq!(areas("xxx\nxxx\n\nxx\nxx"), [(0, 1, 0, 2), (3, 4, 0, 1)]);
        assert_eq!(
            areas("xxxx\nxxxx  xxx\nxxxx  xxx\n\n  xx\n  xx"),
            [(0, 2, 0, 3), (1, 2, 6, 8), (4, 5, 2, 3)]
        );
        assert_eq!(
            areas("xx  xx\nxx\nxx  xx\nxx\n    xx"),
            [(0, 3, 0, 1), (0, 0, 4, 5), (2, 2, 4, 5), (4, 4, 4, 5)]
        );
        assert_eq!(areas(""), []);
    }

    #[test]
    fn holes_and_single_columns_do_not_part() {
        assert_eq!(areas("xxx\nx x\n xx\nx"), [(0, 3, 0, 2)]);
        assert_eq!(areas("x xx\nx xx"), [(0, 1, 0, 3)]);
        assert_eq!(areas("x x x"), [(0, 0, 0, 4)]);
    }

    #[test]
    fn diagonal_tables_are_parted_and_outlines_are_not() {
        assert_eq!(
            areas("xxx\nxxx\n   xxx\n   xxx"),
            [(0, 1, 0, 2), (2, 3, 3, 5)]
        );
        assert_eq!(areas("x\n x\n  x\nx"), [(0, 3, 0, 2)]);
    }

    #[test]
    fn rows_that_are_not_shown_part_nothing() {
        let row = |index| Row {
            index,
            cells: vec![
                Cell::new(0, Value::Integer(1)),
                Cell::new(1, Value::Integer(1)),
            ],
        };
        let mut layout = Layout::default();
        layout.add(&row(0));
        layout.pass(1);
        layout.pass(2);
        layout.add(&row(3));
        layout.pass(5);
        layout.add(&row(6));
        let rows: Vec<(u32, u32)> = layout
            .areas(64)
            .iter()
            .map(|area| (area.top, area.bottom))
            .collect();
        assert_eq!(rows, [(0, 3), (6, 6)], "an empty row does");
    }

    #[test]
    fn too_many_areas_are_one() {
        let mut layout = Layout::default();
        for index in (0..400_000).step_by(2) {
            layout.add(&Row {
                index,
                cells: vec![Cell::new(index % 7, Value::Integer(1))],
            });
        }
        assert!(layout.closed.len() <= MAXIMUM_RECTANGLES + 1);
        assert_eq!(
            layout.areas(64),
            [Area {
                top: 0,
                bottom: 399_998,
                left: 0,
                right: 6
            }]
        );
    }
}
