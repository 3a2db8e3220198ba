//! Workbooks (xlsx, xlsm, xlsb, xls, ods): each visible sheet as a page of Markdown, all tables as
//! an SQLite database.
//!
//! The route: container → reader of the format (`xlsx`, `ods`, `xls`, `xlsb`), which hands over
//! rows → `sheet` → `tables`. Formulas are their stored values. Hidden sheets, rows and columns are
//! dropped (`convert.spreadsheet.hidden_…` keeps them; rows that a filter hides are kept always).
//! Comments, headers, footers, charts and pictures are dropped, texts of text boxes stand after the
//! tables (xlsx, xlsb); a sheet that is only a chart is named in the metadata. Sizes that a file
//! claims are never believed: memory grows with what is really read, and only up to the limits.

mod date;
mod number_format;
mod ods;
mod ods_cell;
mod package;
mod parts;
mod section;
mod sheet;
mod sheets;
#[cfg(test)]
mod tests;
mod xls;
mod xls_records;
mod xls_sheet;
mod xls_strings;
mod xlsb;
mod xlsb_records;
mod xlsb_sheet;
mod xlsx;
mod xlsx_sheet;
mod xlsx_styles;
mod xml;

use std::collections::BTreeMap;

use tributary_schemas::{Error, ErrorKind, Result};

use crate::config::{SpreadsheetConfig, TablesConfig};
use crate::document::Converted;
use crate::limits::Limits;
use crate::sheets::tables::writer::Writer;
use package::Package;

/// Name and version; the version grows with every change of the output.
pub(crate) const NAME: &str = "spreadsheet/4";

/// What the readers of all formats keep to.
#[derive(Clone, Copy, Debug)]
struct Bounds<'a> {
    settings: &'a SpreadsheetConfig,
    tables: &'a TablesConfig,
    limits: &'a Limits<'a>,
}

/// What the reader of a format hands over beside the sheets.
#[derive(Debug, Default)]
struct About {
    media_type: &'static str,
    title: Option<String>,
    metadata: BTreeMap<String, String>,
}

impl About {
    /// Adds a value to a list in the metadata.
    fn note(&mut self, name: &str, value: &str) {
        let list = self.metadata.entry(name.to_owned()).or_default();
        if !list.is_empty() {
            list.push_str(", ");
        }
        // Lists of hostile length end somewhere.
        if list.len() < 4096 {
            list.push_str(value);
        }
    }
}

/// Converts a workbook.
///
/// Errors: `Unsupported` for encrypted workbooks and for what is no workbook, `Corrupt` for damaged
/// ones, `Invalid` over a limit. If only a part is damaged the rest is converted, and `damaged` in
/// the metadata says what is missing.
pub(crate) fn convert(
    bytes: &[u8],
    settings: &SpreadsheetConfig,
    tables: &TablesConfig,
    limits: &Limits<'_>,
) -> Result<Converted> {
    let bounds = Bounds {
        settings,
        tables,
        limits,
    };
    match bytes {
        [b'P', b'K', 3 | 5, ..] => zipped(bytes, bounds),
        [0xD0, 0xCF, 0x11, 0xE0, 0xA1, 0xB1, 0x1A, 0xE1, ..] => {
            let stream = xls::stream(bytes)?;
            converted(bounds, stream.len() as u64, |writer| {
                xls::read(&stream, writer, bounds)
            })
        }
        [9, 0 | 2 | 4, 4 | 6, 0, ..] => Err(Error::new(
            ErrorKind::Unsupported,
            "a worksheet of Excel 2, 3 or 4, which nothing here reads",
        )
        .with_hint("open it in a spreadsheet program and save it as .xlsx")),
        [] => Err(Error::new(ErrorKind::Corrupt, "the workbook has no bytes")),
        _ => Err(not_a_workbook(bytes)),
    }
}

fn zipped(bytes: &[u8], bounds: Bounds<'_>) -> Result<Converted> {
    let mut package = Package::open(bytes, bounds)?;
    let expected = package.claimed_bytes();
    if package.has("xl/workbook.bin") {
        return converted(bounds, expected, |writer| {
            xlsb::read(&mut package, writer, bounds)
        });
    }
    if package.has("xl/workbook.xml")
        || package.has("_rels/.rels")
            && !package.has("word/document.xml")
            && !package.has("ppt/presentation.xml")
    {
        return converted(bounds, expected, |writer| {
            xlsx::read(&mut package, writer, bounds)
        });
    }
    if package.has("content.xml") {
        return converted(bounds, expected, |writer| {
            ods::read(&mut package, writer, bounds)
        });
    }
    Err(Error::new(
        ErrorKind::Unsupported,
        "a ZIP archive without a workbook in it",
    )
    .with_hint("supported are xlsx, xlsm, xlsb, xls and ods"))
}

fn converted(
    bounds: Bounds<'_>,
    expected_bytes: u64,
    read: impl FnOnce(&mut Writer<'_>) -> Result<About>,
) -> Result<Converted> {
    let mut writer = Writer::new(bounds.tables, bounds.limits, expected_bytes);
    let about = read(&mut writer)?;
    let written = writer.finish()?;
    let mut metadata = about.metadata;
    metadata.extend(written.metadata);
    Ok(Converted {
        markdown: written.markdown,
        title: about.title,
        media_type: about.media_type.to_owned(),
        converter: NAME.into(),
        metadata,
        blobs: written.blobs,
        ..Converted::default()
    })
}

/// Text under the name of a workbook is mostly HTML or CSV that a program wrote as `.xls`.
fn not_a_workbook(bytes: &[u8]) -> Error {
    let start: String = bytes
        .iter()
        .take(512)
        .map(|byte| char::from(*byte).to_ascii_lowercase())
        .collect();
    let start = start.trim_start_matches(|first: char| !first.is_ascii_graphic());
    let is_text = bytes
        .iter()
        .take(4096)
        .all(|byte| *byte >= 0x20 || matches!(byte, b'\t' | b'\n' | b'\r' | 0xC));
    let what = if start.starts_with('<')
        && start.contains("urn:schemas-microsoft-com:office:spreadsheet")
    {
        "an XML Spreadsheet 2003 file, which nothing here reads"
    } else if start.starts_with('<') {
        "HTML or XML, not a workbook"
    } else if is_text {
        "text, not a workbook"
    } else {
        let message = "the bytes are neither a ZIP nor an OLE2 container, so they are no workbook";
        return Error::new(ErrorKind::Corrupt, message)
            .with_hint("check that the file arrived whole");
    };
    Error::new(ErrorKind::Unsupported, what)
        .with_hint("name the file .html or .csv, or save it as .xlsx in a spreadsheet program")
}

/// The refusal of an encrypted workbook.
fn encrypted(how: &str) -> Error {
    Error::new(
        ErrorKind::Unsupported,
        format!("the document is encrypted ({how})"),
    )
    .with_hint("remove the password and send it again")
}

/// `Invalid` for more sheets than are allowed.
fn check_sheets(sheets: usize, bounds: Bounds<'_>) -> Result<()> {
    let maximum = bounds.settings.maximum_sheets;
    if sheets <= maximum {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::Invalid,
        format!("the workbook has {sheets} sheets, more than {maximum}"),
    )
    .with_hint("split the workbook, or raise `convert.spreadsheet.maximum_sheets`"))
}
