//! Tables that stand below each other in one text, parted by blank lines: what an export says of
//! itself, then its records; or one table after the other. Blank lines within a table part nothing,
//! so what stands below one is a table of its own only if it looks like one.

use std::borrow::Cow;

use super::fill;
use crate::sheets::tables::header;
use crate::sheets::tables::layout::Area;
use crate::sheets::tables::value::Row;

/// Most tables of one text; one with more is taken for one table.
const MOST_TABLES: usize = 64;
/// First rows of a block that are looked at.
const ROWS_LOOKED_AT: usize = 16;
/// Most fields of a line that says something about the export.
const PREAMBLE_FIELDS: usize = 2;
/// Lines of one field above a table that are its titles.
const MOST_TITLES: u32 = 6;

/// Finds the tables while records come in.
#[derive(Default)]
pub(super) struct Blocks<'a> {
    found: Vec<Area>,
    /// The table that is found last; the block below it may belong to it.
    table: Option<Block<'a>>,
    block: Option<Block<'a>>,
}

/// Records without a blank line between them, or several such blocks that are one table.
struct Block<'a> {
    top: u32,
    bottom: u32,
    /// Columns up to the last one that is filled.
    columns: u32,
    /// Most filled fields of a record.
    widest: usize,
    first_rows: Vec<Row<'a>>,
}

impl<'a> Blocks<'a> {
    /// Takes note of a record; whether a blank line stands above it.
    pub(super) fn add(&mut self, index: u32, fields: &[Cow<'a, str>], is_parted: bool) {
        if is_parted {
            self.close();
        }
        let is_filled = |field: &&Cow<'a, str>| !field.trim().is_empty();
        let blanks = fields.iter().rev().take_while(|field| !is_filled(field));
        let columns = (fields.len() - blanks.count()) as u32;
        let widest = fields.iter().filter(is_filled).count();
        let block = self.block.get_or_insert_with(|| Block {
            top: index,
            bottom: index,
            columns,
            widest,
            first_rows: Vec::new(),
        });
        block.bottom = index;
        block.columns = block.columns.max(columns);
        block.widest = block.widest.max(widest);
        if block.first_rows.len() < ROWS_LOOKED_AT {
            let (mut cells, mut fields) = (Vec::new(), fields.to_vec());
            fill(&mut cells, &mut fields);
            block.first_rows.push(Row { index, cells });
        }
    }

    /// Decides what the block that ends here is.
    fn close(&mut self) {
        let Some(mut block) = self.block.take() else {
            return;
        };
        if let Some(preamble) = block.take_preamble() {
            self.place(preamble);
        }
        self.place(block);
    }

    fn place(&mut self, block: Block<'a>) {
        match &mut self.table {
            Some(table) if !block.is_table_below(table) => table.take(block),
            table => self
                .found
                .extend(table.replace(block).map(|table| table.area())),
        }
    }

    /// The tables from top to bottom; none where all is one table.
    pub(super) fn areas(mut self) -> Vec<Area> {
        self.close();
        self.found
            .extend(self.table.take().map(|table| table.area()));
        let is_several = (2..=MOST_TABLES).contains(&self.found.len());
        if is_several { self.found } else { Vec::new() }
    }
}

impl<'a> Block<'a> {
    fn area(&self) -> Area {
        Area {
            top: self.top,
            bottom: self.bottom,
            left: 0,
            right: self.columns.saturating_sub(1),
        }
    }

    /// Takes off the lines about the export that stand directly above its table: of one or two
    /// fields, where those below have more and a header. Few lines of one field are titles.
    fn take_preamble(&mut self) -> Option<Self> {
        let is_narrow = |row: &&Row<'_>| filled(row) <= PREAMBLE_FIELDS;
        let count = self.first_rows.iter().take_while(is_narrow).count();
        let (above, below) = self.first_rows.split_at_checked(count)?;
        let narrow = below.iter().filter(is_narrow).count();
        let is_table = below.len() >= 2 && narrow * 5 <= below.len();
        let widest = above.iter().map(filled).max().unwrap_or(0);
        let are_titles = widest <= 1 && count <= MOST_TITLES as usize;
        let has_header = || header::find(below, true, &|_| 1).header_rows > 0;
        if count < 2 || are_titles || !is_table || !has_header() {
            return None;
        }
        let bottom = above.last()?.index;
        let below = below.to_vec();
        let mut above = std::mem::replace(&mut self.first_rows, below);
        above.truncate(count);
        let top = std::mem::replace(&mut self.top, bottom + 1);
        let columns = above.iter().filter_map(|row| row.cells.last());
        Some(Self {
            top,
            bottom,
            columns: columns.map(|cell| cell.column + 1).max().unwrap_or(1),
            widest,
            first_rows: above,
        })
    }

    fn take(&mut self, below: Block<'a>) {
        self.bottom = below.bottom;
        self.columns = self.columns.max(below.columns);
        self.widest = self.widest.max(below.widest);
        let free = ROWS_LOOKED_AT.saturating_sub(self.first_rows.len());
        self.first_rows
            .extend(below.first_rows.into_iter().take(free));
    }

    /// Whether it has a header of its own, and the block above it is no part of it: that is narrower
    /// than its first record, or both have words above numbers.
    fn is_table_below(&self, above: &Block<'_>) -> bool {
        let head = header::find(&self.first_rows, true, &|_| 1);
        let is_title = above.widest == 1 && above.bottom - above.top < MOST_TITLES;
        if is_title || head.header_rows == 0 {
            return false;
        }
        let header = self.first_rows.get(head.titles).map_or(0, filled);
        let both = || [above, self].map(|block| header::is_above_numbers(&block.first_rows));
        above.widest < header || both() == [true, true]
    }
}

fn filled(row: &Row<'_>) -> usize {
    row.cells.iter().filter(|cell| !cell.is_blank()).count()
}
