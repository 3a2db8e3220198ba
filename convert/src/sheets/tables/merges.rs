//! Merged cells: the text of one over several rows is repeated in each of them, so that every row
//! stands for itself; one over several columns is repeated only in the first rows of a table, where
//! it is a header. Links of cells, which workbooks keep apart from them, are put in at the same
//! time.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use super::layout::Area;
use super::value::{Cell, Row};

/// Merged ranges of a sheet that are looked at.
const MAXIMUM_MERGES: usize = 20_000;

/// Rows from the top of a table in which a cell over several columns is repeated.
const HEADER_ROWS: u32 = 3;

/// Longest text in bytes that is repeated.
const MAXIMUM_REPEATED_BYTES: usize = 200;

/// Links of cells by row and column.
pub(crate) type Links = HashMap<(u32, u32), String>;

/// The merged ranges and the links of a sheet.
#[derive(Debug, Default)]
pub(crate) struct Merges {
    /// By first row.
    ranges: Vec<Area>,
    links: Arc<Links>,
}

impl Merges {
    /// The ranges of a sheet in any order, and its links.
    pub(crate) fn new(mut ranges: Vec<Area>, links: Links) -> Self {
        ranges.truncate(MAXIMUM_MERGES);
        ranges.sort_by_key(|range| (range.top, range.left));
        Self {
            ranges,
            links: Arc::new(links),
        }
    }

    /// Rows that the merged cells of a row reach over within a table, 2 for cells that are merged
    /// over columns only: below a header over several columns stand the names of these.
    pub(crate) fn height_in(&self, row: u32, area: Area) -> usize {
        let first = self.ranges.partition_point(|range| range.top < row);
        let heights = self
            .ranges
            .iter()
            .skip(first)
            .take_while(|range| range.top == row)
            .filter(|range| is_inside(range, area));
        let height = |range: &Area| {
            if range.height() == 1 && range.right > range.left && range.width() < area.width() {
                2
            } else {
                range.height()
            }
        };
        heights.map(height).max().unwrap_or(1)
    }

    /// Prepares the reading of an area.
    pub(crate) fn filler(&self, area: Area) -> Filler {
        let is_repeated = |range: &&Area| {
            is_inside(range, area) && (range.width() < area.width() || range.height() > 1)
        };
        let waiting = self
            .ranges
            .iter()
            .filter(is_repeated)
            .rev()
            .copied()
            .collect();
        Filler {
            area,
            waiting,
            active: Vec::new(),
            links: Arc::clone(&self.links),
        }
    }
}

fn is_inside(range: &Area, area: Area) -> bool {
    range.left >= area.left
        && range.right <= area.right
        && range.top >= area.top
        && range.top <= area.bottom
}

/// Cuts rows to an area and fills its merged cells.
#[derive(Debug)]
pub(crate) struct Filler {
    area: Area,
    /// Ranges that begin further down, the next one last.
    waiting: Vec<Area>,
    active: Vec<(Area, Cell<'static>)>,
    links: Arc<Links>,
}

impl Filler {
    /// The row within the area; `None` if nothing of it is there. Rows come in ascending order.
    pub(crate) fn fill<'a>(&mut self, row: &'a Row<'a>) -> Option<Cow<'a, Row<'a>>> {
        let is_own = |cell: &&Cell<'_>| (self.area.left..=self.area.right).contains(&cell.column);
        let has_all = row.cells.iter().all(|cell| is_own(&cell));
        if !row.cells.iter().filter(is_own).any(|cell| !cell.is_blank()) {
            return None;
        }
        if has_all && self.waiting.is_empty() && self.active.is_empty() && self.links.is_empty() {
            return Some(Cow::Borrowed(row));
        }
        let mut filled = Row {
            index: row.index,
            cells: row.cells.iter().filter(is_own).cloned().collect(),
        };
        self.add_links(&mut filled);
        self.begin_ranges(&filled);
        for (range, cell) in &self.active {
            repeat(
                &mut filled,
                *range,
                cell,
                range.top < self.area.top.saturating_add(HEADER_ROWS),
            );
        }
        Some(Cow::Owned(filled))
    }

    fn add_links(&self, row: &mut Row<'_>) {
        if self.links.is_empty() {
            return;
        }
        for cell in &mut row.cells {
            if let Some(link) = self.links.get(&(row.index, cell.column)) {
                cell.link = Some(Cow::Owned(link.clone()));
            }
        }
    }

    /// Leaves the ranges that end above the row, and takes the cells of those that begin in it.
    fn begin_ranges(&mut self, row: &Row<'_>) {
        self.active.retain(|(range, _)| range.bottom >= row.index);
        while let Some(range) = self.waiting.pop_if(|range| range.top <= row.index) {
            let cell = row
                .cell(range.left)
                .filter(|cell| range.top == row.index && !cell.is_blank());
            if let Some(cell) = cell.filter(|cell| cell.text().len() <= MAXIMUM_REPEATED_BYTES) {
                self.active.push((range, cell.clone().into_owned()));
            }
        }
    }
}

/// Puts copies of a merged cell into the empty cells that it covers.
fn repeat(row: &mut Row<'_>, range: Area, cell: &Cell<'static>, over_columns: bool) {
    let last = if over_columns {
        range.right
    } else {
        range.left
    };
    for column in range.left..=last {
        match row.cells.binary_search_by_key(&column, |cell| cell.column) {
            Ok(at) => {
                if let Some(place) = row.cells.get_mut(at).filter(|place| place.is_blank()) {
                    *place = Cell {
                        column,
                        ..cell.clone()
                    };
                }
            }
            Err(at) => row.cells.insert(
                at,
                Cell {
                    column,
                    ..cell.clone()
                },
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::value::Value;
    use super::*;

    const AREA: Area = Area {
        top: 0,
        bottom: 9,
        left: 0,
        right: 3,
    };

    fn range(top: u32, bottom: u32, left: u32, right: u32) -> Area {
        Area {
            top,
            bottom,
            left,
            right,
        }
    }

    fn texts(filler: &mut Filler, index: u32, cells: &[(u32, &'static str)]) -> Vec<(u32, String)> {
        let row = Row {
            index,
            cells: cells
                .iter()
                .map(|(column, text)| Cell::new(*column, Value::Text((*text).into())))
                .collect(),
        };
        filler.fill(&row).map_or_else(Vec::new, |row| {
            row.cells
                .iter()
                .map(|cell| (cell.column, cell.text().into_owned()))
                .collect()
        })
    }

    #[test]
    fn groups_are_repeated_downwards_and_headers_sideways() {
        let merges = Merges::new(
            vec![range(5, 6, 0, 1), range(0, 1, 0, 0), range(0, 0, 1, 2)],
            Links::new(),
        );
        assert_eq!(
            (merges.height_in(0, AREA), merges.height_in(3, AREA)),
            (2, 1)
        );
        let mut filler = merges.filler(AREA);
        let owned = |cells: &[(u32, &str)]| {
            cells
                .iter()
                .map(|(column, text)| (*column, (*text).to_owned()))
                .collect::<Vec<_>>()
        };
        assert_eq!(
            texts(&mut filler, 0, &[(0, "item"), (1, "both")]),
            owned(&[(0, "item"), (1, "both"), (2, "both")])
        );
        assert_eq!(
            texts(&mut filler, 1, &[(1, "a"), (2, "b")]),
            owned(&[(0, "item"), (1, "a"), (2, "b")])
        );
        assert_eq!(
            texts(&mut filler, 5, &[(0, "group"), (3, "x")]),
            owned(&[(0, "group"), (3, "x")])
        );
        assert_eq!(
            texts(&mut filler, 6, &[(3, "y")]),
            owned(&[(0, "group"), (3, "y")])
        );
        assert_eq!(texts(&mut filler, 7, &[(3, "z")]), owned(&[(3, "z")]));
        assert_eq!(texts(&mut filler, 8, &[(7, "outside")]), owned(&[]));
    }

    #[test]
    fn claims_of_whole_columns_cost_nothing() {
        let ranges = (0..100_000).map(|row| range(row, u32::MAX, 0, 0)).collect();
        let mut filler = Merges::new(ranges, Links::new()).filler(AREA);
        assert_eq!(texts(&mut filler, 0, &[(1, "x")]).len(), 1);
        assert!(filler.active.is_empty() && filler.waiting.len() <= 10);
    }
}
