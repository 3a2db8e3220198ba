//! Reads one sheet of an xlsb workbook row by row.

use std::borrow::Cow;

use tributary_schemas::{Error, ErrorKind, Result};

use super::package::Part;
use super::sheet::{MAXIMUM_COLUMNS, MAXIMUM_ROWS, RowBuilder, SheetBuilder};
use super::sheets::Context;
use super::xls_records::{error_name, f64_at, rk_at, u32_at};
use super::xlsb_records::{Records, kind, u24_at, wide_text};
use crate::sheets::tables::layout::Area;
use crate::sheets::tables::value::{Cell, Value};

/// Column ranges that can be hidden.
const MAXIMUM_HIDDEN_RANGES: usize = 1000;

/// Reads a sheet to its end; what was read before an error stays in the builder.
pub(super) fn read_sheet(
    part: Part<'_>,
    name: &str,
    context: &Context<'_>,
    builder: &mut SheetBuilder<'_>,
) -> Result<()> {
    let mut records = Records::new(part, name);
    let keeps_hidden = context.bounds.settings.hidden_rows_and_columns;
    let mut hidden_columns = HiddenColumns::default();
    let mut row = RowBuilder::default();
    let mut row_hidden = false;
    while let Some((kind, data)) = records.next()? {
        match kind {
            kind::ROW => {
                if !row_hidden || keeps_hidden {
                    builder.push(&mut row.row)?;
                } else {
                    builder.hide(&row.row);
                }
                row.begin(u32_at(data, 0).unwrap_or(MAXIMUM_ROWS));
                row_hidden = data.get(11).is_some_and(|flags| flags & 0x10 != 0);
            }
            kind::CELL_RK..=kind::FORMULA_ERROR | kind::CELL_RICH_TEXT => {
                let column = u32_at(data, 0).filter(|column| {
                    *column < MAXIMUM_COLUMNS && (keeps_hidden || !hidden_columns.hold(*column))
                });
                if let Some(cell) = column.and_then(|column| cell(kind, data, column, context)) {
                    row.add(cell)?;
                }
            }
            kind::COLUMN_INFO => hidden_columns.note(data),
            kind::MERGED_CELLS => area(data)
                .into_iter()
                .for_each(|range| builder.merge(range)),
            kind::HYPERLINK => hyperlink(data, context, builder),
            kind::END_SHEET => {
                return if row_hidden && !keeps_hidden {
                    Ok(())
                } else {
                    builder.push(&mut row.row)
                };
            }
            _ => {}
        }
    }
    builder.push(&mut row.row)?;
    Err(Error::new(ErrorKind::Corrupt, "a sheet ends early"))
}

/// First and last column of each range that is hidden.
#[derive(Default)]
struct HiddenColumns(Vec<(u32, u32)>);

impl HiddenColumns {
    /// Notes a record about columns: first, last, width, format, flags.
    fn note(&mut self, data: &[u8]) {
        let is_hidden = data.get(16).is_some_and(|flags| flags & 1 != 0);
        if is_hidden && self.0.len() < MAXIMUM_HIDDEN_RANGES {
            self.0.extend(u32_at(data, 0).zip(u32_at(data, 4)));
        }
    }

    fn hold(&self, column: u32) -> bool {
        self.0
            .iter()
            .any(|(first, last)| (*first..=*last).contains(&column))
    }
}

/// A cell: column, format, then the value by the record's type.
fn cell(kind: u32, data: &[u8], column: u32, context: &Context<'_>) -> Option<Cell<'static>> {
    let number = |number: f64| {
        let format = u24_at(data, 4).unwrap_or(0) as usize;
        context
            .styles
            .format(format)
            .cell(column, number, context.is_1904)
    };
    let text = |text: String| Cell::new(column, Value::Text(Cow::Owned(text)));
    let value = match kind {
        kind::CELL_RK => return rk_at(data, 8).map(number),
        kind::CELL_REAL | kind::FORMULA_NUMBER => return f64_at(data, 8).map(number),
        kind::CELL_TEXT | kind::FORMULA_TEXT => return wide_text(data, 8).map(text),
        kind::CELL_RICH_TEXT => return wide_text(data, 9).map(text),
        kind::CELL_SHARED => {
            return context
                .texts
                .get(u32_at(data, 8)? as usize)
                .map(|shared| text(shared.to_owned()));
        }
        kind::CELL_BOOLEAN | kind::FORMULA_BOOLEAN => Value::Boolean(*data.get(8)? != 0),
        kind::CELL_ERROR | kind::FORMULA_ERROR => {
            Value::Error(Cow::Borrowed(error_name(*data.get(8)?)))
        }
        _ => return None,
    };
    Some(Cell::new(column, value))
}

/// First and last row, first and last column.
fn area(data: &[u8]) -> Option<Area> {
    let range = Area {
        top: u32_at(data, 0)?,
        bottom: u32_at(data, 4)?,
        left: u32_at(data, 8)?,
        right: u32_at(data, 12)?,
    };
    (range.top <= range.bottom
        && range.left <= range.right
        && range.bottom < MAXIMUM_ROWS
        && range.right < MAXIMUM_COLUMNS)
        .then_some(range)
}

fn hyperlink(data: &[u8], context: &Context<'_>, builder: &mut SheetBuilder<'_>) {
    let Some(range) = area(data) else { return };
    let target = wide_text(data, 16).and_then(|id| context.links.get(&id).cloned());
    if let Some(target) = target.filter(|target| target.contains(':')) {
        builder.link(range.top, range.left, target);
    }
}
