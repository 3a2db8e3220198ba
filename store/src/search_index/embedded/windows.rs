//! Vectors of the windows of long chunks: any number per row, none for most. Tier 2 reads those of
//! its candidates; no scan and no filter touches them.
//!
//! Three columns: `codes` has one record per window, as [`tributary_schemas::window_vectors`]
//! encodes it; `ends` says by row (u64) before which of these its windows end, where those of the
//! row before end they begin; `sums` has the CRC-32 of their number and codes by row.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use tributary_schemas::search::ScoredChunk;
use tributary_schemas::{ChunkId, Result, WindowVectors, window_vectors};

use super::column::{Column, ColumnMap};
use super::snapshot::Snapshot;
use super::sums::{SumColumn, Sums, append_sum};

/// Bytes of an end.
const END_BYTES: usize = 8;

/// The writing side.
#[derive(Debug)]
pub struct WindowColumns {
    codes: Column,
    ends: Column,
    sums: SumColumn,
}

/// The windows as of one commit.
#[derive(Clone, Debug)]
pub struct Windows {
    rows: usize,
    codes: Arc<ColumnMap>,
    /// Codes that were written when this was made.
    written: usize,
    ends: Arc<ColumnMap>,
    sums: Sums,
}

/// Rows encoded and not yet written.
#[derive(Debug, Default)]
pub struct EncodedWindows {
    /// Bytes of codes by row.
    lengths: Vec<usize>,
    codes: Vec<u8>,
    sums: Vec<u8>,
}

/// How much of the files of a commit is valid.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    /// Rows.
    pub rows: usize,
    /// Windows of all of them.
    pub windows: usize,
}

impl WindowColumns {
    /// Creates empty columns named `<name>.codes`, `.ends` and `.sums` in a folder.
    pub fn create(folder: &Path, name: &str, dimensions: usize) -> Result<Self> {
        let path = |column: &str| folder.join(format!("{name}.{column}"));
        Ok(Self {
            codes: Column::create(&path("codes"), dimensions, dimensions)?,
            ends: Column::create(&path("ends"), END_BYTES, dimensions)?,
            sums: SumColumn::create(&path("sums"), dimensions)?,
        })
    }

    /// Opens columns that must hold so much; what lies behind is cut off.
    pub fn open(folder: &Path, name: &str, dimensions: usize, extent: Extent) -> Result<Self> {
        let path = |column: &str| folder.join(format!("{name}.{column}"));
        Ok(Self {
            codes: Column::open(&path("codes"), dimensions, dimensions, extent.windows)?,
            ends: Column::open(&path("ends"), END_BYTES, dimensions, extent.rows)?,
            sums: SumColumn::open(&path("sums"), dimensions, extent.rows)?,
        })
    }

    /// Appends rows.
    pub fn append(&mut self, encoded: &EncodedWindows) -> Result<()> {
        let dimensions = self.codes.width();
        let mut end = self.codes.records() as u64;
        let mut ends = Vec::with_capacity(encoded.lengths.len() * END_BYTES);
        for length in &encoded.lengths {
            end += (length / dimensions) as u64;
            ends.extend(end.to_le_bytes());
        }
        self.codes.append(&encoded.codes)?;
        self.ends.append(&ends)?;
        self.sums.append(&encoded.sums)
    }

    /// Makes everything appended durable.
    pub fn sync(&self) -> Result<()> {
        self.codes.sync()?;
        self.ends.sync()?;
        self.sums.sync()
    }

    /// Windows of all rows.
    pub fn count(&self) -> usize {
        self.codes.records()
    }

    /// The reading side of everything appended so far.
    pub fn windows(&self) -> Windows {
        Windows {
            rows: self.ends.records(),
            codes: self.codes.map(),
            written: self.codes.records(),
            ends: self.ends.map(),
            sums: self.sums.sums(),
        }
    }
}

impl EncodedWindows {
    /// Adds the windows of one chunk, which may be none.
    pub fn push(&mut self, windows: &WindowVectors) {
        let codes = windows.as_bytes();
        append_sum(&mut self.sums, [&length_bytes(codes), codes]);
        self.lengths.push(codes.len());
        self.codes.extend_from_slice(codes);
    }

    /// Adds a stored row as it is: its sum goes with it, so that a damaged row stays one.
    pub fn push_row(&mut self, windows: &Windows, row: usize) {
        let codes = windows.unchecked(row).unwrap_or_default();
        self.lengths.push(codes.len());
        self.codes.extend_from_slice(codes);
        self.sums.extend(windows.sums.bytes(row));
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.codes.len() + self.lengths.len() * END_BYTES
    }
}

/// Part of a row's sum, so that windows that were moved between rows are seen.
fn length_bytes(codes: &[u8]) -> [u8; 8] {
    (codes.len() as u64).to_le_bytes()
}

impl Windows {
    /// The codes of a row's windows, none of them for most rows; `None` if the row is damaged.
    pub fn row(&self, row: usize) -> Option<&[u8]> {
        let codes = self.unchecked(row).unwrap_or_default();
        self.sums
            .is_right(row, [length_bytes(codes).as_slice(), codes])
            .then_some(codes)
    }

    /// The codes of a row as they lie there; none if what says where they lie makes no sense.
    fn unchecked(&self, row: usize) -> Option<&[u8]> {
        let end = |row: usize| self.ends.numbers::<u64>(row..row + 1).first().copied();
        let start = row.checked_sub(1).map_or(Some(0), end)?;
        let range: Range<usize> = usize::try_from(start).ok()?..usize::try_from(end(row)?).ok()?;
        (range.start <= range.end && range.end <= self.written).then(|| self.codes.bytes(range))
    }

    /// Rows whose bytes are not those that were written.
    pub fn damaged_rows(&self) -> Vec<usize> {
        (0..self.rows)
            .filter(|row| {
                let codes = self.unchecked(*row).unwrap_or_default();
                let length = length_bytes(codes);
                !self.sums.matches(*row, [length.as_slice(), codes])
            })
            .collect()
    }

    /// How many rows readers have found damaged since the files were opened.
    pub fn known_damage(&self) -> usize {
        self.sums.wrong()
    }
}

/// The nearest window of each of the chunks that have several, in no order; none of a damaged row.
pub fn nearest(snapshot: &Snapshot, vector: &[f32], candidates: &[ChunkId]) -> Vec<ScoredChunk> {
    let Some(windows) = &snapshot.windows else {
        return Vec::new();
    };
    let mut rows: Vec<u32> = candidates
        .iter()
        .filter_map(|chunk| snapshot.find(*chunk))
        .map(|document| snapshot.row(document))
        .collect();
    // In the order of the file, for the sake of the memory behind it.
    rows.sort_unstable();
    rows.dedup();
    let score = |row: u32| {
        let score = window_vectors::nearest(windows.row(row as usize)?, vector)?;
        let chunk_id = snapshot.chunk_id(snapshot.row_document(row));
        Some(ScoredChunk { chunk_id, score })
    };
    rows.into_iter().filter_map(score).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn two(first: [f32; 2], second: [f32; 2]) -> WindowVectors {
        WindowVectors::of([first.as_slice(), &second])
    }

    #[test]
    fn rows_with_and_without_windows_come_back_and_damage_stays_when_copied() {
        let folder = tempfile::tempdir().unwrap();
        let mut columns = WindowColumns::create(folder.path(), "windows-0", 2).unwrap();
        let (first, last) = (two([1.0, 0.0], [0.0, 1.0]), two([0.0, 1.0], [0.6, 0.8]));
        let mut encoded = EncodedWindows::default();
        encoded.push(&first);
        encoded.push(&WindowVectors::default());
        columns.append(&encoded).unwrap();
        let mut encoded = EncodedWindows::default();
        encoded.push(&last);
        columns.append(&encoded).unwrap();
        let rows = |windows: &Windows| {
            let row = |row| windows.row(row).map(<[u8]>::to_vec);
            (0..3).map(row).collect::<Vec<_>>()
        };
        let [first, last] = [first, last].map(|windows| Some(windows.as_bytes().to_vec()));
        let all = [first, Some(Vec::new()), last];
        assert_eq!(rows(&columns.windows()), all);

        // A bit of the first row's codes rots.
        drop(columns);
        let path = folder.path().join("windows-0.codes");
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[64] ^= 1;
        std::fs::write(&path, bytes).unwrap();
        let extent = Extent {
            rows: 3,
            windows: 4,
        };
        let columns = WindowColumns::open(folder.path(), "windows-0", 2, extent).unwrap();
        let damaged = columns.windows();
        assert_eq!((damaged.row(0), damaged.damaged_rows()), (None, vec![0]));
        let mut copied = EncodedWindows::default();
        (0..3).for_each(|row| copied.push_row(&damaged, row));
        let mut columns = WindowColumns::create(folder.path(), "windows-1", 2).unwrap();
        columns.append(&copied).unwrap();
        let [_, empty, last] = all;
        assert_eq!(rows(&columns.windows()), [None, empty, last]);
    }
}
