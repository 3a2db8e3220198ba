//! Collects the rows of one sheet while a reader goes through it, and writes its tables.

use tributary_schemas::{Error, ErrorKind, Result};

use super::Bounds;
use crate::sheets::tables::layout::{Area, Layout};
use crate::sheets::tables::merges::{Links, Merges};
use crate::sheets::tables::spool::Spool;
use crate::sheets::tables::survey::ROWS_PER_CHECK;
use crate::sheets::tables::value::{Cell, Row};
use crate::sheets::tables::writer::Writer;

/// Rows that a sheet of any format can have.
pub(super) const MAXIMUM_ROWS: u32 = 1 << 20;

/// Columns that a sheet of any format can have.
pub(super) const MAXIMUM_COLUMNS: u32 = 1 << 14;

/// Most bytes that the cells of one row hold: a row is in memory until it ends.
const MAXIMUM_ROW_BYTES: usize = 64 << 20;

/// Merged cells of one sheet that are kept.
const MAXIMUM_MERGES: usize = 20_000;

/// Longest name of a sheet in characters, and of other names that a workbook gives.
const MAXIMUM_NAME_CHARACTERS: usize = 255;

/// Links of one sheet that are kept.
const MAXIMUM_LINKS: usize = 200_000;

/// Cells read so far, over all sheets.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CellCount {
    cells: u64,
    rows: u64,
    /// Cells with a formula and no value.
    uncomputed: u64,
}

impl CellCount {
    /// Cells with a formula whose value no program has computed yet.
    pub(super) fn uncomputed(self) -> u64 {
        self.uncomputed
    }

    /// Counts a row; `Invalid` over the limit of cells or time.
    fn add(&mut self, cells: usize, bounds: Bounds<'_>) -> Result<()> {
        self.cells += cells as u64;
        self.rows += 1;
        // A wide row counts as several between two looks at the clock.
        if self.rows.is_multiple_of(ROWS_PER_CHECK) || cells > 1024 {
            bounds.limits.check_time()?;
        }
        self.check(0, bounds)
    }

    /// `Invalid` if so many more cells are over the limit.
    fn check(&self, more: u64, bounds: Bounds<'_>) -> Result<()> {
        let maximum = bounds.settings.maximum_cells;
        if self.cells.saturating_add(more) <= maximum {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::Invalid,
            format!("the workbook has more than {maximum} cells"),
        )
        .with_hint("split the workbook, or raise `convert.spreadsheet.maximum_cells`"))
    }
}

/// A row being read.
#[derive(Debug, Default)]
pub(super) struct RowBuilder {
    /// What there is of it.
    pub row: Row<'static>,
    bytes: usize,
}

impl RowBuilder {
    /// Begins the next row.
    pub(super) fn begin(&mut self, index: u32) {
        self.row.index = index;
        self.row.cells.clear();
        self.bytes = 0;
    }

    /// Adds a cell; more cells than a row can have are dropped, and more text than memory is kept
    /// for is `Invalid`.
    pub(super) fn add(&mut self, cell: Cell<'static>) -> Result<()> {
        if self.row.cells.len() >= MAXIMUM_COLUMNS as usize || cell.is_blank() {
            return Ok(());
        }
        self.bytes += cell.text().len();
        if self.bytes > MAXIMUM_ROW_BYTES {
            let message = format!(
                "row {} holds more than {MAXIMUM_ROW_BYTES} bytes",
                u64::from(self.row.index) + 1
            );
            return Err(Error::new(ErrorKind::Invalid, message)
                .with_hint("put the long texts into several rows"));
        }
        self.row.cells.push(cell);
        Ok(())
    }
}

/// A name as far as it is kept.
pub(super) fn short_name(name: &str) -> String {
    name.chars().take(MAXIMUM_NAME_CHARACTERS).collect()
}

/// A sheet being read.
#[derive(Debug)]
pub(super) struct SheetBuilder<'a> {
    bounds: Bounds<'a>,
    count: CellCount,
    spool: Spool,
    layout: Layout,
    merges: Vec<Area>,
    links: Links,
    next_row: u32,
}

impl<'a> SheetBuilder<'a> {
    /// An empty sheet, behind so many cells of the sheets before it.
    pub(super) fn new(bounds: Bounds<'a>, count: CellCount) -> Self {
        let tables = bounds.tables;
        Self {
            bounds,
            count,
            spool: Spool::new(tables.memory_bytes, tables.maximum_sheet_bytes),
            layout: Layout::default(),
            merges: Vec::new(),
            links: Links::new(),
            next_row: 0,
        }
    }

    /// What it keeps to.
    pub(super) fn bounds(&self) -> Bounds<'a> {
        self.bounds
    }

    /// Cells read so far, those of the sheets before it included.
    pub(super) fn count(&self) -> CellCount {
        self.count
    }

    /// Counts a cell with a formula and no value.
    pub(super) fn count_uncomputed(&mut self) {
        self.count.uncomputed += 1;
    }

    /// `Invalid` if so many more cells are over the limit: nothing of a row that is repeated too
    /// often is written.
    pub(super) fn check_room(&self, more: u64) -> Result<()> {
        self.count.check(more, self.bounds)
    }

    /// The row after the last one.
    pub(super) fn next_row(&self) -> u32 {
        self.next_row
    }

    /// Adds a row; blank cells are dropped, and a row that does not follow the ones before it is
    /// put after them.
    pub(super) fn push(&mut self, row: &mut Row<'_>) -> Result<()> {
        self.count.add(row.cells.len(), self.bounds)?;
        row.cells
            .retain(|cell| !cell.is_blank() && cell.column < MAXIMUM_COLUMNS);
        row.index = row.index.max(self.next_row);
        if row.cells.is_empty() || row.index >= MAXIMUM_ROWS {
            return Ok(());
        }
        if !row.cells.is_sorted_by(|one, next| one.column < next.column) {
            row.cells.sort_by_key(|cell| cell.column);
            row.cells.dedup_by_key(|cell| cell.column);
        }
        self.next_row = row.index + 1;
        self.layout.add(row);
        self.spool.push(row)
    }

    /// Takes note of a row that is hidden.
    pub(super) fn hide(&mut self, row: &Row<'_>) {
        if row.cells.iter().any(|cell| !cell.is_blank()) {
            self.layout.pass(row.index);
        }
    }

    /// Takes note of merged cells.
    pub(super) fn merge(&mut self, range: Area) {
        if self.merges.len() < MAXIMUM_MERGES
            && range.top <= range.bottom
            && range.left <= range.right
            && (range.height() > 1 || range.width() > 1)
        {
            self.merges.push(range);
        }
    }

    /// Takes note of the link of a cell.
    pub(super) fn link(&mut self, row: u32, column: u32, link: String) {
        if self.links.len() < MAXIMUM_LINKS {
            self.links.insert((row, column), link);
        }
    }

    /// Writes the tables of the sheet.
    pub(super) fn write(mut self, name: &str, writer: &mut Writer<'_>) -> Result<()> {
        let maximum = self.bounds.tables.maximum_tables_per_sheet;
        let areas = self.layout.areas(maximum);
        let ranges = if self.bounds.settings.fill_merged_cells {
            self.merges
        } else {
            Vec::new()
        };
        writer.write(
            name,
            &mut self.spool,
            &areas,
            &Merges::new(ranges, self.links),
        )
    }
}

/// Row and column, from 0, of a name such as `B7` or `$B$7`; `None` if it is none, or beyond what a
/// sheet can have.
pub(super) fn parse_cell(name: &str) -> Option<(u32, u32)> {
    let (mut column, mut row, mut has_row) = (0_u32, 0_u32, false);
    for byte in name.bytes() {
        match byte {
            b'$' => {}
            b'A'..=b'Z' | b'a'..=b'z' if !has_row => {
                column = column.checked_mul(26)? + u32::from(byte.to_ascii_uppercase() - b'A') + 1
            }
            b'0'..=b'9' => {
                has_row = true;
                row = row.checked_mul(10)?.checked_add(u32::from(byte - b'0'))?;
            }
            _ => return None,
        }
    }
    let (row, column) = (row.checked_sub(1)?, column.checked_sub(1)?);
    (row < MAXIMUM_ROWS && column < MAXIMUM_COLUMNS).then_some((row, column))
}

/// Column, from 0, of a name such as `B7`, whatever its row.
pub(super) fn parse_column(name: &str) -> Option<u32> {
    let letters = name.bytes().take_while(u8::is_ascii_alphabetic);
    let column = letters.take(4).fold(0, |column, letter| {
        column * 26 + u32::from(letter.to_ascii_uppercase() - b'A') + 1
    });
    column
        .checked_sub(1)
        .filter(|column| *column < MAXIMUM_COLUMNS)
}

/// The range of a name such as `B7:C9` or `B7`.
pub(super) fn parse_range(name: &str) -> Option<Area> {
    let (first, last) = name.split_once(':').unwrap_or((name, name));
    let ((top, left), (bottom, right)) = (parse_cell(first)?, parse_cell(last)?);
    (top <= bottom && left <= right).then_some(Area {
        top,
        bottom,
        left,
        right,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_cells_are_read_and_bounded() {
        assert_eq!(parse_cell("A1"), Some((0, 0)));
        assert_eq!(parse_cell("$XFD$1048576"), Some((1_048_575, 16_383)));
        for wrong in [
            "A4294967295",
            "XFE1",
            "A0",
            "1A",
            "",
            "A",
            "ZZZZZZZZZZ1",
            "A99999999999",
        ] {
            assert_eq!(parse_cell(wrong), None, "{wrong}");
        }
        assert_eq!(
            (
                parse_column("XFD9"),
                parse_column("XFE9"),
                parse_column("7"),
                parse_column("AAAAA1")
            ),
            (Some(16_383), None, None, None)
        );
        assert_eq!(
            parse_range("B2:C3"),
            Some(Area {
                top: 1,
                bottom: 2,
                left: 1,
                right: 2
            })
        );
        assert_eq!(parse_range("C3:B2"), None);
    }
}
