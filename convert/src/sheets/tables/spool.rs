//! Rows of one sheet, kept in memory up to a size and in a temporary file beyond it, and read as
//! often as needed.
//!
//! A row is `index: u32, bytes: u32, cells`; a cell is `column: u32, flags: u8, value, [shown],
//! [link]`; text is `length: u32, UTF-8`. Numbers are little-endian. Nothing of it outlives a
//! conversion.

use std::borrow::Cow;
use std::fs::File;
use std::io::{BufReader, BufWriter, Cursor, Read, Seek, SeekFrom, Write};

use tributary_schemas::{Error, ErrorKind, Result};

use super::value::{Cell, Row, RowSource, Value};

const HAS_SHOWN: u8 = 0x40;
const HAS_LINK: u8 = 0x80;
const FILE_BUFFER_BYTES: usize = 1 << 18;

/// Rows being collected, then a [`RowSource`].
#[derive(Debug)]
pub(crate) struct Spool {
    memory: Vec<u8>,
    file: Option<BufWriter<File>>,
    memory_bytes: usize,
    maximum_bytes: u64,
    bytes: u64,
    scratch: Vec<u8>,
}

impl Spool {
    /// An empty spool that stays in memory up to `memory_bytes`, and is refused as `Invalid` beyond
    /// `maximum_bytes`.
    pub(crate) fn new(memory_bytes: usize, maximum_bytes: u64) -> Self {
        Self {
            memory: Vec::new(),
            file: None,
            memory_bytes,
            maximum_bytes,
            bytes: 0,
            scratch: Vec::new(),
        }
    }

    /// Adds a row; rows come in ascending order.
    pub(crate) fn push(&mut self, row: &Row<'_>) -> Result<()> {
        self.scratch.clear();
        row.cells
            .iter()
            .for_each(|cell| encode(cell, &mut self.scratch));
        self.bytes += self.scratch.len() as u64 + 8;
        if self.bytes > self.maximum_bytes || self.scratch.len() > u32::MAX as usize {
            let message = format!(
                "the cells of a sheet hold more than {} bytes of text and numbers",
                self.maximum_bytes
            );
            return Err(Error::new(ErrorKind::Invalid, message)
                .with_hint("split the workbook, or raise `convert.tables.maximum_sheet_bytes`"));
        }
        let mut head = [0; 8];
        let (index, length) = (
            row.index.to_le_bytes(),
            (self.scratch.len() as u32).to_le_bytes(),
        );
        head.iter_mut()
            .zip(index.into_iter().chain(length))
            .for_each(|(place, byte)| *place = byte);
        if self.file.is_none() && self.memory.len() + self.scratch.len() > self.memory_bytes {
            let mut file =
                BufWriter::with_capacity(FILE_BUFFER_BYTES, tempfile::tempfile().map_err(failed)?);
            file.write_all(&self.memory).map_err(failed)?;
            self.memory = Vec::new();
            self.file = Some(file);
        }
        match &mut self.file {
            Some(file) => file
                .write_all(&head)
                .and_then(|()| file.write_all(&self.scratch))
                .map_err(failed),
            None => {
                self.memory.extend_from_slice(&head);
                self.memory.extend_from_slice(&self.scratch);
                Ok(())
            }
        }
    }
}

fn failed(error: std::io::Error) -> Error {
    Error::io("a temporary file for the rows of a sheet", &error)
}

impl RowSource for Spool {
    fn visit(
        &mut self,
        first: u32,
        last: u32,
        visit: &mut dyn FnMut(&Row<'_>) -> Result<bool>,
    ) -> Result<()> {
        let Some(file) = &mut self.file else {
            return read_rows(Cursor::new(&self.memory), first, last, visit);
        };
        file.flush().map_err(failed)?;
        file.get_mut().seek(SeekFrom::Start(0)).map_err(failed)?;
        read_rows(
            BufReader::with_capacity(FILE_BUFFER_BYTES, file.get_ref()),
            first,
            last,
            visit,
        )
    }

    fn is_untyped(&self) -> bool {
        false
    }
}

fn read_rows(
    mut input: impl Read,
    first: u32,
    last: u32,
    visit: &mut dyn FnMut(&Row<'_>) -> Result<bool>,
) -> Result<()> {
    let mut buffer = Vec::new();
    loop {
        let mut head = [0; 8];
        match input.read_exact(&mut head) {
            Ok(()) => {}
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => return Ok(()),
            Err(error) => return Err(failed(error)),
        }
        let [i0, i1, i2, i3, l0, l1, l2, l3] = head;
        let (index, length) = (
            u32::from_le_bytes([i0, i1, i2, i3]),
            u32::from_le_bytes([l0, l1, l2, l3]),
        );
        if index > last {
            return Ok(());
        }
        buffer.resize(length as usize, 0);
        input.read_exact(&mut buffer).map_err(failed)?;
        if index < first {
            continue;
        }
        let mut cells = Vec::new();
        let mut rest = buffer.as_slice();
        while let Some(cell) = decode(&mut rest) {
            cells.push(cell);
        }
        if !visit(&Row { index, cells })? {
            return Ok(());
        }
    }
}

fn encode(cell: &Cell<'_>, out: &mut Vec<u8>) {
    out.extend_from_slice(&cell.column.to_le_bytes());
    let at = out.len();
    out.push(0);
    let tag = match &cell.value {
        Value::Empty => 0,
        Value::Integer(number) => {
            out.extend_from_slice(&number.to_le_bytes());
            1
        }
        Value::Real(number) => {
            out.extend_from_slice(&number.to_le_bytes());
            2
        }
        Value::Boolean(truth) => {
            out.push(u8::from(*truth));
            3
        }
        Value::Text(text) => encode_text(text, out, 4),
        Value::Date(text) => encode_text(text, out, 5),
        Value::DateTime(text) => encode_text(text, out, 6),
        Value::Time(text) => encode_text(text, out, 7),
        Value::Error(text) => encode_text(text, out, 8),
    };
    let mut flags = tag;
    for (text, flag) in [(&cell.shown, HAS_SHOWN), (&cell.link, HAS_LINK)] {
        if let Some(text) = text {
            flags |= encode_text(text, out, flag);
        }
    }
    if let Some(place) = out.get_mut(at) {
        *place = flags;
    }
}

fn encode_text(text: &str, out: &mut Vec<u8>, tag: u8) -> u8 {
    out.extend_from_slice(&(text.len() as u32).to_le_bytes());
    out.extend_from_slice(text.as_bytes());
    tag
}

fn decode<'a>(rest: &mut &'a [u8]) -> Option<Cell<'a>> {
    let column = u32::from_le_bytes(take(rest)?);
    let [flags] = take(rest)?;
    let value = decode_value(rest, flags & 0x0F)?;
    let shown = if flags & HAS_SHOWN == 0 {
        None
    } else {
        Some(take_text(rest)?)
    };
    let link = if flags & HAS_LINK == 0 {
        None
    } else {
        Some(take_text(rest)?)
    };
    Some(Cell {
        column,
        value,
        shown,
        link,
    })
}

fn decode_value<'a>(rest: &mut &'a [u8], kind: u8) -> Option<Value<'a>> {
    Some(match kind {
        1 => Value::Integer(i64::from_le_bytes(take(rest)?)),
        2 => Value::Real(f64::from_le_bytes(take(rest)?)),
        3 => Value::Boolean(take::<1>(rest)? == [1]),
        4 => Value::Text(take_text(rest)?),
        5 => Value::Date(take_text(rest)?),
        6 => Value::DateTime(take_text(rest)?),
        7 => Value::Time(take_text(rest)?),
        8 => Value::Error(take_text(rest)?),
        _ => Value::Empty,
    })
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (taken, after) = rest.split_first_chunk::<N>()?;
    *rest = after;
    Some(*taken)
}

fn take_text<'a>(rest: &mut &'a [u8]) -> Option<Cow<'a, str>> {
    let length = u32::from_le_bytes(take(rest)?) as usize;
    let (taken, after) = rest.split_at_checked(length)?;
    *rest = after;
    std::str::from_utf8(taken).ok().map(Cow::Borrowed)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn row(index: u32) -> Row<'static> {
        let mut linked = Cell::new(9, Value::Text("链接".into()));
        linked.link = Some("https://host".into());
        let mut shown = Cell::new(3, Value::Real(0.25));
        shown.shown = Some("25%".into());
        let values = [
            Value::Integer(-7),
            Value::Boolean(true),
            Value::Date("2024-01-02".into()),
            Value::Error("#N/A".into()),
        ];
        let others = (10..)
            .zip(values)
            .map(|(column, value)| Cell::new(column, value));
        Row {
            index,
            cells: [shown, linked].into_iter().chain(others).collect(),
        }
    }

    #[test]
    fn rows_come_back_from_memory_and_from_a_file() {
        for memory_bytes in [1 << 20, 100] {
            let mut spool = Spool::new(memory_bytes, 1 << 20);
            (0..50).for_each(|index| spool.push(&row(index * 2)).unwrap());
            assert_eq!(spool.file.is_some(), memory_bytes == 100);
            for _ in 0..2 {
                let mut seen = Vec::new();
                spool
                    .visit(4, 9, &mut |found| {
                        assert_eq!(*found, row(found.index));
                        seen.push(found.index);
                        Ok(true)
                    })
                    .unwrap();
                assert_eq!(seen, [4, 6, 8]);
            }
        }
    }

    #[test]
    fn too_much_is_refused() {
        let mut spool = Spool::new(100, 1000);
        let error = (0..50)
            .find_map(|index| spool.push(&row(index)).err())
            .unwrap();
        assert_eq!(error.kind(), ErrorKind::Invalid);
    }
}
