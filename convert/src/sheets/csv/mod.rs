//! Delimited text (CSV, TSV and relatives) of any encoding: one table or several as Markdown and as an SQLite
//! database.
//!
//! The route: decode → sniff the delimiter (`dialect`) → read the records as often as needed
//! (`records`) → `tables`. Blank lines are dropped, unless another table stands below (`blocks`);
//! short rows are filled up; a first line `sep=;` is obeyed. Quotes are `"`, doubled inside quoted fields, or behind a backslash where the whole text
//! writes them so; a quote that never closes is text.

mod blocks;
mod decimals;
mod dialect;
mod records;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::BTreeMap;

use tributary_schemas::{Error, ErrorKind, Result};

use crate::config::{CsvConfig, TablesConfig};
use crate::document::Converted;
use crate::limits::Limits;
use crate::sheets::tables::layout::Area;
use crate::sheets::tables::merges::Merges;
use crate::sheets::tables::survey::ROWS_PER_CHECK;
use crate::sheets::tables::value::{Cell, Row, RowSource, Value};
use crate::sheets::tables::writer::Writer;
use crate::text_encoding::decode;
use crate::text_encoding::note_encoding;
use blocks::Blocks;
use decimals::Seen;
use dialect::Dialect;
use records::Records;

/// Name and version; the version grows with every change of the output.
pub(crate) const NAME: &str = "csv/4";

/// Name of the table in the database.
const TABLE_NAME: &str = "data";

/// Converts delimited text.
///
/// Errors: `Unsupported` for bytes that are no text, `Invalid` over a limit. An empty file is an
/// empty document.
pub(crate) fn convert(
    bytes: &[u8],
    settings: &CsvConfig,
    tables: &TablesConfig,
    limits: &Limits<'_>,
) -> Result<Converted> {
    let decoded = decode(bytes, None);
    let mut metadata = BTreeMap::new();
    note_encoding(&mut metadata, decoded.encoding, decoded.replaced_characters);
    limits.check_time()?;
    let text: &str = &decoded.text;
    refuse_binary(text)?;
    let dialect = Dialect::sniff(text, settings.sample_bytes);
    let media_type = if dialect.delimiter == b'\t' {
        "text/tab-separated-values"
    } else {
        "text/csv"
    };
    if dialect.delimiter != b',' {
        metadata.insert("delimiter".to_owned(), dialect.name());
    }
    let mut source = CsvSource {
        text: dialect.body(text),
        dialect,
        maximum_columns: settings.maximum_columns,
        has_decimal_commas: false,
        starts: Vec::new(),
    };
    let mut writer = Writer::new(tables, limits, text.len() as u64);
    let areas = source.areas(limits)?;
    writer.write(TABLE_NAME, &mut source, &areas, &Merges::default())?;
    let written = writer.finish()?;
    metadata.extend(written.metadata);
    Ok(Converted {
        markdown: written.markdown,
        media_type: media_type.to_owned(),
        converter: NAME.into(),
        metadata,
        blobs: written.blobs,
        ..Converted::default()
    })
}

/// Control characters in the first part of a text mean that it is none.
fn refuse_binary(text: &str) -> Result<()> {
    let sample = text.chars().take(16 << 10);
    let (mut characters, mut controls) = (0_usize, 0_usize);
    for character in sample {
        characters += 1;
        controls += usize::from(
            matches!(character, '\0' | '\u{2}'..='\u{8}' | '\u{E}'..='\u{1A}' | '\u{FFFD}'),
        );
    }
    if controls * 10 > characters {
        return Err(Error::new(
            ErrorKind::Unsupported,
            "the bytes are no text, so there are no delimited records in them",
        )
        .with_hint("name the file by what it is, or export it as CSV"));
    }
    Ok(())
}

/// The records of a text as rows.
struct CsvSource<'a> {
    text: &'a str,
    dialect: Dialect,
    maximum_columns: usize,
    has_decimal_commas: bool,
    /// First rows of tables, and where they begin in the text.
    starts: Vec<(u32, usize)>,
}

impl<'a> CsvSource<'a> {
    fn records(&self) -> Records<'a> {
        Records::new(self.text, self.dialect.delimiter, self.dialect.quotes)
    }

    /// The rectangles of the tables, most often one around all records.
    fn areas(&mut self, limits: &Limits<'_>) -> Result<Vec<Area>> {
        let (mut rows, mut columns) = (0_u32, 0_usize);
        let mut records = self.records();
        let mut blocks = Blocks::default();
        // Where a comma parts fields, none parts decimals.
        let (may_have_commas, mut seen) = (self.dialect.delimiter != b',', Seen::default());
        let mut fields = Vec::new();
        while records.next_into(&mut fields) {
            columns = columns.max(fields.len());
            if may_have_commas {
                fields.iter().for_each(|field| seen.look_at(field));
            }
            blocks.add(rows, &fields, records.follows_blank());
            rows = rows.saturating_add(1);
            if columns > self.maximum_columns {
                let message = format!(
                    "record {rows} has more than {} fields",
                    self.maximum_columns
                );
                return Err(Error::new(ErrorKind::Invalid, message)
                    .with_hint("check the delimiter, or raise `convert.csv.maximum_columns`"));
            }
            if u64::from(rows).is_multiple_of(ROWS_PER_CHECK) {
                limits.check_time()?;
            }
        }
        self.has_decimal_commas = seen.has_commas();
        let several = blocks.areas();
        if !several.is_empty() {
            self.note_starts(&several, limits)?;
            return Ok(several);
        }
        let right = (columns as u32).checked_sub(1);
        let all = right.zip(rows.checked_sub(1)).map(|(right, bottom)| Area {
            top: 0,
            bottom,
            left: 0,
            right,
        });
        Ok(all.into_iter().collect())
    }

    /// Takes note of where the tables begin, so that each is read from there.
    fn note_starts(&mut self, areas: &[Area], limits: &Limits<'_>) -> Result<()> {
        let mut tops = areas.iter().map(|area| area.top).peekable();
        let (mut records, mut fields) = (self.records(), Vec::new());
        for row in 0.. {
            if tops.peek().is_none() || !records.next_into(&mut fields) {
                break;
            }
            if tops.next_if_eq(&row).is_some() {
                self.starts.push((row, records.start()));
            }
            if u64::from(row).is_multiple_of(ROWS_PER_CHECK) {
                limits.check_time()?;
            }
        }
        Ok(())
    }
}

/// Makes cells of the fields that are not empty.
fn fill<'a>(cells: &mut Vec<Cell<'a>>, fields: &mut Vec<Cow<'a, str>>) {
    cells.clear();
    let filled = fields
        .drain(..)
        .zip(0..)
        .filter(|(field, _)| !field.is_empty());
    cells.extend(
        filled.map(|(field, column): (Cow<'_, str>, u32)| Cell::new(column, Value::Text(field))),
    );
}

/// Reads the numbers that have a decimal comma.
fn with_decimal_commas(cells: &mut [Cell<'_>]) {
    for cell in cells {
        let Value::Text(text) = &cell.value else {
            continue;
        };
        if let Some(number) = decimals::cell(cell.column, text) {
            *cell = number;
        }
    }
}

impl RowSource for CsvSource<'_> {
    fn visit(
        &mut self,
        first: u32,
        last: u32,
        visit: &mut dyn FnMut(&Row<'_>) -> Result<bool>,
    ) -> Result<()> {
        let start = self.starts.iter().rev().find(|(row, _)| *row <= first);
        let (mut index, start) = start.copied().unwrap_or_default();
        let text = self.text.get(start..).unwrap_or_default();
        let mut records = Records::new(text, self.dialect.delimiter, self.dialect.quotes);
        let mut fields = Vec::new();
        let mut cells: Vec<Cell<'_>> = Vec::new();
        while index <= last && records.next_into(&mut fields) {
            if index >= first {
                fill(&mut cells, &mut fields);
                if self.has_decimal_commas {
                    with_decimal_commas(&mut cells);
                }
                let row = Row {
                    index,
                    cells: std::mem::take(&mut cells),
                };
                let goes_on = visit(&row)?;
                cells = row.cells;
                if !goes_on {
                    return Ok(());
                }
            }
            index += 1;
        }
        Ok(())
    }

    fn is_untyped(&self) -> bool {
        true
    }
}
