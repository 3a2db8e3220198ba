//! Reads xls workbooks of Excel 5 to 2003 (BIFF5 and BIFF8, [MS-XLS]) from their OLE2 container.
//!
//! The places of a sheet's cells are sorted, then each is read; nothing is as large as a sheet's
//! claimed size.

use std::collections::HashMap;
use std::io::{Cursor, Read};

use tributary_schemas::{Error, ErrorKind, Result};

use super::Bounds;
use super::number_format::NumberFormat;
use super::sheet::{CellCount, SheetBuilder};
use super::xls_records::{Record, Records, kind, u16_at, u32_at};
use super::xls_sheet::{self, Globals};
use super::xls_strings::{TextForm, code_page, shared_texts};
use super::{About, check_sheets, encrypted};
use crate::sheets::tables::writer::Writer;

const MEDIA_TYPE: &str = "application/vnd.ms-excel";

/// Version in the first record of Excel 97 and later.
const BIFF8: u16 = 0x0600;

/// Cell formats that are kept.
const MAXIMUM_FORMATS: usize = 70_000;

/// A sheet as the workbook lists it.
#[derive(Debug)]
struct Listed {
    name: String,
    position: usize,
    is_hidden: bool,
    kind: u8,
}

/// The workbook stream of an OLE2 container.
pub(super) fn stream(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut container = cfb::CompoundFile::open(Cursor::new(bytes)).map_err(unreadable)?;
    if container.exists("/EncryptedPackage") || container.exists("/EncryptionInfo") {
        return Err(encrypted("a password of Excel 2007 or later"));
    }
    let Some(name) = ["/Workbook", "/Book", "/WORKBOOK", "/BOOK"]
        .into_iter()
        .find(|name| container.is_stream(name))
    else {
        return Err(Error::new(
            ErrorKind::Unsupported,
            "an OLE2 file without a workbook in it",
        )
        .with_hint("supported are xlsx, xlsm, xlsb, xls and ods"));
    };
    let mut stream = Vec::new();
    // A stream is never longer than its file, whatever its size says; what can be read of a damaged
    // one is used.
    let result = container.open_stream(name).and_then(|stream_reader| {
        stream_reader
            .take(bytes.len() as u64)
            .read_to_end(&mut stream)
    });
    match result {
        Err(error) if stream.is_empty() => Err(unreadable(error)),
        _ => Ok(stream),
    }
}

fn unreadable(error: std::io::Error) -> Error {
    Error::new(
        ErrorKind::Corrupt,
        format!("the OLE2 container cannot be read: {error}"),
    )
    .with_hint("the file is damaged or cut off; send it again")
}

/// Reads all sheets that are wanted.
pub(super) fn read(stream: &[u8], writer: &mut Writer<'_>, bounds: Bounds<'_>) -> Result<About> {
    let (globals, listed) = read_globals(stream, bounds)?;
    check_sheets(listed.len(), bounds)?;
    let mut about = About {
        media_type: MEDIA_TYPE,
        ..About::default()
    };
    let mut count = CellCount::default();
    let mut pages = 0;
    for sheet in &listed {
        match sheet.kind {
            0 => {}
            2 => {
                about.note("chart_sheets", &sheet.name);
                continue;
            }
            _ => {
                about.note("other_sheets", &sheet.name);
                continue;
            }
        }
        if sheet.is_hidden && !bounds.settings.hidden_sheets {
            about.note("hidden_sheets", &sheet.name);
            continue;
        }
        let (builder, is_whole) = xls_sheet::read(
            stream,
            sheet.position,
            &globals,
            SheetBuilder::new(bounds, count),
        )?;
        count = builder.count();
        if !is_whole {
            about.note("damaged", &format!("sheet {} ends early", sheet.name));
        }
        writer.begin_sheet(&sheet.name, pages == 0);
        pages += 1;
        builder.write(&sheet.name, writer)?;
    }
    Ok(about)
}

/// What the first substream holds, as far as it is read.
struct Reading {
    globals: Globals,
    listed: Vec<Listed>,
    codes: HashMap<u16, NumberFormat>,
    /// Number of the number format of each cell format.
    formats: Vec<u16>,
}

/// The first substream: what all sheets share, and the list of them.
fn read_globals(stream: &[u8], bounds: Bounds<'_>) -> Result<(Globals, Vec<Listed>)> {
    let damaged = |what: &str| {
        Error::new(ErrorKind::Corrupt, what)
            .with_hint("the file is damaged or cut off; send it again")
    };
    let mut records = Records::new(stream, 0);
    let version = records
        .next()
        .filter(|first| first.kind == kind::BEGIN)
        .and_then(|first| u16_at(first.data, 0));
    let Some(version) = version else {
        return Err(damaged(
            "the workbook stream does not begin with its first record",
        ));
    };
    let form = TextForm {
        is_unicode: version >= BIFF8,
        encoding: encoding_rs::WINDOWS_1252,
    };
    let mut reading = Reading {
        globals: Globals::new(form),
        listed: Vec::new(),
        codes: HashMap::new(),
        formats: Vec::new(),
    };
    let mut has_end = false;
    while let Some(record) = records.next().filter(|_| !has_end) {
        match record.kind {
            kind::FILE_PASS => return Err(encrypted("a password of Excel 97 to 2003")),
            kind::SHARED_STRINGS => {
                reading.globals.texts = shared_texts(record, records.clone(), bounds)?
            }
            kind::END => has_end = true,
            _ => reading.note(record),
        }
    }
    if !has_end && reading.listed.is_empty() {
        return Err(damaged(
            "the workbook stream ends before its list of sheets",
        ));
    }
    let Reading {
        mut globals,
        listed,
        codes,
        formats,
    } = reading;
    let format = |id: &u16| {
        codes
            .get(id)
            .cloned()
            .unwrap_or_else(|| NumberFormat::built_in(u32::from(*id)))
    };
    globals.formats = formats.iter().map(format).collect();
    Ok((globals, listed))
}

impl Reading {
    fn note(&mut self, record: Record<'_>) {
        let data = record.data;
        let form = &mut self.globals.form;
        match record.kind {
            kind::CODE_PAGE => form.encoding = u16_at(data, 0).map_or(form.encoding, code_page),
            kind::DATE_MODE => self.globals.is_1904 = u16_at(data, 0) == Some(1),
            kind::FORMAT => {
                let code = data
                    .get(2..)
                    .and_then(|rest| form.text(rest, if form.is_unicode { 2 } else { 1 }));
                if let Some((id, code)) = u16_at(data, 0).zip(code) {
                    self.codes.insert(id, NumberFormat::parse(&code));
                }
            }
            kind::CELL_FORMAT if self.formats.len() < MAXIMUM_FORMATS => {
                self.formats.push(u16_at(data, 2).unwrap_or(0))
            }
            kind::BOUND_SHEET => self.listed.extend(bound_sheet(data, *form)),
            _ => {}
        }
    }
}

fn bound_sheet(data: &[u8], form: TextForm) -> Option<Listed> {
    Some(Listed {
        position: u32_at(data, 0)? as usize,
        is_hidden: data.get(4)? & 3 != 0,
        kind: *data.get(5)?,
        name: form.text(data.get(6..)?, 1)?,
    })
}
