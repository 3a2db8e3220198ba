//! Reads OpenDocument spreadsheets as a stream. Numbers are shown as the file stores their text;
//! dates and times as ISO.

use std::collections::HashSet;

use quick_xml::events::{BytesStart, Event};
use tributary_schemas::{Error, ErrorKind, Result};

use super::Bounds;
use super::ods_cell::OpenCell;
use super::package::Package;
use super::sheet::{
    CellCount, MAXIMUM_COLUMNS, MAXIMUM_ROWS, RowBuilder, SheetBuilder, short_name,
};
use super::xml::{Xml, add_text, attribute, is, number};
use super::{About, check_sheets, encrypted};
use crate::sheets::tables::layout::Area;
use crate::sheets::tables::writer::Writer;

const MEDIA_TYPE: &str = "application/vnd.oasis.opendocument.spreadsheet";

/// Styles of hidden sheets that are remembered.
const MAXIMUM_STYLES: usize = 10_000;

/// Hidden columns are remembered up to this one.
const MAXIMUM_HIDDEN: usize = MAXIMUM_COLUMNS as usize;

/// Where in a sheet the reader is.
struct SheetReader<'a> {
    name: String,
    is_hidden: bool,
    builder: SheetBuilder<'a>,
    row: u32,
    row_repeats: u32,
    row_hidden: bool,
    column: u32,
    /// Columns that are hidden; declarations come before the rows.
    hidden_columns: HashSet<u32>,
    declared_columns: u32,
    cells: RowBuilder,
}

/// Reads all sheets that are wanted.
pub(super) fn read(
    package: &mut Package<'_>,
    writer: &mut Writer<'_>,
    bounds: Bounds<'_>,
) -> Result<About> {
    refuse_encrypted(package)?;
    let mut about = About {
        media_type: MEDIA_TYPE,
        ..About::default()
    };
    read_properties(package, &mut about);
    let name = "content.xml";
    let Some(part) = package.part(name)? else {
        return Err(Error::new(
            ErrorKind::Corrupt,
            "the part content.xml is missing",
        ));
    };
    let mut reader = Reader {
        bounds,
        hidden_styles: HashSet::new(),
        style: String::new(),
        sheet: None,
        cell: None,
        sheets: 0,
        pages: 0,
        count: CellCount::default(),
        is_spreadsheet: false,
    };
    let result = reader.run(Xml::new(part, name), writer, &mut about);
    match result {
        Ok(()) if !reader.is_spreadsheet => Err(Error::new(
            ErrorKind::Unsupported,
            "an OpenDocument file that is no spreadsheet",
        )
        .with_hint("supported are xlsx, xlsm, xlsb, xls and ods")),
        Err(error)
            if error.kind() == ErrorKind::Corrupt && (reader.pages > 0 || reader.has_rows()) =>
        {
            about.note("damaged", &error.to_string());
            reader.end_sheet(writer, &mut about)?;
            Ok(about)
        }
        other => other.map(|()| about),
    }
}

fn refuse_encrypted(package: &mut Package<'_>) -> Result<()> {
    let name = "META-INF/manifest.xml";
    let Some(part) = package.part(name)? else {
        return Ok(());
    };
    let mut xml = Xml::new(part, name);
    while let Ok(event) = xml.next() {
        match event {
            Event::Start(tag) | Event::Empty(tag) if is(&tag, "encryption-data") => {
                return Err(encrypted("an OpenDocument password"));
            }
            Event::Eof => break,
            _ => {}
        }
    }
    Ok(())
}

fn read_properties(package: &mut Package<'_>, about: &mut About) {
    let name = "meta.xml";
    let Ok(Some(part)) = package.part(name) else {
        return;
    };
    let mut xml = Xml::new(part, name);
    let (mut in_title, mut title) = (false, String::new());
    while let Ok(event) = xml.next() {
        match &event {
            Event::Start(tag) => in_title = is(tag, "title"),
            Event::End(_) => in_title = false,
            Event::Eof => break,
            event if in_title && title.len() < 4096 => add_text(event, &mut title),
            _ => {}
        }
    }
    about.title = Some(title.trim().to_owned()).filter(|title| !title.is_empty());
}

struct Reader<'a> {
    bounds: Bounds<'a>,
    /// Table styles that are not displayed.
    hidden_styles: HashSet<String>,
    style: String,
    sheet: Option<SheetReader<'a>>,
    cell: Option<OpenCell>,
    sheets: usize,
    pages: usize,
    count: CellCount,
    is_spreadsheet: bool,
}

impl Reader<'_> {
    fn run(&mut self, mut xml: Xml<'_>, writer: &mut Writer<'_>, about: &mut About) -> Result<()> {
        loop {
            match xml.next()? {
                Event::Start(tag) => self.start(&tag)?,
                Event::Empty(tag) => {
                    self.start(&tag)?;
                    self.end(tag.local_name().as_ref(), writer, about)?;
                }
                Event::End(tag) => self.end(tag.local_name().as_ref(), writer, about)?,
                Event::Eof if self.sheet.is_some() => {
                    return Err(Error::new(
                        ErrorKind::Corrupt,
                        "the part content.xml ends early",
                    ));
                }
                Event::Eof => return Ok(()),
                event => {
                    if let Some(cell) = &mut self.cell {
                        cell.text(&event);
                    }
                }
            }
        }
    }

    fn start(&mut self, tag: &BytesStart<'_>) -> Result<()> {
        if let Some(cell) = &mut self.cell {
            cell.start(tag);
            return Ok(());
        }
        match tag.local_name().as_ref() {
            "style" => self.style = short_name(&attribute(tag, "name").unwrap_or_default()),
            "table-properties"
                if attribute(tag, "display").is_some_and(|shown| shown == "false")
                    && self.hidden_styles.len() < MAXIMUM_STYLES =>
            {
                self.hidden_styles.insert(self.style.clone());
            }
            "spreadsheet" => self.is_spreadsheet = true,
            "table" if self.sheet.is_none() && self.is_spreadsheet => self.start_sheet(tag)?,
            "table-column" => self.column(tag),
            "table-row" => self.start_row(tag),
            "table-cell" | "covered-table-cell" if self.sheet.is_some() => {
                self.cell = Some(OpenCell::new(tag))
            }
            _ => {}
        }
        Ok(())
    }

    fn start_row(&mut self, tag: &BytesStart<'_>) {
        if let Some(sheet) = &mut self.sheet {
            sheet.row_repeats = number(tag, "number-rows-repeated")
                .unwrap_or(1)
                .clamp(1, MAXIMUM_ROWS);
            // Rows that a filter hides are kept.
            sheet.row_hidden =
                attribute(tag, "visibility").is_some_and(|visibility| visibility == "collapse");
            sheet.column = 0;
        }
    }

    fn start_sheet(&mut self, tag: &BytesStart<'_>) -> Result<()> {
        self.sheets += 1;
        check_sheets(self.sheets, self.bounds)?;
        let is_hidden =
            attribute(tag, "style-name").is_some_and(|style| self.hidden_styles.contains(&*style));
        self.sheet = Some(SheetReader {
            name: short_name(&attribute(tag, "name").unwrap_or_default()),
            is_hidden: is_hidden && !self.bounds.settings.hidden_sheets,
            builder: SheetBuilder::new(self.bounds, self.count),
            row: 0,
            row_repeats: 1,
            row_hidden: false,
            column: 0,
            hidden_columns: HashSet::new(),
            declared_columns: 0,
            cells: RowBuilder::default(),
        });
        Ok(())
    }

    fn column(&mut self, tag: &BytesStart<'_>) {
        let Some(sheet) = &mut self.sheet else { return };
        let repeats = number(tag, "number-columns-repeated")
            .unwrap_or(1)
            .clamp(1, MAXIMUM_COLUMNS);
        let first = sheet.declared_columns;
        sheet.declared_columns = first.saturating_add(repeats).min(MAXIMUM_COLUMNS);
        let is_hidden =
            attribute(tag, "visibility").is_some_and(|visibility| visibility == "collapse");
        if is_hidden
            && !self.bounds.settings.hidden_rows_and_columns
            && sheet.hidden_columns.len() < MAXIMUM_HIDDEN
        {
            sheet.hidden_columns.extend(first..sheet.declared_columns);
        }
    }

    fn end(&mut self, name: &str, writer: &mut Writer<'_>, about: &mut About) -> Result<()> {
        if let Some(cell) = &mut self.cell {
            if !cell.end(name) {
                return Ok(());
            }
            if let (Some(cell), Some(sheet)) = (self.cell.take(), &mut self.sheet) {
                sheet.add(cell)?;
            }
            return Ok(());
        }
        match name {
            "table-row" => self.end_row()?,
            "table" => self.end_sheet(writer, about)?,
            _ => {}
        }
        Ok(())
    }

    /// Empty rows only count; a row with content that is repeated is written as often.
    fn end_row(&mut self) -> Result<()> {
        let Some(sheet) = &mut self.sheet else {
            return Ok(());
        };
        let keeps_hidden = self.bounds.settings.hidden_rows_and_columns;
        let has_content = sheet.cells.row.cells.iter().any(|cell| !cell.is_blank());
        let last = sheet
            .row
            .saturating_add(sheet.row_repeats)
            .min(MAXIMUM_ROWS);
        if sheet.row_hidden && !keeps_hidden {
            for index in sheet.row..last {
                sheet.cells.row.index = index;
                sheet.builder.hide(&sheet.cells.row);
            }
        } else if has_content && !sheet.is_hidden {
            let rows = u64::from(last.saturating_sub(sheet.row));
            let cells = sheet.cells.row.cells.len() as u64;
            sheet.builder.check_room(rows * cells)?;
            for index in sheet.row..last {
                sheet.cells.row.index = index;
                sheet.builder.push(&mut sheet.cells.row)?;
            }
        }
        sheet.row = last;
        sheet.cells.begin(sheet.row);
        Ok(())
    }

    fn has_rows(&self) -> bool {
        self.sheet
            .as_ref()
            .is_some_and(|sheet| sheet.builder.next_row() > 0)
    }

    fn end_sheet(&mut self, writer: &mut Writer<'_>, about: &mut About) -> Result<()> {
        let Some(sheet) = self.sheet.take() else {
            return Ok(());
        };
        self.count = sheet.builder.count();
        if sheet.is_hidden {
            about.note("hidden_sheets", &sheet.name);
            return Ok(());
        }
        writer.begin_sheet(&sheet.name, self.pages == 0);
        self.pages += 1;
        sheet.builder.write(&sheet.name, writer)
    }
}

impl SheetReader<'_> {
    fn add(&mut self, cell: OpenCell) -> Result<()> {
        let first = self.column;
        let repeats = cell.repeats;
        self.column = first.saturating_add(repeats).min(MAXIMUM_COLUMNS);
        let (columns, rows) = cell.spans;
        if columns > 1 || rows > 1 {
            let bottom = self.row.saturating_add(rows - 1).min(MAXIMUM_ROWS);
            let right = first.saturating_add(columns - 1).min(MAXIMUM_COLUMNS);
            self.builder.merge(Area {
                top: self.row,
                bottom,
                left: first,
                right,
            });
        }
        let made = cell.finish(first);
        if made.is_blank() {
            return Ok(());
        }
        for column in (first..self.column).filter(|column| !self.hidden_columns.contains(column)) {
            let mut copy = made.clone();
            copy.column = column;
            self.cells.add(copy)?;
        }
        Ok(())
    }
}
