//! Reads one sheet of an xls workbook.

use std::borrow::Cow;
use std::collections::HashSet;

use tributary_schemas::Result;

use super::Bounds;
use super::number_format::NumberFormat;
use super::sheet::{RowBuilder, SheetBuilder};
use super::xls_records::{Record, Records, error_name, f64_at, kind, rk_at, u16_at, u32_at};
use super::xls_strings::TextForm;
use super::xlsx_styles::SharedTexts;
use crate::sheets::tables::layout::Area;
use crate::sheets::tables::value::{Cell, Value};

/// Records between two looks at the clock.
const RECORDS_PER_CHECK: usize = 1 << 16;

/// Records between a formula and its text.
const RECORDS_TO_TEXT: usize = 4;
/// Ends the value of a formula that is no number.
const NO_NUMBER: u16 = 0xFFFF;

/// What all sheets share.
#[derive(Debug)]
pub(super) struct Globals {
    /// Shared texts.
    pub texts: SharedTexts,
    /// Number format of each cell format.
    pub formats: Vec<NumberFormat>,
    /// Whether days count from 1904.
    pub is_1904: bool,
    /// How text is stored.
    pub form: TextForm,
}

impl Globals {
    /// Nothing yet.
    pub(super) fn new(form: TextForm) -> Self {
        Self {
            texts: SharedTexts::default(),
            formats: Vec::new(),
            is_1904: false,
            form,
        }
    }
}

/// Where a cell is: row, column, position of its record in the stream, and which of the record's
/// cells it is.
type Place = (u16, u16, u32, u16);

/// What a first walk through a sheet finds.
#[derive(Default)]
struct Found {
    places: Vec<Place>,
    merges: Vec<Area>,
    hidden_rows: HashSet<u16>,
    hidden_columns: HashSet<u16>,
    is_filtered: bool,
    is_whole: bool,
}

/// Reads the sheet at a position into an empty builder; the second value is whether its last record was found.
pub(super) fn read<'a>(
    stream: &[u8],
    position: usize,
    globals: &Globals,
    mut builder: SheetBuilder<'a>,
) -> Result<(SheetBuilder<'a>, bool)> {
    let bounds = builder.bounds();
    let mut found = walk(stream, position, bounds)?;
    found
        .places
        .sort_unstable_by_key(|(row, column, position, index)| (*row, *column, *position, *index));
    found
        .places
        .dedup_by_key(|(row, column, ..)| (*row, *column));
    let mut row = RowBuilder::default();
    let keeps_hidden = bounds.settings.hidden_rows_and_columns;
    for rows in found.places.chunk_by(|one, other| one.0 == other.0) {
        let Some((index, ..)) = rows.first() else {
            continue;
        };
        let is_hidden = found.hidden_rows.contains(index) && !found.is_filtered && !keeps_hidden;
        let wanted = rows
            .iter()
            .filter(|(_, column, ..)| keeps_hidden || !found.hidden_columns.contains(column));
        row.begin(u32::from(*index));
        wanted
            .filter_map(|place| cell(stream, place, globals))
            .try_for_each(|cell| row.add(cell))?;
        if is_hidden {
            builder.hide(&row.row);
        } else {
            builder.push(&mut row.row)?;
        }
    }
    found
        .merges
        .into_iter()
        .for_each(|range| builder.merge(range));
    Ok((builder, found.is_whole))
}

/// Notes where the cells are. Substreams inside the sheet, such as charts, are passed over.
fn walk(stream: &[u8], position: usize, bounds: Bounds<'_>) -> Result<Found> {
    let mut found = Found::default();
    let mut depth = 0_usize;
    for (number, record) in Records::new(stream, position).enumerate() {
        if number.is_multiple_of(RECORDS_PER_CHECK) {
            bounds.limits.check_time()?;
        }
        match record.kind {
            kind::BEGIN => depth += 1,
            kind::END if depth <= 1 => {
                found.is_whole = true;
                return Ok(found);
            }
            kind::END => depth -= 1,
            _ if depth == 1 => found.note(record),
            // A sheet begins with its own first record; anything else is no sheet.
            _ if depth == 0 => return Ok(found),
            _ => {}
        }
    }
    Ok(found)
}

impl Found {
    fn note(&mut self, record: Record<'_>) {
        let data = record.data;
        match record.kind {
            kind::FORMULA
            | kind::RICH_STRING
            | kind::LABEL_SHARED
            | kind::NUMBER
            | kind::LABEL
            | kind::BOOLEAN_OR_ERROR
            | kind::RK => self.note_cell(&record),
            kind::MULTIPLE_RK => self.note_numbers(&record),
            kind::MERGED_CELLS => self.merges.extend(merged(data)),
            kind::FILTER_MODE => self.is_filtered = true,
            kind::ROW if data.get(12).is_some_and(|flags| flags & 0x20 != 0) => {
                self.hidden_rows.extend(u16_at(data, 0))
            }
            kind::COLUMN_INFO if data.get(8).is_some_and(|flags| flags & 1 != 0) => {
                self.hide_columns(data);
            }
            _ => {}
        }
    }

    fn note_cell(&mut self, record: &Record<'_>) {
        if let Some((row, column)) = u16_at(record.data, 0).zip(u16_at(record.data, 2)) {
            self.places.push((row, column, record.position as u32, 0));
        }
    }

    fn hide_columns(&mut self, data: &[u8]) {
        if let Some((first, last)) = u16_at(data, 0).zip(u16_at(data, 2)) {
            self.hidden_columns.extend(first..=last.min(255));
        }
    }

    /// Notes a record of numbers side by side.
    fn note_numbers(&mut self, record: &Record<'_>) {
        let data = record.data;
        let Some((row, first)) = u16_at(data, 0).zip(u16_at(data, 2)) else {
            return;
        };
        let position = record.position as u32;
        let cells = (data.len().saturating_sub(6) / 6) as u16;
        self.places
            .extend((0..cells).map(|index| (row, first.saturating_add(index), position, index)));
    }
}

fn merged(data: &[u8]) -> impl Iterator<Item = Area> {
    let (ranges, _) = data.get(2..).unwrap_or_default().as_chunks::<8>();
    ranges.iter().filter_map(|range| {
        let at = |place| u16_at(range, place).map(u32::from);
        Some(Area {
            top: at(0)?,
            bottom: at(2)?,
            left: at(4)?,
            right: at(6)?,
        })
    })
}

fn cell(stream: &[u8], place: &Place, globals: &Globals) -> Option<Cell<'static>> {
    let (_, column, position, index) = *place;
    let mut records = Records::new(stream, position as usize);
    let record = records.next()?;
    let data = record.data;
    let column = u32::from(column);
    let format = |index: Option<u16>| {
        index
            .and_then(|index| globals.formats.get(usize::from(index)))
            .unwrap_or(&NumberFormat::General)
    };
    let number =
        |number: f64, index: Option<u16>| format(index).cell(column, number, globals.is_1904);
    let text = |text: String| Cell::new(column, Value::Text(Cow::Owned(text)));
    match record.kind {
        kind::FORMULA if u16_at(data, 12)? == NO_NUMBER => {
            let value = formula_value(data, records, globals)?;
            Some(Cell::new(column, value))
        }
        kind::NUMBER | kind::FORMULA => Some(number(f64_at(data, 6)?, u16_at(data, 4))),
        kind::RK => Some(number(rk_at(data, 6)?, u16_at(data, 4))),
        kind::MULTIPLE_RK => {
            let at = 4 + 6 * usize::from(index);
            Some(number(rk_at(data, at + 2)?, u16_at(data, at)))
        }
        kind::LABEL_SHARED => Some(text(
            globals.texts.get(u32_at(data, 6)? as usize)?.to_owned(),
        )),
        kind::LABEL | kind::RICH_STRING => Some(text(globals.form.text(data.get(6..)?, 2)?)),
        kind::BOOLEAN_OR_ERROR => Some(Cell::new(
            column,
            truth_or_error(*data.get(6)?, *data.get(7)? != 0),
        )),
        _ => None,
    }
}

/// What a formula gave that is no number; a text stands in one of the next records.
fn formula_value(data: &[u8], behind: Records<'_>, globals: &Globals) -> Option<Value<'static>> {
    match *data.get(6)? {
        0 => {
            let stored = behind
                .take(RECORDS_TO_TEXT)
                .find(|record| record.kind == kind::STRING)?;
            let text = globals.form.text(stored.data, 2)?;
            Some(Value::Text(Cow::Owned(text)))
        }
        1 => Some(truth_or_error(*data.get(8)?, false)),
        2 => Some(truth_or_error(*data.get(8)?, true)),
        _ => None,
    }
}

fn truth_or_error(code: u8, is_error: bool) -> Value<'static> {
    if is_error {
        Value::Error(Cow::Borrowed(error_name(code)))
    } else {
        Value::Boolean(code != 0)
    }
}
