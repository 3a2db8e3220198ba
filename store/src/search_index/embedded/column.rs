//! An append-only file of records of one width, written with plain writes and read through a memory
//! map. All vector files are columns.
//!
//! Layout: a header of 64 bytes (`TRIBCOL1`, then as little-endian u64: width of a record in bytes,
//! dimensions), then the records. The number of valid records is not in the file: the commit names
//! it, and whatever lies behind it is cut when the file is opened.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use memmap2::{Mmap, MmapOptions};
use tributary_schemas::{Error, ErrorKind, Result};

const MAGIC: &[u8; 8] = b"TRIBCOL1";
const HEADER_BYTES: usize = 64;

/// Maps are made larger than the file, so that appending needs a new map only each time the file
/// has doubled.
const SMALLEST_MAP_BYTES: usize = 1 << 20;

#[cfg(target_endian = "big")]
compile_error!("column files are little-endian and read in place");

/// The writing side.
#[derive(Debug)]
pub struct Column {
    path: PathBuf,
    file: File,
    width: usize,
    records: usize,
    map: Arc<ColumnMap>,
}

/// The reading side: shared by every snapshot that reads the file.
#[derive(Debug)]
pub struct ColumnMap {
    map: Mmap,
    width: usize,
}

impl Column {
    /// Creates an empty column; an older file of that name is replaced. Durable after the next
    /// [`Self::sync`] and one of its folder.
    pub fn create(path: &Path, width: usize, dimensions: usize) -> Result<Self> {
        let failed = |error: std::io::Error| {
            Error::io(format_args!("cannot create {}", path.display()), &error)
        };
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(true)
            .open(path)
            .map_err(failed)?;
        file.write_all(&header(width, dimensions)).map_err(failed)?;
        let map = Arc::new(ColumnMap::new(&file, width, 0).map_err(failed)?);
        Ok(Self {
            path: path.to_owned(),
            file,
            width,
            records: 0,
            map,
        })
    }

    /// Opens a column that must hold at least `records` records; what lies behind them is cut off.
    pub fn open(path: &Path, width: usize, dimensions: usize, records: usize) -> Result<Self> {
        let failed = |error: std::io::Error| match error.kind() {
            std::io::ErrorKind::NotFound => Error::new(
                ErrorKind::Corrupt,
                format!("file {} is missing", path.display()),
            ),
            _ => Error::io(format_args!("cannot open {}", path.display()), &error),
        };
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .open(path)
            .map_err(failed)?;
        let mut found = [0; HEADER_BYTES];
        file.read_exact(&mut found).map_err(failed)?;
        if found != header(width, dimensions) {
            let message = format!(
                "{} is no column of {dimensions} dimensions in records of {width} bytes",
                path.display()
            );
            return Err(Error::new(ErrorKind::Corrupt, message));
        }
        let committed = (HEADER_BYTES + records * width) as u64;
        let length = file.metadata().map_err(failed)?.len();
        if length < committed {
            let message = format!(
                "{} has {length} bytes, {committed} were committed",
                path.display()
            );
            return Err(Error::new(ErrorKind::Corrupt, message));
        }
        if length > committed {
            file.set_len(committed).map_err(failed)?;
        }
        let map = Arc::new(ColumnMap::new(&file, width, records).map_err(failed)?);
        Ok(Self {
            path: path.to_owned(),
            file,
            width,
            records,
            map,
        })
    }

    /// Bytes of a record.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Records written so far.
    pub fn records(&self) -> usize {
        self.records
    }

    /// Appends whole records.
    pub fn append(&mut self, bytes: &[u8]) -> Result<()> {
        let failed = |error: std::io::Error| {
            Error::io(
                format_args!("cannot append to {}", self.path.display()),
                &error,
            )
        };
        debug_assert!(bytes.len().is_multiple_of(self.width), "whole records");
        self.file
            .seek(SeekFrom::Start(
                (HEADER_BYTES + self.records * self.width) as u64,
            ))
            .map_err(failed)?;
        self.file.write_all(bytes).map_err(failed)?;
        let records = self.records + bytes.len() / self.width;
        if HEADER_BYTES + records * self.width > self.map.map.len() {
            self.map = Arc::new(ColumnMap::new(&self.file, self.width, records).map_err(failed)?);
        }
        self.records = records;
        Ok(())
    }

    /// Makes everything appended durable.
    pub fn sync(&self) -> Result<()> {
        self.file
            .sync_data()
            .map_err(|error| Error::io(format_args!("cannot sync {}", self.path.display()), &error))
    }

    /// The map that covers every record appended so far.
    pub fn map(&self) -> Arc<ColumnMap> {
        Arc::clone(&self.map)
    }
}

impl ColumnMap {
    fn new(file: &File, width: usize, records: usize) -> std::io::Result<Self> {
        let length = (HEADER_BYTES + records * width)
            .saturating_mul(2)
            .max(SMALLEST_MAP_BYTES);
        // SAFETY: the data folder is locked against other processes of ours, files only grow while
        // they are mapped, and `bytes` is asked only for records that were written before;
        // pages behind the end of the file are mapped, but never touched.
        let map = unsafe { MmapOptions::new().len(length).map(file)? };
        Ok(Self { map, width })
    }

    /// Bytes of the given records, which must have been written.
    #[inline]
    pub fn bytes(&self, records: Range<usize>) -> &[u8] {
        &self.map
            [HEADER_BYTES + records.start * self.width..HEADER_BYTES + records.end * self.width]
    }

    /// The given records as numbers.
    #[inline]
    pub fn numbers<T: Number>(&self, records: Range<usize>) -> &[T] {
        let bytes = self.bytes(records);
        // SAFETY: every bit pattern is a valid `T` (sealed trait below).
        let (before, numbers, _) = unsafe { bytes.align_to::<T>() };
        assert!(
            before.is_empty(),
            "records of numbers start aligned: header and width are multiples of eight or four bytes"
        );
        numbers
    }
}

/// Plain numbers that a column may hold; any bit pattern is a value.
pub trait Number: sealed::Sealed + Copy {}
impl Number for f32 {}
impl Number for u64 {}

mod sealed {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for u64 {}
}

fn header(width: usize, dimensions: usize) -> [u8; HEADER_BYTES] {
    let mut header = [0; HEADER_BYTES];
    header[..8].copy_from_slice(MAGIC);
    header[8..16].copy_from_slice(&(width as u64).to_le_bytes());
    header[16..24].copy_from_slice(&(dimensions as u64).to_le_bytes());
    header
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn what_was_not_committed_is_cut_and_what_is_missing_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("c");
        let mut column = Column::create(&path, 8, 2).unwrap();
        column.append(&[1; 24]).unwrap();
        drop(column);
        let mut column = Column::open(&path, 8, 2, 2).unwrap();
        assert_eq!(
            (column.records(), std::fs::metadata(&path).unwrap().len()),
            (2, 80)
        );
        let map = column.map();
        column.append(&vec![2; 8 << 20]).unwrap();
        assert_eq!(
            map.bytes(0..2),
            [1; 16],
            "old maps stay valid while the file grows"
        );
        assert_eq!(column.map().bytes((1 << 20) + 1..(1 << 20) + 2), [2; 8]);
        drop(column);
        assert_eq!(
            Column::open(&path, 8, 2, 2 << 20).unwrap_err().kind(),
            ErrorKind::Corrupt
        );
        assert_eq!(
            Column::open(&path, 8, 3, 1).unwrap_err().kind(),
            ErrorKind::Corrupt
        );
        assert_eq!(
            Column::open(&folder.path().join("none"), 8, 2, 0)
                .unwrap_err()
                .kind(),
            ErrorKind::Corrupt
        );
    }
}
