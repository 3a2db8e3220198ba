//! Records of the binary parts in an xlsb workbook ([MS-XLSB] 2.1.4).

use std::io::Read;

use tributary_schemas::{Error, ErrorKind, Result};

use super::package::{Part, part_error};
use super::xls_records::{u16_at, u32_at};

/// Record types that are read ([MS-XLSB] 2.3.2).
pub(super) mod kind {
    pub(crate) const ROW: u32 = 0;
    pub(crate) const CELL_RK: u32 = 2;
    pub(crate) const CELL_ERROR: u32 = 3;
    pub(crate) const CELL_BOOLEAN: u32 = 4;
    pub(crate) const CELL_REAL: u32 = 5;
    pub(crate) const CELL_TEXT: u32 = 6;
    pub(crate) const CELL_SHARED: u32 = 7;
    pub(crate) const FORMULA_TEXT: u32 = 8;
    pub(crate) const FORMULA_NUMBER: u32 = 9;
    pub(crate) const FORMULA_BOOLEAN: u32 = 10;
    pub(crate) const FORMULA_ERROR: u32 = 11;
    pub(crate) const SHARED_TEXT: u32 = 19;
    pub(crate) const FORMAT: u32 = 44;
    pub(crate) const CELL_FORMAT: u32 = 47;
    pub(crate) const COLUMN_INFO: u32 = 60;
    pub(crate) const CELL_RICH_TEXT: u32 = 62;
    pub(crate) const END_SHEET: u32 = 130;
    pub(crate) const WORKBOOK_PROPERTIES: u32 = 153;
    pub(crate) const SHEET: u32 = 156;
    pub(crate) const MERGED_CELLS: u32 = 176;
    pub(crate) const HYPERLINK: u32 = 494;
    pub(crate) const BEGIN_CELL_FORMATS: u32 = 617;
    pub(crate) const END_CELL_FORMATS: u32 = 618;
}

/// Longest record in bytes.
const MAXIMUM_RECORD_BYTES: u64 = 16 << 20;

/// The records of one part.
pub(super) struct Records<'a> {
    part: Part<'a>,
    name: &'a str,
    data: Vec<u8>,
}

impl<'a> Records<'a> {
    /// Reads the part of that name.
    pub(super) fn new(part: Part<'a>, name: &'a str) -> Self {
        Self {
            part,
            name,
            data: Vec::new(),
        }
    }

    /// The next record's type and content; `None` at the end of the part.
    pub(super) fn next(&mut self) -> Result<Option<(u32, &[u8])>> {
        self.part.begin_event();
        let Some(first) = self.byte()? else {
            return Ok(None);
        };
        let kind = self.kind(first)?;
        let length = self.length()?;
        self.data.clear();
        if length > MAXIMUM_RECORD_BYTES {
            return Err(self.damaged("has a record that is too long"));
        }
        // Grows with what is there, not with what the length claims.
        let read = (&mut self.part)
            .take(length)
            .read_to_end(&mut self.data)
            .map_err(|error| part_error(self.name, &error))?;
        if (read as u64) < length {
            return Err(self.damaged("ends early"));
        }
        Ok(Some((kind, &self.data)))
    }

    /// A record's type, which has one byte or two.
    fn kind(&mut self, first: u8) -> Result<u32> {
        Ok(if first & 0x80 == 0 {
            u32::from(first)
        } else {
            u32::from(first & 0x7F) | u32::from(self.expected_byte()? & 0x7F) << 7
        })
    }

    /// A record's length in bytes: up to four times seven bits, the lowest first.
    fn length(&mut self) -> Result<u64> {
        let mut length = 0;
        for shift in [0, 7, 14, 21] {
            let byte = self.expected_byte()?;
            length |= u64::from(byte & 0x7F) << shift;
            if byte & 0x80 == 0 {
                break;
            }
        }
        Ok(length)
    }

    fn byte(&mut self) -> Result<Option<u8>> {
        let mut byte = [0];
        let read = self
            .part
            .read(&mut byte)
            .map_err(|error| part_error(self.name, &error))?;
        Ok((read == 1).then_some(byte[0]))
    }

    fn expected_byte(&mut self) -> Result<u8> {
        self.byte()?.ok_or_else(|| self.damaged("ends early"))
    }

    fn damaged(&self, what: &str) -> Error {
        Error::new(ErrorKind::Corrupt, format!("the part {} {what}", self.name))
            .with_hint("the file is damaged; send it again")
    }
}

/// A text whose number of characters stands in four bytes; empty where there is none.
pub(super) fn wide_text(data: &[u8], at: usize) -> Option<String> {
    let length = u32_at(data, at)?;
    if length == u32::MAX {
        return Some(String::new());
    }
    let bytes = data.get(at + 4..)?;
    let (pairs, _) = bytes.as_chunks::<2>();
    let units = pairs
        .iter()
        .take(length as usize)
        .map(|pair| u16::from_le_bytes(*pair));
    Some(
        char::decode_utf16(units)
            .map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER))
            .collect(),
    )
}

/// Bytes that a text takes.
pub(super) fn wide_text_bytes(data: &[u8], at: usize) -> Option<usize> {
    let length = u32_at(data, at)?;
    Some(if length == u32::MAX {
        4
    } else {
        (length as usize).checked_mul(2)?.checked_add(4)?
    })
}

/// A number of three bytes.
pub(super) fn u24_at(data: &[u8], at: usize) -> Option<u32> {
    Some(u32::from(u16_at(data, at)?) | u32::from(*data.get(at + 2)?) << 16)
}
